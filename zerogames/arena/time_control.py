"""Time controls in cutechess's form, and the clocks that run by them."""

import math
import re
from dataclasses import dataclass

from zerogames.errors import UserError

_TIME = r"(?:(\d+):)?(\d+(?:\.\d*)?|\.\d+)"
_FORM = re.compile(rf"(?:(\d+)/)?{_TIME}(?:\+(\d+(?:\.\d*)?|\.\d+))?")


@dataclass(frozen=True, kw_only=True)
class TimeControl:
    """`[moves/]time[+increment]` in seconds, or no limit."""

    time_s: float | None = None
    """Seconds for a period; None without limit."""
    moves: int = 0
    """Moves in a period; 0 if `time_s` is for the whole game."""
    increment_s: float = 0.0

    @classmethod
    def parse(cls, text: str) -> "TimeControl":
        """Read `60+0.6`, `40/60+0.6`, `1:30+1` (minutes and seconds) or `inf`."""
        if text.strip().lower() in ("", "inf", "-"):
            return cls()
        match = _FORM.fullmatch(text.strip())
        if match is None:
            raise UserError(
                f"'{text}' is not a time control; write 60+0.6, 40/60+0.6, 1:30+1 or inf"
            )
        moves, minutes, seconds, increment = match.groups()
        time_s = 60 * int(minutes or 0) + float(seconds)
        control = cls(time_s=time_s, moves=int(moves or 0), increment_s=float(increment or 0))
        if time_s + control.increment_s <= 0:
            raise UserError(f"'{text}' leaves no time to play")
        return control

    def start(self) -> "Clock":
        """A clock for one player, at time + increment."""
        if self.time_s is None:
            return Clock(self, math.inf, 0)
        return Clock(self, self.time_s + self.increment_s, self.moves)

    def __str__(self) -> str:
        """Return the value of PGN's tag `TimeControl`."""
        if self.time_s is None:
            return "-"
        moves = f"{self.moves}/" if self.moves else ""
        increment = f"+{self.increment_s:g}" if self.increment_s else ""
        return f"{moves}{self.time_s:g}{increment}"


@dataclass
class Clock:
    """The time one player has left."""

    control: TimeControl
    remaining_s: float
    moves_to_go: int
    """Moves until the next period; 0 if there is none."""

    def spend(self, elapsed_s: float, margin_s: float = 0.0) -> bool:
        """Count one move; False when the flag fell."""
        if self.control.time_s is None:
            return True
        self.remaining_s -= elapsed_s
        if self.remaining_s < -margin_s:
            return False
        self.remaining_s = max(0.0, self.remaining_s) + self.control.increment_s
        if self.control.moves:
            self.moves_to_go -= 1
            if self.moves_to_go == 0:
                self.moves_to_go = self.control.moves
                self.remaining_s += self.control.time_s
        return True
