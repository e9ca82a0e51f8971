"""Finding games: every installed package may offer some through the group `zerogames.games`."""

from dataclasses import dataclass
from functools import cache
from importlib.metadata import EntryPoint, entry_points

from zerogames.errors import UserError, unknown_name
from zerogames.game import Game, GamePlugin
from zerogames.identity import parse_options, split_identity

GROUP = "zerogames.games"


@dataclass(frozen=True, kw_only=True)
class PluginPackage:
    """The installed package that offers a plugin."""

    distribution: str
    version: str
    target: str
    """Import path, e.g. `zerogames_chess:game`."""


@cache
def _entry_points() -> dict[str, EntryPoint]:
    return {point.name: point for point in entry_points(group=GROUP)}


def game_names() -> list[str]:
    """The names of all installed games."""
    return sorted(_entry_points())


@cache
def get_plugin(name: str) -> GamePlugin:
    """Load the plugin called `name`."""
    points = _entry_points()
    if name not in points:
        raise unknown_name("game", name, points)
    plugin = points[name].load()
    if not isinstance(plugin, GamePlugin):
        raise UserError(f"game '{name}': {points[name].value} is not a zerogames.GamePlugin")
    return plugin


def plugin_of(game: Game) -> GamePlugin | None:
    """Return the plugin of a game; None for one that no installed package offers."""
    name = game.spec.name
    return get_plugin(name) if name in _entry_points() else None


def all_plugins() -> list[GamePlugin]:
    """Load the plugins of all installed games, by name."""
    return [get_plugin(name) for name in game_names()]


def plugin_package(name: str) -> PluginPackage:
    """Return the package that offers the game called `name`."""
    point = _entry_points()[name]
    found = point.dist
    return PluginPackage(
        distribution=found.name if found else "?",
        version=found.version if found else "?",
        target=point.value,
    )


@cache
def get_game(identity: str) -> Game:
    """Make the game `name[:option=value,...]`; raise `UserError` that names what is wrong."""
    name, texts = split_identity(identity)
    plugin = get_plugin(name)
    return plugin.create(parse_options(name, plugin.options, texts))
