"""Nets in int8 for CPUs, made once and kept like other exports."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import onnx
from google.protobuf.message import DecodeError
from onnx import helper

from zerogames.atomic import write_bytes_atomically
from zerogames.errors import UserError
from zerogames.evaluate.onnx_ import OnnxEvaluator
from zerogames.export.agreement import Agreement, evaluate_all, measure_agreement
from zerogames.export.calibration import play_positions, read_positions
from zerogames.export.qdq import Quantizer

if TYPE_CHECKING:
    from zerogames.game import Game

INT8_VERSION = 1
"""Raise it when the way to make int8 nets changes: older ones are not used."""
SUFFIX = ".int8.onnx"
CALIBRATION_POSITIONS = 512
HELD_OUT_POSITIONS = 256
GOOD_AGREEMENT = 0.98
"""Same best moves: below it, sensitive layers go back to float32."""
SENSITIVE = ((), ("policy.conv2",), ("policy",), ("policy", "stem"))
"""What is left in float32, tried in this order."""
_VERSION_KEY, _FORM_KEY = "source_version", "int8_version"


@dataclass(frozen=True)
class Int8Net:
    """An int8 net and what is known of it."""

    model: onnx.ModelProto
    kept: tuple[str, ...]
    """Layers in float32, by the beginnings of their names."""
    agreement: Agreement
    """With the float32 net, on positions that were not calibrated with."""

    def describe(self) -> str:
        """One line."""
        kept = f"; in float32: {', '.join(self.kept)}" if self.kept else ""
        return self.agreement.describe() + kept


def quantize_net(
    model: onnx.ModelProto, game: "Game", encoding: str, *, calibration: Sequence[Path] = ()
) -> Int8Net:
    """Make an int8 net.

    Args:
        model: The net in float32, as `zerogames.export.onnx_file.build_onnx` makes it.
        game: Its game.
        encoding: Of its input planes.
        calibration: Records or data files with typical positions; without them the net plays some
            games against itself.
    """
    right = _evaluator(model, encoding)
    count = CALIBRATION_POSITIONS + HELD_OUT_POSITIONS
    if calibration:
        positions = read_positions(game, encoding, calibration, count)
    else:
        positions = play_positions(game, right, count)
    held_out = positions[: len(positions) // 3]
    quantizer = Quantizer(model, positions.planes[len(held_out) :])
    answers = evaluate_all(right, held_out.planes)
    best: Int8Net | None = None
    for kept in SENSITIVE:
        quantized = quantizer.build(kept)
        ours = evaluate_all(_evaluator(quantized, encoding), held_out.planes)
        net = Int8Net(quantized, kept, measure_agreement(ours, answers, held_out))
        if best is None or net.agreement.divergence < best.agreement.divergence:
            best = net
        if net.agreement.top1 >= GOOD_AGREEMENT:
            return net
    assert best is not None
    return best


def exported_int8(
    net: Path, version: str, game: "Game", encoding: str, *, named: Path | None = None
) -> Path:
    """The int8 form of a net: the user's own export beside it, else one made once and kept.

    Args:
        net: The net's file.
        version: Of its content; an export of another content is not used.
        game: Gives the board's size.
        encoding: Of its input planes.
        named: The file the user named, if `net` was converted from it.
    """
    from zerogames.evaluate.opening import exported_onnx
    from zerogames.export.cache import EXPORT_VERSION, cache_folder, mark_used, prune_cache

    own = export_path(named or net)
    if own.is_file() and _is_export_of(own, version, game):
        return own
    size = "x".join(map(str, game.spec.observation_shape))
    path = cache_folder() / f"{version}-{size}-int8-v{EXPORT_VERSION}.{INT8_VERSION}.onnx"
    if not mark_used(path):
        model = onnx.load(exported_onnx(net, version, game))
        quantized = quantize_net(model, game, encoding)
        write_int8(quantized, path, version=version, game=game, encoding=encoding)
        prune_cache()
    return path


def export_path(net: Path) -> Path:
    """Where the int8 form of a net lies that its user made."""
    from zerogames.nets.foreign import net_suffixes

    ending = next((end for end in net_suffixes() if net.name.endswith(end)), "")
    return net.with_name(net.name.removesuffix(ending) + SUFFIX)


def write_int8(net: Int8Net, path: Path, *, version: str, game: "Game", encoding: str) -> None:
    """Write the file atomically, with what it is made of."""
    entries = {entry.key: entry.value for entry in net.model.metadata_props}
    entries |= {
        "game": game.spec.identity,
        "encoding": encoding,
        "precision": "int8",
        "float32_layers": " ".join(net.kept),
        "agreement": net.agreement.describe(),
        _VERSION_KEY: version,
        _FORM_KEY: str(INT8_VERSION),
    }
    helper.set_model_props(net.model, entries)
    onnx.checker.check_model(net.model)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_bytes_atomically(path, net.model.SerializeToString())


def _is_export_of(path: Path, version: str, game: "Game") -> bool:
    try:
        model = onnx.load(path)
    except (OSError, DecodeError) as error:
        raise UserError(f"{path} is no ONNX file ({error}); export it anew or remove it") from None
    entries = {entry.key: entry.value for entry in model.metadata_props}
    return (entries.get(_VERSION_KEY), entries.get("game"), entries.get(_FORM_KEY)) == (
        version,
        game.spec.identity,
        str(INT8_VERSION),
    )


def _evaluator(model: onnx.ModelProto, encoding: str) -> OnnxEvaluator:
    return OnnxEvaluator(model.SerializeToString(), version="", encoding=encoding)
