"""Batches from a data set: worker threads, a shuffle buffer, reused memory."""

import contextlib
import queue
import threading
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from typing import Self

import numpy as np

from zerogames.data.sample import SampleBatch, Symmetries, unpack
from zerogames.data.sources import Piece, Source
from zerogames.data.split import Selection
from zerogames.errors import UserError


@dataclass(frozen=True, kw_only=True)
class StreamOptions:
    """The options of a stream of batches."""

    batch_size: int = 256
    shuffle_buffer: int = 65_536
    """Samples among which the next is drawn, about a kilobyte each; 0 keeps the order."""
    symmetries: bool = False
    """Transform each sample by a random symmetry of the board."""
    epochs: int | None = 1
    """The number of passes over the data; None never ends."""
    drop_last: bool = False
    """Leave out a last batch that is not full."""
    workers: int = 1
    """Threads that read and replay; the result does not depend on it."""
    prefetch: int = 3
    """Batches made ahead."""
    seed: int = 0

    def __post_init__(self) -> None:
        for name, least in (("batch_size", 1), ("shuffle_buffer", 0), ("workers", 1)):
            if getattr(self, name) < least:
                raise UserError(f"{name} must be at least {least}, not {getattr(self, name)}")


class SampleStream:
    """Iterates over batches that a background thread makes.

    A batch is valid until the next one is asked for: its memory is used again (`SampleBatch.copy`
    keeps one). The batches are the same for the same seed, data and options, whatever the number
    of workers. Use it in a `with` statement, or call `close`.
    """

    def __init__(
        self,
        source: Source,
        selection: Selection | None = None,
        options: StreamOptions | None = None,
    ) -> None:
        self.source = source
        self.selection = selection or Selection()
        self.options = options or StreamOptions()
        game = source.game
        self._symmetries = Symmetries.of(game) if self.options.symmetries else None
        self._free = queue.SimpleQueue[SampleBatch]()
        for _ in range(self.options.prefetch + 1):
            size, actions = self.options.batch_size, game.spec.action_size
            self._free.put(SampleBatch.empty(size, source.shape, actions))
        self._ready = queue.SimpleQueue[tuple[SampleBatch, int] | BaseException | None]()
        self._lent: SampleBatch | None = None
        self._stop = threading.Event()
        self._done = False
        self._thread = threading.Thread(target=self._run, name="zerogames-data", daemon=True)
        self._thread.start()

    def __iter__(self) -> Iterator[SampleBatch]:
        return self

    def __next__(self) -> SampleBatch:
        self._give_back()
        if self._done:
            raise StopIteration
        item = self._ready.get()
        if isinstance(item, tuple):
            self._lent, size = item
            return self._lent[:size]
        self._done = True
        if item is not None:
            raise item
        raise StopIteration

    def close(self) -> None:
        """Stop the threads."""
        self._stop.set()
        self._done = True
        self._give_back()
        self._thread.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _give_back(self) -> None:
        if self._lent is not None:
            self._free.put(self._lent)
            self._lent = None

    def _run(self) -> None:
        try:
            with ThreadPoolExecutor(self.options.workers, "zerogames-data-worker") as pool:
                self._produce(pool)
            self._ready.put(None)
        except BaseException as error:  # handed to the consumer, who raises it
            self._ready.put(error)

    def _produce(self, pool: ThreadPoolExecutor) -> None:
        size = self.options.batch_size
        symmetry_rng = np.random.default_rng([self.options.seed, 0x5359])
        samples = self._mixed(pool)
        while (batch := list(islice(samples, size))) and not self._stop.is_set():
            if len(batch) == size or not self.options.drop_last:
                self._emit(batch, symmetry_rng)

    def _mixed(self, pool: ThreadPoolExecutor) -> Iterator[bytes]:
        """Samples in the order in which they are given out."""
        rng = np.random.default_rng([self.options.seed, 0x5348])
        buffer: list[bytes] = []
        for samples in self._samples(pool):
            yield from self._shuffled(samples, buffer, rng)
        shuffles = self.options.shuffle_buffer > 0
        for index in rng.permutation(len(buffer)) if shuffles else range(len(buffer)):
            yield buffer[index]

    def _shuffled(
        self, samples: list[bytes], buffer: list[bytes], rng: np.random.Generator
    ) -> list[bytes]:
        """Put samples into the buffer; give those they drive out."""
        room = self.options.shuffle_buffer - len(buffer)
        if room > 0:
            buffer.extend(samples[:room])
            samples = samples[room:]
        if not buffer or not samples:
            return samples if not buffer else []
        driven = []
        for index, sample in zip(
            rng.integers(len(buffer), size=len(samples)).tolist(), samples, strict=True
        ):
            driven.append(buffer[index])
            buffer[index] = sample
        return driven

    def _emit(self, samples: list[bytes], symmetry_rng: np.random.Generator) -> None:
        batch = None
        while batch is None:
            # Asked first: what is left of a block may be many batches.
            if self._stop.is_set():
                return
            with contextlib.suppress(queue.Empty):
                batch = self._free.get(timeout=0.1)
        if self._symmetries is None:
            unpack(samples, batch)
        else:
            count = self._symmetries.count
            chosen = symmetry_rng.integers(count, size=len(samples), dtype=np.uint8)
            unpack(samples, batch, self._symmetries, chosen)
        self._ready.put((batch, len(samples)))

    def _samples(self, pool: ThreadPoolExecutor) -> Iterator[list[bytes]]:
        """Samples block by block, in the order of the blocks, read ahead by the workers."""
        ahead = deque[Future[list[bytes]]]()
        epoch, found = 0, False

        def finish(allowed: int) -> Iterator[list[bytes]]:
            nonlocal found
            while len(ahead) > allowed:
                samples = ahead.popleft().result()
                found = found or bool(samples)
                yield samples

        try:
            while self.options.epochs is None or epoch < self.options.epochs:
                order = (
                    np.random.default_rng([self.options.seed, epoch])
                    if self.options.shuffle_buffer
                    else None
                )
                for piece in self.source.pieces(order):
                    ahead.append(pool.submit(self._read, piece, epoch))
                    yield from finish(2 * self.options.workers)
                    if self._stop.is_set():
                        return
                while ahead and not found:  # an endless stream of nothing must end
                    yield from finish(len(ahead) - 1)
                if not found:
                    raise UserError(self._nothing())
                epoch += 1
            yield from finish(0)
        finally:
            for future in ahead:
                future.cancel()

    def _nothing(self) -> str:
        problems = self.source.problems
        names = ", ".join(str(root) for root in self.source.roots[:3])
        first = f": {'; '.join(': '.join(one) for one in problems.named[:2])}"
        skipped = f"; {problems.count} problems{first}" if problems.count else ""
        return f"{names}: no {self.selection.part} positions{skipped}"

    def _read(self, piece: Piece, epoch: int) -> list[bytes]:
        selection, problems = self.selection, self.source.problems
        samples: list[bytes] = []
        for game in self.source.read(piece):
            if self._stop.is_set():
                break
            if not selection.wants(game.key):
                continue
            chosen = selection.choose(game.key, game.num_positions, epoch, piece.copy)
            if len(chosen) == 0:
                continue
            try:
                samples += game.samples(chosen)
            except UserError as error:
                problems.add(game.name, str(error))
        return samples
