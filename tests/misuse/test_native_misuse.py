"""Native functions called wrongly: one clear error each, never a crash of the interpreter."""

import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
import zerogames_chess._native as chess
import zerogames_shogi._native as shogi
from zerogames_chess.nnue import _native as nnue
from zerogames_classics._native import ConnectFour, ConnectFourSolver
from zerogames_go._native import Go, Rules

from zerogames.data._samples import unpack_samples
from zerogames.data.sample import SampleBatch
from zerogames.registry import get_game

sys.path += [str(Path(__file__).parent), str(Path(__file__).parents[1] / "fuzz")]

from native_calls import FENS, float_trunk, floats, native_network, plan

ENCODING = next(iter(get_game("connect4").encodings))
NO_LISTS = (np.zeros(0, np.int32), np.zeros(1, np.int64)) * 2
MANY = np.full((2, 2), 65535, np.uint16)


def engine() -> nnue.Engine:
    return nnue.Engine(native_network(), 1)


def call_from_its_report() -> object:
    made = engine()
    return made.go(nodes=500, depth=3, on_info=lambda info: made.set_position(FENS[0], []))


def unpack_with_a_map_beyond_the_board() -> None:
    game = SimpleNamespace(cells=np.full((2, 42), 42, np.int32), actions=np.zeros((2, 7), np.int32))
    batch = SampleBatch.empty(1, (2, 6, 7), 7)
    unpack_samples([], batch, game, np.ones(1, np.uint8))  # type: ignore[arg-type]


def replay(**changes: object) -> object:
    columns = {
        "actions": np.array([3, 3], np.int32),
        "chosen": np.array([0, 1], np.int32),
        "policy_offsets": np.array([0, 1, 2], np.int64),
        "policy_actions": np.array([3, 3], np.int32),
        "policy_targets": np.ones(2, np.float32),
        "search_q": np.zeros(2, np.float32),
        "search_d": np.zeros(2, np.float32),
        "turns_left": np.zeros(0, np.int32),
        "result": 1.0,
        "is_whole": True,
    }
    return ConnectFour().replay_samples(ENCODING, SimpleNamespace(**(columns | changes)))


WRONG: dict[str, Callable[[], object]] = {
    "a pair of pieces that there are not": lambda: nnue.FeatureSet("toppp:2", MANY),
    "a thousand blocks": lambda: nnue.FeatureSet("+".join(["h"] * 1000), MANY),
    "no network": lambda: nnue.Engine(None, 1),  # type: ignore[arg-type]
    "an engine called by its own report": call_from_its_report,
    "evaluations without end": lambda: nnue.time_evaluations(native_network(), 2**31 - 1, 1),
    "a layer of no columns": lambda: nnue.sparse_forward(
        floats(8, 0),
        floats(0),
        (*[np.zeros(0, np.int32), np.zeros(1, np.int64)] * 2,),
        floats(0, 0),
    ),
    "a map beyond the board": unpack_with_a_map_beyond_the_board,
    "no batch": lambda: unpack_samples([], 3, None, np.ones(1, np.uint8)),  # type: ignore[arg-type]
    "no columns": lambda: chess.State().replay_samples("lc0-classic", 3),  # type: ignore[arg-type]
    "offsets beyond the policy": lambda: replay(policy_offsets=np.array([0, 1, 99], np.int64)),
    "offsets that descend": lambda: replay(policy_offsets=np.array([2, 1, 0], np.int64)),
    "too few offsets": lambda: replay(policy_offsets=np.array([0], np.int64)),
    "too few values": lambda: replay(search_q=np.zeros(1, np.float32)),
    "values of one kind": lambda: replay(search_d=np.zeros(0, np.float32)),
    "a ply that is not played": lambda: replay(chosen=np.array([0, 2], np.int32)),
    "plies that descend": lambda: replay(chosen=np.array([1, 0], np.int32)),
    "a result of 2": lambda: replay(result=2.0),
    "a score beyond the board": lambda: ConnectFourSolver.plies_left(ConnectFour(), -(2**31)),
    "a table of no size": lambda: ConnectFourSolver(0),
    "komi that is no number": lambda: Rules(komi=float("nan")),
    "ladders of any depth": lambda: Go(9).ladders(depth=2**31 - 1),
    "an odd number of taps": lambda: type(plan(False))((1, 1, 3, 3), False, False, [1], [0]),
    "a board of any size": lambda: type(plan(False))((1, 1, 2**33 + 3, 3), False, False, [1], []),
    "a tensor's address": lambda: moments(torch.ones(2, 10, 3, 4).data_ptr()),
    "a tensor of another size": lambda: moments(torch.ones(2, 10, 3, 5)),
    "a tensor of another type": lambda: moments(torch.ones(2, 10, 3, 4, dtype=torch.float64)),
    "a tensor with the channels last": lambda: moments(
        torch.ones(2, 10, 3, 4).contiguous(memory_format=torch.channels_last)
    ),
    "a tensor of no device": lambda: moments(torch.ones(2, 10, 3, 4, device="meta")),
    "an array": lambda: moments(floats(2, 10, 3, 4)),
    "a layer without its bias": lambda: float_trunk().add_output([(floats(8, 8, 1, 1),)]),  # type: ignore[list-item]
    "a place that there is not": lambda: float_trunk().add_output([], np.array([96])),
}


def moments(x: object) -> None:
    plan(False).moments(x=x, mean=torch.ones(10), variance=torch.ones(10))  # type: ignore[arg-type]


@pytest.mark.parametrize("name", WRONG)
def test_wrong_call_is_one_clear_error(name: str) -> None:
    with pytest.raises((ValueError, TypeError, AttributeError)):
        WRONG[name]()


def test_right_calls_of_the_same_functions_succeed() -> None:
    assert len(replay()) == 2  # type: ignore[arg-type]
    moments(torch.ones(2, 10, 3, 4))
    assert ConnectFourSolver.plies_left(ConnectFour(), 1) == 41


@pytest.mark.parametrize("state", [chess.State(), shogi.State()])
@pytest.mark.parametrize("depth", [0, -1, -(2**31)])
def test_counts_of_no_depth_end(state: chess.State | shogi.State, depth: int) -> None:
    assert state.perft(depth) == 1
    assert all(nodes == 1 for _, nodes in state.divide(depth))


def test_accumulators_have_a_position_from_the_beginning() -> None:
    network = native_network()
    stack = nnue.AccumulatorStack(network)
    assert stack.evaluate() == network.evaluate(FENS[0])
    stack.pop()
    assert stack.evaluate() == network.evaluate(FENS[0])


def in_threads(*calls: Callable[[], object]) -> list[BaseException]:
    errors: list[BaseException] = []

    def run(call: Callable[[], object]) -> None:
        try:
            call()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(call,)) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return errors


def test_a_solver_serves_one_thread_at_a_time() -> None:
    solver = ConnectFourSolver(1)
    state = ConnectFour()
    for action in (3, 3, 3, 3, 2, 2, 4, 1):
        state = state.play(action)
    errors = in_threads(*[lambda: solver.score(state)] * 4)
    assert all("another thread is using this object" in str(error) for error in errors)
    assert solver.score(state) == ConnectFourSolver(1).score(state)


def test_threads_on_one_trunk_wait_for_each_other() -> None:
    trunk, planes = float_trunk(), floats(64, 2, 3, 4)
    expected = np.empty((64, 8, 3, 4), np.float32)
    trunk.run(planes, [expected])

    def run() -> None:
        for _ in range(30):
            out = np.empty_like(expected)
            trunk.run(planes, [out], threads=3)
            assert np.array_equal(out, expected)

    def build() -> None:
        for _ in range(30):
            trunk.output_shapes  # noqa: B018

    assert in_threads(run, run, run, build) == []


def test_an_output_may_be_added_while_a_batch_is_under_way() -> None:
    trunk, planes = float_trunk(), floats(64, 2, 3, 4)
    out = np.empty((64, 8, 3, 4), np.float32)
    pending = trunk.start(planes, [out], threads=2)
    for _ in range(20):
        trunk.add_output([])
    pending.finish()
    assert np.isfinite(out).all()


def test_an_engine_may_be_looked_at_while_another_thread_changes_it() -> None:
    made = engine()

    def change() -> None:
        for number in range(300):
            made.set_position(FENS[number % 2], [])

    def look() -> None:
        for _ in range(300):
            assert made.fen in FENS
            made.evaluate()

    assert in_threads(change, look, look) == []


def probe(*words: str) -> None:
    """In a child, so that a crash is seen."""
    command = [sys.executable, str(Path(__file__).with_name("probe.py")), *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=1200)
    assert done.returncode == 0, done.stdout + done.stderr[-3000:]


def test_every_native_function_survives_wrong_arguments(tmp_path: Path) -> None:
    probe("--calls", "1500", "--seconds", "8", "--last", str(tmp_path / "last"))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 6))
def test_every_native_function_survives_many_wrong_arguments(seed: int, tmp_path: Path) -> None:
    words = ["--calls", "50000", "--seconds", "300", "--seed", str(seed)]
    probe(*words, "--last", str(tmp_path / "last"))
