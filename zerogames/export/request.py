"""What an export is asked for and what it reports."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from zerogames.errors import UserError

if TYPE_CHECKING:
    from zerogames.export.agreement import Agreement
    from zerogames.export.parity import Parity
    from zerogames.game import Game
    from zerogames.nets.model import Model
    from zerogames.nets.net_info import NetInfo

MAX_POSITIONS = 100_000


@dataclass(frozen=True, kw_only=True)
class BatchSizes:
    """Positions per call that an engine is built for."""

    smallest: int = 1
    best: int = 64
    largest: int = 256

    def __post_init__(self) -> None:
        if not 1 <= self.smallest <= self.best <= self.largest <= 65536:
            raise UserError(
                "--batch wants sizes that do not fall: smallest, best, largest (e.g. 1,64,256), "
                f"not {self.smallest},{self.best},{self.largest}"
            )

    @classmethod
    def parse(cls, text: str) -> "BatchSizes":
        """Read `smallest,best,largest`; two numbers are `best,largest`, one is the only size."""
        try:
            sizes = [int(part) for part in text.split(",")]
        except ValueError:
            sizes = []
        if len(sizes) == 1:
            sizes *= 3
        elif len(sizes) == 2:
            sizes = [1, *sizes]
        if len(sizes) != 3:
            raise UserError(f"--batch wants sizes such as 64 or 1,64,256, not '{text}'")
        smallest, best, largest = sizes
        return cls(smallest=smallest, best=best, largest=largest)


@dataclass(frozen=True, kw_only=True)
class ExportOptions:
    """How a net is exported; an option that the format does not have is refused."""

    precision: str = ""
    """`fp32`, `fp16` or `int8`; empty: the first precision that the format has."""
    plugin_op: bool = False
    """Write masked depthwise layers as an operator that only our TensorRT plugin computes."""
    plugin_library: Path | None = None
    """The compiled TensorRT plugin, to build an engine with `--plugin-op`."""
    batch: str = "1,64,256"
    """The positions per call that an engine is built for: smallest, best, largest."""
    positions: int = 64
    """The number of positions of random games on which the answers are compared with torch's."""
    calibration: tuple[Path, ...] = ()
    """Records or data files with typical positions, for int8. Without them the net plays some games
    against itself."""

    def __post_init__(self) -> None:
        BatchSizes.parse(self.batch)
        if self.plugin_library is not None and not self.plugin_op:
            raise UserError("--plugin-library is for --plugin-op")
        if not 1 <= self.positions <= MAX_POSITIONS:
            raise UserError(f"--positions must be 1 to {MAX_POSITIONS}, not {self.positions}")


@dataclass(frozen=True, kw_only=True)
class ExportRequest:
    """A net, where to write it, and how."""

    model: "Model"
    game: "Game"
    """It gives the board's size."""
    info: "NetInfo"
    """What the net's file says; for a new net, its name and game."""
    out: Path
    options: ExportOptions = ExportOptions(precision="fp32")
    """Options whose precision the format has."""
    source: Path | None = None
    """The net's file, if it has one."""

    @property
    def batch(self) -> BatchSizes:
        """The positions per call that an engine is built for."""
        return BatchSizes.parse(self.options.batch)


@dataclass(frozen=True, kw_only=True)
class ExportReport:
    """What an export wrote, and how well the file agrees with the net."""

    path: Path
    """The file that was written."""
    content: str
    """The net, its game, the precision and the size of the file."""
    parity: "Parity | None" = None
    """The largest differences from torch's answers; None for int8."""
    agreement: "Agreement | None" = None
    """How often and how far an int8 net differs from its float32 form."""
    notes: tuple[str, ...] = ()
    """Further sentences for the user."""
    missing: tuple[str, ...] = ()
    """What this machine lacks to build what was asked for; `path` is an ONNX file instead."""

    def __str__(self) -> str:
        lines = [] if self.parity is None else [self.parity.describe()]
        if self.agreement is not None:
            measured = self.agreement.describe()
            lines.append(f"against float32 on positions not calibrated with: {measured}")
        return "\n".join((*lines, f"{self.path}: {self.content}", *self.notes))
