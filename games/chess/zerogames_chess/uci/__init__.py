"""The Universal Chess Interface: one session for every engine we have."""

from zerogames_chess.uci.engine import BestMove, Engine, InfoLine, SearchOrder
from zerogames_chess.uci.options import Option
from zerogames_chess.uci.position import UciPosition
from zerogames_chess.uci.session import Session

__all__ = ["BestMove", "Engine", "InfoLine", "Option", "SearchOrder", "Session", "UciPosition"]
