"""The option of the plugin."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class OpenSpielOptions:
    """Which of OpenSpiel's games."""

    game: str = "tic_tac_toe"
    """A game with its parameters, as OpenSpiel writes it: y(board_size=5)."""
