"""Play two players against each other: nets, UCI or GTP engines, random, MCTS."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import tyro
from rich.console import Console

from zerogames.arena.console import run_and_report
from zerogames.arena.event import Conditions, Event
from zerogames.arena.sprt import Sprt
from zerogames.command_line import Command, read_arguments
from zerogames.errors import UserError


@dataclass(frozen=True, kw_only=True)
class MatchOptions(Conditions):
    """Play two players against each other and tell the Elo between them.

    A player is `random`, `mcts:1000`, `uci:COMMAND?Option=value&...`, `gtp:COMMAND` or a net file
    with nodes, `net.safetensors@200`; `NAME=...` before it gives it a name. The same command
    continues a match that was stopped.
    """

    a: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="A")] = ""
    """The first player."""
    b: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="B")] = ""
    """The second player."""
    sprt: str = ""
    """The hypotheses of a sequential probability ratio test, which ends the match when it is
    decided: elo0=0,elo1=10[,alpha=0.05,beta=0.05,scale=normalized]."""
    anchor: Annotated[str, tyro.conf.arg(metavar="PLAYER=ELO")] = ""
    """A player whose rating is known, as PLAYER=ELO."""


COMMAND = Command(name="match", settings=MatchOptions, any_game=True)


def main(argv: Sequence[str]) -> int:
    """Run `zerogames match`."""
    options = read_arguments(COMMAND, argv)
    if not (options.a and options.b):
        raise UserError("a match needs two players, e.g. random mcts:50")
    sprt = Sprt.parse(options.sprt) if options.sprt else None
    event = Event([options.a, options.b], options, sprt=sprt)
    anchors = [options.anchor] if options.anchor else []
    return run_and_report(event, Console(), title=" - ".join(event.names), anchors=anchors)
