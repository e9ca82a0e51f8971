"""When to pass.

Scoring is by area. A pass is final if the opponent passes too, so it must not lose what could still
be won: while dead stones of the opponent would count, they are captured first, which costs nothing.
"""

from dataclasses import dataclass

from zerogames_go import _native
from zerogames_go.options import RulesName
from zerogames_go.status import COUNTED_AS_THEY_STAND, StoneStatus, estimate_status


@dataclass(frozen=True)
class Options:
    """The actions of the side to move."""

    actions: list[int]
    """The actions worth a search; none of them loses without need."""
    is_settled: bool = False
    """Whether there is one choice only, so that no search is needed."""


def wins_by_passing(state: _native.Go, rules: RulesName, stones: StoneStatus) -> bool:
    """Whether the side to move would win if the game ended here.

    By Tromp-Taylor the board counts as it stands. By Japanese rules, scored on the server by
    territory, only the estimate counts. Else both must agree, so that any referee gives the win.
    """
    sign = 1 if state.to_play == 0 else -1
    standing, estimated = sign * state.score > 0, sign * stones.score > 0
    if rules in COUNTED_AS_THEY_STAND:
        return standing
    return estimated if rules == "japanese" else standing and estimated


def options_to_move(
    state: _native.Go, *, rules: RulesName, net_has_pass: bool, cleanup: bool = False
) -> Options:
    """The actions to choose from.

    Args:
        state: The position, not over.
        rules: By which it is counted.
        net_has_pass: Without it, passing is no part of the search: it is offered only when every
            other move is illegal, suicide or fills an own eye (the rule of the nets of the papers).
        cleanup: Play until no dead stone of the opponent is left.
    """
    pass_action = state.size * state.size
    points: list[int] = state.sensible_actions().tolist()
    if not points:
        return Options([pass_action], is_settled=True)
    opponent_passed = state.passes > 0
    may_pass = net_has_pass and 4 * len(points) < 3 * pass_action  # else it is too early
    if not (cleanup or opponent_passed or may_pass):
        return Options(points)
    stones = estimate_status(state)
    if cleanup:
        own = 1 if state.to_play == 0 else -1
        board = state.board().ravel()
        if any(board[chain[0]] == -own for chain in stones.dead):
            return Options(points)
        return Options([pass_action], is_settled=True)
    if wins_by_passing(state, rules, stones):
        if opponent_passed:
            return Options([pass_action], is_settled=True)
        return Options([*points, pass_action] if may_pass else points)
    could_win = (1 if state.to_play == 0 else -1) * stones.score > 0
    if may_pass and not could_win and not opponent_passed:
        return Options([*points, pass_action])
    return Options(points)
