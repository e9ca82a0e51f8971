"""Perfect play of Connect Four by exhaustive search."""

from typing import cast

import numpy as np
from numpy.typing import NDArray

from zerogames.game import State
from zerogames_classics._native import ConnectFour, ConnectFourSolver

CHEAP_PLIES = 14
"""The number of plies from which exact distances and all moves are found in well under a second."""
_MIDDLE_FIRST = (3, 2, 4, 1, 5, 0, 6)


class Connect4Solver:
    """Alpha-beta with a table that later questions profit from.

    An empty board takes minutes, one with 8 stones about a second, with 14 milliseconds.
    """

    quick_plies = 12

    def __init__(self, *, mebibytes: int = 64) -> None:
        self._native = ConnectFourSolver(mebibytes)

    def action_results(self, state: State) -> NDArray[np.int8]:
        """`[L]` in the view of who plays: +1 won, 0 drawn, -1 lost."""
        actions = state.legal_actions().tolist()
        return np.array([-self._result(state.play(action)) for action in actions], np.int8)

    def action_scores(self, state: State) -> NDArray[np.int8]:
        """`[L]`: s > 0 wins with s - 1 own stones left over, so more is quicker; -s loses so."""
        actions = state.legal_actions().tolist()
        return np.array([-self.score(state.play(action)) for action in actions], np.int8)

    def best_actions(self, state: State) -> NDArray[np.int32]:
        """The actions that keep the result; before `CHEAP_PLIES` only one of them."""
        actions = state.legal_actions()
        if _num_stones(state) >= CHEAP_PLIES:
            scores = self.action_scores(state)
            return np.extract(scores == scores.max(), actions)
        result = self._result(state)  # leaves the values of good moves in the table
        for action in sorted(actions.tolist(), key=_MIDDLE_FIRST.index):
            if -self._result(state.play(action)) == result:
                return np.array([action], np.int32)
        raise AssertionError("one of the moves has the value of the position")

    def score(self, state: State) -> int:
        """The score of the position, in the view of the side to move; see `action_scores`."""
        return self._native.score(cast(ConnectFour, state))

    def plies_left(self, state: State) -> int:
        """The number of plies to the end under perfect play of both sides."""
        native = cast(ConnectFour, state)
        return ConnectFourSolver.plies_left(native, self._native.score(native))

    def stop(self) -> None:
        """End a running call with a `UserError`; from any thread, and refuse all later ones."""
        self._native.stop()

    @property
    def nodes(self) -> int:
        """Positions searched so far."""
        return self._native.nodes

    def _result(self, state: State) -> int:
        return self._native.result(cast(ConnectFour, state))


def _num_stones(state: State) -> int:
    return int(state.observe("stones")[:2].sum())
