"""The search of one position, for any game.

    search = new_search(get_game("connect4"), search_preset("alphazero"))
    while not search.done:
        planes = search.collect(16)
        search.apply(*evaluator.evaluate(planes))
    move = search.choose()

A native game's state class carries its compiled classes (`zerogames::bind_play`); a game written
in Python is wrapped and gets the same classes, slower, with a `PythonRulesWarning` unless its spec
says `in_python`. Everything is deterministic for a seed; the GIL is released inside.
"""

from zerogames.game import Game, State
from zerogames.search._search import Rollouts, Search
from zerogames.search.adapter import bound_game
from zerogames.search.settings import SearchSettings

DEFAULT_BATCH = 8
"""Leaves per batch when one position is searched: most of a CPU's speed at no measurable loss of
strength at 800 nodes (the batching benchmark)."""


def new_search(
    game: Game,
    settings: SearchSettings,
    *,
    state: State | None = None,
    encoding: str | None = None,
    seed: int = 0,
    needs_observation: bool = True,
) -> Search:
    """Make a search of `state` (the initial one) with the default or given encoding.

    Without `needs_observation`, `collect` gives planes with unspecified contents.
    """
    state = game.initial_state() if state is None else state
    encoding = next(iter(game.encodings)) if encoding is None else encoding
    bound = bound_game(game, state)
    return bound.Search(
        bound, settings, encoding=encoding, seed=seed, needs_observation=needs_observation
    )


def new_rollouts(game: Game, state: State, *, seed: int = 0) -> Rollouts:
    """Begin a Monte Carlo tree search without a net: random play below a tree of bounds (UCB1).

    A baseline whose strength is known: uniform priors, exploration 1.4, no knowledge of the game.
    """
    bound = bound_game(game, state)
    return bound.Rollouts(bound, seed=seed)
