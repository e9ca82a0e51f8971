"""The moves that a net may choose from, the same in every engine, player and match."""

from pathlib import Path

from zerogames.game import Game, State
from zerogames.nets.foreign import resolve_net
from zerogames.nets.net_info import read_net_info
from zerogames.nets.spec import NetSpec


def read_net_spec(game: Game, path: Path) -> NetSpec:
    """Read the architecture of a net file, ours or another program's, without its weights."""
    return game.parse_net(read_net_info(resolve_net(path)).name)


def root_actions(game: Game, state: State, net: NetSpec | None) -> tuple[int, ...] | None:
    """Return the root actions that a player with this net searches; None stands for all."""
    if state.result is not None:
        return None
    actions = game.sensible_actions(state, net)
    return None if actions is None else tuple(int(action) for action in actions)
