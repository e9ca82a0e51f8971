"""Play many players against each other and rate them, from a file or a list of players."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated

import tyro
from rich.console import Console

from zerogames.arena.console import run_and_report
from zerogames.arena.event import (
    Conditions,
    Event,
    check_settings,
    find_config,
    load_toml,
    parse_anchors,
)
from zerogames.arena.schedule import Format
from zerogames.errors import UserError, unknown_name


@dataclass(frozen=True, kw_only=True)
class TournamentOptions(Conditions):
    """Play a round robin or a gauntlet and rate the players.

    `zerogames tournament FILE.toml [OPTIONS]` takes settings from a file or a preset, options
    override them; `zerogames tournament PLAYER PLAYER ... [OPTIONS]` names the players, written as
    for `zerogames match`. The same command continues a tournament that was stopped.
    """

    players: Annotated[
        tyro.conf.Positional[tuple[str, ...]], tyro.conf.arg(metavar="FILE.toml | PLAYER ...")
    ] = field(default=())
    """The players, or a file (or preset) with the settings; then players replace the file's."""
    title: str = "Tournament"
    """Of the report."""
    format: Format = "round-robin"
    """Everyone against everyone, or the first player against all others."""
    anchor: tuple[str, ...] = ()
    """Players of known rating, PLAYER=ELO; without any the mean is 0."""
    elo_from: str = ""
    """Rate by direct games against this player only."""


def main(argv: Sequence[str]) -> int:
    """Run `zerogames tournament`."""
    options = _options(argv)
    event = Event(options.players, options, format=options.format)
    if options.elo_from and options.elo_from not in event.names:
        raise unknown_name("player for --elo-from", options.elo_from, event.names)
    anchors = parse_anchors(options.anchor, event.names)
    return run_and_report(
        event,
        Console(),
        title=options.title,
        anchors=anchors,
        elo_from=options.elo_from or None,
    )


def _options(argv: Sequence[str]) -> TournamentOptions:
    default = TournamentOptions()
    rest = list(argv)
    if rest and rest[0].endswith(".toml"):
        path = find_config(rest.pop(0))
        default = check_settings(TournamentOptions, load_toml(path), str(path))
    given = tyro.cli(TournamentOptions, args=rest, default=default, prog="zerogames tournament")
    options = check_settings(TournamentOptions, vars(given), "zerogames tournament")
    if len(options.players) < 2:
        raise UserError("a tournament needs players or a file, e.g. random mcts:50 mcts:500")
    return options
