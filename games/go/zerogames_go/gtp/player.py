"""The player behind the protocol: a net, its search, a clock, and the sense to pass or resign."""

import dataclasses
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from zerogames.engine import Thinker, ThinkLimits, Thought, move_time_budget
from zerogames.errors import UserError
from zerogames.evaluate import NET_EVALUATORS, Evaluator, open_evaluator
from zerogames.nets.foreign import resolve_net
from zerogames.nets.net_info import read_net_info
from zerogames.registry import get_game
from zerogames_go.go import Go
from zerogames_go.gtp.clock import Budget
from zerogames_go.gtp.played_game import PlayedGame
from zerogames_go.gtp.resignation import Resignation
from zerogames_go.gtp.settings import DEFAULT_NODES, GtpSettings
from zerogames_go.passing import options_to_move


@dataclass(frozen=True)
class Decision:
    """What to do."""

    action: int | None
    """None resigns."""
    thought: Thought | None
    """None if there was nothing to think about."""
    elapsed_s: float


@dataclass(frozen=True, kw_only=True)
class Watcher:
    """Someone who wants to see the search while it runs."""

    tell: Callable[[Thought], None]
    interval_s: float
    lines: int
    """Moves that are wanted with their best line."""


class GoPlayer:
    """Chooses moves with one net on boards of any size that the net can read."""

    def __init__(self, settings: GtpSettings) -> None:
        self.settings = settings
        self.resignation = Resignation(win_rate=settings.resign, turns=settings.resign_turns)
        self._evaluators: dict[int, Evaluator] = {}
        self._thinker: Thinker | None = None
        self._has_pass: bool | None = None

    def prepare(self, game: Go) -> None:
        """Open the net for this game's board; raises `UserError` if it cannot read it."""
        if game.size in self._evaluators:
            return
        try:
            self._evaluators[game.size] = open_evaluator(
                game,
                kind=self.settings.evaluator,
                net=self.settings.net,
                threads=self.settings.threads,
                precision=self.settings.precision,
            )
        except UserError as error:
            own = self._net_size()
            if own in (None, game.size):
                raise
            raise UserError(
                f"the net is for {own}x{own} boards only ({error}); "
                "nets without dense heads, such as mob_3x3_4x48+gap, read any board"
            ) from None

    def _net_size(self) -> int | None:
        """The board that the net was made for."""
        if self.settings.net is None:
            return None
        game = get_game(read_net_info(resolve_net(self.settings.net)).game)
        return game.spec.observation_shape[1]

    def new_game(self) -> None:
        """Forget tree and hopes; what the net said about positions stays in the cache."""
        if self._thinker is not None:
            self._thinker.new_game(seed=self.settings.seed)
        self.resignation.forget()

    def clear_cache(self) -> None:
        """Forget everything."""
        self._thinker = None

    def net_has_pass(self, game: Go) -> bool:
        """Whether the net's policy says anything about passing."""
        if self._has_pass is None:  # read once: a run may replace its net's file at any time
            self._has_pass = True
            if self.settings.net is not None and self.settings.evaluator in NET_EVALUATORS:
                name = read_net_info(resolve_net(self.settings.net)).name
                self._has_pass = game.parse_net(name).pass_logit
        return self._has_pass

    def choose(
        self,
        played: PlayedGame,
        colour: int,
        budget: Budget | None,
        *,
        cleanup: bool = False,
        may_resign: bool = True,
        watcher: Watcher | None = None,
        allowed: set[int] | None = None,
    ) -> Decision:
        """Choose a move for `colour`.

        Args:
            played: The game so far.
            colour: Who moves, in turn or not.
            budget: Of the clock, if there is one.
            cleanup: Do not pass before all dead stones of the opponent are captured.
            may_resign: Otherwise the best move is played on.
            watcher: Is told what the search knows.
            allowed: Only these moves, where one of them is sensible.
        """
        began = time.monotonic()
        state = played.state_for(colour)
        options = options_to_move(
            state,
            rules=played.options.rules,
            net_has_pass=self.net_has_pass(played.game),
            cleanup=cleanup,
        )
        if options.is_settled:
            return Decision(options.actions[0], None, time.monotonic() - began)
        actions = [action for action in options.actions if allowed is None or action in allowed]
        limits = self._limits(budget, actions or options.actions)
        thought = self.think(played, colour, limits, watcher=watcher)
        win_rate = (1 + thought.moves[0].value) / 2
        if self.resignation.resigns(colour, win_rate) and may_resign and not cleanup:
            return Decision(None, thought, time.monotonic() - began)
        return Decision(thought.best, thought, time.monotonic() - began)

    def think(
        self,
        played: PlayedGame,
        colour: int,
        limits: ThinkLimits,
        *,
        stop: threading.Event | None = None,
        watcher: Watcher | None = None,
    ) -> Thought:
        """Search the position with `colour` to move."""
        thinker = self._thinker_for(played.game)
        start, actions = played.line_for(colour)
        thinker.set_position(start, actions)
        if watcher is None:
            return thinker.think(limits, stop=stop)
        return thinker.think(
            dataclasses.replace(limits, lines=max(limits.lines, watcher.lines)),
            stop=stop,
            on_info=watcher.tell,
            info_interval_s=watcher.interval_s,
        )

    def _thinker_for(self, game: Go) -> Thinker:
        thinker = self._thinker
        if thinker is None or thinker.game.spec.identity != game.spec.identity:
            self.prepare(game)
            thinker = Thinker(
                game,
                self._evaluators[game.size],
                settings=self.settings.search,
                batch=self.settings.batch * self.settings.threads,
                seed=self.settings.seed,
            )
            self._thinker = thinker
        return thinker

    def _limits(self, budget: Budget | None, allowed: list[int]) -> ThinkLimits:
        soft = hard = None
        if budget is not None:
            soft, hard = budget.soft_s, budget.hard_s
        if self.settings.movetime is not None:
            fixed = move_time_budget(self.settings.movetime).hard_s
            hard = fixed if hard is None else min(hard, fixed)
            soft = hard if soft is None else min(soft, hard)
        nodes = self.settings.nodes
        if nodes is None and hard is None:
            nodes = DEFAULT_NODES
        return ThinkLimits(
            nodes=nodes,
            soft_s=soft,
            hard_s=hard,
            allowed=tuple(allowed),
            lines=2 if budget is not None and budget.use_all else 1,
        )
