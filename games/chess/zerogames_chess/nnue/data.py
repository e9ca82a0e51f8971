"""`zerogames nnue data`: positions of games, labelled by an engine, in 40-byte records.

The work is cut into chunks of games. A finished chunk is one small file; a run that is stopped or
whose engine dies continues where it was, and gives the same records as one that was not.
"""

import hashlib
import random
from collections import Counter, deque
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path

import chess
import numpy as np
import tyro
from numpy.typing import NDArray
from rich.console import Console

from zerogames.errors import UserError
from zerogames_chess.chunked import (
    ChunkCounts,
    ask_engine,
    chunk_display,
    in_processes,
    run_in_folder,
)
from zerogames_chess.nnue.games import PlayedGame, read_games
from zerogames_chess.nnue.labels import (
    Labeller,
    OpenLabeller,
    internal_per_centipawn,
    is_quiet,
    wins_a_piece,
)
from zerogames_chess.nnue.merge import unique_parts, write_parts
from zerogames_chess.nnue.records import (
    RECORD,
    map_records,
    pack_board,
    pack_move,
    read_header,
    write_records,
)
from zerogames_chess.nnue.selfplay import random_games

MAX_SCORE = 10_000
UNIT = "internal"
"""The unit of scores in record files; printed centipawns are converted."""


@dataclass(frozen=True, kw_only=True)
class DataOptions:
    """Label positions of games with a UCI engine."""

    out: tyro.conf.Positional[Path]
    """The folder for the records; a started one is continued."""
    pgn: Path | None = None
    """A file of games, plain or .gz; without it the engine plays games from random openings."""
    games: int = 1_000
    """The number of games used at most."""
    samples_per_game: int = 1
    """The number of positions taken from each game, at different plies."""
    first_ply: int = 20
    """The first ply from which positions are taken."""
    random_moves: int = 0
    """The largest number of random moves after each chosen position, for unbalanced ones: games of
    strong players do not show what a piece is worth. Results then mean little: keep --label-weight
    1."""
    follow: int = 0
    """The number of positions of the engine's own play that are labelled after each chosen one:
    random moves leave pieces hanging, and only when that is settled does a position show what it is
    worth."""
    engine: Path = Path("/usr/games/stockfish")
    """The UCI engine that labels."""
    depth: int = 9
    """The depth of its search, in plies."""
    static: bool = False
    """Label with Stockfish's evaluation of the position itself; the search only finds the moves to
    follow and what is quiet. Below depth 9 the better labels by far."""
    clear_hash: bool = False
    """Clear the engine's hash before each position: slower, but labels depend on nothing else."""
    processes: int = 1
    """The number of engines that run at the same time."""
    quiet: bool = True
    """Drop positions in check, or in which a piece can plainly be won, before they are labelled,
    and those whose best move takes or promotes after it."""
    units_per_centipawn: float = 0.0
    """Internal units per printed centipawn; 0: by the engine's name (Stockfish 15.1: 3.61)."""
    validation: float = 0.05
    """The share of the games kept for validation, 0 to below 1."""
    seed: int = 0
    """The seed that decides plies, and the games without a PGN."""
    chunk: int = 64
    """The number of games in a chunk."""


@dataclass
class ChunkResult(ChunkCounts):
    """Counts of one chunk."""

    number: int
    kept: int = 0
    engine: str = ""


def game_seed(identity: str, seed: int) -> int:
    """A number that depends on the game and the run's seed alone."""
    digest = hashlib.sha256(f"{seed}|{identity}".encode()).digest()
    return int.from_bytes(digest[:8], "little")


def choose_plies(game: PlayedGame, options: DataOptions) -> list[int]:
    """Different plies, uniform in [first_ply, last]; none for a short game."""
    plies = range(options.first_ply, len(game.moves) + 1)
    generator = random.Random(game_seed(game.identity, options.seed))
    return sorted(generator.sample(plies, min(options.samples_per_game, len(plies))))


def disturb(board: chess.Board, game: PlayedGame, options: DataOptions) -> chess.Board:
    """Play up to `random_moves` random moves, by the game and ply alone."""
    generator = random.Random(f"{game_seed(game.identity, options.seed)}:{board.ply()}")
    for _ in range(generator.randint(0, options.random_moves)):
        moves = list(board.legal_moves)
        if not moves:
            break
        board.push(generator.choice(moves))
    return board.copy(stack=False)


def is_validation(identity: str, options: DataOptions) -> bool:
    """Whether all positions of a game are kept for validation, in runs of every seed."""
    return game_seed(identity, 0) >> 11 < options.validation * 2**53


def make_labeller(options: DataOptions) -> Labeller:
    """The engine, and how it is asked."""
    return Labeller(options.engine, options.depth, options.clear_hash, options.static)


def data(options: tyro.conf.OmitArgPrefixes[DataOptions]) -> int:
    """Label positions of games with a UCI engine, several at a time; can be stopped and resumed.

    Args:
        options: what to label and how.
    """
    console = Console(stderr=True)
    _check(options)
    with make_labeller(options).open() as labeller:
        name = labeller.name
    units = options.units_per_centipawn or internal_per_centipawn(name)
    if units is None:
        raise UserError(
            f"the unit of '{name}' is not known; say --units-per-centipawn "
            "(internal units, where a pawn is about 208, per printed centipawn)"
        )
    settings = asdict(options) | {"engine": name, "units_per_centipawn": units}

    def work() -> None:
        _merge(options, name, units, _label(options, units, console), console)

    return run_in_folder(options.out, settings, work, console)


def _label(options: DataOptions, units: float, console: Console) -> list[ChunkResult]:
    """Label all chunks under the display."""
    results: list[ChunkResult] = []
    with chunk_display("labelling", -(-options.games // options.chunk), console) as advance:
        for result in _run_chunks(options, units):
            results.append(result)
            advance(sum(r.kept + sum(r.dropped.values()) for r in results if r.engine))
    return results


def _check(options: DataOptions) -> None:
    if min(options.games, options.samples_per_game, options.processes, options.chunk) < 1:
        raise UserError("games, samples per game, processes and chunk must be at least 1")
    if not 0 <= options.random_moves <= 100:
        raise UserError(f"random moves {options.random_moves}: must be from 0 to 100")
    if not 0 <= options.follow <= 1_000:
        raise UserError(f"follow {options.follow}: must be from 0 to 1000")
    if not 1 <= options.depth <= 40:
        raise UserError(f"depth {options.depth}: must be from 1 to 40")
    if not 0 <= options.validation < 1:
        raise UserError(f"validation {options.validation}: must be from 0 to below 1")
    if options.pgn is not None and not options.pgn.is_file():
        raise UserError(f"there is no PGN file {options.pgn}")


def _chunk_path(options: DataOptions, number: int) -> Path:
    return options.out / "chunks" / f"{number:06d}.zgd"


def _chunks(options: DataOptions) -> Iterator[tuple[int, list[PlayedGame]]]:
    source: Iterable[PlayedGame]
    if options.pgn is not None:
        source = read_games(options.pgn)
    else:
        source = random_games(options.engine, options.seed)
    games = islice(iter(source), options.games)
    number = 0
    while block := list(islice(games, options.chunk)):
        yield number, block
        number += 1


def _run_chunks(options: DataOptions, units: float) -> Iterator[ChunkResult]:
    """Label every chunk that has no file yet; bounded by the number of processes."""
    _chunk_path(options, 0).parent.mkdir(exist_ok=True)

    def jobs() -> Iterator[tuple[DataOptions, float, int, list[PlayedGame]]]:
        for number, block in _chunks(options):
            yield options, units, number, block

    yield from in_processes(_label_chunk, jobs(), options.processes)


def _label_chunk(job: tuple[DataOptions, float, int, list[PlayedGame]]) -> ChunkResult:
    """Label the games of one chunk and write its file; a done one is only counted."""
    options, units, number, games = job
    result = ChunkResult(number)
    path = _chunk_path(options, number)
    header = read_header(path) if path.exists() else {}
    # The last chunk of a run with fewer games is made anew.
    if header.get("games") == len(games):
        result.kept = len(map_records(path))
        dropped = header.get("dropped", {})
        if isinstance(dropped, dict):
            result.dropped = Counter({str(key): int(value) for key, value in dropped.items()})
        return result
    records: dict[bool, list[NDArray[np.void]]] = {False: [], True: []}
    pending = deque(
        _Candidate(game, disturb(board, game, options), options.follow)
        for game in games
        for board in game.positions(choose_plies(game, options))
    )
    result.dropped["short game"] += sum(not choose_plies(game, options) for game in games)

    def label(engine: OpenLabeller, candidate: _Candidate) -> _Candidate | None:
        result.engine = engine.name
        record, following = _label_position(engine, candidate, options, units, result)
        if record is not None:
            records[is_validation(candidate.game.identity, options)].append(record)
        return following

    ask_engine(options.engine, pending, make_labeller(options).open, label, result)
    training, validation = records[False], records[True]
    result.kept = len(training) + len(validation)
    header = {
        "games": len(games),
        "training": len(training),
        "dropped": dict(result.dropped),
    }
    whole = np.concatenate([*training, *validation]) if result.kept else np.zeros(0, RECORD)
    write_records(path, whole, header)
    return result


@dataclass(frozen=True)
class _Candidate:
    """A position to be labelled, and how many of those after it."""

    game: PlayedGame
    board: chess.Board
    follow: int


def _label_position(
    engine: OpenLabeller,
    candidate: _Candidate,
    options: DataOptions,
    units: float,
    result: ChunkResult,
) -> tuple[NDArray[np.void] | None, _Candidate | None]:
    """The record, if the position is worth one, and the candidate after the engine's move."""
    game, board = candidate.game, candidate.board
    if board.is_game_over():
        result.dropped["game over"] += 1
        return None, None
    if options.quiet and candidate.follow == 0:
        if board.is_check():
            result.dropped["in check"] += 1
            return None, None
        if wins_a_piece(board):
            result.dropped["wins a piece"] += 1
            return None, None
    label = engine.label(board)
    score = round(label.score * units)
    if label.is_mate or abs(score) >= MAX_SCORE:
        result.dropped["mate or decided"] += 1
        return None, None
    following = None
    if candidate.follow > 0 and label.move is not None:
        after = board.copy(stack=False)
        after.push(label.move)
        following = _Candidate(game, after, candidate.follow - 1)
    if options.quiet and not is_quiet(board, label):
        result.dropped["not quiet"] += 1
        return None, following
    record = np.zeros(1, RECORD)
    record["board"] = pack_board(board)
    record["black_to_move"] = board.turn == chess.BLACK
    record["result"] = game.result if board.turn == chess.WHITE else -game.result
    record["score"] = score
    record["ply"] = min(board.ply(), 65_535)
    record["move"] = pack_move(label.move)
    return record, following


def _merge(
    options: DataOptions, name: str, units: float, results: list[ChunkResult], console: Console
) -> None:
    """Put the chunks together in their order, each position once."""
    training: list[NDArray[np.void]] = []
    validation: list[NDArray[np.void]] = []
    for number in sorted(result.number for result in results):
        path = _chunk_path(options, number)
        records = map_records(path)
        boundary = read_header(path)["training"]
        if not isinstance(boundary, int):
            raise UserError(f"{path}: the header is damaged; delete the file and run again")
        training.append(records[:boundary])
        validation.append(records[boundary:])
    parts, duplicates = unique_parts(training, validation)
    dropped = sum((result.dropped for result in results), Counter({"duplicate": duplicates}))
    header = {
        "unit": UNIT,
        "units_per_centipawn": units,
        "engine": name,
        "depth": options.depth,
        "static": options.static,
        "clear_hash": options.clear_hash,
        "origin": options.pgn.name if options.pgn else "engine games from random openings",
        "random_moves": options.random_moves,
        "follow": options.follow,
        "seed": options.seed,
        "quiet": options.quiet,
        "dropped": dict(dropped),
    }
    write_parts(options.out, parts, header, console)
    console.print(
        "dropped: " + (", ".join(f"{v:,} {k}" for k, v in dropped.items() if v) or "none")
    )
    restarts = sum(result.restarts for result in results)
    if restarts:
        console.print(f"the engine was started again {restarts} times; nothing was lost")
