"""The settings of `zerogames selfplay`."""

from dataclasses import dataclass, field
from pathlib import Path

from zerogames.errors import UserError
from zerogames.search.settings import PoolSettings, SearchSettings, search_preset


@dataclass(frozen=True, kw_only=True)
class SelfplaySettings:
    """What to play, with what, for how long, and where to keep it."""

    game: str = "chess"
    """Name and options, e.g. `go:size=9`."""
    net: str | None = None
    """A net file, or the name of an architecture for a new random net. By default the net of the
    output folder, or a new one."""
    out: Path | None = None
    """Folder for records and net; by default `runs/<game>`. An existing one is continued."""
    games: int | None = None
    """Stop after this many games."""
    positions: int | None = None
    """Stop after this many recorded positions."""
    minutes: float | None = None
    """Stop after this time; 2 if no other limit is given."""
    forever: bool = False
    """Go on until Ctrl-C."""
    seed: int = 1
    """The same seed, settings and net give the same games."""
    evaluator: str = "native"
    """native (our kernels where they are faster, else onnxruntime), onnx, torch, constant or
    random."""
    precision: str = "fp32"
    """fp32, or int8 for native and onnx: faster on CPUs, its answers differ a little."""
    lanes: int = 0
    """Threads in this process (or in each worker), each with its own games and net; 0: one a core
    (one in each worker)."""
    workers: int = 0
    """Ray actors that play; 0: play in this process."""
    ray_address: str | None = None
    """Address of a Ray cluster; by default a local one is started for `--workers`."""
    openings: Path | None = None
    """File with one start position a line, as the game writes them."""
    shard_positions: int = 8192
    """Positions per record file; about 100 bytes each."""
    search: SearchSettings = field(
        default_factory=lambda: search_preset("gumbel", simulations=32, temperature_plies=20)
    )
    pool: PoolSettings = field(default_factory=lambda: PoolSettings(parallel_games=32))

    def check(self) -> None:
        """Raise `UserError` for numbers that make no sense."""
        for name in ("games", "positions", "minutes"):
            value = getattr(self, name)
            if value is not None and value <= 0:
                raise UserError(f"--{name} must be positive, not {value:g}")
        for name in ("lanes", "workers"):
            if getattr(self, name) < 0:
                raise UserError(f"--{name} must be 0 or more, not {getattr(self, name)}")
        if self.shard_positions < 1:
            raise UserError("--shard-positions must be 1 or more")
        if not 0 <= self.seed < 1 << 63:
            raise UserError("--seed must be between 0 and 2^63")

    @property
    def limit_s(self) -> float | None:
        """Seconds to play, if limited."""
        if self.minutes is not None:
            return 60 * self.minutes
        limited = self.forever or self.games is not None or self.positions is not None
        return None if limited else 120.0
