"""When to resign."""


class Resignation:
    """Resigns after several hopeless own turns in a row."""

    def __init__(self, *, win_rate: float, turns: int) -> None:
        """Set when to resign.

        Args:
            win_rate: Resign at this expectation or less, in [0, 1]; 0 never resigns.
            turns: Consecutive own turns at that win rate before resigning.
        """
        self._win_rate = win_rate
        self._turns = turns
        self._hopeless = [0, 0]

    def forget(self) -> None:
        """A new game, or moves were taken back."""
        self._hopeless = [0, 0]

    def resigns(self, colour: int, win_rate: float) -> bool:
        """Note what a search expected for `colour`; whether to resign now."""
        hopeless = self._win_rate > 0 and win_rate <= self._win_rate
        self._hopeless[colour] = self._hopeless[colour] + 1 if hopeless else 0
        return hopeless and self._hopeless[colour] >= self._turns
