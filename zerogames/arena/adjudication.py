"""Ending games early that are decided, drawn or too long."""

import re
from dataclasses import dataclass

from zerogames.arena.players import Choice
from zerogames.errors import UserError
from zerogames.game import Game, State


@dataclass(frozen=True, kw_only=True)
class ResignRule:
    """Give up after `moves` own moves in a row at -`score` centipawns or worse."""

    moves: int
    score: float
    two_sided: bool = False
    """Both players must agree: |score| or more by both, in 2 `moves` plies."""

    @classmethod
    def parse(cls, text: str) -> "ResignRule | None":
        """Read `MOVES/SCORE[/two]`, e.g. `3/600`; empty for none."""
        if not text:
            return None
        match = re.fullmatch(r"(\d+)/(\d+)(/two)?", text)
        if match is None or int(match[1]) == 0:
            raise UserError(f"'{text}' is no resign rule; write MOVES/SCORE[/two], e.g. 3/600")
        return cls(moves=int(match[1]), score=float(match[2]), two_sided=bool(match[3]))


@dataclass(frozen=True, kw_only=True)
class DrawRule:
    """A draw when, from full move `number` on, both stay within `score` for `moves` moves each."""

    number: int
    moves: int
    score: float

    @classmethod
    def parse(cls, text: str) -> "DrawRule | None":
        """Read `NUMBER/MOVES/SCORE`, e.g. `34/8/20`; empty for none."""
        if not text:
            return None
        match = re.fullmatch(r"(\d+)/(\d+)/(\d+)", text)
        if match is None or int(match[2]) == 0:
            raise UserError(f"'{text}' is no draw rule; write NUMBER/MOVES/SCORE, e.g. 34/8/20")
        return cls(number=int(match[1]), moves=int(match[2]), score=float(match[3]))


@dataclass(frozen=True)
class Ending:
    """How a game ended."""

    result: float
    """First player's view."""
    reason: str


def lost_by(player: int, reason: str) -> Ending:
    """The end of a game that a player, 0 or 1, has lost."""
    return Ending(-1.0 if player == 0 else 1.0, reason)


class Adjudicator:
    """Watches one game's evaluations."""

    def __init__(self, resign: ResignRule | None = None, draw: DrawRule | None = None) -> None:
        self._resign, self._draw = resign, draw
        self._losing = [0, 0]
        """Own moves in a row with a lost evaluation."""
        self._decided = 0
        """Plies in a row in which the mover sees the second player (-) or first (+) winning."""
        self._quiet = 0
        """Plies in a row with an even evaluation."""

    def after_move(self, mover: int, choice: Choice, state: State, plies: int) -> Ending | None:
        """Take note of a move that led to `state`, the game's ply number `plies`."""
        score = choice.score
        return self._watch_resign(mover, score) or self._watch_draw(score, state, plies)

    def _watch_resign(self, mover: int, score: float | None) -> Ending | None:
        rule = self._resign
        if rule is None:
            return None
        if rule.two_sided:
            view = None if score is None else score if mover == 0 else -score
            if view is None or abs(view) < rule.score:
                self._decided = 0
            else:
                sign = 1 if view > 0 else -1
                self._decided = self._decided + sign if self._decided * sign > 0 else sign
            if abs(self._decided) >= 2 * rule.moves:
                return lost_by(int(self._decided > 0), "adjudicated win")
            return None
        lost = score is not None and score <= -rule.score
        self._losing[mover] = self._losing[mover] + 1 if lost else 0
        if self._losing[mover] >= rule.moves:
            return lost_by(mover, "adjudicated win")
        return None

    def _watch_draw(self, score: float | None, state: State, plies: int) -> Ending | None:
        rule = self._draw
        if rule is None:
            return None
        even = score is not None and abs(score) <= rule.score
        # A capture or a pawn move is progress; games without such a count have none.
        progress = getattr(state, "halfmoves", None) == 0
        self._quiet = self._quiet + 1 if even and not progress else 0
        if plies >= 2 * rule.number and self._quiet >= 2 * rule.moves:
            return Ending(0.0, "adjudicated draw")
        return None


def score_as_it_stands(game: Game, state: State) -> Ending:
    """End a game that is too long: by its score if passing ends the game, else drawn."""
    for _ in range(3):
        if state.result is not None:
            return Ending(state.result, "length, scored as it stands")
        try:
            state = state.play(game.parse_action(state, "pass"))
        except UserError:
            break
    return Ending(0.0, "length")


def longest_game(game: Game) -> int:
    """Plies after which a game is ended: 2 x area + 10 where one may always pass, as in Go."""
    try:
        game.parse_action(game.initial_state(), "pass")
    except UserError:
        return game.spec.max_plies
    _, height, width = game.spec.observation_shape
    return min(2 * height * width + 10, game.spec.max_plies)
