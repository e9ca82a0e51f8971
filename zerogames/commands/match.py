"""Play two players against each other: nets, UCI or GTP engines, random, MCTS."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import tyro
from rich.console import Console

from zerogames.arena.console import run_and_report
from zerogames.arena.event import Conditions, Event, parse_anchors
from zerogames.arena.sprt import Sprt
from zerogames.config import make_settings, to_table


@dataclass(frozen=True, kw_only=True)
class MatchOptions(Conditions):
    """Play two players against each other and tell the Elo between them.

    A player is `random`, `mcts:1000`, `uci:COMMAND?Option=value&...`, `gtp:COMMAND` or a net file
    with nodes, `net.safetensors@200`; `NAME=...` before it gives it a name. The same command
    continues a match that was stopped.
    """

    a: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="A")]
    """One player."""
    b: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="B")]
    """The other."""
    sprt: str = ""
    """Stop when decided: elo0=0,elo1=10[,alpha=0.05,beta=0.05,scale=normalized]."""
    anchor: Annotated[str, tyro.conf.arg(metavar="PLAYER=ELO")] = ""
    """A player whose rating is known."""


def main(argv: Sequence[str]) -> int:
    """Run `zerogames match`."""
    given = tyro.cli(MatchOptions, args=argv, prog="zerogames match")
    options = make_settings(MatchOptions, to_table(given))
    sprt = Sprt.parse(options.sprt) if options.sprt else None
    event = Event([options.a, options.b], options, sprt=sprt)
    anchors = parse_anchors([options.anchor] if options.anchor else [], event.names)
    title = " - ".join(event.names)
    return run_and_report(event, Console(), title=title, anchors=anchors)
