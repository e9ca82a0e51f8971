"""When to give up."""


class Resignation:
    """Gives up after several own turns in a row without hope."""

    def __init__(self, *, win_rate: float, turns: int) -> None:
        """Make one.

        Args:
            win_rate: Resign at this expectation or less, in [0, 1]; 0 never resigns.
            turns: In so many own turns in a row.
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
