"""Play many players against each other and rate them, from a preset or a list of players."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated

import tyro
from rich.console import Console

from zerogames.arena.console import run_and_report
from zerogames.arena.event import NET_PLACE, Conditions, Event, fill_in_net
from zerogames.arena.schedule import Format
from zerogames.command_line import Command, read_arguments
from zerogames.errors import UserError
from zerogames.registry import get_game
from zerogames.runs.net_source import default_net, find_net


@dataclass(frozen=True, kw_only=True)
class TournamentOptions(Conditions):
    """Play a round robin or a gauntlet and rate the players.

    Players are written as for `zerogames match`; those that are named replace the preset's. The
    same command continues a tournament that was stopped.
    """

    players: Annotated[
        tyro.conf.Positional[tuple[str, ...]], tyro.conf.arg(metavar="PLAYER ...")
    ] = field(default=())
    """The players; by default the preset's."""
    net: str = ""
    """The net that takes the place of {net} in the players' texts: a file, `newest`, `shipped` or
    the name of a new net. By default the newest of the runs, else the shipped one."""
    title: str = "Tournament"
    """The heading of the report."""
    format: Format = "round-robin"
    """Who meets whom: everyone meets everyone (round-robin), or the first player meets all
    others."""
    anchor: tuple[str, ...] = ()
    """Players of known rating, as PLAYER=ELO; without any the mean is 0."""
    elo_from: str = ""
    """Rate all players by their direct games against this one only."""


COMMAND = Command(name="tournament", settings=TournamentOptions, any_game=True)


def main(argv: Sequence[str]) -> int:
    """Run `zerogames tournament`."""
    options = read_arguments(COMMAND, argv)
    if len(options.players) < 2:
        raise UserError("a tournament needs players or a preset, e.g. random mcts:50 mcts:500")
    console = Console()
    players = fill_in_net(options.players, _net(options, console))
    event = Event(players, options, format=options.format)
    return run_and_report(
        event, console, title=options.title, anchors=options.anchor, elo_from=options.elo_from
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
