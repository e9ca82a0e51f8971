"""Making nets in int8 for CPUs."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import onnx
from onnx import helper

from zerogames.atomic import write_bytes_atomically
from zerogames.export.agreement import Agreement, evaluate_all, measure_agreement
from zerogames.export.cache import INT8_VERSION
from zerogames.export.calibration import play_positions, read_positions
from zerogames.export.onnx_graph import OnnxWriter
from zerogames.export.onnx_session import OnnxNet
from zerogames.export.qdq import Kept, Quantizer
from zerogames.nets.program import Convolution, Program, Weighted

if TYPE_CHECKING:
    from zerogames.game import Game

CALIBRATION_POSITIONS = 512
HELD_OUT_POSITIONS = 256
GOOD_AGREEMENT = 0.98
"""The share of same best moves below which sensitive layers go back to float32."""
SENSITIVE: "tuple[tuple[str, Kept], ...]" = (
    ("", lambda *_: False),
    ("the policy's last layer", lambda layer, program: gives_logits(layer, program)),
    ("policy", lambda layer, _: layer.part == "policy"),
    ("policy, stem", lambda layer, _: layer.part in ("policy", "stem")),
)
"""The layers that stay in float32, tried in this order."""


@dataclass(frozen=True)
class Int8Net:
    """An int8 net and what is known of it."""

    model: onnx.ModelProto
    kept: str
    """The layers in float32; empty for none."""
    agreement: Agreement
    """The agreement with the float32 net on positions that were not calibrated with."""


def gives_logits(layer: Weighted, program: Program) -> bool:
    """Whether a convolution of several gives the policy's logits."""
    convolutions = [one for one in program.of_parts("policy") if isinstance(one, Convolution)]
    return len(convolutions) > 1 and layer is convolutions[-1]


def quantize_net(
    program: Program, game: "Game", encoding: str, *, calibration: Sequence[Path] = ()
) -> Int8Net:
    """Make an int8 net.

    Args:
        program: The net.
        game: Its game.
        encoding: Of its input planes.
        calibration: Records or data files with typical positions; without them the net plays some
            games against itself.
    """
    right = OnnxNet(OnnxWriter(program).model().SerializeToString()).evaluate
    count = CALIBRATION_POSITIONS + HELD_OUT_POSITIONS
    if calibration:
        positions = read_positions(game, encoding, calibration, count)
    else:
        positions = play_positions(game, encoding, right, count)
    held_out = positions[: len(positions) // 3]
    quantizer = Quantizer(program, positions.planes[len(held_out) :])
    answers = evaluate_all(right, held_out.planes)
    best: Int8Net | None = None
    for kept, stays in SENSITIVE:
        quantized = quantizer.build(stays)
        ours = evaluate_all(OnnxNet(quantized.SerializeToString()).evaluate, held_out.planes)
        net = Int8Net(quantized, kept, measure_agreement(ours, answers, held_out))
        if best is None or net.agreement.divergence < best.agreement.divergence:
            best = net
        if net.agreement.top1 >= GOOD_AGREEMENT:
            return net
    assert best is not None
    return best


def write_int8(net: Int8Net, path: Path, *, version: str, game: "Game", encoding: str) -> None:
    """Write the file atomically, with what it is made of."""
    entries = {entry.key: entry.value for entry in net.model.metadata_props}
    entries |= {
        "game": game.spec.identity,
        "encoding": encoding,
        "precision": "int8",
        "float32_layers": net.kept,
        "agreement": net.agreement.describe(),
        "source_version": version,
        "int8_version": str(INT8_VERSION),
    }
    helper.set_model_props(net.model, entries)
    onnx.checker.check_model(net.model)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_bytes_atomically(path, net.model.SerializeToString())
