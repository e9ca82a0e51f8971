"""Who played a game and when, for the tags of its record."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class GameHeader:
    """What is known of a game beside its moves; None is left out of the tags."""

    first: str
    """Who played first."""
    second: str
    event: str | None = None
    site: str | None = None
    date: str | None = None
    """The date as `YYYY-MM-DD`."""
    round: str | None = None
    control: str | None = None
    """The time control."""
    opening: str | None = None


def pgn_tags(header: GameHeader) -> dict[str, str]:
    """Return the tags by their names in PGN, which the plain text form uses too."""
    tags = {
        "Event": header.event,
        "Site": header.site,
        "Date": header.date and header.date.replace("-", "."),
        "Round": header.round,
        "White": header.first,
        "Black": header.second,
        "TimeControl": header.control,
        "Opening": header.opening,
    }
    return {name: value for name, value in tags.items() if value is not None}
