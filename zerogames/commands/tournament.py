"""Play many players against each other and rate them, from a file or a list of players."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated

import tyro
from rich.console import Console

from zerogames.arena.console import run_and_report
from zerogames.arena.event import NET_PLACE, Conditions, Event, fill_in_net, parse_anchors
from zerogames.arena.schedule import Format
from zerogames.config import find_config, make_settings, read_settings, take_option, to_table
from zerogames.errors import UserError, unknown_name
from zerogames.registry import get_game
from zerogames.runs.net_source import default_net, find_net


@dataclass(frozen=True, kw_only=True)
class TournamentOptions(Conditions):
    """Play a round robin or a gauntlet and rate the players.

    `zerogames tournament FILE.toml [OPTIONS]` takes settings from a file, `--preset NAME` from
    `configs/tournaments/`; options override them, and players that are named replace the file's.
    `zerogames tournament PLAYER PLAYER ... [OPTIONS]` names the players, written as for
    `zerogames match`. The same command continues a tournament that was stopped.
    """

    players: Annotated[
        tyro.conf.Positional[tuple[str, ...]], tyro.conf.arg(metavar="FILE.toml | PLAYER ...")
    ] = field(default=())
    """The players, or first a file with the settings."""
    net: str = ""
    """The net that takes the place of {net} in the players' texts: a file, `newest`, `shipped` or
    the name of a new net. By default the newest of the runs, else the shipped one."""
    title: str = "Tournament"
    """The heading of the report."""
    format: Format = "round-robin"
    """Everyone against everyone, or the first player against all others."""
    anchor: tuple[str, ...] = ()
    """Players of known rating, PLAYER=ELO; without any the mean is 0."""
    elo_from: str = ""
    """Rate by direct games against this player only."""


def main(argv: Sequence[str]) -> int:
    """Run `zerogames tournament`."""
    options = _options(argv)
    console = Console()
    players = fill_in_net(options.players, _net(options, console))
    event = Event(players, options, format=options.format)
    if options.elo_from and options.elo_from not in event.names:
        raise unknown_name("player for --elo-from", options.elo_from, event.names)
    anchors = parse_anchors(options.anchor, event.names)
    return run_and_report(
        event,
        console,
        title=options.title,
        anchors=anchors,
        elo_from=options.elo_from or None,
    )


def _net(options: TournamentOptions, console: Console) -> str:
    """The file of the net for players that need one; by default the newest or a shipped one."""
    if not any(NET_PLACE in player for player in options.players):
        return options.net
    game = get_game(options.game)
    if options.net:
        source = find_net(options.net, game)
        return str(source.path or source.file())
    found = default_net(game)
    if found is None:
        return ""
    console.print(f"net: {found.title}", highlight=False, soft_wrap=True)
    return str(found.path)


def _options(argv: Sequence[str]) -> TournamentOptions:
    default = TournamentOptions()
    preset, rest = take_option(argv, "preset")
    if preset is None and rest and rest[0].endswith(".toml"):
        preset = rest.pop(0)
    if preset is not None:
        default = read_settings(TournamentOptions, find_config("tournaments", preset))
    given = tyro.cli(TournamentOptions, args=rest, default=default, prog="zerogames tournament")
    options = make_settings(TournamentOptions, to_table(given))
    if len(options.players) < 2:
        raise UserError("a tournament needs players or a file, e.g. random mcts:50 mcts:500")
    return options
