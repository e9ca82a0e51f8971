"""One position at a time, thought about with a net: the engine behind UCI, GTP and net players."""

import threading
import time
import zlib
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from zerogames.engine.clock import Leaders, cannot_change, patience
from zerogames.engine.thought import MoveThought, ThinkLimits, Thought
from zerogames.evaluate import Evaluation, Evaluator, OverlappingEvaluator
from zerogames.game import Game, State
from zerogames.search import DEFAULT_BATCH, Search, new_search
from zerogames.search.settings import SearchSettings

UNBOUNDED = 1_000_000_000
"""Nodes where none are given; the settings' `max_nodes` still holds."""
LINE_LENGTH = 32
_IDLE_S = 0.002
"""Between two looks at the signals while there is nothing to search."""
_CHECK_S = 0.01
"""Between two looks at the race at the root."""
_BEFORE_PRUNING_S = 0.2
"""Of a long search, before its speed is known well enough (lc0); a third of a short one."""


class Thinker:
    """Searches for one game with one evaluator, and keeps the tree while the game goes on.

    For one thread at a time; only the events of `think` may be set by others.
    """

    def __init__(
        self,
        game: Game,
        evaluator: Evaluator,
        *,
        settings: SearchSettings,
        batch: int = DEFAULT_BATCH,
        seed: int = 0,
    ) -> None:
        """`batch` is the most leaves under way at a time; young trees take fewer.

        They go in halves to an evaluator that can begin a batch before it is done with another.
        """
        self.game = game
        self.evaluator = evaluator
        self.settings = settings
        self.batch = batch
        self._start = game.initial_state()
        self._actions: list[int] = []
        self._search: Search | None = None
        self._seed = seed
        self._last_value: float | None = None
        """Of the last search, in the view of the player to move now."""

    @property
    def search(self) -> Search:
        """The search of the present position, for readers that want more than a `Thought`."""
        if self._search is None:
            state = self._start
            for action in self._actions:
                state = state.play(action)
            self._search = new_search(
                self.game,
                self.settings,
                state=state,
                encoding=self.evaluator.encoding,
                seed=self._seed,
                needs_observation=self.evaluator.capabilities.needs_observation,
            )
            self._search.net_version = zlib.crc32(self.evaluator.version.encode())
        return self._search

    @property
    def state(self) -> State:
        """The present position."""
        return self.search.state

    def new_game(self, *, seed: int = 0) -> None:
        """Forget the tree and the cached evaluations, so that a game depends on no other."""
        self._seed = seed
        self._last_value = None
        self._search = None

    def set_position(self, start: State, actions: Sequence[int] = ()) -> None:
        """Turn to the position after `actions`; its subtree is kept if it follows on the last one.

        Raises `UserError` for an illegal action; the old position stays then.
        """
        known = len(self._actions)
        same_start = (
            start.observation_key == self._start.observation_key
            and start.position_key == self._start.position_key
        )
        if same_start and self._search is not None and list(actions[:known]) == self._actions:
            before = state = self._search.state
            for action in actions[known:]:
                state = state.play(action)  # Checks all before the tree moves on.
            for action in actions[known:]:
                self._search.advance(action)
            if self._last_value is not None and state.to_play != before.to_play:
                self._last_value = -self._last_value
        else:
            state = start
            for action in actions:
                state = state.play(action)
            if self._search is not None:
                self._search.set_position(state)
            self._last_value = None
        self._start, self._actions = start, list(actions)

    def think(
        self,
        limits: ThinkLimits,
        *,
        stop: threading.Event | None = None,
        ponder_hit: threading.Event | None = None,
        on_info: Callable[[Thought], None] | None = None,
        info_interval_s: float = 0.5,
    ) -> Thought:
        """Search until a limit is met or `stop` is set, which takes at most one batch.

        Args:
            limits: What may be spent.
            stop: Ends the search.
            ponder_hit: Starts the limits of a search that ponders.
            on_info: Called in this thread with what is known so far, at most every
                `info_interval_s`.
            info_interval_s: See `on_info`.
        """
        try:
            running = _Running(self, limits, stop or threading.Event(), ponder_hit)
            thought = running.run(on_info, info_interval_s)
        except BaseException:
            self._search = None  # It may wait for a batch that never comes.
            raise
        self._last_value = thought.value
        return thought

    def _thought(
        self, limits: ThinkLimits, *, new_nodes: int, evaluations: int, elapsed_s: float
    ) -> Thought:
        search = self.search
        return Thought(
            best=search.choose(0.0) if len(search.actions) else None,
            moves=_moves(search, limits),
            value=float(search.value),
            draw=float(search.draw),
            net_value=float(search.net_value),
            nodes=search.simulations + 1,
            new_nodes=new_nodes,
            evaluations=evaluations,
            elapsed_s=elapsed_s,
            depth=max(1, round(search.mean_depth)),
            seldepth=max(1, search.max_depth),
            hashfull=min(1000, round(1000 * search.cache_fill)),
        )


@dataclass(frozen=True)
class _Asked:
    """A batch under way."""

    began: float
    rows: int
    answer: Callable[[], Evaluation]


class _Running:
    """The state of one call of `think`."""

    def __init__(
        self,
        thinker: Thinker,
        limits: ThinkLimits,
        stop: threading.Event,
        ponder_hit: threading.Event | None,
    ) -> None:
        self.thinker, self.limits, self.stop, self.ponder_hit = thinker, limits, stop, ponder_hit
        self.search = thinker.search
        self.began = time.monotonic()
        self.pondering = limits.ponder
        self.counting_from = self.began
        self.pondered_s = 0.0
        self.evaluations = 0
        evaluator = thinker.evaluator
        self.in_flight = 1
        self.evaluate: Callable[[NDArray[np.float32]], Callable[[], Evaluation]] = lambda planes: (
            partial(evaluator.evaluate, planes)
        )
        # With one thread nobody would work on the second batch.
        if evaluator.capabilities.threads > 1 and isinstance(evaluator, OverlappingEvaluator):
            self.in_flight, self.evaluate = 2, evaluator.start
        self.asked: deque[_Asked] = deque()
        self.buffers = [self._buffer() for _ in range(self.in_flight)]
        self.batch_s = 0.0
        self.row_s = 0.0
        self.next_check = 0.0
        self.factor = 1.0
        self.best_action = -1
        self.best_since = self.began
        self.start(limits)
        self.nodes_before = self.search.simulations
        self.first_value = thinker._last_value

    def start(self, limits: ThinkLimits) -> None:
        endless = limits.infinite or self.pondering
        nodes = UNBOUNDED if limits.nodes is None or self.pondering else max(1, limits.nodes)
        self.search.start(
            nodes - 1,
            explore=False,
            may_stop_early=not endless and limits.lines == 1,
            allowed=limits.allowed,
        )

    def run(self, on_info: Callable[[Thought], None] | None, info_interval_s: float) -> Thought:
        search = self.search
        next_info = self.began + info_interval_s
        while True:
            if self.pondering and self.ponder_hit is not None and self.ponder_hit.is_set():
                self._hit()
            endless = self.limits.infinite or self.pondering
            if self.stop.is_set() and self._ready():
                break
            if search.done:
                if not endless:
                    break
                time.sleep(_IDLE_S)
            elif self._is_over():
                break
            else:
                self._ask()
                self._take()
            if on_info is not None and time.monotonic() >= next_info and self._ready():
                on_info(self._thought())
                next_info = time.monotonic() + info_interval_s
        self._take_all()
        return self._thought()

    def _ready(self) -> bool:
        """The root was evaluated, or there is nothing to evaluate."""
        return self.search.done or len(self.search.actions) > 0

    def _hit(self) -> None:
        self._take_all()
        self.pondering = False
        self.counting_from = time.monotonic()
        self.pondered_s = self.counting_from - self.began
        self.start(self.limits)

    def _ask(self) -> None:
        """Have as many batches under way as there may be."""
        while len(self.asked) < self.in_flight:
            began = time.monotonic()
            planes = self.search.collect(self._batch_size(), self.buffers[0])
            if not len(planes):
                return
            self.buffers.append(self.buffers.pop(0))
            self.asked.append(_Asked(began, len(planes), self.evaluate(planes)))
            self.evaluations += len(planes)

    def _take(self) -> None:
        """Go on with the oldest answer."""
        if self.asked:
            asked = self.asked.popleft()
            self.search.apply(*asked.answer())
            self.batch_s = time.monotonic() - asked.began
            self.row_s = self.batch_s / asked.rows

    def _take_all(self) -> None:
        while self.asked:
            self._take()

    def _buffer(self) -> NDArray[np.float32] | None:
        """Room for a batch of planes; a single one is served by the search's own."""
        if self.in_flight == 1:
            return None
        thinker = self.thinker
        name = thinker.evaluator.encoding.partition(":")[0]
        rows = self._share(thinker.batch)
        return np.empty((rows, *thinker.game.encodings[name].shape), np.float32)

    def _share(self, rows: int) -> int:
        return -(-rows // self.in_flight)

    def _batch_size(self) -> int:
        """Small at first: leaves chosen together know less of each other. Short of time, too."""
        rows = self._share(min(self.thinker.batch, self.search.simulations // 4 + 1))
        if self.limits.hard_s is not None and not self.pondering and self.row_s > 0:
            left = self.counting_from + self.limits.hard_s - time.monotonic()
            rows = min(rows, int(left / (2 * self.row_s)))
        return max(1, rows)

    def _is_over(self) -> bool:
        """Time or depth is used up; asked before each batch."""
        if self.pondering or self.limits.infinite or not self._ready():
            return False
        limits, now = self.limits, time.monotonic()
        if limits.depth is not None and round(self.search.mean_depth) >= limits.depth:
            return True
        if limits.hard_s is None and limits.soft_s is None:
            return False
        elapsed = now - self.counting_from
        if limits.hard_s is not None and elapsed + 1.5 * self.batch_s > limits.hard_s:
            return True
        if limits.soft_s is None or now < self.next_check:
            return False
        self.next_check = now + min(_CHECK_S, limits.soft_s / 8)
        return self._enough_time(limits.soft_s, limits.hard_s, elapsed, now)

    def _enough_time(self, soft_s: float, hard_s: float | None, elapsed: float, now: float) -> bool:
        leaders = self._leaders(now)
        end = soft_s if soft_s == hard_s else soft_s * patience(leaders)
        if hard_s is not None:
            end = min(end, hard_s)
        # Time pondered was thinking time too; only the clock did not run.
        spent = elapsed + self.pondered_s
        if spent >= end:
            return True
        searched = now - self.began
        if self.limits.lines > 1 or searched < min(_BEFORE_PRUNING_S, soft_s / 3):
            return False
        return cannot_change(
            leaders,
            left_s=end - spent,
            nodes=self.search.simulations - self.nodes_before,
            elapsed_s=searched,
        )

    def _leaders(self, now: float) -> Leaders:
        search = self.search
        actions, visits = search.actions, search.visits
        if self.limits.allowed is not None:
            visits = np.where(np.isin(actions, self.limits.allowed), visits, 0)
        first = int(np.argmax(visits))
        most = int(visits[first])
        second = int(np.partition(visits, -2)[-2]) if len(visits) > 1 else 0
        if actions[first] != self.best_action:
            self.best_action, self.best_since = int(actions[first]), now
        serious = np.where(visits * 10 >= max(1, most), search.values, -2.0)
        if self.first_value is None:
            self.first_value = float(search.net_value)
        searched = max(now - self.began, 1e-6)
        return Leaders(
            first_visits=most,
            second_visits=second,
            best_by_value=bool(serious[first] >= np.max(serious) - 0.005),
            settled_share=(now - self.best_since) / searched,
            value_drop=self.first_value - float(search.value),
        )

    def _thought(self) -> Thought:
        return self.thinker._thought(
            self.limits,
            new_nodes=max(0, self.search.simulations - self.nodes_before),
            evaluations=self.evaluations,
            elapsed_s=time.monotonic() - self.began,
        )


def _moves(search: Search, limits: ThinkLimits) -> tuple[MoveThought, ...]:
    """All root moves that are allowed, best first."""
    actions = search.actions
    if len(actions) == 0:
        return ()
    best = search.choose(0.0)
    visits, values, draws = search.visits, search.values, search.draws
    priors, left = search.priors, search.moves_left_of_actions
    low, high = search.lower_bounds, search.upper_bounds
    rows = range(len(actions))
    if limits.allowed is not None:
        allowed = set(limits.allowed)
        rows = [row for row in rows if int(actions[row]) in allowed]  # type: ignore[assignment]

    def order(row: int) -> tuple[bool, float, int, float, float]:
        return (
            actions[row] != best,
            0 if high[row] > -1 else 1,
            -int(visits[row]),
            -float(values[row]) if visits[row] else 0.0,
            -float(priors[row]),
        )

    found = []
    for rank, row in enumerate(sorted(rows, key=order)):
        action, visited = int(actions[row]), visits[row] > 0
        wanted = rank < limits.lines
        line = search.principal_variation(LINE_LENGTH, action) if wanted else (action,)
        found.append(
            MoveThought(
                action=action,
                visits=int(visits[row]),
                value=float(values[row]) if visited else float(search.value),
                draw=float(draws[row]) if visited else float(search.draw),
                prior=float(priors[row]),
                moves_left=float(left[row]) if visited else float(search.moves_left),
                proven=int(low[row]) if visited and low[row] == high[row] else None,
                line=tuple(int(step) for step in line),
            )
        )
    return tuple(found)
