"""What a kind of data file is: how it is recognised, cut into pieces and read.

A plugin offers its kinds through the entry-point group `zerogames.data`: an entry named like the
game, that names a function from a `Game` to a `GameData`. Shards are read for every game.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from zerogames.data.files import DataFile
from zerogames.data.problems import Problems
from zerogames.data.record import GameRecord
from zerogames.game import Game, State

GROUP = "zerogames.data"


@dataclass(frozen=True, kw_only=True)
class ReadContext:
    """What readers need to know."""

    game: Game
    encoding: str
    """With its options."""
    problems: Problems
    engine_values: bool = False
    """Whether values in a game's comments become the search's."""
    value_lambda: float = 0.0
    """How far the search's value of a position looks ahead; see `zerogames.data.returns`."""


@dataclass(frozen=True)
class Block:
    """A piece of a file that is read on its own: some games, a few hundred kilobytes."""

    name: str
    load: Callable[[], bytes]
    """May be slow (unpacking); called by a worker."""
    first_game: int = 0
    """Games of the file before this block."""


class DataGame(Protocol):
    """One game as a file holds it."""

    @property
    def name(self) -> str:
        """File and, where it has several games, the number."""

    @property
    def kind(self) -> str:
        """Format and version, e.g. `Lc0 V6`."""

    @property
    def key(self) -> int:
        """64 bits of the game's contents: equal for duplicates, decides the split."""

    @property
    def num_positions(self) -> int:
        """How many samples it can give."""

    @property
    def result(self) -> float | None:
        """First player's view."""

    def samples(self, chosen: NDArray[np.int32]) -> list[bytes]:
        """Packed samples of the chosen positions, ascending."""

    def record(self) -> GameRecord:
        """The game itself; raise `UserError` where its moves cannot be recovered."""


class DataFormat(Protocol):
    """A kind of file."""

    @property
    def name(self) -> str:
        """E.g. `Lc0 chunks`."""

    @property
    def suffixes(self) -> tuple[str, ...]:
        """Usual file endings; a file with one of them that is not recognised is a problem."""

    def matches(self, file: DataFile, head: bytes) -> bool:
        """Whether the first unpacked bytes (and the name) are of this kind."""

    def blocks(self, file: DataFile) -> Iterator[Block]:
        """Cut a file; raise `UserError` where that is impossible."""

    def games(self, block: Block, context: ReadContext) -> Iterator[DataGame]:
        """Read a block. Broken games go to `context.problems`; a broken block raises."""


@dataclass(frozen=True, kw_only=True)
class FileWriter:
    """Writes a game as a file of another program."""

    suffix: str
    write: Callable[[GameRecord], bytes]
    """Raises `UserError` for a game that cannot be written."""


EndNumbers = Callable[[State], Mapping[str, NDArray[np.float32]] | None]
"""From the last position of a game to the numbers of each `EndTarget` by name, `[H * W]` or `[1]`,
in the first player's view; None if it was not played to its end."""


@dataclass(frozen=True, kw_only=True)
class GameData:
    """What a plugin knows about data."""

    formats: Sequence[DataFormat] = ()
    writers: Mapping[str, FileWriter] = field(default_factory=dict)
    """By the name users write, e.g. `lc0`."""
    end: EndNumbers | None = None
    """For games whose players take turns without exception."""


def get_game_data(game: Game) -> GameData:
    """What the plugin of `game` offers, with what every game has."""
    from zerogames.data.shard_format import ShardFormat

    point = _entry_points().get(game.spec.name)
    found: GameData = point.load()(game) if point is not None else GameData()
    return replace(found, formats=(ShardFormat(), *found.formats))


@cache
def _entry_points() -> dict[str, EntryPoint]:
    return {point.name: point for point in entry_points(group=GROUP)}
