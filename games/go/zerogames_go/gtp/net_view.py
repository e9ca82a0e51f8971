"""What a net with such heads says of owners and points, at a position and behind its moves."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from zerogames.evaluate import AnalysingEvaluator, Evaluator
from zerogames.game import State
from zerogames_go import _native


class Points(NamedTuple):
    """Points of the side to move at the position that is looked at."""

    lead: float
    """By how much the komi would have to change for an even game."""
    score: float
    """The expected final score."""


class NetView:
    """Asks the net once for each position."""

    def __init__(self, evaluator: AnalysingEvaluator, state: _native.Go) -> None:
        self._evaluator, self._state = evaluator, state
        self._moves: dict[int, Points] = {}
        found = self._analyse([state])
        self.ownership: NDArray[np.float32] = found["ownership"][0].reshape(state.size, state.size)
        """Row 0 at the bottom, +1 where the side to move owns."""
        self.points = Points(float(found["lead"][0]), float(found["score"][0]))
        """Of the position itself."""

    def look_at(self, actions: Sequence[int]) -> None:
        """Ask for the positions behind some moves."""
        new = [action for action in actions if action not in self._moves]
        states = {action: self._state.play(action) for action in new}
        sign = 1 if self._state.to_play == 0 else -1
        going = []
        for action, state in states.items():
            if state.result is None:
                going.append(action)
            else:
                self._moves[action] = Points(sign * state.score, sign * state.score)
        if going:
            found = self._analyse([states[action] for action in going])
            for action, lead, score in zip(going, found["lead"], found["score"], strict=True):
                self._moves[action] = Points(-float(lead), -float(score))

    def after(self, action: int) -> Points:
        """What it says of the position behind a move that was looked at."""
        return self._moves[action]

    def _analyse(self, states: Sequence[State]) -> Mapping[str, NDArray[np.float32]]:
        encoding = self._evaluator.encoding
        return self._evaluator.analyse(np.stack([state.observe(encoding) for state in states]))


def net_view(evaluator: Evaluator, state: _native.Go) -> NetView | None:
    """The view of a net that has heads for owners and points."""
    if not isinstance(evaluator, AnalysingEvaluator) or not evaluator.analyses:
        return None
    return NetView(evaluator, state)
