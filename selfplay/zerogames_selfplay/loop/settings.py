"""The settings of `zerogames train`."""

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from zerogames.config import make_settings
from zerogames.errors import UserError
from zerogames.runs.folder import default_folder, read_run
from zerogames.search.settings import PoolSettings, SearchSettings, search_preset
from zerogames.train import TrainerSettings, WindowSettings
from zerogames_selfplay.players.settings import (
    SelfplaySettings,
    check_numbers,
    check_workers,
    nearest_limit,
    num_actors,
)

KIND = "train"


@dataclass(frozen=True, kw_only=True)
class RatingSettings:
    """How nets are rated during training."""

    share: float = 0.08
    """Largest share of the run's time for rating games, 0 to 1; 0: no rating."""
    visits: int = 64
    """Visits of a net's search per move."""
    pairs: int = 16
    """Openings against each opponent, each played with both colours; fewer if games are slow."""
    anchors: tuple[str, ...] = ("random", "mcts:100", "mcts:1000")
    """Players whose strength never changes, the weakest first; the first has 0 Elo."""
    perfect: bool = True
    """Also play against the perfect player, if the game has one."""
    earlier_nets: int = 2
    """Number of earlier nets that each net plays against."""
    opening_plies: int = 4
    """Random moves at the start of each pair of games."""
    max_plies: int = 0
    """Games are scored or drawn after this many plies; 0: the game's own limit."""

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
    """The match that a new net must pass before it plays."""

    pairs: int = 0
    """Openings of the gate match, each played with both colours; 0: new nets play at once."""
    visits: int = 64
    """Visits of each search in the gate match."""
    score: float = 0.5
    """Share of the points that a new net needs against the present net, 0 to 1."""

    def check(self) -> None:
        """Raise `UserError` for numbers that make no sense."""
        if self.pairs < 0 or self.visits < 1:
            raise UserError("gate.pairs must be 0 or more, gate.visits 1 or more")
        if not 0 <= self.score <= 1:
            raise UserError(f"gate.score {self.score:g} is not between 0 and 1")


@dataclass(frozen=True, kw_only=True)
class TrainSettings:
    """The settings of a training run: game, net, limits, self-play, training and rating."""

    game: str = "connect4"
    """Name and options of the game, e.g. `go:size=9`."""
    net: str | None = None
    """The name of an architecture for a new random net, or a net to begin with: a file, `shipped`
    or `newest`; by default a new net of the game's default architecture."""
    out: Path | None = None
    """Folder of the run; by default `runs/<game>-train`. An existing run is continued."""
    minutes: float | None = None
    """Minutes of all sessions of the run together; 20 if no other limit is given."""
    steps: int | None = None
    """Stop after this many training steps."""
    generations: int | None = None
    """Stop after this many rounds of self-play and training."""
    forever: bool = False
    """Train until Ctrl-C; the learning rate then stays constant."""
    seed: int = 1
    """Seed of the first weights, the games and the batches."""
    evaluator: str = "native"
    """What evaluates the net in self-play: native, onnx or torch."""
    lanes: int = 0
    """Threads that play in this process (or in each worker); 0: one per core (one in each
    worker)."""
    workers: int | Literal["auto"] = 0
    """Ray actors that play; 0: everything in this process; auto: one for each free CPU, also of
    nodes that join later."""
    ray_address: str | None = None
    """Address of a Ray cluster; by default a local one is started for `--workers`."""
    generation_positions: int = 8192
    """New positions per generation."""
    first_positions: int = 8192
    """Positions that must be played before the first training step."""
    reuse: float = 4.0
    """Training samples per new position; 4 is usual, more than 8 is not advisable."""
    checkpoint_s: float = 60.0
    """The longest time in seconds between two checkpoints while the learner trains."""
    keep_checkpoints: int = 2
    """Number of newest checkpoints to keep beside the one of the best rated net."""
    keep_nets: int = 20
    """Number of newest nets to keep beside the rated ones."""
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
        check_numbers(
            self,
            positive=("minutes", "steps", "generations", "checkpoint_s"),
            not_negative=("lanes", "keep_nets"),
            one_or_more=("generation_positions", "first_positions", "keep_checkpoints"),
        )
        check_workers(self.workers)
        if not 0 < self.reuse <= 1000:
            raise UserError(f"--reuse must be above 0, not {self.reuse:g}")
        if self.evaluator not in ("native", "onnx", "torch"):
            raise UserError(f"--evaluator is native, onnx or torch, not {self.evaluator}")
        self.trainer_settings().check()
        self.rating.check()
        self.gate.check()

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
        """Seconds of the whole run, if limited."""
        if self.minutes is not None:
            return 60 * self.minutes
        limited = self.forever or self.steps is not None or self.generations is not None
        return None if limited else 1200.0

    def progress(self, *, elapsed_s: float, step: int, generation: int) -> float | None:
        """Share of the run that is over by its nearest limit, 0 to 1; None without limits."""
        pairs = ((elapsed_s, self.limit_s), (step, self.steps), (generation, self.generations))
        return nearest_limit(*pairs)

    def trainer_settings(self) -> TrainerSettings:
        """The trainer's settings; a cosine schedule follows the run's own limit."""
        trainer = replace(self.trainer, seed=self.seed & 0xFFFFFFFF)
        if trainer.schedule == "cosine":
            trainer = replace(trainer, total_steps=trainer.warmup_steps + 1)
        return trainer

    def selfplay(self) -> SelfplaySettings:
        """The settings of the workers."""
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


def read_run_settings(path: Path) -> TrainSettings | None:
    """The settings of the run in a folder, if there is one."""
    table = read_run(path, KIND) if path.is_dir() else None
    return None if table is None else make_settings(TrainSettings, table["settings"])
