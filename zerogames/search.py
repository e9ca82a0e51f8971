"""Searching one position, and playing many games in step, for any game.

    search = new_search(get_game("connect4"), search_preset("alphazero"))
    while not search.done:
        planes = search.collect(16)
        search.apply(*evaluator.evaluate(planes))
    move = search.choose()

A native game's state class carries its compiled classes as `Search` and `Pool`; a game written in
Python is wrapped and gets the same classes, slower. All values are in [-1, 1], the view of the
player to move at the root, unless said otherwise. Everything is deterministic for a seed. An object
may be used by one thread at a time; the GIL is released inside.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from zerogames import _search
from zerogames.data.record import VALUE_COLUMNS, GameRecord, SearchColumns
from zerogames.game import Game, State
from zerogames.search_settings import PoolSettings, SearchSettings

DEFAULT_BATCH = 8
"""Leaves per batch when one position is searched: most of a CPU's speed at no measurable loss of
strength at 800 nodes (the batching benchmark)."""


class Search(Protocol):
    """One position and its tree. L is the number of legal moves; columns are in ascending order
    of actions, as `actions` says, and empty before the root is evaluated.
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

    def apply(
        self,
        policy_logits: NDArray[np.float32],
        wdl: NDArray[np.float32],
        moves_left: NDArray[np.float32] | None = None,
    ) -> None:
        """Complete the oldest batch: `[B, A]` logits, `[B, 3]` probabilities, `[B]` plies left."""

    def run_constant(self, wdl: tuple[float, float, float] = (0.0, 1.0, 0.0)) -> None:
        """Search to the end with a net that likes all moves alike and says `wdl` everywhere."""

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
    def done(self) -> bool:
        """The budget is used up, or the root proven, decided or over; nothing waits."""

    @property
    def simulations(self) -> int:
        """Visits of the root's children."""

    @property
    def tree_size(self) -> int:
        """Nodes."""

    @property
    def tree_bytes(self) -> int:
        """Memory set aside for the tree."""

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

    @property
    def cache_hits(self) -> int:
        """Leaves found in the evaluation cache."""

    @property
    def cache_misses(self) -> int:
        """Leaves not found there."""

    @property
    def net_version(self) -> int:
        """Part of the cache's key: change it with the net."""

    @net_version.setter
    def net_version(self, version: int) -> None: ...


class Pool(Protocol):
    """Many games in step, one leaf each per batch."""

    def collect(self, out: NDArray[np.float32] | None = None) -> NDArray[np.float32]:
        """Run every game to its next leaf; their planes `[B, P, H, W]`, B <= `capacity`.

        The array is a view of a buffer that is used again, or of `out`. Games that end give no
        leaf in that call, so B may be 0 while the pool is not done.
        """

    def apply(
        self,
        policy_logits: NDArray[np.float32],
        wdl: NDArray[np.float32],
        moves_left: NDArray[np.float32] | None = None,
    ) -> None:
        """Go on with the net's `[B, A]` logits, `[B, 3]` probabilities and `[B]` plies left."""

    def take_finished(self) -> list["FinishedGame"]:
        """The games that ended since the last call."""

    @property
    def done(self) -> bool:
        """All `num_games` were played."""

    @property
    def capacity(self) -> int:
        """Parallel games."""

    @property
    def num_simulations(self) -> int:
        """Visits of root children, summed over moves."""

    @property
    def num_evaluations(self) -> int:
        """Rows that were given out."""

    @property
    def num_moves(self) -> int:
        """Moves played after the random ones."""

    @property
    def num_games(self) -> int:
        """Games ended."""

    @property
    def num_never_resign(self) -> int:
        """Games ended that were not allowed to resign."""

    @property
    def num_would_resign(self) -> int:
        """Those among them in which a player wanted to."""

    @property
    def num_wrong_resigns(self) -> int:
        """Those among these that this player did not lose."""

    @property
    def cache_hits(self) -> int:
        """Leaves found in the evaluation cache."""

    @property
    def cache_misses(self) -> int:
        """Leaves not found there."""

    @property
    def tree_bytes(self) -> int:
        """Memory set aside for all trees."""

    @property
    def net_version(self) -> int:
        """Part of the cache's key, and noted in games that begin: change it with the net."""

    @net_version.setter
    def net_version(self, version: int) -> None: ...

    @property
    def resign_value(self) -> float:
        """See `PoolSettings`; may be changed as false resignations are counted."""

    @resign_value.setter
    def resign_value(self, value: float) -> None: ...


@dataclass(frozen=True, kw_only=True, eq=False)
class FinishedGame:
    """One self-play game as the pool gives it out."""

    index: int
    """Number of the game; with the pool's seed it decides all that is random in it."""
    seed: int
    """Derived from both."""
    net_version: int
    """The pool's when the game began."""
    start_index: int
    """Which of the pool's start positions, -1 for the initial one."""
    result: float
    """First player's view."""
    reason: str
    """Why it ended: the game's own reason, `resignation` or `ply limit`."""
    never_resign: bool
    """It was one of those played to the end."""
    would_resign_ply: int
    """First ply at which a player wanted to resign, or -1."""
    lowest_values: tuple[float, float]
    """Lowest root value that each player saw in own turns, for tuning `resign_value`."""
    actions: NDArray[np.int32]
    """`[plies]`."""
    best_actions: NDArray[np.int32]
    """`[plies]`: what the search thought best."""
    simulations: NDArray[np.int32]
    """`[plies]`: visits of the root's children."""
    search: SearchColumns
    """What was found at each ply, player to move's view."""

    def record(self, game: Game, *, starts: Sequence[State] = (), net: str = "") -> GameRecord:
        """As a record; `starts` are the pool's."""
        start = game.format_state(starts[self.start_index]) if self.start_index >= 0 else ""
        return GameRecord(
            game=game.spec.identity,
            start=start,
            actions=self.actions,
            result=self.result,
            reason=self.reason,
            seed=self.seed,
            net=net,
            search=self.search,
        )


def _finished_game(fields: dict[str, object]) -> FinishedGame:
    """Called by the native pool with its columns."""
    columns: dict[str, object] = {
        "policy_offsets": cast("NDArray[np.int32]", fields.pop("policy_offsets")).astype(np.int64),
        "values": {name: fields.pop(name) for name in VALUE_COLUMNS},
    }
    for name in ("policy_actions", "policy_visits", "policy_targets", "surprise", "kinds"):
        columns[name] = fields.pop(name)
    return FinishedGame(search=SearchColumns(**columns), **fields)  # type: ignore[arg-type]


def is_native(state: State) -> bool:
    """Whether the state's rules are compiled together with a search."""
    return hasattr(type(state), "Search")


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
    if is_native(state):
        made = type(state).Search(  # type: ignore[attr-defined]
            state, settings, encoding=encoding, seed=seed, needs_observation=needs_observation
        )
        return cast(Search, made)
    return _search.PythonGameSearch(
        _search.PythonGame(state, game.spec.action_size),
        settings,
        encoding=encoding,
        seed=seed,
        needs_observation=needs_observation,
    )


def new_pool(
    game: Game,
    search: SearchSettings,
    settings: PoolSettings,
    *,
    encoding: str | None = None,
    seed: int = 0,
    starts: Sequence[State] = (),
    num_games: int | None = None,
    first_game: int = 0,
    game_step: int = 1,
    needs_observation: bool = True,
) -> Pool:
    """Make a pool that plays games `first_game`, `first_game + game_step`, ... from `seed`.

    Each game starts from one of `starts`, drawn by its own seed, or from the initial state. Games
    do not depend on `parallel_games` nor on the order in which they are played, as long as the
    net's answers do not depend on the batch. `num_games=None` never ends.
    """
    initial = game.initial_state()
    encoding = next(iter(game.encodings)) if encoding is None else encoding
    if is_native(initial):
        made = type(initial).Pool(  # type: ignore[attr-defined]
            initial,
            search,
            settings,
            encoding=encoding,
            seed=seed,
            starts=list(starts),
            num_games=num_games,
            first_game=first_game,
            game_step=game_step,
            needs_observation=needs_observation,
        )
        return cast(Pool, made)
    size = game.spec.action_size
    return _search.PythonGamePool(
        _search.PythonGame(initial, size),
        search,
        settings,
        encoding=encoding,
        seed=seed,
        starts=[_search.PythonGame(start, size) for start in starts],
        num_games=num_games,
        first_game=first_game,
        game_step=game_step,
        needs_observation=needs_observation,
    )
