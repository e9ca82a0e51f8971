"""One game of a person: moves, taking back, resigning, saving."""

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from zerogames.atomic import write_bytes_atomically
from zerogames.data.formats import RecordWriter, get_game_data
from zerogames.data.header import GameHeader
from zerogames.data.record import GameRecord
from zerogames.errors import UserError
from zerogames.game import Game, State

SIDES = ("first", "second")


@dataclass
class Table:
    """One game between a person and an opponent."""

    game: Game
    start: State
    person: int
    """0 plays first, 1 second."""
    names: tuple[str, str] = ("you", "opponent")
    """Names of the person and of the opponent."""
    states: list[State] = field(init=False)
    actions: list[int] = field(default_factory=list)
    resigned: int | None = None
    """The player who resigned."""

    def __post_init__(self) -> None:
        self.states = [self.start]

    @property
    def state(self) -> State:
        """The present position."""
        return self.states[-1]

    @property
    def result(self) -> float | None:
        """The result in the first player's view; None during the game."""
        if self.resigned is not None:
            return -1.0 if self.resigned == 0 else 1.0
        return self.state.result

    @property
    def reason(self) -> str:
        """Why the game ended."""
        return "resignation" if self.resigned is not None else self.state.end_reason

    @property
    def is_persons_turn(self) -> bool:
        """Whether the person moves next; false when the game is over."""
        return self.result is None and self.state.to_play == self.person

    def play(self, action: int) -> None:
        """Make a move."""
        self.states.append(self.state.play(action))
        self.actions.append(action)

    def take_back(self) -> int:
        """Go back to where the person last had to move; the number of plies taken back."""
        if self.resigned is not None:
            self.resigned = None
            if self.state.to_play == self.person:
                return 0
        turns = [ply for ply in range(len(self.actions)) if self._is_choice(ply)]
        if not turns:
            raise UserError("you have not moved yet: there is nothing to take back")
        count = len(self.actions) - turns[-1]
        del self.actions[turns[-1] :], self.states[turns[-1] + 1 :]
        return count

    def _is_choice(self, ply: int) -> bool:
        """Whether the person moved there, and had more than one move."""
        state = self.states[ply]
        return state.to_play == self.person and len(state.legal_actions()) > 1

    def legal_moves(self) -> list[str]:
        """The legal moves as text."""
        state = self.state
        return [self.game.format_action(state, int(action)) for action in state.legal_actions()]

    def record(self) -> GameRecord:
        """The game so far."""
        at_start = self.start.position_key == self.game.initial_state().position_key
        names = self.names if self.person == 0 else self.names[::-1]
        return GameRecord(
            game=self.game.spec.identity,
            start="" if at_start else self.game.format_state(self.start),
            actions=np.array(self.actions, np.int32),
            result=self.result,
            reason=self.reason,
            tags=get_game_data(self.game).tags(GameHeader(first=names[0], second=names[1])),
        )

    @property
    def writers(self) -> dict[str, RecordWriter]:
        """The writers of one text for all games, by the endings of files."""
        writers = get_game_data(self.game).writers
        return {name: writer for name, writer in writers.items() if not writer.one_per_file}

    def save(self, text: str) -> Path:
        """Write the game; the ending decides the format, the game's own by default."""
        writers = self.writers
        path = Path(text)
        if not path.suffix:
            path = path.with_suffix("." + next(iter(writers)))
        writer = writers.get(path.suffix.removeprefix("."))
        if writer is None:
            known = ", ".join(f".{suffix}" for suffix in writers)
            raise UserError(f"{path}: games of {self.game.spec.name} are saved as {known}")
        if path.exists():
            raise UserError(f"{path} is there already; give another name")
        if not path.parent.is_dir():
            raise UserError(f"{path}: there is no folder {path.parent}")
        try:
            write_bytes_atomically(path, writer.write(self.record()))
        except OSError as error:
            raise UserError(f"{path}: {error.strerror or error}") from None
        return path
