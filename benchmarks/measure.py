"""How benchmarks measure and report: one JSON line each, ratios to a peer from the same run."""

import json
import os
import platform
import statistics
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from zerogames.openmp import limit_openmp_spinning

limit_openmp_spinning()  # as the commands do


def machine() -> str:
    """CPU model and number of cores."""
    model = platform.processor() or platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text().splitlines():
            if line.startswith("model name"):
                model = line.partition(":")[2].strip()
                break
    return f"{model}, {os.cpu_count()} cores"


def commit() -> str:
    """Short hash of the checkout, with + if it has changes."""
    git = ["git", "-C", str(Path(__file__).parent)]
    try:
        head = subprocess.run(
            [*git, "rev-parse", "--short", "HEAD"], check=True, capture_output=True, text=True
        ).stdout.strip()
        dirty = subprocess.run(
            [*git, "status", "--porcelain", "-uno"], check=True, capture_output=True, text=True
        ).stdout
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return head + ("+" if dirty else "")


def rate(work: Callable[[], float], *, runs: int = 5) -> list[float]:
    """Units per second of `work`, which returns how many units it did; sorted, slowest first."""
    rates = []
    for _ in range(runs):
        start = time.perf_counter()
        units = work()
        rates.append(units / (time.perf_counter() - start))
    return sorted(rates)


def report(
    name: str,
    rates: list[float],
    *,
    unit: str,
    seed: int = 0,
    peer: tuple[str, list[float]] | None = None,
    target: float | None = None,
) -> None:
    """Print the median of `rates` and, if there is a peer (name and rates), the medians' ratio."""
    value = statistics.median(rates)
    line: dict[str, object] = {
        "name": name,
        "value": float(f"{value:.4g}"),
        "unit": unit,
        "spread": [float(f"{min(rates):.4g}"), float(f"{max(rates):.4g}")],
        "runs": len(rates),
    }
    if peer is not None:
        peer_value = statistics.median(peer[1])
        line |= {
            "peer": peer[0],
            "peer_value": float(f"{peer_value:.4g}"),
            "ratio": round(value / peer_value, 3),
        }
    if target is not None:
        line["target"] = target
    line |= {"seed": seed, "machine": machine(), "commit": commit()}
    print(json.dumps(line), flush=True)
