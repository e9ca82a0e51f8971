"""A worker: lanes and what keeps their games; all of self-play in one process."""

import os
import queue
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from zerogames.data import GameRecord
from zerogames.evaluate import Evaluator, check_precision, open_evaluator
from zerogames.registry import get_game
from zerogames.runs.worker_health import WorkerHealth
from zerogames.search import PoolGames, new_pool
from zerogames_selfplay.players.counts import Counts
from zerogames_selfplay.players.game_chunk import GameChunk, GameSink
from zerogames_selfplay.players.game_store import GameStore
from zerogames_selfplay.players.lane import Lane, LaneGroup, split_games
from zerogames_selfplay.players.openings import read_openings
from zerogames_selfplay.players.players import PlayersJob
from zerogames_selfplay.players.settings import SelfplaySettings

_CHUNK_BYTES = 1 << 20
"""Finished games of this size do not wait for `sync_s`."""


class Worker:
    """Plays games and writes them: the `Players` of one process."""

    def __init__(
        self, job: PlayersJob, games: PoolGames | None = None, sink: GameSink | None = None
    ) -> None:
        """Start to play.

        Args:
            job: What to play.
            games: The games to play; by default all of the job's settings.
            sink: Takes the finished games; by default they go to the job's folder.
        """
        settings = job.settings
        game = get_game(settings.game)
        games = games or PoolGames(num_games=settings.games, seed=job.seed)
        games = replace(games, starts=read_openings(settings.openings, game))
        self._settings = settings
        self.restarts = 0
        """Lanes are not replaced: an error in one ends the run."""
        self._store = GameStore(job.folder, job.prefix, positions=settings.shard_positions)
        self._sink: GameSink = sink or self._store
        self._finished: list[GameRecord] = []
        """Games that the sink has not got."""
        self._finished_positions = 0
        self._finished_bytes = 0
        self._sync_at = 0.0
        """When the first of them must be on disk."""
        self._dropped = 0
        self._group = LaneGroup(game=game, search=settings.search, pool=settings.pool)
        num_lanes = settings.lanes or os.cpu_count() or 1
        self._lanes = [
            Lane(self._group, self._open_evaluator(job.net), split_games(games, lane, num_lanes))
            for lane in range(num_lanes)
        ]
        self._group.playing.set()
        for lane in self._lanes:
            lane.start()

    def _open_evaluator(self, net: Path | None) -> Evaluator:
        settings = self._settings
        return open_evaluator(
            self._group.game,
            kind=settings.evaluator,
            net=net,
            threads=1,
            precision=settings.precision,
        )

    @property
    def running(self) -> bool:
        """False once all lanes have ended."""
        return any(lane.running for lane in self._lanes)

    @property
    def shards(self) -> Sequence[Path]:
        """The shards that are on disk."""
        return self._store.shards

    def poll(self, timeout_s: float = 0.2) -> None:
        """Wait for finished games and write what is due; raise what went wrong in a lane.

        It returns early when the sink is full.
        """
        deadline = time.monotonic() + timeout_s
        while not self._sink.is_full and (left := deadline - time.monotonic()) > 0:
            try:
                self._take(self._group.finished.get(timeout=min(left, 0.05)))
            except queue.Empty:
                if not self.running:
                    break
            self._sync_if_due()
        for lane in self._lanes:
            if lane.error is not None:
                raise lane.error

    def pause(self) -> None:
        """Pause all lanes between two batches and write every finished game."""
        self._group.playing.clear()
        for lane in self._lanes:
            lane.wait_for_pause()
        self._write_finished()

    def resume(self) -> None:
        """Continue all games after `pause`."""
        self._group.playing.set()

    def use_net(self, net: Path) -> None:
        """Use another net from the next batch on, in games that have begun too."""
        for lane in self._lanes:
            lane.use(self._open_evaluator(net))

    def counts(self) -> Counts:
        """What this worker played so far; games count when they are on disk."""
        total = Counts(dropped=self._dropped)
        total.add(self._sink.counts)
        for lane in self._lanes:
            total.add(lane.counts())
        return total

    def health(self) -> Sequence[WorkerHealth]:
        """None: all is in this process."""
        return ()

    def close(self) -> None:
        """Stop the lanes and write every finished game; unfinished games are dropped."""
        self._group.stop.set()
        self._group.playing.set()
        for lane in self._lanes:
            lane.join()
        self._dropped = sum(lane.num_unfinished for lane in self._lanes)
        self._write_finished()

    def _take(self, record: GameRecord) -> None:
        if not self._finished:
            self._sync_at = time.monotonic() + self._settings.sync_s
        self._finished.append(record)
        self._finished_positions += len(record.actions)
        self._finished_bytes += record.num_bytes

    def _sync_if_due(self) -> None:
        """Put finished games on disk once they have waited, or are enough for a chunk or shard."""
        if self._finished and (
            time.monotonic() >= self._sync_at
            or self._finished_positions >= self._settings.shard_positions
            or self._finished_bytes >= _CHUNK_BYTES
        ):
            self._hand_over()
            self._sink.sync()

    def _hand_over(self) -> None:
        if self._finished:
            self._sink.put(GameChunk.of(self._finished))
            self._finished, self._finished_positions, self._finished_bytes = [], 0, 0

    def _write_finished(self) -> None:
        while True:
            try:
                record = self._group.finished.get_nowait()
            except queue.Empty:
                break
            self._take(record)
            self._sync_if_due()  # However many there are, no shard is much too large.
        self._hand_over()
        self._sink.flush()


def check_players(settings: SelfplaySettings) -> None:
    """Refuse settings with which no worker could start, before anything is written."""
    game = get_game(settings.game)
    check_precision(settings.precision, settings.evaluator)
    read_openings(settings.openings, game)
    new_pool(game, settings.search, settings.pool, PoolGames(num_games=0))
