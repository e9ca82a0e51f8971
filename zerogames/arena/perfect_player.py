"""A player that never makes a mistake, for games whose plugin has a solver."""

import numpy as np

from zerogames.arena.players import Choice, Limits, PlayerFault, PlayerKind, Position
from zerogames.errors import UserError
from zerogames.game import Game, Solver


class PerfectPlayer:
    """Keeps the result of the position; among equally good moves it draws lots."""

    def __init__(self, solver: Solver) -> None:
        self._solver = solver
        self._rng = np.random.default_rng(0)

    def new_game(self, position: Position, seed: int) -> None:
        """Start a new sequence of random numbers."""
        self._rng = np.random.default_rng(seed)

    def choose(self, position: Position, limits: Limits) -> Choice:
        """Solve the position, whatever the limits say: nothing less is perfect."""
        try:
            best = self._solver.best_actions(position.state)
        except UserError as error:
            raise PlayerFault("crash", str(error)) from None
        return Choice(action=int(self._rng.choice(best)))

    def close(self) -> None:
        """End a running solution."""
        self._solver.stop()


def _title(argument: str) -> str:
    if argument:
        raise UserError(f"'perfect:{argument}': the perfect player has no settings; write perfect")
    return "perfect"


def _make(argument: str, game: Game) -> PerfectPlayer:
    solver = game.new_solver()
    if solver is None:
        raise UserError(f"{game.spec.identity} is not solved: it has no perfect player")
    return PerfectPlayer(solver)


kind = PlayerKind(title=_title, make=_make)
