"""A net that thinks about one position at a time: the engine of every protocol and player."""

import dataclasses
import threading
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from zerogames.engine.batches import LeafBatches
from zerogames.engine.choice import read_net_spec, root_actions
from zerogames.engine.clock import DEFAULT_OVERHEAD_S, TimeManager
from zerogames.engine.limits import ThinkLimits
from zerogames.engine.thinking import ThinkSignals, think
from zerogames.engine.thought import Thought
from zerogames.evaluate import NET_EVALUATORS, Evaluator, open_evaluator
from zerogames.game import Game, State, find_encoding, play_actions
from zerogames.memory import require_mebibytes
from zerogames.nets.spec import NetSpec
from zerogames.registry import get_game
from zerogames.runs.net_source import find_net
from zerogames.search import DEFAULT_BATCH, Search, new_search
from zerogames.search.settings import SearchSettings, search_preset


@dataclass(frozen=True, kw_only=True)
class EngineSettings:
    """How a net evaluates and searches."""

    evaluator: str = "native"
    """One of `zerogames.evaluate.EVALUATOR_KINDS`; `constant` and `random` need no net."""
    precision: str = "fp32"
    """`fp32`, or `int8`: faster on CPUs with VNNI, with slightly different evaluations."""
    threads: int = 1
    """CPU threads of the evaluator."""
    batch: int = DEFAULT_BATCH
    """Most leaves that are evaluated together; young trees take fewer. They go in halves to an
    evaluator that can begin a batch before it is done with another."""
    search: SearchSettings = field(default_factory=lambda: search_preset("engine"))
    """The tree search."""
    seed: int = 0
    """Seed of everything random."""
    overhead_s: float = DEFAULT_OVERHEAD_S
    """Seconds that each move loses between engine and clock."""


class NetEngine:
    """Searches positions of one game with one net, and keeps the tree from move to move.

        engine = NetEngine.open("chess", "shipped")
        engine.set_position(engine.game.initial_state(), actions)
        thought = engine.think(ThinkLimits(nodes=800))
        engine.game.format_action(engine.state, thought.best)

    Only one thread at a time may use it; other threads may set the events of `think`.
    """

    def __init__(
        self,
        game: Game,
        evaluator: Evaluator,
        settings: EngineSettings | None = None,
        *,
        net: NetSpec | None = None,
    ) -> None:
        """Make an engine with an evaluator that is open; its own settings are not looked at again.

        `net` is the architecture, which may decide what moves the game finds sensible.
        """
        self.game = game
        self.evaluator = evaluator
        self.settings = settings or EngineSettings()
        self.net = net
        self._times = TimeManager(self.settings.overhead_s)
        self._seed = self.settings.seed
        self._start = game.initial_state()
        self._actions: list[int] = []
        self._search: Search | None = None
        self._last_value: float | None = None
        """The value by the last search, in the view of the player to move now."""

    @classmethod
    def open(
        cls,
        game: Game | str,
        net: str | Path | None = None,
        settings: EngineSettings | None = None,
    ) -> Self:
        """Load a net for a game or its identity, such as `go:size=9`.

        The net is a file, `shipped`, `newest` or the name of an architecture, as `find_net` takes
        it; by default the newest net of the runs here, else the shipped one.
        """
        game = get_game(game) if isinstance(game, str) else game
        settings = settings or EngineSettings()
        require_mebibytes("the evaluation cache", settings.search.cache_mebibytes)
        path = None if net is None else Path(net)
        spec = None
        if settings.evaluator in NET_EVALUATORS:
            source = find_net(net, game)
            path = source.path or source.file()
            spec = read_net_spec(game, path)
        evaluator = open_evaluator(
            game,
            kind=settings.evaluator,
            net=path,
            threads=settings.threads,
            precision=settings.precision,
        )
        return cls(game, evaluator, settings, net=spec)

    @property
    def search(self) -> Search:
        """The search of the present position, for readers that want more than a `Thought`."""
        if self._search is None:
            self._search = new_search(
                self.game,
                self.settings.search,
                state=play_actions(self._start, self._actions),
                encoding=self.evaluator.encoding,
                seed=self._seed,
                needs_observation=self.evaluator.capabilities.needs_observation,
            )
            self._search.net_version = zlib.crc32(self.evaluator.version.encode())
        return self._search

    @property
    def state(self) -> State:
        """The present position."""
        return self.search.state

    @property
    def sensible_actions(self) -> tuple[int, ...] | None:
        """The actions that the engine chooses from if `think` is not told; None stands for all."""
        return root_actions(self.game, self.state, self.net)

    def new_game(self, *, seed: int | None = None) -> None:
        """Forget the tree, the cached evaluations and the time saved: games are independent.

        `seed` replaces that of the settings.
        """
        self._seed = self.settings.seed if seed is None else seed
        self._times.new_game()
        self._last_value = None
        self._search = None

    def set_position(self, start: State, actions: Sequence[int] = ()) -> None:
        """Turn to the position after `actions`; its subtree is kept if it follows the last one.

        Raises `UserError` for an illegal action; the old position stays then.
        """
        known = len(self._actions)
        same_start = (
            start.observation_key == self._start.observation_key
            and start.position_key == self._start.position_key
        )
        if same_start and self._search is not None and list(actions[:known]) == self._actions:
            before = self._search.state
            state = play_actions(before, actions[known:])  # Checks all before the tree moves.
            for action in actions[known:]:
                self._search.advance(action)
            if self._last_value is not None and state.to_play != before.to_play:
                self._last_value = -self._last_value
        else:
            state = play_actions(start, actions)
            if self._search is not None:
                self._search.set_position(state)
            self._last_value = None
        self._start, self._actions = start, list(actions)

    def think(
        self,
        limits: ThinkLimits,
        *,
        stop: threading.Event | None = None,
        ponder_hit: threading.Event | None = None,
        on_info: Callable[[Thought], None] | None = None,
        info_interval_s: float = 0.5,
    ) -> Thought:
        """Search until a limit is met or `stop` is set, which takes at most one batch.

        Args:
            limits: What may be spent.
            stop: Ends the search.
            ponder_hit: Starts the limits of a search that ponders.
            on_info: Called in this thread with what is known so far, at most every
                `info_interval_s`.
            info_interval_s: Seconds between two calls of `on_info`.
        """
        signals = ThinkSignals(
            stop=stop or threading.Event(),
            ponder_hit=ponder_hit or threading.Event(),
            on_info=on_info,
            info_interval_s=info_interval_s,
        )
        if limits.clock is not None:
            limits = limits.within(self._times.budget(limits.clock, ply=self.state.plies))
        if limits.allowed is None:
            limits = dataclasses.replace(limits, allowed=self.sensible_actions)
        try:
            shape = find_encoding(self.game, self.evaluator.encoding).shape
            batches = LeafBatches(self.search, self.evaluator, shape, self.settings.batch)
            thought = think(self.search, batches, limits, signals, self._last_value)
        except BaseException:
            self._search = None  # It may wait for a batch that never comes.
            raise
        if limits.clock is not None and not limits.ponder:
            self._times.moved(thought.elapsed_s)
        self._last_value = thought.value
        return thought
