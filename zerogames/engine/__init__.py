"""Searching one position with a net, with limits and clocks: the engine of all players."""

from typing import TYPE_CHECKING

from zerogames.lazy import import_on_use

if TYPE_CHECKING:
    from zerogames.engine.clock import TimeBudget, TimeLeft, TimeManager, move_time_budget
    from zerogames.engine.limits import ThinkLimits
    from zerogames.engine.net_engine import EngineSettings, NetEngine
    from zerogames.engine.score import centipawns
    from zerogames.engine.thought import MoveThought, Thought
else:
    # Clocks and limits are used without a net; the compiled search is loaded with the engine.
    __getattr__, __dir__ = import_on_use(
        __name__,
        {
            "clock": ("TimeBudget", "TimeLeft", "TimeManager", "move_time_budget"),
            "limits": ("ThinkLimits",),
            "net_engine": ("EngineSettings", "NetEngine"),
            "score": ("centipawns",),
            "thought": ("MoveThought", "Thought"),
        },
    )

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
