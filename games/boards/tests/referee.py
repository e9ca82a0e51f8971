"""Random games of ours beside OpenSpiel's."""

import random
from collections import Counter
from collections.abc import Callable

from zerogames import get_game
from zerogames.game import Game, State

NameAction = Callable[[Game, State, int], str]


def compare_games(
    identity: str, referee: str, name: NameAction, num_games: int, seed: int = 1
) -> Counter[str]:
    """Play random games with both; return the reasons of the ends.

    `name` gives our action the text that OpenSpiel has for it.
    """
    import pyspiel

    game, theirs = get_game(identity), pyspiel.load_game(referee)
    chance = random.Random(seed)
    reasons: Counter[str] = Counter()
    for _ in range(num_games):
        state, other = game.initial_state(), theirs.new_initial_state()
        while state.result is None:
            assert not other.is_terminal(), game.format_state(state)
            assert state.to_play == other.current_player()
            ours = {name(game, state, int(action)): int(action) for action in state.legal_actions()}
            legal = {
                other.action_to_string(other.current_player(), action): action
                for action in other.legal_actions()
            }
            assert sorted(ours) == sorted(legal), game.format_state(state)
            text = chance.choice(sorted(ours))
            state = state.play(ours[text])
            other.apply_action(legal[text])
        assert other.is_terminal(), game.format_state(state)
        assert state.result == other.returns()[0], game.format_state(state)
        reasons[state.end_reason] += 1
    return reasons
