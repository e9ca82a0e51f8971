"""The window over self-play: batches drawn from the newest shards of a run."""

import shutil
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Self, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from zerogames.data.ends import EndReader
from zerogames.data.formats import ReadContext, get_game_data
from zerogames.data.problems import Problems
from zerogames.data.sample import SampleBatch, Symmetries, unpack
from zerogames.errors import UserError
from zerogames.game import Game, find_encoding
from zerogames.train.duplicates import DuplicateMeans, check_averaging
from zerogames.train.shard_samples import ShardSamples, read_shard_samples
from zerogames.train.window_settings import WindowSettings, window_size

WindowState: TypeAlias = dict[str, int | list[str]]

_EMPTY = "the window is empty: no shard with positions has been added"


@dataclass(frozen=True, eq=False)
class _View:
    """The positions that can be drawn at one moment; never changes."""

    shards: tuple[ShardSamples, ...]
    starts: NDArray[np.int64]
    """`[shards]`: rows before each shard."""
    cumulative: NDArray[np.float64]
    """`[rows]`: weights summed up, those outside the window left out."""
    duplicates: DuplicateMeans | None

    def draw(self, count: int, rng: np.random.Generator) -> NDArray[np.int64]:
        """Rows, each with a probability as its weight."""
        points = rng.random(count) * self.cumulative[-1]
        rows: NDArray[np.int64] = np.searchsorted(self.cumulative, points, side="right")
        return np.minimum(rows, len(self.cumulative) - 1)  # a product may round up to the sum

    def find(self, rows: NDArray[np.int64]) -> list[tuple[ShardSamples, int]]:
        """The shard of each row and its number there."""
        owners = np.searchsorted(self.starts, rows, side="right") - 1
        inside = rows - self.starts[owners]
        pairs = zip(owners.tolist(), inside.tolist(), strict=True)
        return [(self.shards[owner], row) for owner, row in pairs]


@dataclass(frozen=True, kw_only=True)
class Draws:
    """Which batches are drawn: the same seed draws the same ones."""

    seed: int = 0
    learner: int = 0
    """The number of this learner: each draws its part of every batch."""
    learners: int = 1

    def part(self, batch_size: int) -> slice:
        """The rows of each batch that this learner takes."""
        if not 0 <= self.learner < self.learners or batch_size % self.learners:
            raise UserError(
                f"a batch of {batch_size} does not divide among {self.learners} learners"
            )
        size = batch_size // self.learners
        return slice(self.learner * size, (self.learner + 1) * size)


class ReplayWindow:
    """Positions of the newest shards, of which batches are drawn ahead by background threads.

    Draw number n depends on the seed, n and the shards added before it, on nothing else. Use it in
    a `with` statement, or call `close`.

    Args:
        game: The game.
        encoding: Name of the input encoding with its options.
        settings: Size and sampling.
        draws: Which batches are drawn.
        set_aside: Folder that corrupt shards are moved to; by default they stay.
        with_ends: Whether batches tell how games ended, for nets with heads that learn it
            (`bool(spec.ends)`).
    """

    def __init__(
        self,
        game: Game,
        encoding: str,
        settings: WindowSettings | None = None,
        draws: Draws | None = None,
        *,
        set_aside: Path | None = None,
        with_ends: bool = False,
    ) -> None:
        self.settings = settings = settings or WindowSettings()
        settings.check()
        self._shape = find_encoding(game, encoding).shape
        if settings.average_duplicates:
            check_averaging(game)
        draws = draws or Draws()
        self._part = draws.part(settings.batch_size)
        self.game = game
        self.seed = draws.seed
        self.problems = Problems()
        """Shards that were refused, by name."""
        self.total_positions = 0
        """Positions of all shards ever added."""
        self.total_games = 0
        self.num_draws = 0
        """Batches handed out."""
        self._set_aside = set_aside
        data = get_game_data(game)
        self._context = ReadContext(
            game=game, encoding=encoding, problems=self.problems, value_lambda=settings.value_lambda
        )
        self._ends = EndReader(game, data.end) if with_ends and data.end is not None else None
        self._shards: deque[ShardSamples] = deque()
        self._view: _View | None = None
        self._symmetries = Symmetries.of(game) if settings.symmetries else None
        self._free = [self._new_buffer() for _ in range(settings.prefetch + 1)]
        self._ahead: deque[tuple[Future[SampleBatch], SampleBatch]] = deque()
        self._lent: SampleBatch | None = None
        self._pool = ThreadPoolExecutor(settings.workers, "zerogames-window")
        self._lock = threading.Lock()

    def _new_buffer(self) -> SampleBatch:
        return SampleBatch.empty(
            self._part.stop - self._part.start,
            self._shape,
            self.game.spec.action_size,
            end_columns=0 if self._ends is None else self._ends.width,
        )

    @property
    def num_positions(self) -> int:
        """Positions in the window."""
        return min(sum(shard.num_positions for shard in self._shards), self._wanted())

    @property
    def paths(self) -> list[Path]:
        """Shards in the window, oldest first."""
        return [shard.path for shard in self._shards]

    @property
    def num_bytes(self) -> int:
        """Memory of the packed positions."""
        return sum(shard.num_bytes for shard in self._shards)

    def read(self, path: str | Path) -> ShardSamples:
        """Read a shard without adding it, in any thread; raise `UserError` if it is corrupt."""
        surprise = self.settings.sampling == "surprise"
        share = self.settings.surprise_share if surprise else None
        return read_shard_samples(
            Path(path),
            self._context,
            surprise_share=share,
            with_targets=self.settings.average_duplicates,
            ends=self._ends,
        )

    def add(self, shard: str | Path | ShardSamples) -> bool:
        """Let the window move on by a shard, whole or not at all.

        A corrupt one is noted in `problems`, moved aside if there is a folder for that, and False
        is returned.
        """
        if not isinstance(shard, ShardSamples):
            path = Path(shard)
            try:
                shard = self.read(path)
            except UserError as error:
                self._refuse(path, str(error))
                return False
        with self._lock:
            self._shards.append(shard)
            self.total_positions += shard.num_positions
            self.total_games += shard.num_games
            self._move()
        return True

    def _refuse(self, path: Path, reason: str) -> None:
        self.problems.add(str(path), reason)
        if self._set_aside is not None and path.exists():
            self._set_aside.mkdir(parents=True, exist_ok=True)
            shutil.move(path, self._set_aside / path.name)

    def _wanted(self) -> int:
        return window_size(self.settings, self.total_positions)

    def _move(self) -> None:
        """Drop what has left the window and forget batches that were drawn from the old one."""
        wanted = self._wanted()
        held = sum(shard.num_positions for shard in self._shards)
        limit = self.settings.max_megabytes << 20
        while len(self._shards) > 1 and (
            held - self._shards[0].num_positions >= wanted or self.num_bytes > limit
        ):
            held -= self._shards.popleft().num_positions
        self._cancel()
        self._view = self._make_view(max(0.0, held - wanted))

    def _make_view(self, outside: float) -> _View | None:
        shards = tuple(self._shards)
        sizes = np.array([len(shard) for shard in shards])
        cumulative = np.cumsum(np.concatenate([shard.weights for shard in shards]))
        cumulative = np.maximum(cumulative - outside, 0.0)
        if len(cumulative) == 0 or cumulative[-1] <= 0:
            return None
        duplicates = None
        if self.settings.average_duplicates:
            weights = np.diff(cumulative, prepend=0.0)
            targets = [shard.targets for shard in shards if shard.targets is not None]
            duplicates = DuplicateMeans(targets, weights)
            cumulative = np.cumsum(duplicates.weights(weights, self.settings.duplicate_weight))
        starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
        return _View(shards, starts, cumulative, duplicates)

    def draw(self) -> SampleBatch:
        """The next batch; its memory is used again when the one after is drawn."""
        with self._lock:
            if self._lent is not None:
                self._free.append(self._lent)
                self._lent = None
            if self._view is None:
                raise UserError(_EMPTY)
            self._fill()
            future, buffer = self._ahead.popleft()
            batch = future.result()
            self._lent = buffer
            self.num_draws += 1
            self._fill()
            return batch

    def peek(self, number: int = 0) -> SampleBatch:
        """A batch in memory of its own that does not count as a draw, e.g. for measuring.

        It depends on the seed, the draws so far, the shards and `number`.
        """
        with self._lock:
            # One more number than a draw's key, and never 0: NumPy takes no notice of last zeros.
            view, key = self._view, [self.seed, self.num_draws, number + 1]
        if view is None:
            raise UserError(_EMPTY)
        return self._make(view, key, self._new_buffer())

    def _fill(self) -> None:
        assert self._view is not None
        while self._free and len(self._ahead) < self.settings.prefetch:
            buffer = self._free.pop()
            key = [self.seed, self.num_draws + len(self._ahead)]
            self._ahead.append((self._pool.submit(self._make, self._view, key, buffer), buffer))

    def _cancel(self) -> None:
        while self._ahead:
            future, buffer = self._ahead.pop()
            if not future.cancel():
                future.exception()  # wait: it is writing to the buffer
            self._free.append(buffer)

    def _make(self, view: _View, key: list[int], buffer: SampleBatch) -> SampleBatch:
        rng = np.random.default_rng(key)
        rows = view.draw(self.settings.batch_size, rng)[self._part]
        found = view.find(rows)
        samples = [shard.sample(row) for shard, row in found]
        cell_maps = action_maps = None
        if self._symmetries is None:
            batch = unpack(samples, buffer)
        else:
            count = self._symmetries.count
            everyone = rng.integers(count, size=self.settings.batch_size, dtype=np.uint8)
            chosen = everyone[self._part]
            batch = unpack(samples, buffer, self._symmetries, chosen)
            cell_maps = self._symmetries.cells[chosen]
            action_maps = self._symmetries.actions[chosen]
        if view.duplicates is not None:
            view.duplicates.apply(batch, rows, action_maps)
        if self._ends is not None:
            _put_ends(batch, found)
            if cell_maps is not None:
                batch.ends[:] = self._ends.permute(batch.ends, cell_maps)
        return batch

    def state(self) -> WindowState:
        """The state for `restore`, as JSON; the shards themselves stay where they are."""
        return {
            "seed": self.seed,
            "draws": self.num_draws,
            "total_positions": self.total_positions,
            "total_games": self.total_games,
            "shards": [str(path) for path in self.paths],
        }

    def restore(self, state: Mapping[str, object], locate: Callable[[str], Path] = Path) -> None:
        """Continue in a new window from what `state` returned.

        Args:
            state: What `state` gave.
            locate: From a shard's name to where it is now.
        """
        if self._shards or self.num_draws:
            raise ValueError("only a new window can be restored")
        try:
            names = [str(name) for name in cast(list[object], state["shards"])]
            self.seed, self.num_draws, self.total_positions, self.total_games = (
                int(cast(int, state[key]))
                for key in ("seed", "draws", "total_positions", "total_games")
            )
        except (KeyError, TypeError, ValueError) as error:
            raise UserError(f"the state of the window is damaged ({error!r})") from None
        with self._lock:
            for path in map(locate, names):
                try:
                    self._shards.append(self.read(path))
                except UserError as error:
                    self._refuse(path, str(error))
            if self._shards:
                self._move()

    def close(self) -> None:
        """Stop the threads."""
        with self._lock:
            self._cancel()
        self._pool.shutdown()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _put_ends(batch: SampleBatch, found: Sequence[tuple[ShardSamples, int]]) -> None:
    """Fill in how the games of the rows ended, in the side to move's view."""
    for number, (shard, row) in enumerate(found):
        assert shard.games is not None
        game = shard.games.games[row]
        batch.ends[number] = shard.games.columns[game] * shard.games.signs[row]
        batch.ends_known[number] = shard.games.known[game]
