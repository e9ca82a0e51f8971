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
    """What the engine plays with."""

    net: Path | None = None
    """A net file, ours or another program's, `newest` or `shipped`; by default, for each board
    size, the newest net of the runs below the working directory, else the one that comes with the
    program."""
    game: str = ""
    """The game before the first command, such as go:size=9,komi=7; by default the net's own."""
    precision: Literal["fp32", "int8"] = "fp32"
    """The precision of the net; int8 is faster on CPUs with VNNI, slower on others, and evaluates
    slightly differently."""
    evaluator: Literal["native", "onnx", "torch", "constant", "random"] = "native"
    """What evaluates positions; constant and random need no net and are for tests."""
    nodes: Annotated[int, Field(ge=1, le=1_000_000_000)] | None = None
    """The most nodes for each move; 800 if neither nodes, time nor a clock limit a move."""
    movetime: Annotated[float, Field(gt=0, le=86_400)] | None = None
    """The most seconds for each move."""
    threads: Annotated[int, Field(ge=1)] = os.cpu_count() or 1
    """The number of CPU threads that evaluate positions."""
    batch: Annotated[int, Field(ge=1, le=4096)] = 8
    """The number of positions that each thread evaluates together."""
    resign: Annotated[float, Field(ge=0, le=1)] = 0.03
    """The win rate at which the engine resigns, in [0, 1]; 0 never resigns."""
    resign_turns: Annotated[int, Field(ge=1)] = 3
    """The consecutive own turns at that win rate before the engine resigns."""
    lag: Annotated[float, Field(ge=0, le=3600)] = 0.5
    """The seconds kept back on every clock for delays."""
    analysis: bool = False
    """Speak KataGo's JSON protocol for analysis instead of GTP, as KaTrain does."""
    name: str = "zerogames"
    """The answer to the command `name`, for programs that expect a name they know."""
    seed: int = 0
    """The seed of the search."""
    search: SearchSettings = field(default_factory=lambda: search_preset("engine"))
    """The tree search."""
