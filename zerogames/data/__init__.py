"""Game records."""

from zerogames.data.record import GameRecord

__all__ = ["GameRecord"]
