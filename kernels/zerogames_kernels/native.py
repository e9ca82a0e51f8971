"""Choosing the compiled variant of a native module that this CPU can run.

Every native module is compiled once per instruction-set level (see `cmake/ZerogamesModule.cmake`).
A package `p` has a file `_native.py` that replaces itself by the best of `_native_baseline`,
`_native_v3` (AVX2, BMI2) and `_native_v4` (AVX-512).
"""

import importlib
import importlib.util
from types import ModuleType

from zerogames_kernels import _cpu_level_baseline

LEVELS = ("baseline", "v3", "v4")
"""The levels, from the one that runs everywhere to the most demanding."""

_limit = LEVELS[-1]


def cpu_level() -> str:
    """Return the highest level that both this CPU and `limit_level` allow."""
    return min(_cpu_level_baseline.cpu_level(), _limit, key=LEVELS.index)


def limit_level(level: str) -> None:
    """Use at most `level` for modules that are not yet imported (to test or compare levels)."""
    global _limit
    if level not in LEVELS:
        raise ValueError(f"unknown CPU level '{level}'; known: {', '.join(LEVELS)}")
    _limit = level


def load_variant(name: str) -> ModuleType:
    """Import the best built variant of module `name`, e.g. `zerogames_chess._native`."""
    for level in reversed(LEVELS[: LEVELS.index(cpu_level()) + 1]):
        if importlib.util.find_spec(f"{name}_{level}") is not None:
            return importlib.import_module(f"{name}_{level}")
    raise ImportError(f"{name} is not built; reinstall zerogames (in a checkout: `make build`)")
