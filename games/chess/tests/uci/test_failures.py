"""A search that fails, limits without measure, work that must stop: a good move comes all the same.

Nothing is simulated but the evaluator that fails: no real one does on demand.
"""

import io
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from zerogames_chess.nnue.uci import NnueEngine
from zerogames_chess.uci import Session
from zerogames_chess.uci.net_engine import UciNetEngine
from zerogames_chess.uci.settings import UciSettings
from zerogames_chess.uci_command import STAND_IN_NAME, open_shipped_nnue

from zerogames.evaluate import ConstantEvaluator, Evaluation
from zerogames.protocol import Engine, SessionLimits

MATE = "position fen 6k1/5ppp/8/8/8/8/5PPP/3R2K1 w - - 0 1"
HUGE = "99999999999999999999"


def random_net(batch: int = 4) -> UciNetEngine:
    settings = UciSettings(net=None, evaluator="random", batch=batch, hash=4, threads=1)
    return UciNetEngine(settings)


@pytest.fixture(params=["net", "nnue"])
def engine(request: pytest.FixtureRequest, small_nnue: Path) -> Engine:
    return random_net() if request.param == "net" else NnueEngine(small_nnue)


def talk(engine: Engine, *lines: str) -> list[str]:
    """What a session says until its searches have ended."""
    output = io.StringIO()
    limits = SessionLimits(stand_in=open_shipped_nnue, stand_in_name=STAND_IN_NAME)
    Session(engine, output, limits).run(io.BytesIO("".join(f"{line}\n" for line in lines).encode()))
    return output.getvalue().splitlines()


@pytest.mark.parametrize(
    "limit",
    [
        f"nodes {HUGE}",
        "nodes " + "9" * 5000,
        f"depth {HUGE} movetime 300",
        f"mate {HUGE} movetime 300",
        f"wtime 1000 btime 1000 winc -{HUGE} movestogo {HUGE}",
        f"movetime {HUGE} nodes 2000",
        f"wtime {HUGE} winc {HUGE} nodes 2000",
        "movetime nan nodes 2000",
        "nodes 2000 movetime \u0663",
    ],
)
def test_limits_without_measure_do_not_cost_the_mate(engine: Engine, limit: str) -> None:
    said = talk(engine, MATE, "isready", f"go {limit}")
    assert said[-1].startswith("bestmove d1d8")
    assert not any("internal error" in line for line in said)


@pytest.mark.parametrize(
    "limit", ["nodes -1", "nodes 0", "depth 0", "mate -3", "movetime nan", "nodes", "depth 1e9"]
)
def test_a_limit_below_one_or_unread_does_not_wait_for_stop(engine: Engine, limit: str) -> None:
    output = io.StringIO()
    session = Session(engine, output)
    for line in (MATE, "isready", f"go {limit}"):
        session.answer(line)
    assert session._worker is not None
    session._worker.join(20)
    ended = not session._worker.is_alive()
    session._finish()
    assert ended
    assert output.getvalue().splitlines()[-1].startswith("bestmove ")


@pytest.mark.parametrize("limit", ["nodes -1", "depth -1", "mate -1", "nodes 0"])
def test_an_infinite_search_takes_a_limit_below_one(engine: Engine, limit: str) -> None:
    said = talk(engine, MATE, "isready", f"go infinite {limit}", "stop")
    assert said[-1].startswith("bestmove ")
    assert not any("error" in line for line in said)


class Failing(ConstantEvaluator):
    """Fails for batches of more than `most` positions."""

    most = 0

    def evaluate(self, planes: NDArray[np.float32]) -> Evaluation:
        if len(planes) > self.most:
            raise MemoryError(f"a batch of {len(planes)}\nis too much")
        return super().evaluate(planes)


def failing_net(most: int) -> UciNetEngine:
    net = random_net(batch=64)
    net.get_ready()
    assert net._engine is not None
    evaluator = Failing(net._engine.game)
    evaluator.most = most
    net._engine.evaluator = evaluator
    return net


@pytest.mark.parametrize("go", ["go nodes 400", "go movetime 400", "go wtime 20000 btime 20000"])
def test_a_failed_search_is_followed_by_smaller_ones_and_a_stand_in(go: str) -> None:
    said = talk(failing_net(0), MATE, go)
    assert said[-1].startswith("bestmove d1d8")
    told = [line for line in said if line.startswith("info string")]
    assert len(told) == 3
    assert all("MemoryError: a batch of 1 is too much" in line for line in told)
    assert told[-1].endswith("playing by the shipped NNUE network")


def test_a_smaller_search_is_enough_where_it_succeeds() -> None:
    said = talk(failing_net(26), "go nodes 20000")
    (told,) = [line for line in said if line.startswith("info string")]
    assert "MemoryError" in told
    assert told.endswith("searching less")
    assert " nodes 100 " in said[-2]
    assert said[-1].startswith("bestmove")


def test_without_a_net_that_can_be_loaded_the_shipped_network_plays() -> None:
    """No cache folder can be made below a file; the net may still be read by other means."""
    environment = {**os.environ, "XDG_CACHE_HOME": "/dev/null/cache", "HOME": "/dev/null"}
    done = subprocess.run(
        [sys.executable, "-m", "zerogames", "uci", "--net", "shipped", "--threads", "1"],
        input=f"{MATE}\nisready\ngo nodes 400\n",
        capture_output=True,
        text=True,
        timeout=120,
        env=environment,
        check=True,
    )
    lines = done.stdout.splitlines()
    assert lines[-1].startswith("bestmove d1d8")
    assert "Traceback" not in done.stdout + done.stderr
    assert sum(line.startswith("info string") for line in lines) <= 2


def test_a_missing_net_is_named_in_one_line_with_what_plays_instead() -> None:
    net = UciNetEngine(UciSettings(net=Path("/nowhere/net.safetensors"), threads=1))
    said = talk(net, MATE, "go nodes 10")
    assert said[-1].startswith("bestmove d1d8")
    (told,) = [line for line in said if line.startswith("info string")]
    assert "/nowhere/net.safetensors" in told
    assert told.endswith("playing by the shipped NNUE network")


@pytest.mark.parametrize("end", [["stop"], ["quit"], ["go nodes 3"], ["ucinewgame"]])
def test_perft_ends_when_it_is_told(engine: Engine, end: Sequence[str]) -> None:
    began = time.monotonic()
    said = talk(engine, "go perft 7", *end)
    assert time.monotonic() - began < 10
    assert "info string perft was stopped" in said
    assert not any(line.startswith("Nodes searched") for line in said)


@pytest.mark.parametrize("end", [["stop"], ["quit"], ["go nodes 3"]])
def test_bench_ends_when_it_is_told(engine: Engine, end: Sequence[str]) -> None:
    began = time.monotonic()
    said = talk(engine, "isready", "bench 1000000", *end)
    assert time.monotonic() - began < 10
    assert "info string bench was stopped" in said
    assert not any(line.startswith("bench ") for line in said)


@pytest.mark.parametrize("depth", ["x", "", "-1", "0", "8", HUGE])
def test_perft_of_no_depth_searches_nothing(engine: Engine, depth: str) -> None:
    said = talk(engine, f"go perft {depth}")
    assert said[-1] == "info string error: go perft: the depth must be from 1 to 7"


def test_a_hash_beyond_the_memory_is_cut_to_what_is_free(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The largest size that is free would take long to clear: a container is simulated.
    monkeypatch.setattr("zerogames.protocol.session.available_mebibytes", lambda: 32)
    said = talk(engine, "setoption name Hash value 65536", MATE, "go nodes 2000")
    assert said[0] == "info string option Hash: 32 MiB, as no more memory is free"
    assert said[-1].startswith("bestmove d1d8")
    assert not any("error" in line for line in said)


@pytest.mark.parametrize("kind", [["--evaluator", "constant"], ["--nnue", "shipped"]])
def test_a_hash_beyond_the_memory_is_refused_at_the_start(kind: list[str]) -> None:
    command = [sys.executable, "-m", "zerogames", "uci", *kind, "--hash", "65536"]
    done = subprocess.run(command, input="", capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    assert "65536 MiB cannot be had" in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


@pytest.mark.parametrize("path", ["/dev/zero", "/dev", "/dev/null"])
def test_nets_that_are_no_files_are_refused(engine: Engine, path: str) -> None:
    option = "EvalFile" if isinstance(engine, NnueEngine) else "WeightsFile"
    said = talk(engine, f"setoption name {option} value {path}", MATE, "go nodes 2000")
    reasons = ("there is no net", f"{path} is a folder; name a network file")
    assert said[0].removeprefix("info string error: ").startswith(reasons)
    assert said[-1].startswith("bestmove d1d8")
