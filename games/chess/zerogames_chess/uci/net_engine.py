"""A net with tree search under UCI."""

from zerogames.protocol.net_engine import ProtocolNetEngine
from zerogames_chess.uci.settings import UciSettings


class UciNetEngine(ProtocolNetEngine):
    """A net for chess, ours or Lc0's."""

    def __init__(self, settings: UciSettings) -> None:
        super().__init__("chess", settings)
