"""A net of KataGo's file as one of ours."""

from pathlib import Path

import torch

from zerogames.errors import UserError
from zerogames.nets.model import Model, build_model
from zerogames.registry import get_game
from zerogames_go.katago.layout import ENCODING
from zerogames_go.katago.network import KataGoNet, read_katago


def import_katago(path: str | Path) -> Model:
    """Read a net of KataGo; raise `UserError` that says why it cannot be read."""
    net = read_katago(path)
    try:
        return to_model(net)
    except UserError as error:
        raise UserError(f"{path}: {error}") from None


@torch.no_grad()
def to_model(net: KataGoNet) -> Model:
    """The net with its weights; it serves every board."""
    game = get_game("go")
    option = f"+{ENCODING}:pass-alive=suicide" if net.pass_alive else ""
    model = build_model(game.parse_net(net.layout.name + option), game)
    wanted = model.state_dict()
    # Our norms keep statistics besides, which are those of no change.
    assert net.tensors.keys() == {name for name in wanted if ".running_" not in name}
    for name, array in net.tensors.items():
        wanted[name].copy_(torch.from_numpy(array))
    model.origin = f"KataGo's {net.title}, file version {net.layout.version}"
    return model.eval()
