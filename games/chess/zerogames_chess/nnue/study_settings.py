"""The settings of `zerogames nnue study`: which networks, how they learn, how they are measured."""

import re
from dataclasses import dataclass, field
from pathlib import Path

from zerogames.errors import UserError
from zerogames_chess.nnue.engine import BENCH_DEPTH
from zerogames_chess.nnue.feature_set import FeatureSet
from zerogames_chess.nnue.train import TrainOptions

_NET = re.compile(r"(\S+) (\d+)-(\d+)(?:-(\d+))?")


@dataclass(frozen=True)
class NetPlan:
    """A network to train, written `piece+h+v 256-32-32`; without a third layer `piece 256-32`."""

    features: str
    m: int
    o: int
    p: int

    @classmethod
    def parse(cls, text: str) -> "NetPlan":
        """Read the text; unknown features are named."""
        match = _NET.fullmatch(text.strip())
        if match is None:
            raise UserError(f"net '{text}': write FEATURES M-O-P, such as piece+h+v 256-32-32")
        FeatureSet(match[1])
        m, o, p = int(match[2]), int(match[3]), int(match[4] or 0)
        if not (1 <= m <= 4096 and 1 <= o <= 1024 and p <= 1024):
            raise UserError(f"net '{text}': the sizes are out of range")
        return cls(match[1], m, o, p)

    def __str__(self) -> str:
        third = f"-{self.p}" if self.p else ""
        return f"{self.features} {self.m}-{self.o}{third}"

    @property
    def slug(self) -> str:
        """The name for folders."""
        return re.sub(r"[^\w+.-]", "_", str(self))


@dataclass(frozen=True, kw_only=True)
class Training:
    """The options of `zerogames nnue train`, the same for every net."""

    epochs: int = 20
    batch: int = 16_384
    learning_rate: float = 5e-4
    decay: float = 0.99
    win_model: str = "fit"
    """The win model: fit, thesis, squares or official."""
    label_weight: float = 1.0
    epoch_samples: int = 0
    """The number of positions per epoch; 0 takes all."""
    threads: int = 2

    def options(self, plan: NetPlan, seed: int, data: Path, out: Path) -> TrainOptions:
        """The options of one run."""
        return TrainOptions(
            data=data,
            out=out,
            features=plan.features,
            m=plan.m,
            o=plan.o,
            p=plan.p,
            seed=seed,
            epochs=self.epochs,
            batch=self.batch,
            learning_rate=self.learning_rate,
            decay=self.decay,
            win_model=self.win_model,
            label_weight=self.label_weight,
            epoch_samples=self.epoch_samples,
            threads=self.threads,
        )


@dataclass(frozen=True, kw_only=True)
class StudySettings:
    """Networks on the same data, and what is asked of them."""

    data: Path = Path()
    """The folder that `zerogames nnue data` made."""
    out: Path = Path("runs/nnue-study")
    """The folder for nets, games, table and plots; the same command continues there."""
    nets: tuple[str, ...] = ("piece 256-32-32",)
    """The nets to compare. The first is the baseline: its Elo is 0."""
    seeds: tuple[int, ...] = (0, 1)
    """The seeds; every net is trained with each of them."""
    match_seeds: int = 1
    """The number of seeds whose nets play games."""
    training: Training = field(default_factory=Training)
    puzzles: Path | None = None
    """The CSV file of the Lichess puzzle database."""
    puzzle_time_ms: int = 100
    """The time for each move of a puzzle, in milliseconds."""
    puzzle_count: int = 0
    """The largest number of puzzles, spread over the file; 0 takes all."""
    humans: Path | None = None
    """A PGN file of human games, to measure how often the engine plays their moves."""
    human_positions: int = 1_000
    move_time_ms: int = 10
    """The time for each move of the matches at fixed time, in milliseconds; 0 leaves them out."""
    nodes: int = 5_000
    """The nodes for each move of the matches at fixed nodes, which separate knowledge from speed; 0
    leaves them out."""
    games: int = 200
    """The number of games of each net against the baseline, each opening with both colours."""
    concurrency: int = 2
    """The number of games played at the same time."""
    cost_positions: int = 300
    """The number of positions on which active features and updates are counted."""
    bench_depth: int = BENCH_DEPTH
    """The depth of the searches that measure nodes per second, in plies."""

    def plans(self) -> list[NetPlan]:
        """The nets; at least one, no two alike."""
        plans = [NetPlan.parse(text) for text in self.nets]
        if not plans or len(set(plans)) != len(plans):
            raise UserError("nets: name at least one net, and none twice")
        if not self.seeds or len(set(self.seeds)) != len(self.seeds):
            raise UserError("seeds: name at least one, and none twice")
        if not 1 <= self.match_seeds <= len(self.seeds):
            raise UserError(f"match_seeds must be from 1 to {len(self.seeds)}")
        if min(self.games, self.concurrency, self.cost_positions, self.puzzle_time_ms) < 1:
            raise UserError(
                "games, concurrency, cost_positions and puzzle_time_ms must be positive"
            )
        if min(self.move_time_ms, self.nodes, self.puzzle_count) < 0:
            raise UserError("move_time_ms, nodes and puzzle_count must not be negative")
        return plans
