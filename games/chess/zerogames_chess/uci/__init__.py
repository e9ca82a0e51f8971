"""The Universal Chess Interface: what chess adds to the session of `zerogames.protocol`."""

from zerogames_chess.uci.position import UciPosition
from zerogames_chess.uci.session import Session

__all__ = ["Session", "UciPosition"]
