"""The settings of `zerogames train`."""

from dataclasses import dataclass, field, replace
from pathlib import Path

from zerogames.errors import UserError
from zerogames.search.settings import PoolSettings, SearchSettings, search_preset
from zerogames.train import TrainerSettings, WindowSettings
from zerogames_selfplay.players.settings import SelfplaySettings


@dataclass(frozen=True, kw_only=True)
class RatingSettings:
    """How the strength of the nets is followed while they learn."""

    share: float = 0.08
    """Of the run's time that rating games may take; 0: no rating."""
    visits: int = 64
    """Of a net's search for each move."""
    pairs: int = 16
    """Openings against each opponent, each with both colours; fewer when they take long."""
    anchors: tuple[str, ...] = ("random", "mcts:100", "mcts:1000")
    """Players whose strength never changes, the weakest first; it has 0 Elo."""
    perfect: bool = True
    """Play also against the perfect player, where the game has one."""
    earlier_nets: int = 2
    """Nets rated before that are met again."""
    opening_plies: int = 4
    """Random moves at the start of each pair."""
    max_plies: int = 0
    """Longer games are scored as they stand, or drawn; 0 leaves it to the game."""

    def check(self) -> None:
        """Raise `UserError` for numbers that make no sense."""
        if not 0 <= self.share < 1:
            raise UserError(f"rating.share {self.share:g} is not a share of the time below 1")
        if self.visits < 1 or self.pairs < 1:
            raise UserError("rating.visits and rating.pairs must be 1 or more")
        if self.share and not self.anchors:
            raise UserError("rating.anchors needs at least one player, e.g. random")


@dataclass(frozen=True, kw_only=True)
class GateSettings:
    """Whether a new net must prove itself before it plays."""

    pairs: int = 0
    """Openings of the gate match, each with both colours; 0: new nets play at once."""
    visits: int = 64
    """Of each search."""
    score: float = 0.5
    """Share of the points that a new net needs against the one that plays."""

    def check(self) -> None:
        """Raise `UserError` for numbers that make no sense."""
        if self.pairs < 0 or self.visits < 1:
            raise UserError("gate.pairs must be 0 or more, gate.visits 1 or more")
        if not 0 <= self.score <= 1:
            raise UserError(f"gate.score {self.score:g} is not between 0 and 1")


@dataclass(frozen=True, kw_only=True)
class TrainSettings:
    """Self-play, learning and rating: with what, for how long, and where to keep it."""

    game: str = "connect4"
    """Name and options, e.g. `go:size=9`."""
    net: str | None = None
    """The name of an architecture for a new random net, or a net file to begin with; by default
    the game's own small net."""
    out: Path | None = None
    """Folder of the run; by default `runs/<game>-train`. An existing one is continued."""
    minutes: float | None = None
    """Length of the run, all its sessions together; 20 if no other limit is given."""
    steps: int | None = None
    """Stop after so many training steps."""
    generations: int | None = None
    """Stop after so many rounds of self-play and training."""
    forever: bool = False
    """Go on until Ctrl-C; the learning rate then stays as it is."""
    seed: int = 1
    """Of the first weights, the games and the batches."""
    evaluator: str = "native"
    """How self-play runs the net: native, onnx or torch."""
    lanes: int = 0
    """Threads that play in this process (or in each worker); 0: one a core (one in each worker)."""
    workers: int = 0
    """Ray actors that play; 0: everything in this process."""
    ray_address: str | None = None
    """Address of a Ray cluster; by default a local one is started for `--workers`."""
    generation_positions: int = 8192
    """New positions between two nets."""
    first_positions: int = 8192
    """Positions that must be there before the first training step."""
    reuse: float = 4.0
    """Training samples for each new position; 4, at most 8."""
    keep_checkpoints: int = 2
    """The newest so many are kept, and the one of the best rated net."""
    keep_nets: int = 20
    """Nets of the past that are kept beside the rated ones."""
    search: SearchSettings = field(
        default_factory=lambda: search_preset("gumbel", simulations=32, temperature_plies=20)
    )
    pool: PoolSettings = field(default_factory=lambda: PoolSettings(parallel_games=64))
    trainer: TrainerSettings = field(default_factory=TrainerSettings)
    window: WindowSettings = field(default_factory=WindowSettings)
    rating: RatingSettings = field(default_factory=RatingSettings)
    gate: GateSettings = field(default_factory=GateSettings)

    def check(self) -> None:
        """Raise `UserError` for numbers that make no sense."""
        for name in ("minutes", "steps", "generations"):
            value = getattr(self, name)
            if value is not None and value <= 0:
                raise UserError(f"--{name} must be positive, not {value:g}")
        for name in ("lanes", "workers", "keep_nets"):
            if getattr(self, name) < 0:
                raise UserError(f"{_option(name)} must be 0 or more, not {getattr(self, name)}")
        for name in ("generation_positions", "first_positions", "keep_checkpoints"):
            if getattr(self, name) < 1:
                raise UserError(f"{_option(name)} must be 1 or more, not {getattr(self, name)}")
        if not 0 < self.reuse <= 1000:
            raise UserError(f"--reuse must be above 0, not {self.reuse:g}")
        if not 0 <= self.seed < 1 << 63:
            raise UserError("--seed must be between 0 and 2^63")
        if self.evaluator not in ("native", "onnx", "torch"):
            raise UserError(f"--evaluator is native, onnx or torch, not {self.evaluator}")
        self.trainer_settings().check()
        self.rating.check()
        self.gate.check()

    @property
    def limit_s(self) -> float | None:
        """Seconds of the whole run, if limited."""
        if self.minutes is not None:
            return 60 * self.minutes
        limited = self.forever or self.steps is not None or self.generations is not None
        return None if limited else 1200.0

    def progress(self, *, elapsed_s: float, step: int, generation: int) -> float | None:
        """Share of the run that is over by its nearest limit, 0 to 1; None without limits."""
        shares = []
        if self.limit_s is not None:
            shares.append(elapsed_s / self.limit_s)
        if self.steps is not None:
            shares.append(step / self.steps)
        if self.generations is not None:
            shares.append(generation / self.generations)
        return min(1.0, max(shares)) if shares else None

    def trainer_settings(self) -> TrainerSettings:
        """The trainer's, with an end for a cosine that goes by the run's own limit."""
        trainer = replace(self.trainer, seed=self.seed & 0xFFFFFFFF)
        if trainer.schedule == "cosine":
            trainer = replace(trainer, total_steps=trainer.warmup_steps + 1)
        return trainer

    def selfplay(self) -> SelfplaySettings:
        """What a worker needs to know."""
        return SelfplaySettings(
            game=self.game,
            seed=self.seed,
            evaluator=self.evaluator,
            forever=True,
            lanes=self.lanes,
            workers=self.workers,
            ray_address=self.ray_address,
            shard_positions=self.generation_positions,
            search=self.search,
            pool=self.pool,
        )


def _option(name: str) -> str:
    return "--" + name.replace("_", "-")
