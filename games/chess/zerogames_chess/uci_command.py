"""Play chess under a program that speaks the Universal Chess Interface: `zerogames uci`."""

import dataclasses
from collections.abc import Sequence

from zerogames.command_line import Command, read_arguments
from zerogames.errors import UserError
from zerogames.evaluate import NET_EVALUATORS
from zerogames.memory import require_mebibytes
from zerogames.protocol.command import find_net_file, run_session
from zerogames.protocol.engine import Engine
from zerogames.protocol.session import SessionLimits
from zerogames.registry import get_game
from zerogames_chess.uci.position import UciPosition
from zerogames_chess.uci.session import Session
from zerogames_chess.uci.settings import DEFAULT_NNUE_HASH_MB, UciSettings

STAND_IN_NAME = "the shipped NNUE network"


def main(argv: Sequence[str]) -> int:
    """Run `zerogames uci`."""
    command = Command(name="uci", settings=UciSettings, description=__doc__ or "")
    settings = read_arguments(command, argv)
    limits = SessionLimits(
        nodes=settings.nodes,
        move_time_s=None if settings.movetime is None else settings.movetime / 1000,
        stand_in=open_shipped_nnue,
        stand_in_name=STAND_IN_NAME,
    )
    run_session(lambda output: Session(open_engine(settings), output, limits))
    return 0


def open_engine(settings: UciSettings) -> Engine[UciPosition]:
    """Open the engine that the settings ask for; a net is loaded in the background."""
    if settings.nnue is not None:
        if settings.net is not None:
            raise UserError("give --net or --nnue, not both")
        from zerogames_chess.nnue.uci import NnueEngine

        return NnueEngine(settings.nnue, hash_mb=settings.hash or DEFAULT_NNUE_HASH_MB)
    from zerogames_chess.uci.net_engine import UciNetEngine

    # Said at once, as the net is loaded in the background.
    require_mebibytes("hash", settings.hash or settings.search.cache_mebibytes)
    if settings.evaluator in NET_EVALUATORS:
        settings = dataclasses.replace(settings, net=find_net_file(settings.net, get_game("chess")))
    else:
        settings = dataclasses.replace(settings, net=None)
    return UciNetEngine(settings)


def open_shipped_nnue() -> Engine[UciPosition]:
    """Open the engine that plays where another has no net; its table is small."""
    from zerogames_chess.nnue.network import SHIPPED
    from zerogames_chess.nnue.uci import NnueEngine

    return NnueEngine(SHIPPED, hash_mb=4)
