"""The formats a net can be exported to.

A format is an `ExportFormat`. Games offer their own through the entry-point group
`zerogames.export_formats`: an entry named like the format that names one.
"""

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING, cast

from rich.console import Console

from zerogames.errors import UserError, unknown_name

if TYPE_CHECKING:
    from zerogames.game import Game
    from zerogames.nets.model import Model
    from zerogames.nets.net_info import NetInfo

GROUP = "zerogames.export_formats"
BUILT_IN = {
    "onnx": "zerogames.export.onnx_format",
    "tensorrt": "zerogames.export.tensorrt_format",
    "tensorrt-rtx": "zerogames.export.tensorrt_rtx_format",
    "int8": "zerogames.export.int8_format",
}
"""Modules that hold an `ExportFormat` called `FORMAT`; imported when they are asked for."""


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
        """Read `smallest,best,largest`; fewer numbers: `best,largest` from 1 on, or one size."""
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
class ExportRequest:
    """What is to be exported, how and where to."""

    model: "Model"
    game: "Game"
    info: "NetInfo"
    """What the net's file says; for a new net, its name and game."""
    out: Path
    precision: str = "fp32"
    plugin_op: bool = False
    """Write masked layers as an operator that only a plugin can run."""
    batch: BatchSizes = BatchSizes()
    positions: int = 64
    """How many positions the export is checked on."""
    plugin_library: Path | None = None
    source: Path | None = None
    """The net's file, if it has one."""
    calibration: tuple[Path, ...] = ()
    """Records or data files with typical positions, for int8."""
    console: Console


@dataclass(frozen=True, kw_only=True)
class ExportFormat:
    """A way to write nets."""

    suffix: str
    """What its files end in, e.g. `.onnx`."""
    write: Callable[[ExportRequest], int]
    """Writes and checks a net; returns the exit code. Nothing is left behind if it fails."""
    precisions: tuple[str, ...] = ("fp32",)
    plugin_op: bool = False
    """Whether it knows the option of that name."""
    calibration: bool = False
    """Likewise."""


def format_names() -> list[str]:
    """All formats."""
    return [*BUILT_IN, *(point.name for point in entry_points(group=GROUP))]


def find_format(name: str) -> ExportFormat:
    """Load a format; an unknown name is a `UserError` with the known ones."""
    if name in BUILT_IN:
        return cast(ExportFormat, importlib.import_module(BUILT_IN[name]).FORMAT)
    for point in entry_points(group=GROUP):
        if point.name == name:
            return cast(ExportFormat, point.load())
    raise unknown_name("format", name, format_names())
