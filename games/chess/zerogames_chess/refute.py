"""`zerogames refute`: lines in which an engine shows what errors cost, as shards for pretraining.

Games of strong players hardly show how a hanging piece is taken, and a net that learns from them
alone does not know it. Here positions of such games are spoilt by a few random moves, and an engine
continues. The moves before its own give no sample; they are kept because a net sees
the last positions, too.
"""

import hashlib
import random
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from itertools import islice
from pathlib import Path

import numpy as np
import tyro
from rich.console import Console

from zerogames.arguments import read_options
from zerogames.data.record import JUDGED, SEARCH_KINDS, GameRecord, SearchColumns
from zerogames.data.sources import Source
from zerogames.data.split import is_validation
from zerogames.errors import UserError
from zerogames.game import Game, State, play_actions
from zerogames.registry import get_game
from zerogames_chess.chunked import (
    ChunkCounts,
    ask_engine,
    chunk_display,
    in_processes,
    run_in_folder,
)
from zerogames_chess.uci_client import EngineDied, UciClient, start_engine

_NOT_LEARNT, _LEARNT = SEARCH_KINDS.index("random"), SEARCH_KINDS.index("none")


@dataclass(frozen=True, kw_only=True)
class RefuteOptions:
    """Spoil positions of games by random moves and let a UCI engine continue the games."""

    out: tyro.conf.Positional[Path]
    """The folder for the shards; a started one is continued."""
    data: tuple[Path, ...] = ()
    """The games: PGN files, shards, and folders of them."""
    games: int = 1_000
    """The number of games used at most, rounded up to whole shards."""
    lines_per_game: int = 4
    """The number of positions of each game that are spoilt."""
    random_moves: int = 3
    """The largest number of random moves that spoil a position; the smallest is one."""
    plies: int = 12
    """The number of plies that the engine plays after the random moves."""
    engine: Path = Path("/usr/games/stockfish")
    """A UCI engine that reports win, draw and loss chances (`UCI_ShowWDL`)."""
    depth: int = 5
    """The depth, in plies, of the engine's search for each move."""
    judge_depth: int = 9
    """The depth, in plies, of its search for the value of the line, after the last move."""
    validation: float = 0.2
    """Games that `pretrain` keeps for validation with this `--validation.share` or a smaller one
    are not used, so that no position near them is trained on."""
    processes: int = 1
    """The number of engines that run at the same time."""
    seed: int = 0
    """The seed that decides positions and random moves."""
    chunk: int = 64
    """The number of games in a shard."""


@dataclass
class ChunkResult(ChunkCounts):
    """Counts of one chunk."""

    lines: int = 0
    positions: int = 0
    is_new: bool = True


_Job = tuple[RefuteOptions, int, list[GameRecord]]


def main(argv: Sequence[str]) -> int:
    """Run `zerogames refute`."""
    options = read_options(RefuteOptions, argv, "zerogames refute")
    console = Console(stderr=True)
    _check(options)
    with open_engine(options) as engine:
        name = engine.client.name
    source = Source(options.data, get_game("chess"))
    settings = asdict(options) | {"engine": name, "files": _fingerprint(source.paths)}

    def work() -> None:
        _report(_make_all(options, source, console), options, source, console)

    return run_in_folder(options.out, settings, work, console)


def _report(total: ChunkResult, options: RefuteOptions, source: Source, console: Console) -> None:
    """Print what was made and what was left out."""
    dropped = total.dropped + Counter({"unreadable game": source.problems.count})
    left_out = ", ".join(f"{count:,} {what}" for what, count in dropped.items()) or "nothing"
    if not total.lines:
        raise UserError(
            f"no line was made (left out: {left_out}, and games kept for validation); give more "
            "games or a lower --validation"
        )
    lines = [f"{total.positions:,} positions of {total.lines:,} lines in {options.out}"]
    if dropped:
        lines.append(f"left out: {left_out}")
    if total.restarts:
        lines.append(f"the engine was started again {total.restarts} times")
    lines.append(
        f"next: zerogames pretrain --data GAMES {options.out} --trainer.search-value-share 1 "
        "--out RUN"
    )
    console.print("\n".join(lines), markup=False, highlight=False, soft_wrap=True)


def _check(options: RefuteOptions) -> None:
    least = ("games", "lines_per_game", "random_moves", "plies", "depth", "judge_depth")
    for name in (*least, "processes", "chunk"):
        if getattr(options, name) < 1:
            raise UserError(f"--{name.replace('_', '-')} must be at least 1")
    if not 0 <= options.validation < 1:
        raise UserError(f"validation {options.validation}: must be from 0 to below 1")
    if not options.data:
        raise UserError("no games: name files or folders with --data")
    for path in options.data:
        if options.out.resolve().is_relative_to(path.resolve()):
            raise UserError(f"{options.out} lies in {path}, whose games are read; name another")


def _fingerprint(paths: Sequence[Path]) -> str:
    """Hash names and sizes: shards are numbered by the order of the games in all files."""
    digest = hashlib.sha256()
    for path in paths:
        digest.update(f"{path.name}|{path.stat().st_size}\n".encode())
    return digest.hexdigest()[:16]


def _make_all(options: RefuteOptions, source: Source, console: Console) -> ChunkResult:
    """Make all chunks under the display."""
    total, made = ChunkResult(), 0
    with chunk_display("refuting", _num_chunks(options), console) as advance:
        for result in in_processes(_make_chunk, _jobs(options, source), options.processes):
            total.lines += result.lines
            total.positions += result.positions
            total.dropped += result.dropped
            total.restarts += result.restarts
            made += result.positions * result.is_new
            advance(made)
    return total


def _num_chunks(options: RefuteOptions) -> int:
    return -(-options.games // options.chunk)


def _jobs(options: RefuteOptions, source: Source) -> Iterator[_Job]:
    games = _training_games(options, source)
    # Whole chunks only: then a shard is the same in a run with more games.
    for number in range(_num_chunks(options)):
        if block := list(islice(games, options.chunk)):
            yield options, number, block


def _training_games(options: RefuteOptions, source: Source) -> Iterator[GameRecord]:
    for game in source.games():
        if not is_validation(game.key, options.validation):
            try:
                record = game.record()
            except UserError as error:
                source.problems.add(game.name, str(error))
                continue
            if record.game == "chess":
                yield record
            else:
                source.problems.add(game.name, f"{record.game} is not refuted")


def _make_chunk(job: _Job) -> ChunkResult:
    """Write the shard of some games; one that is whole is only counted."""
    from zerogames.data.shard import read_shard, write_shard

    options, number, games = job
    path = options.out / f"{number:06d}.parquet"
    if path.exists():
        records = read_shard(path)
        return ChunkResult(len(records), sum(map(_num_learnt, records)), is_new=False)
    result = ChunkResult()
    starts = deque[Spoilt]()
    for game in games:
        try:
            starts += spoilt_positions(game, options)
        except UserError:  # a shard may hold any numbers for moves
            result.dropped["broken game"] += 1
    records = []

    def refute(engine: Refuter, start: Spoilt) -> None:
        if start.state.result is None:
            records.append(engine.refute(start))
        else:
            result.dropped["game over"] += 1

    ask_engine(options.engine, starts, partial(open_engine, options), refute, result)
    if records:
        write_shard(path, records)
    result.lines, result.positions = len(records), sum(map(_num_learnt, records))
    return result


def _num_learnt(record: GameRecord) -> int:
    assert record.search is not None
    return int((record.search.kinds == _LEARNT).sum())


@dataclass(frozen=True)
class Spoilt:
    """A position after random moves."""

    start: str
    """The start of the game, as in its record."""
    actions: list[int]
    """All moves from there, the last ones random."""
    state: State


def spoilt_positions(record: GameRecord, options: RefuteOptions) -> list[Spoilt]:
    """Positions that depend on the game and the seed alone."""
    game = get_game(record.game)
    moves = record.actions.tolist()
    generator = random.Random(f"{options.seed}|{record.start}|{moves}")
    plies = generator.sample(range(len(moves)), min(options.lines_per_game, len(moves)))
    spoilt = []
    for ply in sorted(plies):
        actions = moves[:ply]
        state = play_actions(record.start_state(game), actions)
        for _ in range(generator.randint(1, options.random_moves)):
            if state.result is None:
                action = int(generator.choice(state.legal_actions()))
                actions.append(action)
                state = state.play(action)
        spoilt.append(Spoilt(record.start, actions, state))
    return spoilt


@contextmanager
def open_engine(options: RefuteOptions) -> Iterator["Refuter"]:
    """Start the engine; it is stopped in the end."""
    with start_engine(options.engine) as client:
        if "UCI_ShowWDL" not in client.options:
            raise UserError(f"'{client.name}' does not tell its chances (UCI_ShowWDL)")
        client.set_option("Threads", 1)
        client.set_option("Hash", 1)  # enough for short searches, and quick to clear
        client.set_option("UCI_ShowWDL", "true")
        yield Refuter(options, client, get_game("chess"))


@dataclass(frozen=True)
class Refuter:
    """A running engine."""

    options: RefuteOptions
    client: UciClient
    game: Game

    def refute(self, spoilt: Spoilt) -> GameRecord:
        """Play on; every move of the line has the value of its end.

        Raises:
            EngineDied: if the engine has.
        """
        # A line depends on its position alone, not on what was searched before.
        self.client.new_game()
        state = spoilt.state
        line: list[int] = []
        while state.result is None and len(line) < self.options.plies:
            action, _, _ = self._ask(state, self.options.depth)
            line.append(action)
            state = state.play(action)
        if state.result is None:
            _, q, draw = self._ask(state, self.options.judge_depth)
            q = q if state.to_play == 0 else -q
            reason = JUDGED
        else:
            q, draw, reason = state.result, 1 - abs(state.result), state.end_reason
        win_or_loss = (1 - draw + abs(q)) / 2
        return GameRecord(
            game="chess",
            start=spoilt.start,
            actions=np.array([*spoilt.actions, *line], np.int32),
            result=float(np.sign(q)) if win_or_loss > draw else 0.0,
            reason=reason,
            net=self.client.name,
            search=_columns(len(spoilt.actions), spoilt.state.to_play, len(line), q, draw),
        )

    def _ask(self, state: State, depth: int) -> tuple[int, float, float]:
        """The engine's move, and its chances as win - loss and draw, side to move's view."""
        words, best = self.client.go(self.game.format_state(state), f"depth {depth}")
        try:
            place = words.index("wdl")
            win, draw, loss = (int(word) / 1000 for word in words[place + 1 : place + 4])
            return self.game.parse_action(state, best), win - loss, draw
        except (ValueError, UserError) as error:
            raise EngineDied(f"unexpected answer: {error}") from None


def _columns(before: int, to_play: int, length: int, q: float, draw: float) -> SearchColumns:
    """A line after other moves, with the first player's value of its end for each of its plies."""
    plies = before + length
    best_q, best_d = np.full((2, plies), np.nan, np.float32)
    best_q[before:] = np.where((np.arange(length) + to_play) % 2 == 0, q, -q)
    best_d[before:] = draw
    kinds = np.where(np.arange(plies) < before, _NOT_LEARNT, _LEARNT).astype(np.uint8)
    return SearchColumns.values_only({"best_q": best_q, "best_d": best_d}, kinds)
