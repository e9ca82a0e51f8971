"""When a search stops: which limit is met, and whether the best move may still change."""

import time
from dataclasses import dataclass

import numpy as np

from zerogames.engine.limits import ThinkLimits
from zerogames.search import Search

_CHECK_S = 0.01
"""Seconds between two comparisons of the root moves."""
_BEFORE_PRUNING_S = 0.2
"""Seconds of a long search before its speed is known well enough (lc0); a third of a short one."""


@dataclass(frozen=True, kw_only=True)
class Leaders:
    """The two most visited root moves, as far as stopping needs them."""

    first_visits: int
    second_visits: int
    best_by_value: bool
    """The most visited move also has the best value among those with a tenth of its visits."""
    settled_share: float
    """Share of the time so far during which it has been the most visited one."""
    value_drop: float
    """How much worse the position looks than in the last search, or at the start of this one."""


def patience(leaders: Leaders) -> float:
    """Return the factor on the soft limit: above 1 in doubt or after a drop, else 1 or less."""
    factor = 1.0
    if not leaders.best_by_value:
        factor += 0.5
    if leaders.settled_share < 0.4:
        factor += 0.4
    factor += min(0.6, max(0.0, 4 * leaders.value_drop))
    if factor == 1.0 and leaders.settled_share > 0.9:
        factor = 0.85
    return factor


SMART_PRUNING = 1.33
"""Lc0's factor: visits still to come are divided by it before they are compared."""


def cannot_change(leaders: Leaders, *, left_s: float, nodes: int, elapsed_s: float) -> bool:
    """Whether the second move is too far behind to be first when the time is over (lc0).

    `nodes` were searched in `elapsed_s`; 300 are added because early rates are too low.
    """
    rate = (nodes + 300) / max(elapsed_s, 1e-3)
    return left_s * rate / SMART_PRUNING < leaders.first_visits - leaders.second_visits


class StopRule:
    """Watches the limits of one search from its start."""

    def __init__(self, search: Search, limits: ThinkLimits, value_before: float | None) -> None:
        """`value_before` is the position's value by the last search, if there was one."""
        self._search, self._limits = search, limits
        self._value_before = value_before
        self._nodes_before = search.simulations
        self._began = self._clock_from = self._best_since = time.monotonic()
        self._pondered_s = 0.0
        self.is_pondering = limits.ponder
        self._best_action = -1
        self._next_check = 0.0

    @property
    def waits_for_stop(self) -> bool:
        """Whether the search must not end by itself."""
        return self._limits.infinite or self.is_pondering

    @property
    def elapsed_s(self) -> float:
        """Seconds since the start, pondering included."""
        return time.monotonic() - self._began

    @property
    def new_nodes(self) -> int:
        """Visits of the root since the start."""
        return max(0, self._search.simulations - self._nodes_before)

    @property
    def left_s(self) -> float | None:
        """Seconds to the hard limit; None without one."""
        if self._limits.hard_s is None or self.is_pondering:
            return None
        return self._clock_from + self._limits.hard_s - time.monotonic()

    def ponder_hit(self) -> None:
        """Let the limits count from now."""
        self.is_pondering = False
        self._clock_from = time.monotonic()
        self._pondered_s = self._clock_from - self._began

    def is_met(self, batch_s: float) -> bool:
        """Whether time or depth is used up, if the next batch takes `batch_s`."""
        if self.waits_for_stop or not is_ready(self._search):
            return False
        limits, now = self._limits, time.monotonic()
        if limits.depth is not None and round(self._search.mean_depth) >= limits.depth:
            return True
        elapsed = now - self._clock_from
        if limits.hard_s is not None and elapsed + 1.5 * batch_s > limits.hard_s:
            return True
        if limits.soft_s is None or now < self._next_check:
            return False
        self._next_check = now + min(_CHECK_S, limits.soft_s / 8)
        return self._is_time_spent(limits.soft_s, elapsed, now)

    def _is_time_spent(self, soft_s: float, elapsed: float, now: float) -> bool:
        leaders, hard_s = self._leaders(now), self._limits.hard_s
        end = soft_s if soft_s == hard_s else soft_s * patience(leaders)
        if hard_s is not None:
            end = min(end, hard_s)
        # Time pondered was thinking time too; only the clock did not run.
        spent = elapsed + self._pondered_s
        if spent >= end:
            return True
        searched = now - self._began
        if not self._limits.may_stop_early or searched < min(_BEFORE_PRUNING_S, soft_s / 3):
            return False
        nodes = self._search.simulations - self._nodes_before
        return cannot_change(leaders, left_s=end - spent, nodes=nodes, elapsed_s=searched)

    def _leaders(self, now: float) -> Leaders:
        search = self._search
        actions, visits = search.actions, search.visits
        if self._limits.allowed is not None:
            visits = np.where(np.isin(actions, self._limits.allowed), visits, 0)
        first = int(np.argmax(visits))
        most = int(visits[first])
        second = int(np.partition(visits, -2)[-2]) if len(visits) > 1 else 0
        if actions[first] != self._best_action:
            self._best_action, self._best_since = int(actions[first]), now
        serious = np.where(visits * 10 >= max(1, most), search.values, -2.0)
        if self._value_before is None:
            self._value_before = float(search.net_value)
        return Leaders(
            first_visits=most,
            second_visits=second,
            best_by_value=bool(serious[first] >= np.max(serious) - 0.005),
            settled_share=(now - self._best_since) / max(now - self._began, 1e-6),
            value_drop=self._value_before - float(search.value),
        )


def is_ready(search: Search) -> bool:
    """Whether the root was evaluated, or there is nothing to evaluate."""
    return search.done or len(search.actions) > 0
