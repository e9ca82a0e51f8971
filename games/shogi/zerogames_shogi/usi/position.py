"""The position a user interface speaks of, also when it plays on after the rules ended the game."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from zerogames.errors import UserError
from zerogames_shogi._native import State
from zerogames_shogi.shogi_game import start_sfen

MAX_MOVES = 20_000
_MOST_PLIES = 1024
_SFEN_DEFAULTS = ("b", "-", "1")
"""Values of the SFEN fields after the squares, where they are left out."""


@dataclass(frozen=True, kw_only=True)
class UsiPosition:
    """A position with the moves that led to it."""

    sfen: str
    moves: tuple[str, ...]
    start: State
    """The first position of the history that counts: the one after the last end by rule."""
    actions: tuple[int, ...]
    """Actions from `start` to `state`."""
    state: State

    @classmethod
    def initial(cls, *, declares: bool = True) -> Self:
        """The start position."""
        return cls.of(start_sfen("none"), (), declares=declares)

    @classmethod
    def parse(cls, words: Sequence[str], *, declares: bool) -> Self:
        """Read what stands behind `position`: `startpos` or `sfen SFEN`, then `moves ...`."""
        end = words.index("moves") if "moves" in words else len(words)
        where, moves = words[:end], words[end + 1 :]
        if where[:1] == ["startpos"]:
            return cls.of(start_sfen("none"), moves, declares=declares)
        if where[:1] != ["sfen"] or len(where) < 2:
            raise UserError("position: write `startpos` or `sfen SFEN`, then `moves ...`")
        fields = list(where[1:])
        fields += _SFEN_DEFAULTS[len(fields) - 1 :]
        return cls.of(" ".join(fields), moves, declares=declares)

    @classmethod
    def of(cls, sfen: str, moves: Sequence[str], *, declares: bool) -> Self:
        """Play `moves` from an SFEN; `UserError` names the first that is not legal.

        Whether the game is over is the user interface's to say: a repetition or a side that might
        have declared is played on from there, without what was before. With `declares` the search
        knows the 27-point declaration.
        """
        if len(moves) > MAX_MOVES:
            raise UserError(f"position: more than {MAX_MOVES} moves")
        start = state = _without_history(sfen, declares)
        actions: list[int] = []
        for text in moves:
            actions.append(state.parse_usi(text))
            state = state.play(actions[-1])
            if state.result is not None:
                start = state = _without_history(state.sfen, declares)
                actions = []
        return cls(sfen=sfen, moves=tuple(moves), start=start, actions=tuple(actions), state=state)

    @property
    def legal_moves(self) -> list[str]:
        """The legal moves; empty only where the side to move has lost."""
        return [text for text, _ in self.state.divide(1)]

    @property
    def second_to_move(self) -> bool:
        """Whether White's clock runs."""
        return self.state.sfen.split()[1] == "w"

    @property
    def ply(self) -> int:
        """Plies since the start of the game, as the SFEN counts moves."""
        return self.state.move_number - 1


def _without_history(sfen: str, declares: bool) -> State:
    """The position alone. Who could declare here and does not plays on without the rule."""
    state = State.from_sfen(sfen, declaration=declares, max_plies=_MOST_PLIES)
    if state.may_declare and state.legal_actions().size == 0:
        state = State.from_sfen(sfen, declaration=False, max_plies=_MOST_PLIES)
    return state
