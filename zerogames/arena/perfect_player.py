"""A player that never makes a mistake, for games whose plugin has a solver."""

import threading

from zerogames.arena.local_player import LocalPlayer, kind_without_settings
from zerogames.arena.players import Choice, MoveLimits, PlayerFault, Position
from zerogames.errors import UserError
from zerogames.game import Game, Solver


class _Solvers(threading.local):
    """A solver per thread and game: what it found in one game serves the others."""

    def __init__(self) -> None:
        self.by_game: dict[str, Solver] = {}


_SOLVERS = _Solvers()


class PerfectPlayer(LocalPlayer):
    """Keeps the result of the position; among equally good moves it draws lots."""

    def __init__(self, game: Game) -> None:
        super().__init__()
        self._game = game
        self._running: Solver | None = None

    def choose(self, position: Position, limits: MoveLimits) -> Choice:
        """Solve the position, whatever the limits say: nothing less is perfect."""
        solvers, identity = _SOLVERS.by_game, self._game.spec.identity
        self._running = solvers.pop(identity, None) or new_solver(self._game)
        try:
            if self._closed:
                raise UserError("the player is closed")
            best = self._running.best_actions(position.state)
            if not self._closed:  # else it was stopped, or will be in a moment
                solvers[identity] = self._running
        except UserError as error:
            raise PlayerFault("crash", str(error)) from None
        finally:
            self._running = None
        return Choice(action=int(self._rng.choice(best)))

    def close(self) -> None:
        """End a running solution."""
        super().close()
        running = self._running
        if running is not None:
            running.stop()


def new_solver(game: Game) -> Solver:
    """The game's solver; raises `UserError` for a game that has none."""
    solver = game.new_solver()
    if solver is None:
        raise UserError(f"{game.spec.identity} is not solved: it has no perfect player")
    return solver


def _make(game: Game) -> PerfectPlayer:
    identity = game.spec.identity
    if identity not in _SOLVERS.by_game:
        _SOLVERS.by_game[identity] = new_solver(game)
    return PerfectPlayer(game)


kind = kind_without_settings("perfect", _make)
