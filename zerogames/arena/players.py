"""Players: their interface, and making one from its text.

`random`, `mcts:1000`, `perfect`, `uci:/usr/games/stockfish?UCI_LimitStrength=true&UCI_Elo=1350`,
`gtp:/usr/games/gnugo --mode gtp --level 1`; `NAME=...` before any of them gives it a name.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from itertools import chain, count
from typing import Protocol

from zerogames.arena.time_control import TimeControl
from zerogames.engine.clock import TimeLeft
from zerogames.errors import UserError, unknown_name
from zerogames.game import Game, State
from zerogames.nets.foreign import net_suffixes

GROUP = "zerogames.players"
"""Entry points: plugins add kinds of players, such as `uci` (chess) and `gtp` (Go)."""

_OWN_KINDS = ("random", "mcts", "perfect", "net")
_NAMED = re.compile(r"([^=:/?]+)=(.+)", re.DOTALL)


class PlayerFault(Exception):
    """A player crashed or broke the rules: it loses the game, and the match continues."""

    def __init__(self, kind: str, detail: str = "") -> None:
        super().__init__(f"{kind}: {detail}" if detail else kind)
        self.kind = kind
        """`crash`, `illegal move`, `time forfeit`, `no answer` or `refusal`."""
        self.detail = detail[:300]


@dataclass(kw_only=True)
class Position:
    """A game from its start to the present position."""

    game: Game
    start: str = ""
    """The start as `Game.format_state` writes it; empty for the initial position."""
    actions: list[int] = field(default_factory=list)
    moves: list[str] = field(default_factory=list)
    """The actions as text."""
    movers: list[int] = field(default_factory=list)
    """The player of each action, 0 or 1."""
    state: State
    """The present position."""

    def play(self, action: int) -> None:
        """Make a move."""
        self.movers.append(self.state.to_play)
        self.moves.append(self.game.format_action(self.state, action))
        self.actions.append(action)
        self.state = self.state.play(action)


@dataclass(frozen=True, kw_only=True)
class MoveLimits:
    """What a player may spend on a move; at least one limit is set, or the player has its own."""

    control: TimeControl
    """The time control of both players."""
    remaining_s: tuple[float, float]
    """Seconds left to the first and the second player; infinite without a clock."""
    moves_to_go: int = 0
    """Moves of the player to move until the next period; 0 if there is none."""
    move_time_s: float | None = None
    nodes: int | None = None
    depth: int | None = None
    deadline_s: float
    """Seconds from now after which an answer loses."""

    @property
    def is_timed(self) -> bool:
        """Whether clocks run."""
        return self.control.time_s is not None

    def clock(self, player: int) -> TimeLeft | None:
        """The clock of a player, for engines that manage their time; None if no clocks run."""
        if not self.is_timed:
            return None
        return TimeLeft(
            time_s=self.remaining_s[player],
            increment_s=self.control.increment_s,
            moves_to_go=self.moves_to_go or None,
        )

    def budget_s(self, player: int) -> float | None:
        """Return a fixed share of the time left, for players that do not manage their time."""
        if self.move_time_s is not None:
            return 0.9 * self.move_time_s
        if not self.is_timed:
            return None
        remaining = self.remaining_s[player]
        moves = min(self.moves_to_go or 30, 30)
        return min(remaining / moves + 0.8 * self.control.increment_s, 0.5 * remaining)


@dataclass(frozen=True, kw_only=True)
class Choice:
    """A move with what the player thought of it, in the view of the player who moves."""

    action: int | None
    """The action; None resigns."""
    centipawns: float | None = None
    mate: int | None = None
    """Own moves to mate; negative when the player is mated."""
    win_rate: float | None = None
    """Expected points, in [0, 1]."""
    depth: int | None = None
    nodes: int | None = None

    @property
    def score(self) -> float | None:
        """Centipawns for adjudication; mates are beyond every limit."""
        if self.mate is not None:
            return 100_000.0 if self.mate > 0 else -100_000.0
        return self.centipawns

    def comment(self, elapsed_s: float) -> str:
        """Return the annotation of the move, such as `+0.35/12 0.53s 1200n`."""
        parts = []
        if self.mate is not None:
            parts.append(f"{'-' if self.mate < 0 else '+'}M{abs(self.mate)}")
        elif self.win_rate is not None:
            parts.append(f"{100 * self.win_rate:.1f}%")
        elif self.centipawns is not None:
            parts.append(f"{self.centipawns / 100:+.2f}")
        if parts and self.depth is not None:
            parts[0] += f"/{self.depth}"
        parts.append(f"{elapsed_s:.3f}s")
        if self.nodes is not None:
            parts.append(f"{self.nodes}n")
        return " ".join(parts)


class Player(Protocol):
    """Plays games of one game plugin, one after another."""

    def new_game(self, position: Position, seed: int) -> None:
        """Forget the game before; `seed` decides what is random in this one."""

    def choose(self, position: Position, limits: MoveLimits) -> Choice:
        """Choose a move; raise `PlayerFault` when that fails."""

    def close(self) -> None:
        """Free what the player holds; from another thread it also ends a running `choose`."""


@dataclass(frozen=True, kw_only=True)
class PlayerKind:
    """How players of one kind are named, checked and made."""

    title: Callable[[str], str]
    """A short name from what stands behind `kind:`; raises `UserError` for what is wrong there."""
    make: Callable[[str, Game], Player]
    """Makes a player from the same text."""


@dataclass(frozen=True, kw_only=True)
class PlayerSpec:
    """A player as the user named it."""

    text: str
    """The whole text: equal texts are equal players."""
    name: str
    kind: str
    argument: str
    """What stands behind `kind:`."""

    def make(self, game: Game) -> Player:
        """Start the player."""
        return find_kind(self.kind).make(self.argument, game)


@cache
def _kinds() -> dict[str, EntryPoint]:
    """Where each kind is, by name."""
    own = (EntryPoint(name, f"{__package__}.{name}_player:kind", GROUP) for name in _OWN_KINDS)
    return {point.name: point for point in (*entry_points(group=GROUP), *own)}


def find_kind(name: str) -> PlayerKind:
    """Load a kind; its module is imported only now."""
    if name not in _kinds():
        raise unknown_name("kind of player", name, _kinds())
    kind = _kinds()[name].load()
    if not isinstance(kind, PlayerKind):
        raise UserError(f"player kind '{name}' is not a zerogames.arena.players.PlayerKind")
    return kind


def parse_player(text: str) -> PlayerSpec:
    """Read `[NAME=]kind[:argument]`, or the path of a net with `@nodes`."""
    text = text.strip()
    given, body = "", text
    match = _NAMED.fullmatch(text)
    if match:
        given, body = match[1].strip(), match[2].strip()
    path = re.split(r"[@?]", body, maxsplit=1)[0]
    if path.endswith(net_suffixes()) and body.partition(":")[0] not in _kinds():
        kind, argument = "net", body
    else:
        kind, _, argument = body.partition(":")
    title = find_kind(kind).title(argument)
    return PlayerSpec(text=text, name=given or title, kind=kind, argument=argument)


def parse_players(texts: Sequence[str]) -> list[PlayerSpec]:
    """Read several; equal names get a number behind them."""
    specs: list[PlayerSpec] = []
    for text in texts:
        spec = parse_player(text)
        taken = {other.name for other in specs}
        names = chain([spec.name], (f"{spec.name} #{number}" for number in count(2)))
        specs.append(replace(spec, name=next(name for name in names if name not in taken)))
    return specs
