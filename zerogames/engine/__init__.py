"""Searching one position with a net, with limits and clocks: the engine of all players."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from zerogames.engine.clock import TimeBudget, TimeLeft, TimeManager, move_time_budget
    from zerogames.engine.limits import ThinkLimits
    from zerogames.engine.net_engine import EngineSettings, NetEngine
    from zerogames.engine.score import centipawns
    from zerogames.engine.thought import MoveThought, Thought

_MODULES = {
    "clock": ("TimeBudget", "TimeLeft", "TimeManager", "move_time_budget"),
    "limits": ("ThinkLimits",),
    "net_engine": ("EngineSettings", "NetEngine"),
    "score": ("centipawns",),
    "thought": ("MoveThought", "Thought"),
}

__all__ = [
    "EngineSettings",
    "MoveThought",
    "NetEngine",
    "ThinkLimits",
    "Thought",
    "TimeBudget",
    "TimeLeft",
    "TimeManager",
    "centipawns",
    "move_time_budget",
]


def __getattr__(name: str) -> object:
    # Clocks and limits are used without a net; the compiled search is loaded with the engine.
    for module, names in _MODULES.items():
        if name in names:
            return getattr(import_module(f"zerogames.engine.{module}"), name)
    raise AttributeError(f"module 'zerogames.engine' has no attribute '{name}'")
