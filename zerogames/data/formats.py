"""What a kind of data file is: how it is recognised, cut into pieces and read.

A plugin offers its kinds as `GamePlugin.data`, a function from its game to a `GameData`. Shards and
the plain text form are read and written for every game.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from zerogames.data.files import DataFile
from zerogames.data.header import GameHeader, pgn_tags
from zerogames.data.problems import Problems
from zerogames.data.record import GameRecord
from zerogames.data.text import read_text, write_text
from zerogames.game import Game, State
from zerogames.registry import plugin_of


@dataclass(frozen=True, kw_only=True)
class ReadContext:
    """The context of a reader."""

    game: Game
    encoding: str
    """The encoding with its options."""
    problems: Problems
    engine_values: bool = False
    """Whether values in a game's comments become the search's."""
    value_lambda: float = 0.0
    """The lambda of the search's value targets; see `zerogames.data.returns`."""


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
        """The number of samples that it can give."""

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


RecordReader = Callable[[bytes], Iterator[GameRecord]]
"""Reads the games of a file; raises `UserError` for what it cannot read."""


@dataclass(frozen=True, kw_only=True)
class RecordWriter:
    """Writes games as other programs read them."""

    suffix: str
    """What files end in, e.g. `.pgn`."""
    write: Callable[[GameRecord], bytes]
    """Writes one game; raises `UserError` if that is impossible."""
    one_per_file: bool = False
    """Whether a file holds one game, or many, one after another."""


def text_writer(suffix: str, write: Callable[[GameRecord], str]) -> RecordWriter:
    """Make a writer from a function that writes a game as text."""
    return RecordWriter(suffix=suffix, write=lambda record: write(record).encode())


EndNumbers = Callable[[State], Mapping[str, NDArray[np.float32]] | None]
"""Computes from a game's last position the numbers of each `EndTarget` by name, `[H * W]` or `[1]`,
in the first player's view; None if it was not played to its end."""


@dataclass(frozen=True, kw_only=True)
class GameData:
    """The data files of a game."""

    formats: Sequence[DataFormat] = ()
    """Kinds of files that hold training data, read block by block."""
    readers: Mapping[str, RecordReader] = field(default_factory=dict)
    """Readers of whole files by their ending, e.g. `pgn`."""
    writers: Mapping[str, RecordWriter] = field(default_factory=dict)
    """The writers by the name users write, e.g. `pgn` or `lc0`; the game's usual one first."""
    tags: Callable[[GameHeader], Mapping[str, str]] = pgn_tags
    """The tags of a record, by the names that the usual writer has for them."""
    end: EndNumbers | None = None
    """The end numbers, for games whose players take turns without exception."""


def get_game_data(game: Game) -> GameData:
    """Return what the plugin of `game` reads and writes, and what every game does."""
    from zerogames.data.shard_format import ShardFormat

    plugin = plugin_of(game)
    found = plugin.data(game) if plugin is not None and plugin.data is not None else GameData()
    return replace(
        found,
        formats=(ShardFormat(), *found.formats),
        readers={**found.readers, "txt": partial(read_text, game)},
        writers={**found.writers, "txt": text_writer(".txt", partial(write_text, game))},
    )
