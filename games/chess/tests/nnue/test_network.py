import dataclasses
import hashlib
import random
import struct
from pathlib import Path

import chess
import hypothesis
import numpy as np
import pytest
from hypothesis import strategies as st
from nnue_positions import VARIED, random_boards
from nnue_weights import random_network
from zerogames_chess.nnue import _native, reference
from zerogames_chess.nnue.feature_set import FeatureSet
from zerogames_chess.nnue.inference import load_native, record_bytes
from zerogames_chess.nnue.network import Network, read_network, serialize, write_network
from zerogames_chess.nnue.quantize import HIDDEN_LIMIT, OUTPUT_LIMIT, quantize
from zerogames_chess.nnue.records import RECORD, pack_board

from zerogames.errors import UserError

KERNELS = ["scalar", "avx2", "vnni"]


def load(network: Network, kernel: str) -> _native.Network:
    try:
        return load_native(network, kernel=kernel)
    except UserError as error:
        if "does not run here" not in str(error):
            raise
        pytest.skip(f"this CPU does not run the kernel {kernel}")


def records_of(boards: list[chess.Board]) -> np.ndarray:
    records = np.zeros(len(boards), RECORD)
    for record, board in zip(records, boards, strict=True):
        record["board"] = pack_board(board)
        record["black_to_move"] = board.turn == chess.BLACK
    return records


@pytest.fixture(scope="module")
def boards() -> list[chess.Board]:
    return list(random_boards(10_000, seed=1))


@pytest.fixture(scope="module")
def records(boards: list[chess.Board]) -> np.ndarray:
    return records_of(boards)


def reference_scores(network: Network, boards: list[chess.Board]) -> np.ndarray:
    """The NumPy integer network on many positions, with native indices (tested elsewhere)."""
    from zerogames_chess.nnue.feature_set import top_pairs

    features = _native.FeatureSet(network.features, top_pairs())

    def accumulators(own: bool) -> np.ndarray:
        return np.stack(
            [
                reference.accumulate(network, features.active(board.fen(), board.turn == own))
                for board in boards
            ]
        )

    return reference.forward(network, accumulators(True), accumulators(False))


@pytest.mark.parametrize("kernel", KERNELS)
def test_native_network_equals_the_reference_on_10_000_positions(
    kernel: str, boards: list[chess.Board], records: np.ndarray
) -> None:
    network = random_network("piece", 64, 32, 32, seed=3)
    scores = load(network, kernel).evaluate_records(record_bytes(records))
    expected = reference_scores(network, boards)
    assert len(np.unique(expected)) > 1000
    np.testing.assert_array_equal(scores, expected)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize(
    ("features", "sizes"),
    [
        ("piece", (256, 32, 32)),
        ("piece+h+v", (128, 32, 0)),
        ("relhv", (1, 1, 1)),
        ("kp", (33, 40, 7)),
        ("piece+move", (96, 16, 0)),
        ("piece+px+py+mb+mc+toppp:64", (160, 70, 33)),
    ],
)
def test_every_size_and_set_equals_the_reference(
    kernel: str, features: str, sizes: tuple[int, int, int], boards: list[chess.Board]
) -> None:
    network = random_network(features, *sizes, seed=4)
    native = load(network, kernel)
    some = boards[::200]
    np.testing.assert_array_equal(
        native.evaluate_records(record_bytes(records_of(some))), reference_scores(network, some)
    )


def test_reference_uses_the_python_features() -> None:
    network = random_network("piece+h+kp", 48, 16, 8, seed=5)
    native = load_native(network)
    for fen in VARIED:
        assert native.evaluate(fen) == reference.evaluate(network, chess.Board(fen))


def test_swapping_colours_and_side_to_move_keeps_the_score() -> None:
    native = load_native(random_network("piece+relh+mb", 64, 32, 32, seed=6))
    for fen in VARIED:
        board = chess.Board(fen)
        assert native.evaluate(board.fen()) == native.evaluate(board.mirror().fen())


@hypothesis.given(
    st.integers(0, 2**32),
    st.sampled_from(
        ["piece", "h+v+d1+d2", "kp", "piece+relh+relv", "piece+move", "px+mb+toppp:512"]
    ),
)
@hypothesis.settings(max_examples=40)
def test_accumulators_equal_a_fresh_refresh_after_any_walk(seed: int, features: str) -> None:
    generator = random.Random(seed)
    network = random_network(features, 64, 8, 0, seed=7)
    native = load_native(network)
    walk, fresh = _native.AccumulatorStack(native), _native.AccumulatorStack(native)
    board = chess.Board()
    walk.reset(board.fen())
    for _ in range(60):
        moves = list(board.legal_moves)
        if board.ply() and (not moves or generator.random() < 0.35):
            board.pop()
            walk.pop()
        else:
            board.push(generator.choice(moves))
            walk.push(board.fen())
        if generator.random() < 0.5:
            fresh.reset(board.fen())
            for white in (True, False):
                np.testing.assert_array_equal(walk.accumulator(white), fresh.accumulator(white))
            assert walk.evaluate() == fresh.evaluate()
    expected = [
        reference.accumulate(network, FeatureSet(features).active(board, pov))
        for pov in (True, False)
    ]
    for white, sums in zip((True, False), expected, strict=True):
        np.testing.assert_array_equal(walk.accumulator(white)[:64], sums)


def test_king_move_refreshes_own_perspective_only() -> None:
    evaluator = _native.AccumulatorStack(load_native(random_network("kp", 32, 8, 0, seed=8)))
    board = chess.Board("r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1")
    evaluator.reset(board.fen())
    evaluator.evaluate()
    before = evaluator.counters
    board.push_uci("e1e2")
    evaluator.push(board.fen())
    evaluator.evaluate()
    assert evaluator.counters["refreshes"] - before["refreshes"] == 1
    assert evaluator.counters["updates"] - before["updates"] == 1


def test_a_quiet_move_of_piece_adds_and_removes_one_row_per_perspective() -> None:
    evaluator = _native.AccumulatorStack(load_native(random_network("piece", 32, 8, 0, seed=8)))
    board = chess.Board()
    evaluator.reset(board.fen())
    evaluator.evaluate()
    board.push_uci("g1f3")
    evaluator.push(board.fen())
    evaluator.evaluate()
    counters = evaluator.counters
    assert (counters["updates"], counters["rows_added"], counters["rows_removed"]) == (2, 2, 2)


def test_a_file_comes_back_as_it_was_written(tmp_path: Path) -> None:
    for sizes in ((64, 32, 32), (7, 3, 0)):
        network = random_network("piece+h", *sizes, seed=9)
        write_network(tmp_path / "net", network)
        again = read_network(tmp_path / "net")
        assert serialize(again) == serialize(network)
        assert again.sizes == (864, *sizes)


def test_parameter_counts_are_those_of_the_specification() -> None:
    assert random_network("piece", 256, 32, 32, seed=1).num_parameters == 214_369
    assert random_network("kp", 256, 32, 32, seed=1).num_parameters == 10_503_521


def test_damaged_and_hostile_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "net"
    network = random_network("piece", 32, 8, 4, seed=10)
    write_network(path, network)
    good = path.read_bytes()

    def refused(data: bytes, message: str) -> None:
        path.write_bytes(data)
        with pytest.raises(UserError, match=message):
            read_network(path)

    def signed(payload: bytes) -> bytes:
        return payload + hashlib.sha256(payload).digest()

    refused(b"", "not a network file")
    refused(b"PK" + good[2:], "not a network file")
    refused(good[:10], "cut short")
    refused(good[:30], "cut short")
    refused(good[:-1], "copy it again")
    refused(good + b"x", "copy it again")
    refused(good[:1000] + bytes([good[1000] ^ 1]) + good[1001:], "checksum")
    refused(good[:4] + struct.pack("<I", 9) + good[8:], "version 9")
    refused(good[:8] + struct.pack("<I", 2**31) + good[12:], "damaged")
    refused(good.replace(b"piece", b"piecf"), "unknown feature block")
    huge = good[:17] + struct.pack("<4I", 768, 2**31, 2**31, 2**31) + good[33:]
    refused(huge, "sizes")
    refused(good[:17] + struct.pack("<I", 96) + good[21:], "768 features")
    refused(good[:33] + struct.pack("<I", 255) + good[37:], "scales")
    overflowing = dataclasses.replace(network, w1=np.full_like(network.w1, 2000))
    refused(signed(serialize(overflowing)), "beyond 16 bits")
    biased = dataclasses.replace(network, b2=np.full_like(network.b2, 2**31 - 1))
    refused(signed(serialize(biased)), "bias")


def float_weights(features: str, m: int, o: int, p: int, seed: int) -> dict[str, np.ndarray]:
    generator = np.random.default_rng(seed)

    def uniform(limit: float, *shape: int) -> np.ndarray:
        return generator.uniform(-limit, limit, shape).astype(np.float32)

    return {
        "w1": uniform(0.3, FeatureSet(features).size, m),
        "b1": uniform(0.5, m),
        "w2": uniform(HIDDEN_LIMIT, o, 2 * m),
        "b2": uniform(1, o),
        "w3": uniform(HIDDEN_LIMIT, p, o),
        "b3": uniform(1, p),
        "w4": uniform(OUTPUT_LIMIT, p or o),
        "b4": uniform(1, 1),
    }


def test_quantising_rounds_and_zeroes_dead_features() -> None:
    weights = float_weights("piece", 16, 8, 4, seed=11)
    network = quantize(FeatureSet("piece"), weights)
    assert not network.w1[sorted(FeatureSet("piece").dead)].any()
    np.testing.assert_array_equal(network.w2, np.rint(weights["w2"] * 64))
    np.testing.assert_array_equal(network.w4, np.rint(weights["w4"].astype(float) * 9600 / 127))
    assert network.b4 == round(float(weights["b4"][0]) * 9600)


def test_what_training_must_clip_is_just_what_fits() -> None:
    weights = float_weights("piece", 16, 8, 4, seed=12)
    weights["w2"][0, 0], weights["w4"][0] = HIDDEN_LIMIT, -OUTPUT_LIMIT
    network = quantize(FeatureSet("piece"), weights)
    assert (network.w2[0, 0], network.w4[0]) == (127, -127)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("w2", 2.0, "w2 reaches 128"),
        ("w3", -2.0, "w3 reaches 128"),
        ("w4", 1.7, "w4 reaches 129"),
        ("w1", 300.0, "w1 reaches"),
        ("b1", 257.0, "beyond 16 bits"),
        ("w2", float("nan"), "not numbers"),
    ],
)
def test_export_refuses_what_would_clip_or_overflow(name: str, value: float, message: str) -> None:
    weights = float_weights("piece", 16, 8, 4, seed=13)
    weights[name].flat[0] = value
    with pytest.raises(UserError, match=message):
        quantize(FeatureSet("piece"), weights)
