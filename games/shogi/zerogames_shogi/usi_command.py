"""Play shogi under a program that speaks the Universal Shogi Interface: `zerogames usi`."""

import dataclasses
from collections.abc import Sequence

from zerogames.command_line import Command, read_arguments
from zerogames.evaluate import NET_EVALUATORS
from zerogames.memory import require_mebibytes
from zerogames.protocol import Session, SessionLimits
from zerogames.protocol.command import find_net_file, run_session
from zerogames.protocol.net_engine import ProtocolNetEngine
from zerogames.protocol.settings import ProtocolSettings
from zerogames.registry import get_game
from zerogames_shogi.usi import UsiDialect, UsiPosition

STAND_IN_NAME = "a search without a net"


def main(argv: Sequence[str]) -> int:
    """Run `zerogames usi`."""
    command = Command(name="usi", settings=ProtocolSettings, description=__doc__ or "")
    settings = read_arguments(command, argv)
    # Said at once, as the net is loaded in the background.
    require_mebibytes("hash", settings.hash or settings.search.cache_mebibytes)
    net = None
    if settings.evaluator in NET_EVALUATORS:
        net = find_net_file(settings.net, get_game("shogi"))
    engine = ProtocolNetEngine("shogi", dataclasses.replace(settings, net=net))
    limits = SessionLimits[UsiPosition](
        nodes=settings.nodes,
        move_time_s=None if settings.movetime is None else settings.movetime / 1000,
        stand_in=open_stand_in,
        stand_in_name=STAND_IN_NAME,
    )
    run_session(lambda output: Session(engine, UsiDialect(), output, limits))
    return 0


def open_stand_in() -> ProtocolNetEngine:
    """Open the engine that plays where another has no net: it finds mates in a few moves."""
    settings = ProtocolSettings(evaluator="constant", threads=1, hash=4)
    engine = ProtocolNetEngine("shogi", settings)
    engine.get_ready()
    return engine
