"""The Universal Shogi Interface: what shogi adds to the session of `zerogames.protocol`."""

from zerogames_shogi.usi.dialect import UsiDialect
from zerogames_shogi.usi.position import UsiPosition

__all__ = ["UsiDialect", "UsiPosition"]
