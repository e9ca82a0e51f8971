"""What all commands of a session share: the game, the player, the clocks."""

import dataclasses
from collections.abc import Callable, Sequence

from zerogames.engine.clock import TimeBudget
from zerogames.errors import UserError
from zerogames_go.go import Go
from zerogames_go.gtp.clock import (
    TimeLeft,
    TimeSettings,
    after_move,
    move_budget,
)
from zerogames_go.gtp.played_game import GtpGame
from zerogames_go.gtp.player import GoPlayer
from zerogames_go.options import GoOptions

Handler = Callable[[Sequence[str]], str]
"""Turns arguments into the answer; raises `UserError` with the reason for a failure."""


class Table:
    """The game, the player and the clocks of a session."""

    def __init__(self, player: GoPlayer, options: GoOptions) -> None:
        self.player = player
        self.played = GtpGame(options)
        player.prepare(self.played.game)
        self.result = ""
        """The result, such as `B+R`, once a side has resigned."""
        self.set_time(TimeSettings())

    @property
    def game(self) -> Go:
        """The game with its present size, komi and rules."""
        return self.played.game

    def set_time(self, settings: TimeSettings) -> None:
        """Start both clocks anew."""
        self.time = settings
        self.left: list[TimeLeft] = [settings.start(), settings.start()]

    def budget(self, colour: int) -> TimeBudget | None:
        """What the next move of `colour` may take."""
        board = self.played.state.board()
        return move_budget(
            self.time,
            self.left[colour],
            area=board.size,
            stones=int((board != 0).sum()),
            lag_s=self.player.settings.lag,
        )

    def spend(self, colour: int, elapsed_s: float) -> None:
        """A move was made; the controller may correct this by `time_left`."""
        self.left[colour] = after_move(self.time, self.left[colour], elapsed_s)

    def begin(self, played: GtpGame) -> None:
        """Put another game on the board, if the net can read it."""
        try:
            self.player.prepare(played.game)
        except UserError as error:
            raise UserError(f"unacceptable size: {error}") from None
        self.played = played
        self.player.new_game()
        self.result = ""

    def change(self, **options: object) -> None:
        """Continue by another komi or other rules."""
        self.played = self.played.changed(
            dataclasses.replace(self.played.options, **options)  # type: ignore[arg-type]
        )
