"""Games of files whose records a native reader holds together as one chunk."""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from zerogames.native_state import NativeChunk

Chunk = TypeVar("Chunk", bound="NativeChunk")


@dataclass(frozen=True, eq=False)
class ChunkGame(Generic[Chunk]):
    """Consecutive records of a chunk, whose games are numbered from 0; base of a `DataGame`."""

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
