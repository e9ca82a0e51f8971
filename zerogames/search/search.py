"""The search of one position, for any game.

    search = new_search(get_game("connect4"), search_preset("alphazero"))
    while not search.done:
        planes = search.collect(16)
        search.apply(*evaluator.evaluate(planes))
    move = search.choose()

A native game's state class carries its compiled classes (`zerogames::bind_play`); a game written
in Python is wrapped and gets the same classes, slower, with a `PythonRulesWarning` unless its spec
says `in_python`. All values are in [-1, 1], the view of the player to move at the root, unless said
otherwise. Everything is deterministic for a seed. An object may be used by one thread at a time;
the GIL is released inside.
"""

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from zerogames.game import Game, State
from zerogames.search.adapter import bound_game
from zerogames.search.leaves import LeafSource
from zerogames.search.settings import SearchSettings

DEFAULT_BATCH = 8
"""Leaves per batch when one position is searched: most of a CPU's speed at no measurable loss of
strength at 800 nodes (the batching benchmark)."""


class Search(LeafSource, Protocol):
    """One position and its tree. L is the number of legal moves; columns are in ascending order
    of actions, as `actions` says, and empty before the root is evaluated. The search is done when
    the budget is used up, or the root proven, decided or over.
    """  # noqa: D205

    def set_position(self, state: State) -> None:
        """Forget the tree and begin a search of `state`."""

    def advance(self, action: int) -> None:
        """Play an action, keep its subtree if the settings say so, and begin the next search."""

    def start(
        self,
        simulations: int | None = None,
        *,
        explore: bool = True,
        may_stop_early: bool = True,
        allowed: Sequence[int] | None = None,
    ) -> None:
        """Begin again from the present tree.

        Args:
            simulations: The budget; visits that are kept count if the settings say so.
            explore: With root noise, root policy temperature, forced playouts, Gumbel noise.
            may_stop_early: Obey the setting `early_stop`; off where all moves' values are wanted.
            allowed: The root actions to search and choose from; by default all.
        """

    def collect(
        self, max_batch: int, out: NDArray[np.float32] | None = None
    ) -> NDArray[np.float32]:
        """Grow the tree until `max_batch` leaves wait; their planes `[B, P, H, W]`.

        The array is a view of a buffer that is used again, or of `out`. It may be empty before
        the search is done, because simulations that need no net are bounded per call. With an
        `out` for each, further batches can be collected before the first is applied.
        """

    def run_constant(self, wdl: tuple[float, float, float] = (0.0, 1.0, 0.0)) -> None:
        """Search to the end with equal priors and `wdl` as the value of every position."""

    def choose(self, temperature: float | None = None) -> int:
        """The action to play; by default at the temperature that the schedule has at this ply."""

    def principal_variation(self, length: int = 256, first: int | None = None) -> NDArray[np.int32]:
        """The best line; with `first`, the best one that begins with this action."""

    def fix_gumbels(self, noise: Sequence[float]) -> None:
        """Use this Gumbel noise per action from the next root on, instead of drawing it."""

    def tree(self) -> dict[str, NDArray[Any]]:
        """The whole tree as columns, parents first, each node in its own player's view.

        `parent` (index, -1 for the root), `action`, `visits`, `num_legal`, `value`, `prior`,
        `net_value`, and the proven bounds `low` and `high`.
        """

    @property
    def state(self) -> State:
        """The root's position."""

    @property
    def simulations(self) -> int:
        """Visits of the root's children."""

    @property
    def tree_size(self) -> int:
        """Nodes."""

    @property
    def value(self) -> float:
        """Mean value of the root."""

    @property
    def draw(self) -> float:
        """Mean probability of a draw."""

    @property
    def moves_left(self) -> float:
        """Mean plies to the end."""

    @property
    def net_value(self) -> float:
        """The net's own value of the root, win minus loss."""

    @property
    def net_draw(self) -> float:
        """The net's probability of a draw."""

    @property
    def net_moves_left(self) -> float:
        """The net's plies to the end."""

    @property
    def proven(self) -> int | None:
        """+1, 0 or -1 if the result is certain."""

    @property
    def actions(self) -> NDArray[np.int32]:
        """`[L]` legal actions."""

    @property
    def visits(self) -> NDArray[np.int32]:
        """`[L]`."""

    @property
    def values(self) -> NDArray[np.float64]:
        """`[L]`, NaN for an unvisited move."""

    @property
    def draws(self) -> NDArray[np.float64]:
        """`[L]`, NaN for an unvisited move."""

    @property
    def moves_left_of_actions(self) -> NDArray[np.float64]:
        """`[L]`, plies from the root, NaN for an unvisited move."""

    @property
    def priors(self) -> NDArray[np.float32]:
        """`[L]`, with temperature and noise."""

    @property
    def raw_priors(self) -> NDArray[np.float32]:
        """`[L]`, as the net said."""

    @property
    def lower_bounds(self) -> NDArray[np.int8]:
        """`[L]`: each move is proven to be worth at least this."""

    @property
    def upper_bounds(self) -> NDArray[np.int8]:
        """`[L]`: each move is proven to be worth at most this."""

    @property
    def policy_target(self) -> NDArray[np.float64]:
        """`[L]` probabilities to learn from."""

    @property
    def mean_depth(self) -> float:
        """Mean length of the lines searched since the start, counted in nodes; 0 without any."""

    @property
    def max_depth(self) -> int:
        """Longest of them."""

    @property
    def cache_fill(self) -> float:
        """Share of the evaluation cache in use."""


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
