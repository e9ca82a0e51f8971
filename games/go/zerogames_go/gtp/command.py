"""Play Go under a program that speaks the Go Text Protocol: `zerogames gtp`."""

import io
import sys
from collections.abc import Sequence

from zerogames.command_line import Command, read_arguments
from zerogames.errors import UserError
from zerogames.evaluate import NET_EVALUATORS
from zerogames.identity import split_identity
from zerogames.nets.net_info import read_net_info
from zerogames.registry import get_game
from zerogames.runs.net_source import find_net
from zerogames_go.go import Go
from zerogames_go.gtp.json_session import JsonSession
from zerogames_go.gtp.player import GoPlayer
from zerogames_go.gtp.session import GtpSession
from zerogames_go.gtp.settings import GtpSettings
from zerogames_go.gtp.table import Table

USUAL_GAMES = ("go:size=9", "go:size=9,komi=7", "go", "go:size=13", "go:size=7,komi=9")
"""Whose nets are looked for, in this order, when neither a net nor a game is named."""


def main(argv: Sequence[str]) -> int:
    """Run `zerogames gtp`."""
    command = Command(name="gtp", settings=GtpSettings, description=__doc__ or "")
    settings = read_arguments(command, argv)
    options = first_game(settings).options
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


def first_game(settings: GtpSettings) -> Go:
    """The game to begin with: the one that was named, the net's, or a usual one with a net."""
    net, identity = settings.net, settings.game
    if settings.evaluator not in NET_EVALUATORS:
        return _go(identity or "go")
    if net is not None and net.is_file():
        made_for = read_net_info(find_net(net).file()).game
        if split_identity(made_for)[0] != "go":
            raise UserError(f"{net} is a net for {made_for}; gtp plays go")
        return _go(identity or made_for)
    problems = []
    for name in [identity] if identity else USUAL_GAMES:
        game = _go(name)
        try:
            find_net(net, game)
        except UserError as error:
            problems.append(error)
            continue
        return game
    raise problems[0]


def _go(identity: str) -> Go:
    game = get_game(identity)
    if not isinstance(game, Go):
        raise UserError(f"gtp plays go, not {game.spec.name}")
    return game
