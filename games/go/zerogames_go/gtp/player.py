"""The player behind the protocol: a net engine that also knows when to pass and resign."""

import dataclasses
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from zerogames.engine import (
    EngineSettings,
    NetEngine,
    ThinkLimits,
    Thought,
    TimeBudget,
    move_time_budget,
)
from zerogames.engine.fallback import first_success, smaller_limits
from zerogames.errors import UserError
from zerogames.evaluate import NET_EVALUATORS
from zerogames.nets.foreign import resolve_net
from zerogames.nets.net_info import read_net_info
from zerogames.registry import get_game
from zerogames.runs.net_source import find_net
from zerogames_go.go import Go
from zerogames_go.gtp.net_view import NetView, net_view
from zerogames_go.gtp.played_game import GtpGame
from zerogames_go.gtp.resignation import Resignation
from zerogames_go.gtp.settings import DEFAULT_NODES, GtpSettings
from zerogames_go.options import GoOptions
from zerogames_go.passing import options_to_move


@dataclass(frozen=True, kw_only=True)
class Watcher:
    """Whoever is told what a search knows while it runs."""

    tell: Callable[[Thought], None]
    interval_s: float
    lines: int
    """Number of best moves with a principal variation each."""


@dataclass(frozen=True, kw_only=True)
class MoveRequest:
    """A move that is asked for."""

    colour: int
    """The colour that moves, in turn or not."""
    budget: TimeBudget | None
    """The share of the clock, if there is one."""
    cleanup: bool = False
    """Whether all dead stones of the opponent must be captured before passing."""
    may_resign: bool = True
    """Whether the player may resign instead of moving."""
    watcher: Watcher | None = None
    """Is told what the search knows."""
    allowed: frozenset[int] | None = None
    """The moves to choose from, if one of them is sensible."""


@dataclass(frozen=True)
class Decision:
    """The answer to a request."""

    action: int | None
    """The move; None resigns."""
    thought: Thought | None
    """What the search found; None if there was only one choice."""
    elapsed_s: float


class GoPlayer:
    """Chooses moves: with the net file that was named, else with the usual net for each board."""

    def __init__(self, settings: GtpSettings) -> None:
        self.settings = settings
        self.resignation = Resignation(win_rate=settings.resign, turns=settings.resign_turns)
        self._opened: dict[int, NetEngine] = {}
        """Engines whose evaluators are used again, by board size; they search nothing."""
        self._engine: NetEngine | None = None

    def prepare(self, game: Go) -> None:
        """Open the net for this game's board; raises `UserError` if it cannot read it."""
        if game.size in self._opened:
            return
        given = self.settings
        settings = EngineSettings(
            evaluator=given.evaluator,
            precision=given.precision,
            threads=given.threads,
            batch=given.batch * given.threads,
            search=given.search,
            seed=given.seed,
        )
        net = given.net
        if given.evaluator in NET_EVALUATORS and not self._names_file:
            # A net is of a game with its usual end, not of a session's, which has none.
            usual = dataclasses.replace(game.options, max_plies=GoOptions().max_plies)
            source = find_net(net, Go(usual))
            print(f"net: {source.title}", file=sys.stderr)
            net = source.file()
        try:
            self._opened[game.size] = NetEngine.open(game, net, settings)
        except UserError as error:
            own = self._net_size()
            if own in (None, game.size):
                raise
            raise UserError(
                f"the net is for {own}x{own} boards only ({error}); "
                "nets without dense heads, such as mob_3x3_4x48+gap, read any board"
            ) from None

    @property
    def _names_file(self) -> bool:
        return self.settings.net is not None and self.settings.net.is_file()

    def _net_size(self) -> int | None:
        """Return the board size that the named net was made for."""
        if self.settings.net is None or not self._names_file:
            return None
        game = get_game(read_net_info(resolve_net(self.settings.net)).game)
        return game.spec.observation_shape[1]

    def new_game(self) -> None:
        """Forget the tree, the cached evaluations and the hopeless turns."""
        if self._engine is not None:
            self._engine.new_game()
        self.resignation.forget()

    def clear_cache(self) -> None:
        """Forget everything but the net."""
        self._engine = None

    def choose(self, played: GtpGame, request: MoveRequest) -> Decision:
        """Choose a move after the game so far."""
        began = time.monotonic()
        net = self._engine_for(played.game).net
        options = options_to_move(
            played.state_for(request.colour),
            rules=played.options.rules,
            net_has_pass=net is None or net.pass_logit,
            cleanup=request.cleanup,
        )
        if options.is_settled:
            return Decision(options.actions[0], None, time.monotonic() - began)
        allowed = request.allowed
        actions = [action for action in options.actions if allowed is None or action in allowed]
        limits = self._limits(request.budget, actions or options.actions)
        thought = first_success(
            smaller_limits(limits),
            lambda limits: self.think(played, request.colour, limits, watcher=request.watcher),
            lambda problem: print(problem, file=sys.stderr, flush=True),
        )
        win_rate = (1 + thought.moves[0].value) / 2
        hopeless = self.resignation.resigns(request.colour, win_rate)
        resigns = hopeless and request.may_resign and not request.cleanup
        return Decision(None if resigns else thought.best, thought, time.monotonic() - began)

    def think(
        self,
        played: GtpGame,
        colour: int,
        limits: ThinkLimits,
        *,
        stop: threading.Event | None = None,
        watcher: Watcher | None = None,
    ) -> Thought:
        """Search the position with `colour` to move."""
        engine = self._engine_for(played.game)
        start, actions = played.line_for(colour)
        engine.set_position(start, actions)
        if watcher is None:
            return engine.think(limits, stop=stop)
        return engine.think(
            dataclasses.replace(limits, lines=max(limits.lines, watcher.lines)),
            stop=stop,
            on_info=watcher.tell,
            info_interval_s=watcher.interval_s,
        )

    def view(self, played: GtpGame, colour: int) -> NetView | None:
        """What the net says of owners and points, if it has heads for them."""
        evaluator = self._engine_for(played.game).evaluator
        return net_view(evaluator, played.state_for(colour))

    def _engine_for(self, game: Go) -> NetEngine:
        if self._engine is None or self._engine.game.spec.identity != game.spec.identity:
            self.prepare(game)
            opened = self._opened[game.size]
            self._engine = NetEngine(game, opened.evaluator, opened.settings, net=opened.net)
        return self._engine

    def _limits(self, budget: TimeBudget | None, allowed: list[int]) -> ThinkLimits:
        if self.settings.movetime is not None:
            fixed = move_time_budget(self.settings.movetime)
            budget = budget.at_most(fixed.hard_s) if budget else fixed
        nodes = self.settings.nodes
        if nodes is None and budget is None:
            nodes = DEFAULT_NODES
        return ThinkLimits(nodes=nodes, allowed=tuple(allowed)).within(budget)
