"""Parsers written in Python read what the project writes, and answer mutants in one line."""

import random
import resource
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest
from zerogames_chess.lc0.network import ConvBlock, Residual, parse_net
from zerogames_chess.lc0.transfer import from_lc0
from zerogames_chess.lc0.wire import Message

from zerogames.errors import UserError
from zerogames.evaluate.int8_ import open_int8

sys.path.insert(0, str(Path(__file__).parent))

from python_targets import TARGETS, small_lc0
from run_python import check, mutant

MUTANTS = 300
SECONDS = 0.5
"""The most that a parser's mutants take; `make fuzz` takes as long as you like."""


@pytest.mark.parametrize("name", TARGETS)
def test_parser_accepts_what_is_written_and_answers_mutants(name: str) -> None:
    target = TARGETS[name]
    corpus = target.corpus(name)
    assert any([check(target, data) for data in corpus])
    source, end = random.Random(1), time.monotonic() + SECONDS
    for _ in range(MUTANTS):
        check(target, mutant(corpus, source))
        if time.monotonic() > end:
            break


def test_int8_net_that_is_damaged_is_refused_in_one_line(tmp_path: Path) -> None:
    whole = TARGETS["int8_onnx"].make_corpus()[0]
    model = onnx.load_from_string(whole)
    del model.graph.initializer[0]
    headless = model.SerializeToString()
    elsewhere = onnx.load_from_string(whole)
    tensor = elsewhere.graph.initializer[0]
    tensor.ClearField("raw_data")
    tensor.data_location = onnx.TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value="../secret")
    path = tmp_path / "net.onnx"
    for data in (b"", b"text", whole[:-7], headless, elsewhere.SerializeToString()):
        path.write_bytes(data)
        for native in (True, False):
            with pytest.raises(UserError, match=r"net\.onnx is damaged") as raised:
                open_int8(path, version="v", encoding="e", native=native)
            assert "\n" not in str(raised.value)


def test_small_lc0_file_that_asks_for_gigabytes_takes_no_memory() -> None:
    # Before its weights were compared with its sizes, 16 KB made a net of 1.2 GB.
    few, many = np.ones(1, np.float32), np.ones(4096, np.float32)
    none = np.empty(0, np.float32)
    conv = ConvBlock(weights=few, biases=many, means=none, variances=none, gammas=none, betas=none)
    block = Residual(conv1=conv, conv2=conv, excitation=None)
    small = parse_net(Message(small_lc0()))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(UserError, match="the input block has 1 numbers where 4128768 are known"):
        from_lc0(replace(small, stem=conv, blocks=[block]))
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200_000  # KB


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("trainer_state", b"[" * 100_000),
        ("score", b"[" * 100_000),
        ("score", b'{"score": ' + b"9" * 400 + b"}"),
        ("nnue_checkpoint", TARGETS["nnue_checkpoint"].make_corpus()[0].replace(b"r.0.", b"r.x.")),
        ("nnue_checkpoint", TARGETS["nnue_checkpoint"].make_corpus()[0].replace(b"_avg", b"_lvg")),
    ],
)
def test_text_of_any_depth_and_any_number_is_answered(name: str, data: bytes) -> None:
    assert check(TARGETS[name], data) == (name == "score")  # a checkpoint without a score
