"""One game between two players, with clocks and a referee."""

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from zerogames.arena.adjudication import (
    Adjudicator,
    DrawRule,
    Ending,
    ResignRule,
    longest_game,
    lost_by,
    score_as_it_stands,
)
from zerogames.arena.openings import Opening
from zerogames.arena.players import MoveLimits, Player, PlayerFault, Position
from zerogames.arena.time_control import Clock, TimeControl
from zerogames.game import Game


@dataclass(frozen=True, kw_only=True)
class Rules:
    """What a player may spend and when a game is ended."""

    control: TimeControl = field(default_factory=TimeControl)
    move_time_s: float | None = None
    nodes: int | None = None
    depth: int | None = None
    margin_s: float = 0.1
    """Seconds by which a clock may be exceeded."""
    patience_s: float = 120.0
    """The longest wait for a move if no clock runs, in seconds."""
    resign: ResignRule | None = None
    draw: DrawRule | None = None
    max_plies: int | None = None
    """The ply at which a game is adjudicated; None for the game's own limit."""


@dataclass(frozen=True, kw_only=True)
class MatchGame:
    """A finished game."""

    opening: Opening
    actions: list[int]
    """All actions, those of the opening included."""
    moves: list[str]
    comments: dict[int, str]
    """Evaluation, depth and time of each move, by ply; `book` for the opening's."""
    ending: Ending
    fault: PlayerFault | None
    """What the loser did, if it did not lose on the board."""
    seconds: float


class Interrupted(Exception):
    """The match was stopped in the middle of a game."""


def play_game(
    game: Game,
    players: Sequence[Player],
    opening: Opening,
    rules: Rules,
    *,
    seed: int = 0,
    stop: threading.Event | None = None,
) -> MatchGame:
    """Play from `opening` to the end; `players[0]` is the first player."""
    return _Referee(game, players, opening, rules, stop or threading.Event()).play(seed)


class _Referee:
    def __init__(
        self,
        game: Game,
        players: Sequence[Player],
        opening: Opening,
        rules: Rules,
        stop: threading.Event,
    ) -> None:
        self.players, self.opening, self.rules, self.stop = players, opening, rules, stop
        self.position = Position(game=game, start=opening.start, state=opening.state(game))
        self.comments = dict.fromkeys(range(len(opening.actions)), "book")
        self.clocks: tuple[Clock, Clock] = (rules.control.start(), rules.control.start())
        self.adjudicator = Adjudicator(rules.resign, rules.draw)
        self.max_plies = rules.max_plies or longest_game(game)

    def play(self, seed: int) -> MatchGame:
        began = time.monotonic()
        for action in self.opening.actions:
            self.position.play(action)
        mover, fault = 0, None
        try:
            for mover, player in enumerate(self.players):
                player.new_game(self.position, 2 * seed + mover)
            ending = None
            while ending is None:
                if self.stop.is_set():
                    raise Interrupted
                mover = self.position.state.to_play
                ending = self._ending() or self._move(mover)
        except PlayerFault as error:
            ending, fault = lost_by(mover, error.kind), error
        if self.stop.is_set() and self.position.state.result is None:
            raise Interrupted
        return MatchGame(
            opening=self.opening,
            actions=self.position.actions,
            moves=self.position.moves,
            comments=self.comments,
            ending=ending,
            fault=fault,
            seconds=time.monotonic() - began,
        )

    def _ending(self) -> Ending | None:
        state = self.position.state
        if state.result is not None:
            return Ending(state.result, state.end_reason)
        if len(self.position.actions) >= self.max_plies:
            return score_as_it_stands(self.position.game, state)
        return None

    def _move(self, mover: int) -> Ending | None:
        position, limits = self.position, self._limits(mover)
        began = time.monotonic()
        choice = self.players[mover].choose(position, limits)
        elapsed = time.monotonic() - began
        if self.stop.is_set():
            raise Interrupted
        self._check_time(mover, elapsed)
        if choice.action is None:
            return lost_by(mover, "resignation")
        if not position.state.is_legal(choice.action):
            raise PlayerFault("illegal move", f"action {choice.action}")
        self.comments[len(position.actions)] = choice.comment(elapsed)
        position.play(choice.action)
        if position.state.result is not None:
            return None
        return self.adjudicator.after_move(mover, choice, position.state, len(position.actions))

    def _limits(self, mover: int) -> MoveLimits:
        rules, clock = self.rules, self.clocks[mover]
        if rules.control.time_s is not None:
            deadline = clock.remaining_s + rules.margin_s
        elif rules.move_time_s is not None:
            deadline = rules.move_time_s + rules.margin_s
        else:
            deadline = rules.patience_s
        return MoveLimits(
            control=rules.control,
            remaining_s=(self.clocks[0].remaining_s, self.clocks[1].remaining_s),
            moves_to_go=clock.moves_to_go,
            move_time_s=rules.move_time_s,
            nodes=rules.nodes,
            depth=rules.depth,
            deadline_s=deadline,
        )

    def _check_time(self, mover: int, elapsed: float) -> None:
        rules = self.rules
        if not self.clocks[mover].spend(elapsed, rules.margin_s):
            raise PlayerFault("time forfeit", f"the clock fell by a move of {elapsed:.3f} s")
        if rules.move_time_s is not None and elapsed > rules.move_time_s + rules.margin_s:
            raise PlayerFault("time forfeit", f"{elapsed:.3f} s for {rules.move_time_s:g} s")
