"""A search of one position, with its results by move text."""

from dataclasses import dataclass

from zerogames.engine import EngineSettings, NetEngine, ThinkLimits, Thought
from zerogames.errors import UserError
from zerogames.game import State, format_actions
from zerogames.library.net import Net, Position, open_state
from zerogames.search.settings import SearchSettings, search_preset


@dataclass(frozen=True, kw_only=True)
class SearchedMove:
    """One legal move after a search; values are in the view of the side to move."""

    move: str
    action: int
    visits: int
    prior: float
    """The probability that the net's policy gives it, after the temperature of the settings."""
    value: float
    """Mean of win minus loss, in [-1, 1]; the position's own value for a move without visits."""
    wdl: tuple[float, float, float]
    """Probabilities of win, draw and loss."""
    moves_left: float | None
    """Plies to the end of the game; None for a net that does not estimate them."""
    proven: int | None
    """+1 (won), 0 or -1 if the result of the move is certain."""
    principal_variation: tuple[str, ...]
    """The line of most visits that begins with this move; of the best `lines` moves only."""


@dataclass(frozen=True, kw_only=True)
class SearchResult:
    """What a search found, in the view of the side to move."""

    moves: tuple[SearchedMove, ...]
    """The best one first, then by visits."""
    value: float
    """Mean value of the position, in [-1, 1]."""
    nodes: int
    """Visits of the root."""
    evaluations: int
    """Positions that the net evaluated; the others were proven, over or in the cache."""
    seconds: float

    @property
    def best(self) -> SearchedMove:
        """The move to play."""
        return self.moves[0]

    @property
    def best_move(self) -> str:
        """The move to play."""
        return self.best.move

    @property
    def visits(self) -> dict[str, int]:
        """Visits by move."""
        return {move.move: move.visits for move in self.moves}

    @property
    def principal_variation(self) -> tuple[str, ...]:
        """The best line."""
        return self.best.principal_variation


def run_search(
    net: Net,
    position: Position = None,
    *,
    nodes: int = 800,
    lines: int = 1,
    settings: SearchSettings | None = None,
) -> SearchResult:
    """Search one position, without noise; deterministic for a net with one thread.

    Args:
        net: From `load_net`.
        position: A state or its text (see `Net.state`); by default the initial position. A state
            carries the moves before it, which repetitions and history planes need.
        nodes: Visits of the root; fewer if the result is proven earlier.
        lines: Number of best moves for which a principal variation is wanted. With more than one,
            the search does not stop early.
        settings: By default `search_preset("engine")`; `nodes` takes the place of its simulations.

    Raises:
        UserError: for text that is no position, or if the game is over there.
    """
    if nodes < 1 or lines < 1:
        raise UserError("nodes and lines must be 1 or more")
    state = open_state(net, position)
    engine_settings = EngineSettings(search=settings or search_preset("engine"))
    engine = NetEngine(net.game, net.evaluator, engine_settings, net=net.spec)
    engine.set_position(state)
    thought = engine.think(ThinkLimits(nodes=nodes, lines=lines))
    return _result(net, state, thought)


def _result(net: Net, state: State, thought: Thought) -> SearchResult:
    game = net.game
    moves = tuple(
        SearchedMove(
            move=game.format_action(state, found.action),
            action=found.action,
            visits=found.visits,
            prior=found.prior,
            value=found.value,
            wdl=found.wdl,
            moves_left=found.moves_left if net.spec.moves_left else None,
            proven=found.proven,
            principal_variation=tuple(format_actions(game, state, found.line)),
        )
        for found in thought.moves
    )
    return SearchResult(
        moves=moves,
        value=thought.value,
        nodes=thought.nodes,
        evaluations=thought.evaluations,
        seconds=thought.elapsed_s,
    )
