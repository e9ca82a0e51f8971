"""What is left to try after a search failed: less of it, down to the net's own policy."""

import dataclasses
import time
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from zerogames.engine.clock import MIN_BUDGET_S
from zerogames.engine.limits import ThinkLimits
from zerogames.errors import UserError

SMALL_NODES = 100
"""Nodes of the search after the one that failed."""

_Found = TypeVar("_Found")


def smaller_limits(limits: ThinkLimits) -> Iterator[ThinkLimits]:
    """Yield `limits`, then those of a small search in the time that is left, then one node."""
    began = time.monotonic()
    yield limits
    small = dataclasses.replace(
        limits,
        nodes=min(SMALL_NODES, limits.nodes or SMALL_NODES),
        clock=None,
        infinite=False,
        ponder=False,
        lines=1,
    )
    if limits.hard_s is not None:
        left_s = max(MIN_BUDGET_S, limits.hard_s - (time.monotonic() - began))
        small = dataclasses.replace(small, soft_s=left_s, hard_s=left_s)
    yield small
    yield dataclasses.replace(small, nodes=1)


def first_success(
    limits: Iterable[ThinkLimits],
    search: Callable[[ThinkLimits], _Found],
    report: Callable[[str], None],
) -> _Found:
    """Return what the first search finds that does not fail; `limits` are those to try.

    `report` is told each failure in one line. The last failure is raised; a `UserError` at once:
    a smaller search would meet it again.
    """
    failure = Exception()
    for smaller in limits:
        try:
            return search(smaller)
        except UserError:
            raise
        except Exception as error:
            report(f"the search failed: {one_line(error)}")
            failure = error
    raise failure


def one_line(error: BaseException) -> str:
    """Return the kind and the text of an error in one line."""
    return " ".join(f"{type(error).__name__}: {error}".split())[:300]
