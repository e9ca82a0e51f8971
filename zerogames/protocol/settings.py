"""Options of the commands that play under a protocol."""

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from zerogames.search.settings import SearchSettings, search_preset

MAX_THREADS = 512
MAX_BATCH = 1024
MAX_HASH_MB = 65_536


def _all_cores() -> int:
    return min(MAX_THREADS, os.cpu_count() or 1)


@dataclass(frozen=True, kw_only=True)
class ProtocolSettings:
    """What plays, and what it may use; a user interface may change most of it by options."""

    net: Path | None = None
    """A net file, `newest` or `shipped`; by default the newest net of the runs below the working
    directory, else the one that comes with the program."""
    precision: Literal["fp32", "int8"] = "fp32"
    """The precision of the net; int8 is faster on CPUs with VNNI, slower on others, and evaluates
    slightly differently."""
    evaluator: Literal["native", "onnx", "torch", "constant", "random"] = "native"
    """What evaluates positions; constant and random need no net and are for tests."""
    threads: Annotated[int, Field(ge=1, le=MAX_THREADS)] = field(default_factory=_all_cores)
    """The number of CPU threads that evaluate positions."""
    batch: Annotated[int, Field(ge=1, le=MAX_BATCH)] = 32
    """The most positions that each thread evaluates together; young trees take fewer."""
    hash: Annotated[int, Field(ge=1, le=MAX_HASH_MB)] | None = None
    """The mebibytes of the evaluation cache (default 256)."""
    nodes: Annotated[int, Field(ge=1, le=1_000_000_000)] | None = None
    """The most nodes for each move, whatever the user interface allows; 1 plays without search."""
    movetime: Annotated[int, Field(ge=1, le=86_400_000)] | None = None
    """The most milliseconds for each move, whatever the user interface allows."""
    search: SearchSettings = field(default_factory=lambda: search_preset("engine"))
    """The tree search of nets."""
