"""Right calls of native functions, from which wrong ones are made by changing a part.

Every bound class and function is found by `probe.py` itself and called with values of the types
that its signature names. What is listed here is called more deeply: a function that wants arrays
which fit together is worth a line in `calls`, an object that is hard to make one in `objects`.
"""

import gzip
import hashlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
import zerogames_chess._data as chess_data
import zerogames_chess.nnue._native as nnue
import zerogames_go._data as go_data
from python_targets import a_file, data_files, games, play, small_network
from zerogames_chess.data.chunks import ChunkColumns
from zerogames_chess.nnue.inference import load_native
from zerogames_chess.nnue.network import read_network
from zerogames_go._native import SgfReader
from zerogames_kernels import _depthwise, _float_trunk, _int8

from zerogames.data._samples import unpack_samples
from zerogames.data.record_samples import RecordColumns
from zerogames.data.sample import SampleBatch, Symmetries
from zerogames.game import Game
from zerogames.registry import get_game
from zerogames.search import PoolGames, new_pool, new_rollouts, new_search
from zerogames.search.settings import PoolSettings, search_preset

Call = tuple[Callable[..., object], tuple[Any, ...], dict[str, Any]]
FENS = (
    "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1",
    "8/8/4k3/8/8/3K4/8/R7 w - - 0 1",
)
_random = np.random.default_rng(1)


def floats(*shape: int) -> np.ndarray[Any, np.dtype[np.float32]]:
    """Small numbers of any shape."""
    return _random.normal(size=shape).astype(np.float32)


def objects() -> Iterator[object]:
    """Bound objects of every kind, as the library makes them."""
    settings = search_preset("alphazero", simulations=16)
    for game in games():
        state = game.initial_state()
        yield state
        for action in play(game, 8).actions:
            state = state.play(int(action))
        yield state
        yield new_search(game, settings)
        yield new_rollouts(game, state, seed=1)
        pool = PoolSettings(parallel_games=4, max_plies=20)
        yield new_pool(game, settings, pool, PoolGames(seed=1))
    network = native_network()
    yield network
    yield nnue.Engine(network, 1)
    yield nnue.AccumulatorStack(network)
    yield float_trunk()
    yield int8_trunk()
    yield plan(False)
    yield SgfReader(b"(;SZ[9];B[aa];W[bb])(;SZ[5])")


def native_network() -> nnue.Network:
    """The smallest network of the engine."""
    data = small_network()
    sealed = data + hashlib.sha256(data).digest()
    return load_native(a_file(read_network, "net.nnue")(sealed))


def float_trunk() -> _float_trunk.Trunk:
    """A block and an output."""
    trunk = _float_trunk.Trunk(3, 4, floats(8, 2, 3, 3), floats(8), True)
    layers = (floats(8, 8, 3, 3), floats(8)), (floats(8, 8, 1, 1), floats(8))
    trunk.add_block(first=layers[0], last=layers[1], excitation=None, relu=True, norm=None)
    trunk.add_output([])
    return trunk


def int8_trunk() -> _int8.Trunk:
    """The same in int8."""
    trunk = _int8.Trunk(3, 4, floats(8, 2, 3, 3), floats(8), True)
    trunk.add_block(**int8_block())
    trunk.add_output([])
    return trunk


def int8_block() -> dict[str, Any]:
    """The arguments of `add_block` in int8."""

    def layer(*shape: int) -> tuple[Any, ...]:
        return np.ones(shape, np.int8), floats(shape[0]), floats(shape[0])

    layers = layer(8, 8, 1, 1), layer(8, 25), layer(8, 8, 1, 1)
    parts = floats(4, 8), floats(4), floats(16, 4), floats(16)
    norm = floats(8), floats(8)
    return {"input": (1.0, 3), "layers": layers, "excitation": parts, "relu": True, "norm": norm}


def plan(bfloat16: bool) -> _depthwise.Plan:
    """Two groups of three taps on a small board."""
    offsets = [0, 0, 1, 1, -2, 2, 0, 1, 1, 0, 2, 2]
    return _depthwise.Plan((2, 10, 3, 4), False, bfloat16, [6, 4], offsets)


def calls(found: list[object]) -> Iterator[Call]:
    """Right calls; `found` are objects of all kinds."""
    yield from _games()
    yield from _nnue(found)
    yield from _kernels()
    yield from _files()


def _games() -> Iterator[Call]:
    settings = search_preset("alphazero", simulations=16)
    for game in games():
        state, spec = game.initial_state(), game.spec
        shape, encoding = spec.observation_shape, next(iter(game.encodings))
        search = new_search(game, settings)
        pool = new_pool(game, settings, PoolSettings(parallel_games=4), PoolGames(seed=1))
        kinds = type(state)
        if not hasattr(kinds, "Search"):
            continue  # Its rules are in Python.
        yield kinds.Search, (state, settings), {"encoding": encoding}  # type: ignore[attr-defined]
        given = (state, settings, PoolSettings(parallel_games=2), PoolGames(seed=2))
        yield kinds.Pool, given, {"encoding": encoding}  # type: ignore[attr-defined]
        for source in (search, pool):
            for rows in (1, 4):
                answer = floats(rows, spec.action_size), np.full((rows, 3), 1 / 3, np.float32)
                yield source.apply, (*answer, floats(rows)), {}
                yield source.apply, answer, {}
        yield search.collect, (4, floats(4, *shape)), {}
        yield pool.collect, (floats(4, *shape),), {}
        yield search.start, (8,), {"explore": True, "allowed": state.legal_actions()[:3].tolist()}
        yield search.set_position, (state,), {}
        yield search.advance, (int(state.legal_actions()[0]),), {}
        yield search.run_constant, ((0.25, 0.5, 0.25),), {}
        yield state.observe, (encoding, floats(*shape)), {}
        yield state.play, (int(state.legal_actions()[-1]),), {}
        if hasattr(state, "replay_samples"):
            yield from _samples(game)


def _samples(game: Game) -> Iterator[Call]:
    spec, state = game.spec, game.initial_state()
    actions = play(game, 8).actions
    plies = len(actions)
    columns = {
        "actions": actions,
        "chosen": np.arange(plies, dtype=np.int32),
        "policy_offsets": np.arange(plies + 1, dtype=np.int64),
        "policy_actions": actions,
        "policy_targets": np.ones(plies, np.float32),
        "search_q": np.zeros(plies, np.float32),
        "search_d": np.zeros(plies, np.float32),
        "turns_left": np.arange(plies, dtype=np.int32),
        "result": 1.0,
        "is_whole": True,
    }
    record = RecordColumns(**columns)
    replay: Any = state.replay_samples  # type: ignore[attr-defined]
    encoding = next(iter(game.encodings))
    yield replay, (encoding, record), {}
    samples = replay(encoding, record)
    batch = SampleBatch.empty(plies, spec.observation_shape, spec.action_size)
    symmetries = Symmetries.of(game)
    chosen = np.ones(plies, np.uint8)
    yield unpack_samples, (samples, batch, symmetries, chosen), {}
    yield unpack_samples, (samples, batch, None, chosen), {}


def _nnue(found: list[object]) -> Iterator[Call]:
    network = next(item for item in found if isinstance(item, nnue.Network))
    engine, stack = nnue.Engine(network, 1), nnue.AccumulatorStack(network)
    records = np.frombuffer(b"".join(map(nnue.pack_fen, FENS)), np.uint8).reshape(-1, 40)
    features = nnue.FeatureSet("h+v", np.zeros((0, 2), np.uint16))
    lists = nnue.feature_lists(features, records)
    pairs = np.zeros((4, 2), np.uint16)
    yield nnue.FeatureSet, ("piece+toppp:2", pairs), {}
    for method in (stack.reset, stack.push, network.evaluate):
        yield method, (FENS[0],), {}
        yield method, (FENS[1],), {}
    yield engine.go, (), {"nodes": 50, "depth": 3, "lines": 2, "moves": ["e2e4", "d2d4"]}
    yield engine.go, (), {"move_time_ms": 5, "on_info": str}
    yield engine.set_position, (FENS[0], ["e2e4", "e7e5"]), {"chess960": False}
    yield network.evaluate_records, (records,), {}
    yield nnue.unpack_fens, (records,), {}
    yield nnue.successors, (records, 3), {}
    yield nnue.feature_lists, (features, records, 2), {}
    weights, bias, out = floats(features.size, 4), floats(4), floats(2, 8)
    yield nnue.sparse_forward, (weights, bias, lists, out), {"threads": 2}
    yield nnue.sparse_backward, (out, out.copy(), lists, weights, bias), {"threads": 2}
    yield nnue.exchange_reaches, (FENS[0], "e2e4", 3), {}
    numbers = np.int16, np.int16, np.int8, np.int32, np.int8
    w1, b1, w2, b2, w4 = (
        np.ones(size, kind)
        for size, kind in zip((features.size * 4, 4, 16, 2, 2), numbers, strict=True)
    )
    nothing = np.zeros(0, np.int8), np.zeros(0, np.int32)
    layers = ("h+v", pairs[:0]), (w1, b1), (w2, b2), nothing, (w4, 3)
    yield nnue.Network, (*layers, "scalar"), {}


def _kernels() -> Iterator[Call]:
    for kind in (_float_trunk.Trunk, _int8.Trunk):
        yield kind, (3, 4, floats(8, 2, 3, 3), floats(8), True), {}
    for trunk in (float_trunk(), int8_trunk()):
        dense = [(floats(3, 2), floats(3), True)]
        layers = [(floats(8, 8, 1, 1), floats(8), False)]
        yield trunk.add_output, (layers, np.array([0, 95]), dense), {}
        for method in (trunk.run, trunk.start):
            yield method, (floats(2, 2, 3, 4), [floats(2, 8, 3, 4)]), {"threads": 2}
    block = int8_block() | {
        "first": (floats(8, 8, 3, 3), floats(8)),
        "last": (floats(8, 8, 1, 1), floats(8)),
    }
    block.pop("input"), block.pop("layers")
    bias = floats(5, 9), 0.1
    normed = {"before": (floats(8), floats(8)), "first": block["first"], "bias": bias}
    normed["last"] = floats(8, 5, 1, 1), floats(8)
    yield float_trunk().add_normed_block, (), normed
    yield float_trunk().set_tip, ((floats(8), floats(8)),), {}
    yield float_trunk().add_block, (), block
    yield int8_trunk().add_block, (), int8_block()
    offsets = [0, 0, 1, 1, -2, 2, 0, 1, 1, 0, 2, 2]
    yield _depthwise.Plan, ((2, 10, 3, 4), True, False, [6, 4], offsets), {}
    for bfloat16 in (False, True):
        made, board = plan(bfloat16), torch.bfloat16 if bfloat16 else torch.float32
        x, y, grad = (torch.ones(2, 10, 3, 4, dtype=board) for _ in range(3))
        a, b, d, scale, shift, mean, variance = (torch.ones(10) for _ in range(7))
        weight, sums = torch.ones(10, 3), torch.ones(10, 2)
        inputs = {"input_scale": scale, "input_shift": shift}
        forward = {"x": x, "y": y, "weight": weight, "bias": a, **inputs}
        moments = {"mean": mean, "variance": variance}
        yield made.depthwise_forward, (), {**forward, **moments, "threads": 2}
        outputs = {"output_scale": scale, "output_shift": shift, "grad_x": y, "input_sums": sums}
        terms = {"a": a, "b": b, "d": d, "y": y, "y_mean": mean, "x_mean": mean}
        backward = {"grad": grad, "x": x, "weight": weight, "grad_weight": weight, "grad_bias": a}
        yield made.depthwise_backward, (), {**outputs, **terms, **inputs, **backward, "threads": 2}
        norm = {"grad": grad, "x": x, "scale": scale, "shift": shift, "mean": mean, "relu": True}
        yield made.gradient_sums, (), {**norm, "sums": sums}
        yield made.gradient_apply, (), {**norm, "a": a, "b": b, "d": d, "grad_x": y}
        yield made.moments, (), {"x": x, **moments}
        yield made.normalise, (), {"x": x, "scale": scale, "shift": shift, "relu": True, "y": y}


def _files() -> Iterator[Call]:
    chess, go = get_game("chess"), get_game("go")
    chunks = [data for data in data_files(chess) if data[:2] == b"\x1f\x8b"]
    plain = [gzip.decompress(data) for data in chunks if len(gzip.decompress(data)) > 8000]
    for data in plain[:1]:
        chunk = chess_data.Chunk(data)
        yield chess_data.Chunk, (data,), {}
        yield chunk.samples, (0, np.arange(3, dtype=np.int32)), {}
    record = play(chess, 8)
    plies = len(record.actions)
    columns = ChunkColumns(
        actions=record.actions,
        policy_offsets=np.arange(plies + 1, dtype=np.int64),
        policy_actions=record.actions,
        policy_targets=np.ones(plies, np.float32),
        values=[np.zeros(plies, np.float32)] * 12,
        surprise=np.zeros(plies, np.float32),
        visits=np.ones(plies, np.int32),
        proved=np.zeros(plies, np.uint8),
        result=0.0,
    )
    yield chess_data.write_chunk, (chess.initial_state(), columns), {}
    for data in data_files(go):
        if data[:2] == b"\x1f\x8b":
            text = gzip.decompress(data)
            yield go_data.LeelaChunk.from_text, (text, 19), {}
