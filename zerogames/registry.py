"""Finding games: every installed package may offer some through the group `zerogames.games`."""

from functools import cache
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec

from zerogames.errors import UserError, unknown_name
from zerogames.game import Game, GamePlugin
from zerogames.identity import parse_options, split_identity

GROUP = "zerogames.games"


@cache
def _entry_points() -> dict[str, EntryPoint]:
    return {point.name: point for point in entry_points(group=GROUP)}


def game_names() -> list[str]:
    """The names of all installed games, without those that need something that is not."""
    return [plugin.name for plugin in all_plugins()]


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
    return get_plugin(name) if is_offered(name) else None


def all_plugins() -> list[GamePlugin]:
    """Load the plugins of all games that `game_names` lists, by name."""
    plugins = (get_plugin(name) for name in sorted(_entry_points()))
    return [plugin for plugin in plugins if not plugin.needs or find_spec(plugin.needs)]


def is_offered(name: str) -> bool:
    """Whether an installed package offers the game, listed or not."""
    return name in _entry_points()


def plugin_package(name: str) -> tuple[str, str]:
    """Return the package that offers a game, with its version, and the module of the plugin."""
    point = _entry_points()[name]
    return f"{point.dist.name} {point.dist.version}" if point.dist else "?", point.module


@cache
def get_game(identity: str) -> Game:
    """Make the game `name[:option=value,...]`; raise `UserError` that names what is wrong."""
    name, texts = split_identity(identity)
    plugin = get_plugin(name)
    return plugin.create(parse_options(name, plugin.options, texts))
