"""Who a person can play against or ask: nets, and search without a net."""

import threading
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from zerogames.engine import EngineSettings, NetEngine
from zerogames.errors import UserError
from zerogames.game import Game
from zerogames.nets.foreign import OWN_SUFFIX
from zerogames.nets.net_info import read_net_info
from zerogames.play.adviser import Adviser, NetAdviser, RolloutAdviser
from zerogames.registry import plugin_of
from zerogames.runs.net_source import NEWEST, SHIPPED, default_net, find_net
from zerogames.search.settings import search_preset

KEPT_ENGINES = 4
"""Engines with a net in memory; the one used longest ago is closed first."""
MOST_WAITING = 8
"""Requests that may wait for one engine."""
WITHOUT_NET = "mcts"
_CACHE_MEBIBYTES = 64


@dataclass(frozen=True)
class Opponent:
    """One choice of the page."""

    key: str
    """What the page sends back; never a path."""
    title: str


@dataclass
class _Seat:
    """One adviser and those who wait for it."""

    adviser: Adviser
    lock: threading.Lock = field(default_factory=threading.Lock)
    waiting: int = 0


@dataclass(frozen=True, kw_only=True)
class Opponents:
    """The opponents of every game, opened when they are first asked."""

    nets: Sequence[str] = ()
    """Nets that the command line named: files or `newest`."""
    threads: int = 1
    precision: str = "fp32"
    seed: int = 0
    _seats: OrderedDict[tuple[str, str, str], _Seat] = field(default_factory=OrderedDict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def of(self, game: Game) -> list[Opponent]:
        """The opponents of one game, the best choice first."""
        found = [
            Opponent(f"net-{index}", Path(net).name)
            for index, net in enumerate(self.nets)
            if _plays(net, game)
        ]
        for word in (NEWEST, SHIPPED):
            source = default_net(game, word)
            if source is not None and source.path is not None:
                found.append(Opponent(word, f"the net {source.path.stem}, {source.origin}"))
        return [*found, Opponent(WITHOUT_NET, "search without a net")]

    @contextmanager
    def seat(
        self, game: Game, key: str, stop: threading.Event, *, purpose: str = "play"
    ) -> Iterator[Adviser]:
        """Lend the adviser of one opponent; raise `UserError` if too many wait for it already.

        Each purpose has advisers of its own, so that no game waits for an analysis.
        """
        seat = self._find(game, key, purpose)
        with self._lock:
            if seat.waiting >= MOST_WAITING:
                raise UserError("too many games ask this engine at once; try again in a moment")
            seat.waiting += 1
        try:
            while not seat.lock.acquire(timeout=0.05):
                if stop.is_set():
                    raise UserError("the request was given up")
            try:
                yield seat.adviser
            finally:
                seat.lock.release()
        finally:
            with self._lock:
                seat.waiting -= 1

    def _find(self, game: Game, key: str, purpose: str) -> _Seat:
        known = game.spec.identity, key, purpose
        with self._lock:
            if known in self._seats:
                self._seats.move_to_end(known)
                return self._seats[known]
        if key not in {opponent.key for opponent in self.of(game)}:
            raise UserError(f"there is no such opponent for {game.spec.identity}; choose another")
        seat = _Seat(self._open(game, key))
        with self._lock:
            seat = self._seats.setdefault(known, seat)
            idle = [name for name, other in self._seats.items() if not other.waiting]
            for name in idle[: max(0, len(self._seats) - KEPT_ENGINES)]:
                if name != known:
                    del self._seats[name]
        return seat

    def _open(self, game: Game, key: str) -> Adviser:
        if key == WITHOUT_NET:
            return RolloutAdviser(game, nodes=1, seed=self.seed)
        net = key if key in (NEWEST, SHIPPED) else self.nets[int(key.removeprefix("net-"))]
        settings = EngineSettings(
            precision=self.precision,
            threads=self.threads,
            search=search_preset("engine", cache_mebibytes=_CACHE_MEBIBYTES),
        )
        engine = NetEngine.open(game, find_net(net, game).path, settings)
        return NetAdviser(net, engine, nodes=1, seed=self.seed)


def _plays(net: str, game: Game) -> bool:
    """Whether a net file is for this game, as far as can be told without loading it."""
    if net == NEWEST:
        return False  # offered under its own name
    path = Path(net)
    if path.suffix != OWN_SUFFIX:
        plugin = plugin_of(game)
        return plugin is not None and path.name.endswith(tuple(plugin.net_formats))
    try:
        return read_net_info(path).game.partition(":")[0] == game.spec.name
    except UserError:
        return False
