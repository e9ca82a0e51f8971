"""The metadata of an exported file."""

import json

import onnx
from onnx import helper

from zerogames.game import Game
from zerogames.nets.model import Model
from zerogames.nets.net_info import NetInfo


def describe_export(model: Model, game: Game, info: NetInfo, *, precision: str) -> dict[str, str]:
    """Texts by name."""
    planes, height, width = model.input_shape
    return {
        "game": game.spec.identity,
        "net": info.name,
        "step": str(info.step),
        "encoding": model.spec.encoding,
        "planes": str(planes),
        "board": f"{height}x{width}",
        "actions": str(game.spec.action_size),
        "heads": json.dumps(info.heads),
        "precision": precision,
        "data_licence": info.data_licence,
    }


def add_metadata(
    proto: onnx.ModelProto, model: Model, game: Game, info: NetInfo, *, precision: str
) -> None:
    """Put the description into an ONNX model, with a sentence on its tensors for people."""
    from zerogames.version import __version__

    texts = describe_export(model, game, info, precision=precision)
    known = {entry.key: entry.value for entry in proto.metadata_props}
    helper.set_model_props(proto, known | texts)
    proto.producer_version = __version__
    proto.graph.name = info.name
    proto.doc_string = (
        f"{info.name} for {texts['game']}. In: planes of the encoding {texts['encoding']}, raw "
        "values, float32. Out, in the side to move's view: policy logits of all actions, "
        "probabilities of win, draw and loss, and plies left if the net predicts them."
    )
