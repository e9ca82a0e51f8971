"""Which net plays when the user names none: the newest of the runs here, or one that came along.

A plugin ships nets as files `nets/*.safetensors` in its package; what a net plays is read from the
file, so their names are free.
"""

import importlib.resources
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from zerogames.errors import UserError
from zerogames.game import Game
from zerogames.nets.net_info import NetInfo, read_net_info
from zerogames.registry import get_game

RUNS = Path("runs")
"""Where commands keep their runs, below the working directory."""
RUN_NET = "net.safetensors"
"""The newest net of a run."""


@dataclass(frozen=True, kw_only=True)
class FoundNet:
    """A net and where it comes from."""

    path: Path
    origin: str
    """Such as `newest run, runs/go-train`."""


def find_net(game: Game, *, runs: Path = RUNS) -> FoundNet | None:
    """The net to play with if none is named, or None."""
    trained = newest_run_net(game, runs=runs)
    if trained is not None:
        return FoundNet(path=trained, origin=f"newest run, {trained.parent}")
    shipped = shipped_net(game)
    if shipped is not None:
        return FoundNet(path=shipped, origin="shipped with the game")
    return None


def newest_run_net(game: Game, *, runs: Path = RUNS) -> Path | None:
    """Of the runs of exactly this game, the net written last."""
    nets = sorted(runs.glob(f"*/{RUN_NET}"), key=_written_at, reverse=True)
    return next((net for net in nets if _plays(net, game) == "exactly"), None)


def shipped_net(game: Game) -> Path | None:
    """The net in the plugin's package made for this game, or for other options that it fits."""
    nets = list(_packaged_nets(game))
    for fit in ("exactly", "in shape"):
        for net in nets:
            if _plays(net, game) == fit:
                return net
    return None


def _packaged_nets(game: Game) -> Iterable[Path]:
    package = type(game).__module__.partition(".")[0]
    folder = importlib.resources.files(package) / "nets"
    return sorted(Path(str(folder)).glob("*.safetensors"))


def _plays(net: Path, game: Game) -> str:
    """`exactly`, `in shape` (the same board, other rules) or nothing."""
    info = _read(net)
    if info is None:
        return ""
    if info.game == game.spec.identity:
        return "exactly"
    try:
        made_for = get_game(info.game).spec
    except UserError:
        return ""
    shape = (made_for.name, made_for.action_size, made_for.observation_shape)
    spec = game.spec
    return "in shape" if shape == (spec.name, spec.action_size, spec.observation_shape) else ""


def _read(net: Path) -> NetInfo | None:
    try:
        return read_net_info(net)
    except UserError:
        return None  # not a net, or only half of one


def _written_at(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0
