"""A worker: some lanes and one writer; the whole of self-play in one process."""

import os
import queue
import threading
import time
from collections.abc import Sequence
from pathlib import Path

from zerogames.data import GameRecord
from zerogames.errors import UserError
from zerogames.evaluate import Evaluator, open_evaluator
from zerogames.game import State, parse_position
from zerogames.registry import get_game
from zerogames_selfplay.players.counts import Counts
from zerogames_selfplay.players.lane import Lane, Share
from zerogames_selfplay.players.settings import SelfplaySettings
from zerogames_selfplay.players.shard_writer import ShardWriter


class Worker:
    """Plays a share of a run's games and writes them; `poll` from time to time, then `close`."""

    def __init__(
        self,
        settings: SelfplaySettings,
        *,
        net: Path | None,
        folder: Path,
        prefix: str,
        share: Share,
    ) -> None:
        self._game = get_game(settings.game)
        self._settings = settings
        self.restarts = 0
        """Lanes are not replaced: an error in one ends the run."""
        self._stop = threading.Event()
        self._playing = threading.Event()
        self._playing.set()
        self._finished: queue.SimpleQueue[GameRecord] = queue.SimpleQueue()
        self._games = Counts()
        self._writer = ShardWriter(folder, prefix, positions=settings.shard_positions)
        starts = read_openings(settings)
        num_lanes = settings.lanes or os.cpu_count() or 1
        self._lanes = [
            Lane(
                self._game,
                self._open_evaluator(net),
                settings,
                lane_share(share, lane, num_lanes),
                starts=starts,
                finished=self._finished,
                stop=self._stop,
                playing=self._playing,
            )
            for lane in range(num_lanes)
        ]
        for lane in self._lanes:
            lane.start()

    def _open_evaluator(self, net: Path | None) -> Evaluator:
        return open_evaluator(
            self._game,
            kind=self._settings.evaluator,
            net=net,
            threads=1,
            precision=self._settings.precision,
        )

    @property
    def running(self) -> bool:
        """False once all lanes have ended."""
        return any(lane.running for lane in self._lanes)

    @property
    def shards(self) -> Sequence[Path]:
        """What is safely on disk."""
        return self._writer.paths

    def poll(self, timeout_s: float = 0.2) -> None:
        """Wait a little for finished games and write them; raise what went wrong in a lane."""
        deadline = time.monotonic() + timeout_s
        while (left := deadline - time.monotonic()) > 0:
            try:
                self._take(self._finished.get(timeout=min(left, 0.05)))
            except queue.Empty:
                if not self.running:
                    break
        for lane in self._lanes:
            if lane.error is not None:
                raise lane.error

    def pause(self) -> None:
        """Let the lanes rest between two batches and write every finished game.

        Games in progress stay where they are; `resume` goes on with them.
        """
        self._playing.clear()
        for lane in self._lanes:
            lane.rest()
        self._write_finished()

    def resume(self) -> None:
        """Play on after `pause`."""
        self._playing.set()

    def use_net(self, net: Path) -> None:
        """Play on with another net: games in progress too, from their next batch on."""
        for lane in self._lanes:
            lane.use(self._open_evaluator(net))

    def _take(self, record: GameRecord) -> None:
        self._games.add_games([record])
        self._writer.add(record)

    def counts(self) -> Counts:
        """Everything this worker did."""
        total = Counts()
        total.add(self._games)
        for lane in self._lanes:
            total.add(lane.counts())
        return total

    def close(self) -> None:
        """Stop the lanes and write every finished game; games in progress are given up."""
        self._stop.set()
        self._playing.set()
        for lane in self._lanes:
            lane.join()
        self._games.dropped = sum(lane.num_unfinished for lane in self._lanes)
        self._write_finished()

    def _write_finished(self) -> None:
        while True:
            try:
                record = self._finished.get_nowait()
            except queue.Empty:
                break
            self._take(record)
        self._writer.flush()


def lane_share(share: Share, lane: int, num_lanes: int) -> Share:
    """Every `num_lanes`-th game of a worker's share."""
    games = None
    if share.games is not None:
        games = (share.games - lane + num_lanes - 1) // num_lanes
    return Share(
        first=share.first + lane * share.step,
        step=share.step * num_lanes,
        games=games,
        seed=share.seed,
    )


def read_openings(settings: SelfplaySettings) -> list[State]:
    """The start positions of the openings file; the line of a bad one is named."""
    if settings.openings is None:
        return []
    game = get_game(settings.game)
    try:
        lines = settings.openings.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{settings.openings}: {error}") from None
    starts = []
    for number, line in enumerate(lines, start=1):
        if not line.strip() or line.startswith("#"):
            continue
        try:
            state = parse_position(game, line)
        except UserError as error:
            raise UserError(f"{settings.openings}:{number}: {error}") from None
        if state.result is not None:
            raise UserError(f"{settings.openings}:{number}: the game is over in this position")
        starts.append(state)
    if not starts:
        raise UserError(f"{settings.openings}: no positions")
    return starts
