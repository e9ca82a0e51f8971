"""The Universal Chess Interface: one session for every engine we have."""

from zerogames_chess.uci.engine import BestMove, Engine, Report, SearchOrder
from zerogames_chess.uci.options import Option
from zerogames_chess.uci.position import UciPosition
from zerogames_chess.uci.session import Session

__all__ = ["BestMove", "Engine", "Option", "Report", "SearchOrder", "Session", "UciPosition"]
