"""The position a user interface speaks of, also when it plays on after the rules ended the game."""

from collections.abc import Sequence
from dataclasses import dataclass

from zerogames.errors import UserError
from zerogames_chess._native import State

STARTING_FEN = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1"
_FEN_DEFAULTS = ("w", "-", "-", "0", "1")
"""Values of the FEN fields after the pieces, where they are left out."""
MAX_MOVES = 20_000


@dataclass(frozen=True, kw_only=True)
class UciPosition:
    """A position with the moves that led to it."""

    fen: str
    moves: tuple[str, ...]
    chess960: bool
    start: State
    """The first position of the history that counts: the one after the last draw by rule."""
    actions: tuple[int, ...]
    """Actions from `start` to `state`."""
    state: State

    @classmethod
    def initial(cls, *, chess960: bool = False) -> "UciPosition":
        """The start position."""
        return cls.of(STARTING_FEN, (), chess960=chess960)

    @classmethod
    def parse(cls, words: Sequence[str], *, chess960: bool) -> "UciPosition":
        """Read what stands behind `position`: `startpos` or `fen FEN`, then `moves ...`."""
        end = words.index("moves") if "moves" in words else len(words)
        where, moves = words[:end], words[end + 1 :]
        if where[:1] == ["startpos"]:
            return cls.of(STARTING_FEN, moves, chess960=chess960)
        if where[:1] != ["fen"] or len(where) < 2:
            raise UserError("position: write `startpos` or `fen FEN`, then `moves ...`")
        fields = list(where[1:])
        fields += _FEN_DEFAULTS[len(fields) - 1 :]
        return cls.of(" ".join(fields), moves, chess960=chess960)

    @classmethod
    def of(cls, fen: str, moves: Sequence[str], *, chess960: bool) -> "UciPosition":
        """Play `moves` in UCI from a FEN; `UserError` names the first that is not legal."""
        if len(moves) > MAX_MOVES:
            raise UserError(f"position: more than {MAX_MOVES} moves")
        start = state = State.from_fen(fen, chess960)
        actions: list[int] = []
        for text in moves:
            if state.result is not None:
                # The rules ended the game, the user interface did not: drop its history.
                start, actions = _without_history(state), []
                state = start
            if state.result is None:
                actions.append(state.parse_uci(text))
                state = state.play(actions[-1])
            else:
                start, actions = _play_dead(state, text), []
                state = start
        if state.result is not None:
            start, actions = _without_history(state), []
            state = start
        return cls(
            fen=fen,
            moves=tuple(moves),
            chess960=chess960,
            start=start,
            actions=tuple(actions),
            state=state,
        )

    @property
    def legal_moves(self) -> list[str]:
        """The legal moves in UCI; empty at mate and stalemate only."""
        return [text for text, _ in self.state.divide(1)]

    @property
    def second_to_move(self) -> bool:
        """Whether Black's clock runs."""
        return self.state.fen.split()[1] == "b"

    @property
    def ply(self) -> int:
        """Plies since the start of the game, as the FEN counts moves."""
        fields = self.state.fen.split()
        return 2 * (int(fields[5]) - 1) + (fields[1] == "b")


def _without_history(state: State) -> State:
    """The board without its repetitions and counted moves."""
    fields = state.fen.split()
    fields[4] = "0"
    return State.from_fen(" ".join(fields), state.chess960)


def _play_dead(state: State, text: str) -> State:
    """Play a legal move where no side can mate any more."""
    import chess  # Rarely needed, and slow to import before the first answer.

    board = chess.Board(state.fen, chess960=state.chess960)
    try:
        board.push(board.parse_uci(text))
    except ValueError:
        raise UserError(f"'{text[:40]}' is not legal here") from None
    return State.from_fen(board.fen(en_passant="fen"), state.chess960)
