"""The way of finished games from a worker to the run's owner, who keeps them on disk.

One chunk is on its way at a time. It is sent until the owner acknowledges it, which it does when
the chunk is durable. Its number tells the owner a chunk that it has got before.
"""

from collections import deque
from dataclasses import dataclass

from zerogames_selfplay.players.counts import Counts
from zerogames_selfplay.players.game_chunk import GameChunk


@dataclass(frozen=True, kw_only=True)
class Parcel:
    """A chunk on its way."""

    number: int
    """Counts the chunks of a worker from 1."""
    chunk: GameChunk


class Outbox:
    """The worker's side: a `GameSink`."""

    def __init__(self) -> None:
        self.counts = Counts()
        """None: the owner counts games."""
        self._chunks: deque[GameChunk] = deque()
        self._acknowledged = 0

    @property
    def is_full(self) -> bool:
        """Whether a chunk waits for its acknowledgement."""
        return bool(self._chunks)

    def put(self, chunk: GameChunk) -> None:
        """Take games."""
        self._chunks.append(chunk)

    def sync(self) -> None:
        """Nothing: the owner makes games durable."""

    def flush(self) -> None:
        """Nothing: the owner makes shards."""

    @property
    def parcel(self) -> Parcel | None:
        """The chunk to send: the oldest that is not acknowledged."""
        if not self._chunks:
            return None
        return Parcel(number=self._acknowledged + 1, chunk=self._chunks[0])

    def acknowledge(self, number: int) -> None:
        """Forget all chunks up to this number: they are durable."""
        while self._chunks and self._acknowledged < number:
            self._chunks.popleft()
            self._acknowledged += 1


class Inbox:
    """The owner's side for one worker process: takes every chunk once."""

    def __init__(self) -> None:
        self.received = 0
        """The number of the last chunk that was taken."""

    def take(self, parcel: Parcel) -> GameChunk | None:
        """The chunk, unless it was taken before or was damaged on its way."""
        if parcel.number != self.received + 1 or not parcel.chunk.is_whole:
            return None
        self.received = parcel.number
        return parcel.chunk
