"""A session that speaks UCI."""

from typing import TextIO

from zerogames import protocol
from zerogames.protocol.engine import Engine
from zerogames.protocol.session import SessionLimits
from zerogames_chess.uci.dialect import UciDialect
from zerogames_chess.uci.position import UciPosition


class Session(protocol.Session[UciPosition]):
    """Drives one engine; every line is answered or refused with an `info string`."""

    def __init__(
        self,
        engine: Engine[UciPosition],
        output: TextIO,
        limits: SessionLimits[UciPosition] | None = None,
    ) -> None:
        super().__init__(engine, UciDialect(), output, limits)
