"""The game on the board: set-up, moves of either colour in any order, undoing.

Rules of the protocol are wider than rules of the game: a colour may move twice, and play may
continue after two passes. There a new line of play begins from the position with its history.
"""

import dataclasses
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from zerogames.errors import UserError
from zerogames.game import State
from zerogames_go import _native
from zerogames_go.go import Go
from zerogames_go.gtp.protocol import BLACK, COLOUR_LETTERS, WHITE
from zerogames_go.options import GoOptions, native_rules
from zerogames_go.sgf import SgfHeader, read_first_game, sgf_point, write_tree

MAX_PLIES = 2000
"""The controller ends games, not a number of moves; but every move is kept with its position."""


@dataclass(frozen=True)
class Ply:
    """One move."""

    colour: int
    action: int
    before: _native.Go
    """The position before the move, with this colour to move."""
    after: _native.Go


class GtpGame:
    """A game from its set-up on."""

    def __init__(self, options: GoOptions) -> None:
        self.options = dataclasses.replace(options, handicap=0, max_plies=MAX_PLIES)
        self.game = Go(self.options)
        self.setup = cast(_native.Go, self.game.initial_state())
        self.handicap: Sequence[int] = ()
        """Black's stones that were put down before the first move."""
        self.plies: list[Ply] = []

    @property
    def size(self) -> int:
        """Points on a side of the board."""
        return self.options.size

    @property
    def pass_action(self) -> int:
        """The last action."""
        return self.size * self.size

    @property
    def state(self) -> _native.Go:
        """The present position."""
        return self.plies[-1].after if self.plies else self.setup

    @property
    def to_play(self) -> int:
        """Whose turn it is as a rule."""
        return 1 - self.plies[-1].colour if self.plies else self.setup.to_play

    @property
    def has_setup(self) -> bool:
        """Whether it begins with another position than the empty board."""
        return bool(self.setup.board().any()) or self.setup.to_play != BLACK

    @property
    def is_empty(self) -> bool:
        """Whether nothing was put down yet."""
        return not self.plies and not self.setup.board().any()

    def state_for(self, colour: int) -> _native.Go:
        """The position with this colour to move, also out of turn or after the end."""
        state = self.state
        if state.result is None and state.to_play == colour:
            return state
        return state.with_turn(colour)

    def line_for(self, colour: int) -> tuple[State, list[int]]:
        """A position and the moves from there that lead to `state_for(colour)`."""
        state = self.state_for(colour)
        if state is not self.state:
            return state, []
        first = len(self.plies)
        while first > 0 and self._continues(first):
            first -= 1
        start = self.plies[first].before if first < len(self.plies) else self.setup
        return start, [ply.action for ply in self.plies[first:]]

    def _continues(self, end: int) -> bool:
        """Whether the ply before `end` belongs to the line of those from `end` on."""
        if end == len(self.plies):
            return True
        return self.plies[end].before is self.plies[end - 1].after

    def play(self, colour: int, action: int) -> None:
        """Play a move of either colour."""
        before = self.state_for(colour)
        if before.plies >= MAX_PLIES:
            raise UserError("illegal move: the game is too long")
        if not before.is_legal(action):
            raise UserError("illegal move")
        self.plies.append(Ply(colour, action, before, before.play(action)))

    def undo(self) -> None:
        """Take the last move back."""
        if not self.plies:
            raise UserError("cannot undo")
        self.plies.pop()

    def changed(self, options: GoOptions) -> "GtpGame":
        """The game by another komi or other rules; raises where they forbid a move of it."""
        changed = GtpGame(options)
        changed.handicap = self.handicap
        if self.has_setup:
            text = re.sub(r"KM\[[^\]]*\]", "", str(self.setup))
            changed.setup = _native.Go.from_sgf(text, self.size, native_rules(changed.options))
        for number, ply in enumerate(self.plies, start=1):
            changed.play_numbered(number, ply.colour, ply.action)
        return changed

    def play_numbered(self, number: int, colour: int, action: int) -> None:
        """Play a move; an error names its number."""
        try:
            self.play(colour, action)
        except UserError:
            raise UserError(f"move {number} is not legal by these rules") from None

    def place_handicap(self, points: Sequence[int]) -> None:
        """Put Black's stones on an empty board; White begins."""
        if not self.is_empty:
            raise UserError("board not empty")
        if len(set(points)) != len(points) or self.pass_action in points:
            raise UserError("bad vertex list")
        if not 2 <= len(points) < self.pass_action:
            raise UserError("bad vertex list")
        self.set_up(points, (), to_play=WHITE)
        self.handicap = tuple(points)

    def set_up(self, black: Sequence[int], white: Sequence[int], *, to_play: int) -> None:
        """Begin with these stones instead of an empty board."""
        lists = {
            name: "".join(f"[{sgf_point(self.size, point)}]" for point in points)
            for name, points in (("AB", black), ("AW", white))
        }
        stones = "".join(name + points for name, points in lists.items() if points)
        text = f"(;GM[1]SZ[{self.size}]{stones}PL[{COLOUR_LETTERS[to_play]}])"
        self.setup = _native.Go.from_sgf(text, self.size, native_rules(self.options))

    def copy(self) -> "GtpGame":
        """An independent copy of the game."""
        copied = GtpGame(self.options)
        copied.setup, copied.handicap = self.setup, self.handicap
        copied.plies = list(self.plies)
        return copied

    @classmethod
    def from_sgf(
        cls, data: bytes, options: GoOptions, *, before_move: int | None = None
    ) -> "GtpGame":
        """The first game of a file, up to the position before a move.

        Args:
            data: The file.
            options: Komi and rules if the file says none.
            before_move: Number of the first move that is not played.
        """
        header, game = read_first_game(data, options)
        played = cls(header.options)
        played.setup = game.start(native_rules(played.options))
        stones = played.setup.board().ravel()
        if played.setup.to_play == WHITE and (stones == 1).any() and not (stones == -1).any():
            played.handicap = [int(point) for point in (stones == 1).nonzero()[0]]
        moves = game.moves if before_move is None else game.moves[: max(0, before_move - 1)]
        for number, (colour, action) in enumerate(moves, start=1):
            played.play_numbered(number, colour, action)
        return played

    def to_sgf(self, *, result: str = "") -> str:
        """The game as one SGF tree."""
        header = SgfHeader(options=self.options, tags={"RE": result} if result else {})
        if self.handicap:
            header.tags["HA"] = str(len(self.handicap))
        return write_tree(
            header,
            setup=str(self.setup) if self.has_setup else "",
            moves=[(ply.colour, ply.action) for ply in self.plies],
        )
