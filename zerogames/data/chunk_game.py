"""Games of files whose records a native reader holds together as one chunk."""

from dataclasses import dataclass
from functools import cached_property
from typing import Generic, Protocol, TypeVar


class NativeChunk(Protocol):
    """The records of a file; their games are numbered from 0."""

    def key(self, number: int) -> int:
        """64 bits of the boards of all positions of a game."""

    def num_positions(self, number: int) -> int:
        """The number of records of a game."""

    def result(self, number: int) -> float:
        """The result of a game, in the first player's view."""


Chunk = TypeVar("Chunk", bound=NativeChunk)


@dataclass(frozen=True, eq=False)
class ChunkGame(Generic[Chunk]):
    """Consecutive records of a chunk; the base of a `DataGame`."""

    name: str
    kind: str
    chunk: Chunk
    number: int

    @cached_property
    def key(self) -> int:
        """64 bits of the boards of all positions."""
        return self.chunk.key(self.number)

    @property
    def num_positions(self) -> int:
        """The number of records."""
        return self.chunk.num_positions(self.number)

    @property
    def result(self) -> float:
        """The result in the first player's view."""
        return self.chunk.result(self.number)
