"""Amazons: beside OpenSpiel, and as a game whose side acts three times in a row."""

import numpy as np
import pytest
from referee import compare_games

from zerogames import get_game
from zerogames.evaluate import RandomEvaluator
from zerogames.game import Game, State
from zerogames.search import new_search
from zerogames.search.settings import SearchSettings


def openspiel_name(game: Game, state: State, action: int) -> str:
    """Its first player (X) begins below, too; cells are (row from the top, column)."""
    size = game.spec.observation_shape[1]
    side = "XO"[state.to_play]
    verb = ("From", "To", "Shoot:")[state.plies % 3]
    return f"{side} {verb} ({size - action // size}, {action % size + 1})"


@pytest.mark.parametrize("size", [6, 8, 10])
def test_random_games_are_the_referees(size: int) -> None:
    pytest.importorskip("pyspiel", reason="OpenSpiel is not installed")
    compare_games(f"amazons:size={size}", f"amazons(board_size={size})", openspiel_name, 17)


@pytest.mark.slow
def test_a_thousand_random_games_are_the_referees() -> None:
    pytest.importorskip("pyspiel", reason="OpenSpiel is not installed")
    compare_games("amazons:size=6", "amazons(board_size=6)", openspiel_name, 800)
    compare_games("amazons", "amazons", openspiel_name, 200)


def minimax(state: State, known: dict[int, float]) -> float:
    """The result under perfect play, the first player's view."""
    if state.result is not None:
        return state.result
    if state.position_key not in known:
        better = max if state.to_play == 0 else min
        nexts = (state.play(int(action)) for action in state.legal_actions())
        known[state.position_key] = better(minimax(after, known) for after in nexts)
    return known[state.position_key]


class InPython:
    """A native state, whose class has no Search to be found by."""

    def __init__(self, state: State) -> None:
        self._state = state

    def play(self, action: int) -> "InPython":
        return InPython(self._state.play(action))

    def __getattr__(self, name: str) -> object:
        return getattr(self._state, name)


@pytest.mark.filterwarnings("ignore::zerogames.errors.PythonRulesWarning")
@pytest.mark.parametrize("native", [True, False])
def test_what_a_search_proves_is_the_result_under_perfect_play(native: bool) -> None:
    game = get_game("amazons:size=4")
    settings = SearchSettings(simulations=1500 if native else 300, noise="none")
    rng, proven, known = np.random.default_rng(3), 0, dict[int, float]()
    for _ in range(12):
        state = game.initial_state()
        while state.plies < 15 and state.result is None:
            state = state.play(int(rng.choice(state.legal_actions())))
        state = state if rng.random() < 0.3 else play_on(state, rng)
        if state.result is not None:
            continue
        root = state if native else InPython(state)
        search = new_search(game, settings, state=root)  # type: ignore[arg-type]
        evaluator = RandomEvaluator(game, seed=1)
        while not search.done:
            search.apply(*evaluator.evaluate(search.collect(8)))
        if search.proven is not None:
            proven += 1
            assert search.proven == minimax(state, known) * (1, -1)[state.to_play]
    assert proven >= 3


def play_on(state: State, rng: np.random.Generator) -> State:
    """One or two actions more, into the middle of a turn."""
    for _ in range(int(rng.integers(1, 3))):
        if state.result is None:
            state = state.play(int(rng.choice(state.legal_actions())))
    return state
