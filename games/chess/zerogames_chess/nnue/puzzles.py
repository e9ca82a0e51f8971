"""Puzzles of the Lichess database: which share of the solver's moves an engine finds."""

import csv
import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path

import chess

from zerogames.errors import UserError
from zerogames_chess.nnue import _native

MIN_RATING, MAX_RATING = 1000, 2999
BUCKET = 200
"""Width of a rating bucket."""
_TOO_EASY = ("mate", "oneMove")
"""Themes that are left out; `mateIn2` and the like begin with the first."""
_MIN_CHOICE = 3
"""Legal moves that a solver must have at every turn."""
_COLUMNS = ("FEN", "Moves", "Rating", "Themes")


@dataclass(frozen=True)
class Puzzle:
    """The opponent plays `moves[0]`, the solver answers `moves[1]`, and so on."""

    fen: str
    moves: tuple[str, ...]
    rating: int


@dataclass(frozen=True)
class PuzzleScore:
    """Solver moves asked and found, in all and by rating bucket (its lower end)."""

    asked: int
    found: int
    buckets: dict[int, tuple[int, int]]
    """Asked and found."""

    @property
    def accuracy(self) -> float:
        """Share of moves found."""
        return self.found / self.asked


def read_puzzles(path: Path) -> list[Puzzle]:
    """The puzzles that qualify; a file of another kind or a broken line is named."""
    try:
        with path.open(encoding="utf-8", newline="") as file:
            rows = csv.DictReader(file)
            if not set(_COLUMNS) <= set(rows.fieldnames or ()):
                raise UserError(f"{path}: needs the columns {', '.join(_COLUMNS)}")
            puzzles = [puzzle for puzzle in _parse(path, rows) if _qualifies(puzzle)]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise UserError(f"{path}: {error}") from None
    if not puzzles:
        raise UserError(f"{path}: no puzzle rated {MIN_RATING} to {MAX_RATING} without mate")
    return puzzles


def _parse(path: Path, rows: "csv.DictReader[str]") -> Iterator[Puzzle]:
    for row in rows:
        themes = (row["Themes"] or "").split()
        if any(theme.startswith(_TOO_EASY) for theme in themes):
            continue
        try:
            yield Puzzle(row["FEN"], tuple(row["Moves"].split()), int(row["Rating"]))
        except (AttributeError, TypeError, ValueError):
            raise UserError(f"{path}: line {rows.line_num} is damaged") from None


def _qualifies(puzzle: Puzzle) -> bool:
    if not MIN_RATING <= puzzle.rating <= MAX_RATING or len(puzzle.moves) < 2:
        return False
    try:
        board = chess.Board(puzzle.fen)
        for number, move in enumerate(puzzle.moves):
            if number % 2 and board.legal_moves.count() < _MIN_CHOICE:
                return False
            board.push_uci(move)
    except ValueError:
        raise UserError(f"puzzle {puzzle.fen}: not a legal line") from None
    return True


def solve(
    engines: Sequence[_native.Engine],
    puzzles: Sequence[Puzzle],
    *,
    move_time_ms: int = 0,
    nodes: int = 0,
) -> PuzzleScore:
    """Ask equal engines for every solver move, each for a share of the puzzles at the same time.

    Another mate in one counts as right.
    """
    asked: Counter[int] = Counter()
    found: Counter[int] = Counter()
    stop = threading.Event()

    def work(number: int) -> tuple[Counter[int], Counter[int]]:
        share = takewhile(lambda _: not stop.is_set(), puzzles[number :: len(engines)])
        return _solve(engines[number], share, move_time_ms=move_time_ms, nodes=nodes)

    with ThreadPoolExecutor(len(engines)) as threads:
        try:
            for some_asked, some_found in threads.map(work, range(len(engines))):
                asked += some_asked
                found += some_found
        finally:
            stop.set()  # After Ctrl-C no engine begins another puzzle.
    buckets = {bucket: (asked[bucket], found[bucket]) for bucket in sorted(asked)}
    return PuzzleScore(asked.total(), found.total(), buckets)


def _solve(
    engine: _native.Engine, puzzles: Iterable[Puzzle], *, move_time_ms: int, nodes: int
) -> tuple[Counter[int], Counter[int]]:
    """Solver moves asked and found by rating bucket."""
    asked: Counter[int] = Counter()
    found: Counter[int] = Counter()
    for puzzle in puzzles:
        bucket = puzzle.rating // BUCKET * BUCKET
        engine.new_game()
        board = chess.Board(puzzle.fen)
        for number, expected in enumerate(puzzle.moves):
            if number % 2:
                engine.set_position(puzzle.fen, list(puzzle.moves[:number]))
                played = engine.go(move_time_ms=move_time_ms, nodes=nodes)["line"][0]
                asked[bucket] += 1
                found[bucket] += played == expected or _mates(board, played)
            board.push_uci(expected)
    return asked, found


def _mates(board: chess.Board, move: str) -> bool:
    after = board.copy(stack=False)
    after.push_uci(move)
    return after.is_checkmate()
