"""Self-play needs no more memory the longer it runs."""

import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

CACHE_MIB, LANES = 8, 2
SOAK_S, WARM_S = 150.0, 45.0
"""After `WARM_S` the caches are full and shards were written, which imports pyarrow."""
MOST_GROWTH_MIB = 16
"""Between the two halves of the rest: game lengths vary, and malloc's free lists with them."""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="memory is read from /proc")
def test_memory_of_selfplay_is_flat_once_the_caches_are_full(tmp_path: Path) -> None:
    # No net: as many positions a second as a net of that speed plays in ten.
    words = ["selfplay", "--game", "chess", "--evaluator", "random", "--minutes", "30"]
    words += ["--lanes", str(LANES), "--search.cache-mebibytes", str(CACHE_MIB)]
    words += ["--shard-positions", "512", "--out", str(tmp_path / "run")]
    with subprocess.Popen(
        [sys.executable, "-m", "zerogames", *words], stdout=subprocess.DEVNULL
    ) as process:
        samples: list[tuple[float, float]] = []
        start = time.monotonic()
        try:
            while (elapsed_s := time.monotonic() - start) < SOAK_S:
                assert process.poll() is None
                samples.append((elapsed_s, _anonymous_mib(process.pid)))
                time.sleep(1.0)
        finally:
            process.terminate()
        assert process.wait() == 0
    assert len(list((tmp_path / "run" / "shards").iterdir())) > 5
    middle = (WARM_S + SOAK_S) / 2
    first = max(size for at, size in samples if WARM_S < at < middle)
    second = max(size for at, size in samples if at > middle)
    assert second - first < MOST_GROWTH_MIB, samples


def _anonymous_mib(pid: int) -> float:
    found = re.search(r"RssAnon:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
    assert found
    return int(found[1]) / 1024
