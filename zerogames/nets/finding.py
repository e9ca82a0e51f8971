"""From what a user wrote to a net: a file, or the name of a new one."""

from pathlib import Path

from zerogames.errors import UserError
from zerogames.nets.file import describe_heads
from zerogames.nets.foreign import load_any_net
from zerogames.nets.model import Model, build_model
from zerogames.nets.net_info import NetInfo
from zerogames.registry import get_game


def find_net(net: str, identity: str = "") -> tuple[Model, NetInfo | None]:
    """Load a net file, ours or another program's, or make a new net by its name.

    Args:
        net: The file or the name; the game's default net if empty.
        identity: The game of a name; for a file, another board size of its game.

    Returns:
        The net, and what its file says; None for a new one.
    """
    game = get_game(identity) if identity else None
    if Path(net).is_file():
        return load_any_net(net, game=game)
    if game is None:
        hint = "" if net.endswith(".safetensors") else "; for a name add --game"
        raise UserError(f"there is no net file {net}{hint}")
    return build_model(game.parse_net(net or game.default_net), game).eval(), None


def describe_new_net(model: Model) -> NetInfo:
    """What the file of a net without training would say."""
    spec = model.spec
    return NetInfo(
        name=spec.name, game=spec.game, encoding=spec.encoding, heads=describe_heads(spec)
    )
