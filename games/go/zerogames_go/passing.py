"""When to pass.

Scoring is by area. A pass is final if the opponent passes too, so it must not lose what could still
be won: while dead stones of the opponent would count, they are captured first, which costs nothing.
"""

from dataclasses import dataclass

from zerogames_go import _native
from zerogames_go.options import RulesName
from zerogames_go.status import COUNTED_AS_THEY_STAND, Judgement, judge


@dataclass(frozen=True)
class Options:
    """The actions of the side to move."""

    actions: list[int]
    """The actions worth a search; none of them loses without need."""
    is_settled: bool = False
    """Whether there is one choice only, so that no search is needed."""


def wins_by_passing(state: _native.Go, rules: RulesName, judgement: Judgement) -> bool:
    """Whether the side to move would win if the game ended here.

    By Tromp-Taylor the board counts as it stands. By Japanese rules, scored on the server by
    territory, only the judgement counts. Else both must agree: whoever referees, it is won.
    """
    sign = 1 if state.to_play == 0 else -1
    standing, judged = sign * state.score > 0, sign * judgement.score > 0
    if rules in COUNTED_AS_THEY_STAND:
        return standing
    return judged if rules == "japanese" else standing and judged


def options_to_move(
    state: _native.Go, *, rules: RulesName, net_has_pass: bool, cleanup: bool = False
) -> Options:
    """The actions to choose from.

    Args:
        state: The position, not over.
        rules: By which it is counted.
        net_has_pass: Without it, passing is no part of the search: it is offered only when every
            other move is illegal, suicide or fills an own eye (the rule of the nets of the papers).
        cleanup: Go on until no dead stone of the opponent is left.
    """
    pass_action = state.size * state.size
    points: list[int] = state.sensible_actions().tolist()
    if not points:
        return Options([pass_action], is_settled=True)
    opponent_passed = state.passes > 0
    may_pass = net_has_pass and 4 * len(points) < 3 * pass_action  # else it is too early
    if not (cleanup or opponent_passed or may_pass):
        return Options(points)
    judgement = judge(state)
    if cleanup:
        own = 1 if state.to_play == 0 else -1
        board = state.board().ravel()
        if any(board[chain[0]] == -own for chain in judgement.dead):
            return Options(points)
        return Options([pass_action], is_settled=True)
    if wins_by_passing(state, rules, judgement):
        if opponent_passed:
            return Options([pass_action], is_settled=True)
        return Options([*points, pass_action] if may_pass else points)
    could_win = (1 if state.to_play == 0 else -1) * judgement.score > 0
    if may_pass and not could_win and not opponent_passed:
        return Options([*points, pass_action])
    return Options(points)
