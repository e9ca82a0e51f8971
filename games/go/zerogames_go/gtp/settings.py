"""Options of `zerogames gtp`."""

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from zerogames.search.settings import SearchSettings, search_preset

DEFAULT_NODES = 800
"""A move, where neither nodes nor time nor a clock says how much to think."""


@dataclass(frozen=True, kw_only=True)
class GtpSettings:
    """How the engine plays."""

    net: Path | None = None
    """A net file; by default the newest of the runs here, or one that came along."""
    game: str = ""
    """What is on the board before the first command, e.g. go:size=9,komi=7; by default the net's
    own game."""
    precision: Literal["fp32", "int8"] = "fp32"
    """Of the net: int8 is faster on CPUs with VNNI, slower on others, and not quite the same."""
    evaluator: Literal["native", "onnx", "torch", "constant", "random"] = "native"
    """What runs the net; constant and random need none and are for tests."""
    nodes: Annotated[int, Field(ge=1, le=1_000_000_000)] | None = None
    """Most nodes a move."""
    movetime: Annotated[float, Field(gt=0)] | None = None
    """Most seconds a move."""
    threads: Annotated[int, Field(ge=1)] = os.cpu_count() or 1
    """CPU threads of the net."""
    batch: Annotated[int, Field(ge=1, le=4096)] = 8
    """Positions judged at a time by each thread."""
    resign: Annotated[float, Field(ge=0, le=1)] = 0.03
    """Resign when the win rate is this or less; 0: never."""
    resign_turns: Annotated[int, Field(ge=1)] = 3
    """In so many own turns in a row."""
    lag: Annotated[float, Field(ge=0)] = 0.5
    """Seconds kept back on every clock for delays."""
    analysis: bool = False
    """Speak KataGo's JSON protocol for analysis instead of GTP, as KaTrain does."""
    name: str = "zerogames"
    """The answer to `name`, for programs that look for one they know."""
    seed: int = 0
    """Of what is random."""
    search: SearchSettings = field(default_factory=lambda: search_preset("engine"))
    """The search itself."""
