"""Reads the main lines of standard chess games from PGN files, one game at a time."""

import gzip
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import chess

from zerogames.errors import UserError

if TYPE_CHECKING:
    from zerogames_chess.pgn import MainLine

MAX_PLIES = 2_000
"""Longer games are cut after this many plies."""


@dataclass(frozen=True)
class PlayedGame:
    """The main line of a game."""

    identity: str
    """Tags and moves as one text, which does not depend on the file the game is in."""
    start: chess.Board
    moves: list[chess.Move]
    result: int
    """1, 0 or -1 in White's view."""

    def positions(self, plies: Sequence[int]) -> list[chess.Board]:
        """Return the positions after the given numbers of plies, ascending, without history."""
        wanted = set(plies)
        board = self.start.copy(stack=False)
        found = []
        for ply, move in enumerate([None, *self.moves]):
            if move is not None:
                board.push(move)
            if ply in wanted:
                found.append(board.copy(stack=False))
        return found


def _is_usable(line: "MainLine") -> bool:
    """Tell whether this is a complete game of standard chess with a result, not abandoned."""
    from zerogames_chess.pgn import RESULTS

    abandoned = "abandon" in line.headers.get("Termination", "").lower()
    standard = line.headers.get("Variant", "Standard").lower() in ("standard", "chess", "normal")
    decided = line.headers.get("Result", "*") in RESULTS
    return standard and decided and not (abandoned or line.error)


def open_pgn(path: Path) -> TextIO:
    """Open a PGN file, plain or `.gz`; bytes that are not UTF-8 are replaced."""
    if not path.is_file():
        raise UserError(f"there is no PGN file {path}")
    if path.suffix == ".gz":
        return gzip.open(path, "rt", encoding="utf-8", errors="replace")
    return path.open(encoding="utf-8", errors="replace")


def read_games(path: Path) -> Iterator[PlayedGame]:
    """Yield the usable games of a PGN file; broken games and other variants are skipped."""
    import chess.pgn

    from zerogames_chess.pgn import RESULTS, MainLine

    with open_pgn(path) as stream:
        try:
            while (line := chess.pgn.read_game(stream, Visitor=MainLine)) is not None:
                if _is_usable(line):
                    names = ("Event", "Date", "Round", "White", "Black", "Result")
                    tags = "|".join(line.headers.get(name, "") for name in names)
                    moves = line.moves[:MAX_PLIES]
                    yield PlayedGame(
                        identity=f"{tags}|{' '.join(move.uci() for move in moves)}",
                        start=line.start or chess.Board(),
                        moves=moves,
                        result=int(RESULTS[line.headers["Result"]]),
                    )
        except (EOFError, OSError) as error:
            raise UserError(f"{path}: {error}; the file is damaged, fetch it again") from None
