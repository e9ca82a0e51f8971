"""The interface of the engines that a session drives."""

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from zerogames.engine.limits import ThinkLimits
from zerogames.protocol.options import Option, OptionValue
from zerogames.protocol.position import Position

P = TypeVar("P", bound=Position, contravariant=True)
"""The positions that an engine searches."""


@dataclass(frozen=True, kw_only=True)
class SearchOrder:
    """A search that a user interface asks for."""

    limits: ThinkLimits
    """What it may spend; its `allowed` is not set, as `moves` are."""
    mate: int | None = None
    """Search for a mate in this many own moves."""
    moves: tuple[str, ...] = ()
    """The legal moves to choose from; empty for all."""


@dataclass(frozen=True, kw_only=True)
class InfoLine:
    """One `info` line; scores are in the view of the side to move."""

    rank: int
    """Rank among the lines, from 1."""
    depth: int
    seldepth: int
    time_ms: int
    nodes: int
    nodes_per_s: int
    hashfull: int
    """Use of the table or cache in thousandths."""
    centipawns: int
    mate: int | None = None
    """Own moves to mate, negative when mated; instead of `centipawns`."""
    wdl: tuple[int, int, int] | None = None
    """Win, draw and loss in thousandths."""
    line: tuple[str, ...]

    def text(self, *, show_wdl: bool = False, mate_in_plies: bool = False) -> str:
        """Return the line as it is sent; a mate is counted in own moves or in plies."""
        score = f"cp {self.centipawns}"
        if self.mate is not None:
            # To mate in n moves takes 2n - 1 plies; to be mated in n moves takes 2n.
            plies = 2 * self.mate - (1 if self.mate > 0 else 0)
            score = f"mate {plies if mate_in_plies else self.mate}"
        if show_wdl and self.wdl is not None:
            score += " wdl {} {} {}".format(*self.wdl)
        return (
            f"info depth {self.depth} seldepth {self.seldepth} time {self.time_ms} "
            f"nodes {self.nodes} score {score} hashfull {self.hashfull} "
            f"nps {self.nodes_per_s} multipv {self.rank} pv {' '.join(self.line)}"
        )


@dataclass(frozen=True)
class BestMove:
    """The move that a search ends with."""

    move: str
    ponder: str | None = None

    def text(self) -> str:
        """Return the line as it is sent."""
        ponder = f" ponder {self.ponder}" if self.ponder else ""
        return f"bestmove {self.move}{ponder}"


class Engine(Protocol[P]):
    """Searches one position at a time, in a thread of the session.

    `UserError` means a mistake in what was asked; the engine stays usable.
    """

    @property
    def name(self) -> str:
        """The name that user interfaces show."""

    @property
    def options(self) -> Sequence[Option]:
        """The options of the engine, without those of the session."""

    def set_option(self, name: str, value: OptionValue) -> None:
        """Take a value that `Option.parse` accepted; only between searches."""

    def get_ready(self) -> None:
        """Return when it can search; `UserError` if it never will."""

    def new_game(self) -> None:
        """Forget what was searched; only between searches."""

    def allow(self, order: SearchOrder) -> None:
        """Announce a search: `stop` and `ponder_hit` are meant for it from now on."""

    def think(
        self, position: P, order: SearchOrder, on_info: Callable[[InfoLine], None]
    ) -> BestMove:
        """Search until a limit or `stop`; the position has a legal move."""

    def stop(self) -> None:
        """End the search soon; from any thread, also before it has begun."""

    def ponder_hit(self) -> None:
        """The expected move was played: let the limits count; from any thread."""

    def bench(self, words: Sequence[str], stop: threading.Event) -> list[str]:
        """Return the lines that answer `bench`; soon and of any kind once `stop` is set."""

    def evaluation(self, position: P) -> str:
        """Return the evaluation of a position without search, as text."""
