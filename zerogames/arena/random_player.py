"""A player that plays any legal move."""

from zerogames.arena.local_player import LocalPlayer, kind_without_settings
from zerogames.arena.players import Choice, MoveLimits, Position


class RandomPlayer(LocalPlayer):
    """Every legal move with the same probability."""

    def choose(self, position: Position, limits: MoveLimits) -> Choice:
        """Choose blindly."""
        return Choice(action=int(self._rng.choice(position.state.legal_actions())))


kind = kind_without_settings("random", lambda game: RandomPlayer())
