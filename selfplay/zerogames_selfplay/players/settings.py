"""The settings of `zerogames selfplay`."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from zerogames.errors import UserError
from zerogames.runs.folder import default_folder
from zerogames.search.settings import PoolSettings, SearchSettings, search_preset

KIND = "selfplay"


@dataclass(frozen=True, kw_only=True)
class SelfplaySettings:
    """The settings of self-play: game, net, limits and output."""

    game: str = "chess"
    """Name and options of the game, e.g. `go:size=9`."""
    net: str | None = None
    """A net file, the name of an architecture for a new random net, `shipped` or `newest`. By
    default the net of the output folder, or a new one."""
    out: Path | None = None
    """Folder for records and net; by default `runs/<game>`. An existing one is continued."""
    games: int | None = None
    """Stop after this many games."""
    positions: int | None = None
    """Stop after this many recorded positions."""
    minutes: float | None = None
    """Stop after this many minutes; 2 if no other limit is given."""
    forever: bool = False
    """Play until Ctrl-C."""
    seed: int = 1
    """The seed; with the same settings and net it gives the same games."""
    evaluator: str = "native"
    """native (our kernels where they are faster, else onnxruntime), onnx, torch, constant or
    random."""
    precision: str = "fp32"
    """fp32, or int8 for native and onnx: faster on CPUs, its answers differ a little."""
    lanes: int = 0
    """Threads in this process (or in each worker), each with its own games and evaluator; 0: one
    per core (one in each worker)."""
    workers: int | Literal["auto"] = 0
    """Ray actors that play; 0: play in this process; auto: one for each free CPU, also of nodes
    that join later."""
    ray_address: str | None = None
    """Address of a Ray cluster; by default a local one is started for `--workers`."""
    openings: Path | None = None
    """File with one start position per line, as the game writes them."""
    shard_positions: int = 8192
    """Positions per record file; about 100 bytes each."""
    sync_s: float = 1.0
    """The longest time in seconds that a finished game waits in memory before it is synced to disk
    and counted."""
    search: SearchSettings = field(
        default_factory=lambda: search_preset("gumbel", simulations=32, temperature_plies=20)
    )
    pool: PoolSettings = field(default_factory=lambda: PoolSettings(parallel_games=32))

    def check(self) -> None:
        """Raise `UserError` for numbers that make no sense."""
        check_numbers(
            self,
            positive=("games", "positions", "minutes"),
            not_negative=("lanes", "sync_s"),
            one_or_more=("shard_positions",),
        )
        check_workers(self.workers)

    @property
    def num_actors(self) -> int | None:
        """Ray actors that play, at least one; None for one a free CPU."""
        return num_actors(self.workers)

    @property
    def folder(self) -> Path:
        """The run's folder."""
        return Path(self.out) if self.out else default_folder(self.game, KIND)

    @property
    def limit_s(self) -> float | None:
        """Seconds to play, if limited."""
        if self.minutes is not None:
            return 60 * self.minutes
        limited = self.forever or self.games is not None or self.positions is not None
        return None if limited else 120.0

    def progress(self, *, elapsed_s: float, games: int, positions: int) -> float | None:
        """Share of the run that is done by its nearest limit, 0 to 1; None without limits."""
        pairs = ((elapsed_s, self.limit_s), (games, self.games), (positions, self.positions))
        return nearest_limit(*pairs)


def check_workers(workers: int | str) -> None:
    """Raise `UserError` for a number of workers that makes no sense."""
    if isinstance(workers, int) and workers < 0:
        raise UserError(f"--workers must be 0 or more, or auto, not {workers}")


def num_actors(workers: int | Literal["auto"]) -> int | None:
    """Ray actors that play once Ray is used; None for one a free CPU."""
    return None if workers == "auto" else max(1, workers)


def nearest_limit(*pairs: tuple[float, float | None]) -> float | None:
    """The largest share of what is done in what is wanted, at most 1; None without limits."""
    shares = [done / limit for done, limit in pairs if limit is not None]
    return min(1.0, max(shares)) if shares else None


def check_numbers(
    settings: object,
    *,
    positive: tuple[str, ...] = (),
    not_negative: tuple[str, ...] = (),
    one_or_more: tuple[str, ...] = (),
) -> None:
    """Raise `UserError` for a field, or a seed, with a number that makes no sense."""

    def refuse(name: str, rule: str) -> None:
        value = getattr(settings, name)
        raise UserError(f"--{name.replace('_', '-')} must be {rule}, not {value:g}")

    for name in positive:
        if (value := getattr(settings, name)) is not None and value <= 0:
            refuse(name, "positive")
    for name in not_negative:
        if getattr(settings, name) < 0:
            refuse(name, "0 or more")
    for name in one_or_more:
        if getattr(settings, name) < 1:
            refuse(name, "1 or more")
    if not 0 <= getattr(settings, "seed", 0) < 1 << 63:
        raise UserError("--seed must be between 0 and 2^63")
