"""A lane: one thread with its own games and its own evaluator, so that no core waits."""

import queue
import threading
from collections import deque
from dataclasses import dataclass, field, replace

from zerogames.data import GameRecord
from zerogames.evaluate import Evaluator
from zerogames.game import Game
from zerogames.search import (
    Pool,
    PoolGames,
    PoolSettings,
    SearchSettings,
    new_pool,
    take_finished,
)
from zerogames_selfplay.players.counts import Counts

_MOST_WAITING = 256
"""Finished games that wait to be taken, at which the lanes wait too."""
_WAIT_S = 0.01


@dataclass(frozen=True, kw_only=True)
class LaneGroup:
    """What the lanes of a worker have in common."""

    game: Game
    search: SearchSettings
    pool: PoolSettings
    finished: "queue.SimpleQueue[GameRecord]" = field(default_factory=queue.SimpleQueue)
    """Takes the finished games of all lanes."""
    stop: threading.Event = field(default_factory=threading.Event)
    """Set to end all lanes."""
    playing: threading.Event = field(default_factory=threading.Event)
    """Cleared while the lanes pause."""


class Lane:
    """Plays its games until they are done or it is told to stop."""

    def __init__(self, group: LaneGroup, evaluator: Evaluator, games: PoolGames) -> None:
        self.error: BaseException | None = None
        self._group = group
        self._evaluator = evaluator
        self._stepping = threading.Lock()
        self._next_evaluator: deque[Evaluator] = deque(maxlen=1)
        self._games = games
        self._pool: Pool = new_pool(
            group.game,
            group.search,
            group.pool,
            games,
            encoding=evaluator.encoding,
            needs_observation=evaluator.capabilities.needs_observation,
        )
        self._thread = threading.Thread(target=self._run, name="selfplay-lane", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def join(self) -> None:
        """Wait for the end of the thread."""
        self._thread.join()

    @property
    def running(self) -> bool:
        """Whether the thread is alive."""
        return self._thread.is_alive()

    def wait_for_pause(self) -> None:
        """Wait for the end of the present step; call it after `playing` was cleared."""
        with self._stepping:
            pass

    def use(self, evaluator: Evaluator) -> None:
        """Evaluate with another net from the next step on, in games that have begun too."""
        self._next_evaluator.append(evaluator)

    def counts(self) -> Counts:
        """What only the pool knows; games are counted where they are collected."""
        pool = self._pool
        return Counts(
            evaluations=pool.num_evaluations,
            cache_hits=pool.cache_hits,
            simulations=pool.num_simulations,
            never_resign=pool.num_never_resign,
            would_resign=pool.num_would_resign,
            wrong_resigns=pool.num_wrong_resigns,
        )

    @property
    def num_unfinished(self) -> int:
        """Games in progress."""
        if self._pool.done:
            return 0
        if self._games.num_games is None:
            return self._pool.capacity
        return min(self._pool.capacity, self._games.num_games - self._pool.num_games)

    def _run(self) -> None:
        playing, stop = self._group.playing, self._group.stop
        try:
            while not self._pool.done and not stop.is_set():
                playing.wait()
                if self._group.finished.qsize() >= _MOST_WAITING:
                    stop.wait(_WAIT_S)
                    continue
                with self._stepping:
                    # Asked again: whoever cleared it waits for this lock.
                    if playing.is_set() and not stop.is_set():
                        self._step()
        except BaseException as error:
            self.error = error
            stop.set()

    def _step(self) -> None:
        if self._next_evaluator:
            self._evaluator = self._next_evaluator.pop()
            self._pool.net_version += 1
        planes = self._pool.collect()
        if len(planes):
            self._pool.apply(*self._evaluator.evaluate(planes))
        group, starts, net = self._group, self._games.starts, self._evaluator.version
        for game in take_finished(self._pool):
            group.finished.put(game.record(group.game, starts=starts, net=net))


def split_games(games: PoolGames, index: int, parts: int) -> PoolGames:
    """Every `parts`-th of the games, from the one at `index` on."""
    num_games = games.num_games
    return replace(
        games,
        num_games=None if num_games is None else (num_games - index + parts - 1) // parts,
        first_game=games.first_game + index * games.game_step,
        game_step=games.game_step * parts,
    )
