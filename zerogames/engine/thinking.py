"""The loop of one search: leaves to the evaluator and back until a limit is met."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from zerogames.engine.batches import LeafBatches
from zerogames.engine.limits import ThinkLimits
from zerogames.engine.stopping import StopRule, is_ready
from zerogames.engine.thought import Thought, read_thought
from zerogames.search import Search

UNBOUNDED = 1_000_000_000
"""Nodes where no limit is given; the settings' `max_nodes` still holds."""
_IDLE_S = 0.002
"""Seconds between two looks at the signals while there is nothing to search."""


@dataclass(frozen=True, kw_only=True)
class ThinkSignals:
    """How other threads reach a running search, and how it reports: see `NetEngine.think`."""

    stop: threading.Event
    ponder_hit: threading.Event
    on_info: Callable[[Thought], None] | None
    info_interval_s: float


def think(
    search: Search,
    batches: LeafBatches,
    limits: ThinkLimits,
    signals: ThinkSignals,
    value_before: float | None,
) -> Thought:
    """Search until a limit is met or `stop` is set, which takes at most one batch.

    `value_before` is the value of the position by the last search, if there was one.
    """
    _start(search, limits, is_pondering=limits.ponder)
    rule = StopRule(search, limits, value_before)
    next_info = time.monotonic() + signals.info_interval_s
    while True:
        if rule.is_pondering and signals.ponder_hit.is_set():
            batches.apply_all()
            rule.ponder_hit()
            _start(search, limits, is_pondering=False)
        if signals.stop.is_set() and is_ready(search):
            break
        if search.done:
            if not rule.waits_for_stop:
                break
            time.sleep(_IDLE_S)
        elif rule.is_met(batches.batch_s):
            break
        else:
            batches.collect(rule.left_s)
            batches.apply()
        if signals.on_info and time.monotonic() >= next_info and is_ready(search):
            signals.on_info(read_thought(search, limits, rule, evaluations=batches.evaluations))
            next_info = time.monotonic() + signals.info_interval_s
    batches.apply_all()
    return read_thought(search, limits, rule, evaluations=batches.evaluations)


def _start(search: Search, limits: ThinkLimits, *, is_pondering: bool) -> None:
    nodes = UNBOUNDED
    if limits.nodes is not None and not is_pondering:
        nodes = min(max(1, limits.nodes), UNBOUNDED)
    search.start(
        nodes - 1,
        explore=False,
        may_stop_early=limits.may_stop_early and not (limits.infinite or is_pondering),
        allowed=limits.allowed,
    )
