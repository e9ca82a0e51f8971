"""A lane: one thread with its own games and its own evaluator, so that no core waits."""

import queue
import threading
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

from zerogames.data import GameRecord
from zerogames.evaluate import Evaluator
from zerogames.game import Game, State
from zerogames.search import Pool, PoolGames, new_pool, take_finished
from zerogames_selfplay.players.counts import Counts
from zerogames_selfplay.players.settings import SelfplaySettings


@dataclass(frozen=True, kw_only=True)
class Share:
    """Which games of a run a lane plays: `first`, `first + step`, ..."""

    first: int
    step: int
    games: int | None
    """How many; None for no end."""
    seed: int


class Lane:
    """Plays its share until it is done or told to stop; finished games go into a queue."""

    def __init__(
        self,
        game: Game,
        evaluator: Evaluator,
        settings: SelfplaySettings,
        share: Share,
        *,
        starts: Sequence[State],
        finished: "queue.SimpleQueue[GameRecord]",
        stop: threading.Event,
        playing: threading.Event,
    ) -> None:
        self.error: BaseException | None = None
        self._game = game
        self._evaluator = evaluator
        self._starts = starts
        self._finished = finished
        self._stop = stop
        self._playing = playing
        self._stepping = threading.Lock()
        self._next_evaluator: deque[Evaluator] = deque(maxlen=1)
        self._share = share
        self._pool: Pool = new_pool(
            game,
            settings.search,
            settings.pool,
            PoolGames(
                seed=share.seed,
                starts=starts,
                num_games=share.games,
                first_game=share.first,
                game_step=share.step,
            ),
            encoding=evaluator.encoding,
            needs_observation=evaluator.capabilities.needs_observation,
        )
        self._thread = threading.Thread(target=self._run, name="selfplay-lane", daemon=True)

    def start(self) -> None:
        """Begin in a thread of its own."""
        self._thread.start()

    def join(self, timeout_s: float | None = None) -> None:
        """Wait for the end."""
        self._thread.join(timeout_s)

    @property
    def running(self) -> bool:
        """Whether the thread is alive."""
        return self._thread.is_alive()

    def rest(self) -> None:
        """Wait for the end of the present step; call it after `playing` was cleared."""
        with self._stepping:
            pass

    def use(self, evaluator: Evaluator) -> None:
        """Judge with another net from the next step on; games in progress go on with it."""
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
        if self._share.games is None:
            return self._pool.capacity
        return min(self._pool.capacity, self._share.games - self._pool.num_games)

    def _run(self) -> None:
        try:
            while not self._pool.done and not self._stop.is_set():
                self._playing.wait()
                with self._stepping:
                    # Looked at again: whoever cleared it waits for this lock.
                    if self._playing.is_set() and not self._stop.is_set():
                        self._step()
        except BaseException as error:
            self.error = error
            self._stop.set()

    def _step(self) -> None:
        if self._next_evaluator:
            self._evaluator = self._next_evaluator.pop()
            self._pool.net_version += 1
        planes = self._pool.collect()
        if len(planes):
            self._pool.apply(*self._evaluator.evaluate(planes))
        for game in take_finished(self._pool):
            self._finished.put(
                game.record(self._game, starts=self._starts, net=self._evaluator.version)
            )
