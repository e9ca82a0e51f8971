"""Game records and the files that hold them."""

from zerogames.data.record import SEARCH_KINDS, VALUE_COLUMNS, GameRecord, SearchColumns

__all__ = ["SEARCH_KINDS", "VALUE_COLUMNS", "GameRecord", "SearchColumns"]
