"""Thinking about one position: search with limits and clocks, for UCI, GTP and players."""

from zerogames.engine.clock import Budget, TimeLeft, TimeManager, move_time_budget
from zerogames.engine.score import centipawns
from zerogames.engine.thinker import Thinker
from zerogames.engine.thought import MoveThought, ThinkLimits, Thought

__all__ = [
    "Budget",
    "MoveThought",
    "ThinkLimits",
    "Thinker",
    "Thought",
    "TimeLeft",
    "TimeManager",
    "centipawns",
    "move_time_budget",
]
