"""Play Go under a program that speaks the Go Text Protocol: `zerogames gtp`."""

import dataclasses
import io
import sys
from collections.abc import Sequence
from pathlib import Path

from zerogames.command_line import Command, read_arguments
from zerogames.errors import UserError
from zerogames.evaluate import NET_EVALUATORS
from zerogames.identity import split_identity
from zerogames.nets.net_info import read_net_info
from zerogames.registry import get_game
from zerogames.runs.net_source import NetSource, find_net
from zerogames_go.go import Go
from zerogames_go.gtp.json_session import JsonSession
from zerogames_go.gtp.player import GoPlayer
from zerogames_go.gtp.session import GtpSession
from zerogames_go.gtp.settings import GtpSettings
from zerogames_go.gtp.table import Table
from zerogames_go.options import GoOptions

USUAL_GAMES = ("go:size=9", "go:size=9,komi=7", "go", "go:size=13", "go:size=7,komi=9")
"""Whose nets are looked for, in this order, when neither a net nor a game is named."""


def main(argv: Sequence[str]) -> int:
    """Run `zerogames gtp`."""
    command = Command(name="gtp", settings=GtpSettings, description=__doc__ or "")
    settings = read_arguments(command, argv)
    settings, options = complete(settings)
    player = GoPlayer(settings)
    output = io.TextIOWrapper(
        sys.stdout.buffer, encoding="utf-8", errors="replace", line_buffering=True
    )
    if settings.analysis:
        JsonSession(player, options, output=output).run(sys.stdin.buffer)
    else:
        table = Table(player, options)
        GtpSession(table, output=output, name=settings.name).run(sys.stdin.buffer)
    return 0


def complete(settings: GtpSettings) -> tuple[GtpSettings, GoOptions]:
    """Settings with a net, and the game to begin with."""
    identity = settings.game
    if settings.evaluator in NET_EVALUATORS:
        net = _find_net(settings.net, identity).file()
        settings = dataclasses.replace(settings, net=net)
        info = read_net_info(net)
        if split_identity(info.game)[0] != "go":
            raise UserError(f"{net} is a net for {info.game}; gtp plays go")
        identity = identity or info.game
    return settings, _go(identity or "go").options


def _find_net(net: Path | None, identity: str) -> NetSource:
    """The file that was named, or a net of the game or a usual one, which is printed."""
    if net is not None and net.is_file():
        return find_net(net)
    problems = []
    for name in [identity] if identity else USUAL_GAMES:
        try:
            found = find_net(net, _go(name))
        except UserError as error:
            problems.append(error)
            continue
        print(f"net: {found.title}", file=sys.stderr)
        return found
    raise problems[0]


def _go(identity: str) -> Go:
    game = get_game(identity)
    if not isinstance(game, Go):
        raise UserError(f"gtp plays go, not {game.spec.name}")
    return game
