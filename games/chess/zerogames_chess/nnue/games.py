"""Games of PGN files as the pipeline needs them: main lines of standard chess, read lazily."""

import gzip
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

import chess
import chess.pgn

from zerogames.errors import UserError

_RESULTS = {"1-0": 1, "0-1": -1, "1/2-1/2": 0}
MAX_PLIES = 2_000
"""A longer game is cut."""


@dataclass(frozen=True)
class PlayedGame:
    """A main line."""

    identity: str
    """Tags and moves in one text, the same whatever file the game is in."""
    start: chess.Board
    moves: list[chess.Move]
    result: int
    """1, 0 or -1 in White's view."""

    def positions(self, plies: Sequence[int]) -> list[chess.Board]:
        """The positions after so many moves each, in ascending order, without their past."""
        wanted = set(plies)
        board = self.start.copy(stack=False)
        found = []
        for ply, move in enumerate([None, *self.moves]):
            if move is not None:
                board.push(move)
            if ply in wanted:
                found.append(board.copy(stack=False))
        return found


class _Line(chess.pgn.BaseVisitor["_Line"]):
    def __init__(self) -> None:
        self.headers = chess.pgn.Headers()
        self.start: chess.Board | None = None
        self.moves: list[chess.Move] = []
        self.broken = False

    def begin_headers(self) -> chess.pgn.Headers:
        return self.headers

    def visit_header(self, tagname: str, tagvalue: str) -> None:
        self.headers[tagname] = tagvalue

    def begin_variation(self) -> chess.pgn.SkipType:
        return chess.pgn.SKIP

    def visit_board(self, board: chess.Board) -> None:
        if self.start is None:
            self.start = board.copy(stack=False)

    def visit_move(self, board: chess.Board, move: chess.Move) -> None:
        if len(self.moves) < MAX_PLIES:
            self.moves.append(move)

    def handle_error(self, error: Exception) -> None:
        self.broken = True

    def result(self) -> "_Line":
        return self


def _is_usable(line: _Line) -> bool:
    """A whole game of standard chess with a result, not abandoned."""
    abandoned = "abandon" in line.headers.get("Termination", "").lower()
    standard = line.headers.get("Variant", "Standard").lower() in ("standard", "chess", "normal")
    decided = line.headers.get("Result", "*") in _RESULTS
    return standard and decided and not (abandoned or line.broken)


def open_pgn(path: Path) -> TextIO:
    """Open a PGN file, plain or `.gz`; bytes that are not UTF-8 are replaced."""
    if not path.is_file():
        raise UserError(f"there is no PGN file {path}")
    if path.suffix == ".gz":
        return gzip.open(path, "rt", encoding="utf-8", errors="replace")
    return path.open(encoding="utf-8", errors="replace")


def read_games(path: Path) -> Iterator[PlayedGame]:
    """Read the usable games of a PGN file one by one; broken and odd ones are passed over."""
    with open_pgn(path) as stream:
        try:
            while (line := chess.pgn.read_game(stream, Visitor=_Line)) is not None:
                if _is_usable(line):
                    names = ("Event", "Date", "Round", "White", "Black", "Result")
                    tags = "|".join(line.headers.get(name, "") for name in names)
                    moves = " ".join(move.uci() for move in line.moves)
                    yield PlayedGame(
                        identity=f"{tags}|{moves}",
                        start=line.start or chess.Board(),
                        moves=line.moves,
                        result=_RESULTS[line.headers["Result"]],
                    )
        except (EOFError, OSError) as error:
            raise UserError(f"{path}: {error}; the file is damaged, fetch it again") from None
