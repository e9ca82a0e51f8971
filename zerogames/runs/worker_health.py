"""The workers of a run: what each has done, and whether its results are like the others'."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from zerogames.atomic import write_text_atomically
from zerogames.errors import UserError

HEALTH_NAME = "workers.json"
UNLIKE_OTHERS = 5.0
"""A worker whose mean result is so many standard errors from that of the others is reported; by
chance one worker in two million is."""
_FEWEST_GAMES = 50


@dataclass(frozen=True, kw_only=True)
class WorkerHealth:
    """A worker, with all its predecessors that died."""

    name: str
    node: str
    """The host's name; empty as long as it has none."""
    games: int
    """Games that are on disk."""
    positions: int
    positions_per_s: float
    """Of the present process."""
    restarts: int
    net_age_s: float
    """Seconds since it got its net."""
    results: float
    """Sum of its games' results, first player's view."""
    squares: float
    """Sum of their squares."""


def deviation(worker: WorkerHealth, workers: Sequence[WorkerHealth]) -> float | None:
    """Standard errors between the mean result of a worker and of all others; None if unknown."""
    games = sum(one.games for one in workers)
    rest = games - worker.games
    if min(worker.games, rest) < _FEWEST_GAMES:
        return None
    results = sum(one.results for one in workers)
    variance = sum(one.squares for one in workers) / games - (results / games) ** 2
    if variance <= 0:
        return None
    difference = worker.results / worker.games - (results - worker.results) / rest
    return float(difference / (variance * (1 / worker.games + 1 / rest)) ** 0.5)


def health_line(workers: Sequence[WorkerHealth]) -> str:
    """All workers in a line, with the one that plays unlike the others."""
    living = [one for one in workers if one.node]
    nodes = {one.node for one in living}
    rate = sum(one.positions_per_s for one in living)
    text = f"{len(living)} on {len(nodes)} nodes, {rate:,.0f} positions/s"
    deviations = [(abs(deviation(one, workers) or 0.0), one) for one in living]
    far, worker = max(deviations, key=lambda pair: pair[0], default=(0.0, None))
    if worker is not None and far >= UNLIKE_OTHERS:
        text += f"; {worker.name} on {worker.node} has other results ({far:.1f} standard errors)"
    return text


def write_health(folder: Path, workers: Sequence[WorkerHealth]) -> None:
    """Write the state of the workers into a run's folder."""
    text = json.dumps([asdict(worker) for worker in workers], indent=1) + "\n"
    write_text_atomically(folder / HEALTH_NAME, text)


def read_health(folder: Path) -> list[WorkerHealth]:
    """The last known state of the workers of a run; empty if it has none."""
    path = folder / HEALTH_NAME
    try:
        return [WorkerHealth(**table) for table in json.loads(path.read_text(encoding="utf-8"))]
    except FileNotFoundError:
        return []
    except (OSError, TypeError, ValueError) as error:
        raise UserError(f"{path}: damaged ({error})") from None
