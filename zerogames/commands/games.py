"""List the installed games, or show one: `zerogames games go:size=9`."""

from collections.abc import Sequence
from typing import Annotated

import tyro
from rich.console import Console
from rich.table import Table

from zerogames.arguments import read_options
from zerogames.data.formats import get_game_data
from zerogames.game import Game, GamePlugin
from zerogames.identity import describe_options, split_identity
from zerogames.registry import game_names, get_game, get_plugin, plugin_package

COMMON_KERNELS = ("3x3", "5x5", "rng")


def main(argv: Sequence[str]) -> int:
    """Run `zerogames games`."""
    return read_options(games, argv, "zerogames games")


def games(
    identities: Annotated[
        list[str], tyro.conf.Positional, tyro.conf.arg(metavar="[GAME ...]")
    ] = [],  # noqa: B006 (tyro wants the default itself)
    *,
    all: bool = False,
) -> int:
    """List the installed games, or show the named ones in full.

    Args:
        identities: Games with their options, such as `chess` or `go:size=9,komi=7`.
        all: List also every game of plugins that offer many, such as openspiel.
    """
    console = Console()
    if identities:
        for identity in identities:
            _show(console, get_game(identity), get_plugin(split_identity(identity)[0]))
    else:
        console.print(_table(game_names(), members=all))
        console.print("`zerogames games GAME:option=value` shows one with its options.")
    return 0


def _table(names: Sequence[str], *, members: bool) -> Table:
    table = Table()
    for heading in ("name", "options", "actions", "planes", "own kernels", "from"):
        whole = heading in ("name", "actions", "planes") and not members
        table.add_column(heading, overflow="fold", no_wrap=whole)
    for name in names:
        plugin = get_plugin(name)
        own = describe_options(plugin.options)
        rows = {name: ", ".join(f"{option.name}={option.default}" for option in own)}
        if members and plugin.members is not None:
            rows = dict(plugin.members())
        for identity, options in rows.items():
            _add_row(table, identity, options, plugin)
    return table


def _add_row(table: Table, identity: str, options: str, plugin: GamePlugin) -> None:
    game = get_game(identity)
    table.add_row(
        identity,
        options or "-",
        str(game.spec.action_size),
        "x".join(map(str, game.spec.observation_shape)),
        "".join(game.patterns) or "-",
        plugin_package(plugin.name)[0],
    )


def _show(console: Console, game: Game, plugin: GamePlugin) -> None:
    spec = game.spec
    table = Table(title=spec.identity, show_header=False, title_style="bold")
    for option in describe_options(plugin.options):
        values = "|".join(option.choices) or option.kind
        table.add_row(
            f"option {option.name}", f"{values}: {option.meaning} (default {option.default})"
        )
    table.add_row("actions", str(spec.action_size))
    for encoding in game.encodings.values():
        choices = "".join(
            f", {option}={'|'.join(values)}" for option, values in encoding.options.items()
        )
        shape = "x".join(map(str, encoding.shape))
        table.add_row(f"encoding {encoding.name}", f"{shape} planes{choices}")
    own = [f"{letter} ({pattern.name})" for letter, pattern in game.patterns.items()]
    table.add_row("kernels", ", ".join([*own, *COMMON_KERNELS]))
    table.add_row("policy heads", ", ".join(game.heads.policy))
    table.add_row("value heads", ", ".join(game.heads.value))
    table.add_row("auxiliary heads", ", ".join(game.heads.auxiliary) or "-")
    table.add_row("symmetries", ", ".join(symmetry.name for symmetry in game.symmetries))
    data = get_game_data(game)
    table.add_row("reads", ", ".join(data.readers))
    table.add_row("writes", ", ".join(data.writers))
    table.add_row("longest game", f"{spec.max_plies} plies")
    table.add_row("from", "{} ({})".format(*plugin_package(spec.name)))
    console.print(table)
    state = game.initial_state()
    console.print(f"start: {game.format_state(state)}", highlight=False, soft_wrap=True)
    print(game.render(state).ansi(colour=console.is_terminal))
