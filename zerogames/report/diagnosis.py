"""Whether a run learns, in sentences with the figures behind them."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from zerogames.data.record import GameRecord
from zerogames.report.run_data import Line, RunData, number

_FEWEST_REPORTS = 8
"""Reports before a trend is told."""
_FLAT = 0.005
"""Relative change of a loss that counts as none."""
_GAP = 0.15
"""Relative distance of the validation loss that shows memorising."""
_MOST_USES = 20.0
"""Times that a position may be learned before the games are too few."""
_PATIENCE = 5
"""Ratings without a new best after which a run is said to stand still."""
_QUIET_S = 300.0
"""Seconds without a written file after which a run is not under way."""
_COLLAPSED_NATS = 0.1
"""Mean entropy of policy targets below which self-play hardly varies."""


@dataclass(frozen=True)
class Finding:
    """One sentence about a run."""

    level: Literal["good", "watch", "bad"]
    text: str


def diagnose(run: RunData, *, idle_s: float, records: Sequence[GameRecord] = ()) -> list[Finding]:
    """Tell what a run does and whether it learns.

    Args:
        run: Its files.
        idle_s: Seconds since a file of the run was written.
        records: Some of its newest games.
    """
    found = [
        _activity(run, idle_s),
        _trend(run.metrics, "policy_loss", "policy loss"),
        _trend(run.metrics, "value_loss", "value loss"),
        _memorising(run.metrics),
        _uses(run.metrics),
        _rating(run.ratings),
        _entropy(records),
    ]
    return [one for one in found if one is not None]


def _activity(run: RunData, idle_s: float) -> Finding:
    ago = f"{idle_s:.0f} s" if idle_s < 120 else f"{idle_s / 60:.0f} min"
    if not run.metrics:
        games = len(run.shards)
        waits = "it collects its first games" if games else "it has written no games yet"
        return Finding("watch", f"No training was reported so far; {waits} (last file {ago} ago).")
    if idle_s > _QUIET_S:
        return Finding("watch", f"Nothing was written for {ago}: the run has ended or waits.")
    return Finding("good", f"The run is under way: its last file was written {ago} ago.")


def _trend(lines: Sequence[Line], key: str, name: str) -> Finding | None:
    lines = [line for line in lines if number(line, key) is not None]
    if len(lines) < _FEWEST_REPORTS:
        return None
    quarter = max(2, len(lines) // 4)
    before = float(np.mean([line[key] for line in lines[-2 * quarter : -quarter]]))
    after = float(np.mean([line[key] for line in lines[-quarter:]]))
    figures = f"from {before:.3f} to {after:.3f}, means of {quarter} reports"
    change = (after - before) / max(abs(before), 1e-9)
    if change < -_FLAT:
        return Finding("good", f"The {name} falls: {figures}.")
    if change <= _FLAT:
        return Finding("watch", f"The {name} is flat: {figures}. A larger net, a lower learning "
                       "rate or more search may help.")  # fmt: skip
    return Finding("bad", f"The {name} rises: {figures}. New games differ from those learned, or "
                   "the learning rate is too high.")  # fmt: skip


def _memorising(metrics: Sequence[Line]) -> Finding | None:
    last = next((one for one in reversed(metrics) if number(one, "validation_loss")), None)
    loss = number(last, "loss") if last is not None else None
    if last is None or loss is None:
        return None
    gap = last["validation_loss"] / loss - 1
    figures = f"{last['validation_loss']:.3f} on unseen games, {loss:.3f} in training"
    if gap > _GAP:
        return Finding("bad", f"The net memorises: its loss is {figures}. More games for each "
                       "training step (a smaller `reuse`) help.")  # fmt: skip
    return Finding("good", f"What it learns holds for unseen games: its loss is {figures}.")


def _uses(metrics: Sequence[Line]) -> Finding | None:
    last = metrics[-1] if metrics else {}
    samples, positions = number(last, "samples"), number(last, "positions")
    if not samples or not positions:
        return None
    uses = samples / positions
    text = f"Each position was learned {uses:.1f} times ({positions:,.0f} positions)"
    if uses > _MOST_USES:
        return Finding("bad", f"{text}: too few games for so much training.")
    return Finding("good", f"{text}.")


def _rating(ratings: Sequence[Line]) -> Finding | None:
    rated = [line for line in ratings if number(line, "elo") is not None]
    if not rated:
        return None
    best = max(range(len(rated)), key=lambda index: rated[index]["elo"])
    since = len(rated) - 1 - best
    low, high = number(rated[best], "low"), number(rated[best], "high")
    half = f" ± {(high - low) / 2:.0f}" if low is not None and high is not None else ""
    text = f"{rated[best]['elo']:.0f}{half} Elo at step {rated[best].get('step', '?')}"
    if since >= _PATIENCE:
        return Finding("bad", f"The rating has not risen for {since} ratings: the best was {text}.")
    if len(rated) == 1:
        return Finding("watch", f"There is one rating so far: {text}.")
    if best == 0:
        return Finding("watch", f"The first rating is still the best: {text}.")
    return Finding("good", f"The rating rises: the best of {len(rated)} is {text}.")


def policy_entropy(records: Sequence[GameRecord]) -> float | None:
    """Mean entropy in nats of the policy targets in some games; None without targets."""
    total, count = 0.0, 0
    for record in records:
        if record.search is None:
            continue
        for ply in range(record.search.plies):
            targets = record.search.policy(ply)[2]
            if len(targets):
                shares = targets[targets > 0].astype(np.float64)
                total -= float((shares * np.log(shares)).sum())
                count += 1
    return total / count if count else None


def _entropy(records: Sequence[GameRecord]) -> Finding | None:
    entropy = policy_entropy(records)
    if entropy is None:
        return None
    text = (
        f"The policy targets of the newest games have {entropy:.2f} nats of entropy, as if there "
    )
    text += f"were {math.exp(entropy):.1f} equal moves"
    if entropy < _COLLAPSED_NATS:
        return Finding("bad", f"{text}: self-play hardly varies. More noise or temperature helps.")
    return Finding("good", f"{text}.")
