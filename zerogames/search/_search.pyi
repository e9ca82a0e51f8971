from collections.abc import Sequence

from zerogames.game import State
from zerogames.search.pool import Pool
from zerogames.search.rollouts import Rollouts
from zerogames.search.search import Search
from zerogames.search.settings import PoolSettings, SearchSettings

class PythonGame:
    def __init__(self, state: State, action_size: int) -> None: ...
    @property
    def state(self) -> State: ...

def PythonGameSearch(
    state: PythonGame,
    settings: SearchSettings,
    *,
    encoding: str,
    seed: int = 0,
    needs_observation: bool = True,
) -> Search: ...
def PythonGamePool(
    initial: PythonGame,
    search: SearchSettings,
    settings: PoolSettings,
    *,
    encoding: str,
    seed: int = 0,
    starts: Sequence[PythonGame] = (),
    num_games: int | None = None,
    first_game: int = 0,
    game_step: int = 1,
    needs_observation: bool = True,
) -> Pool: ...
def PythonGameRollouts(state: PythonGame, *, seed: int = 0) -> Rollouts: ...
def search_defaults() -> dict[str, object]: ...
def pool_defaults() -> dict[str, object]: ...
def exploration(settings: SearchSettings, child_visits: float) -> float: ...
def stdev_factor(scale: float, mean: float, square: float, visits: float) -> float: ...
def moves_left_utility(
    settings: SearchSettings, q: float, child: float, parent: float
) -> float: ...
def temperature_at(settings: SearchSettings, ply: int) -> float: ...
def noise_shares(priors: Sequence[float], *, shaped: bool) -> list[float]: ...
def noised_priors(settings: SearchSettings, priors: Sequence[float], seed: int) -> list[float]: ...
def halving_table(considered: int, simulations: int) -> list[int]: ...
def policy_surprise(target: Sequence[float], prior: Sequence[float]) -> float: ...
def pruned_visits(
    settings: SearchSettings,
    priors: Sequence[float],
    visits: Sequence[float],
    values: Sequence[float],
) -> list[float]: ...
def lcb_weights(
    visits: Sequence[float],
    values: Sequence[float],
    variances: Sequence[float],
    *,
    stdevs: float = 5.0,
    min_share: float = 0.15,
) -> list[float]: ...
def random_draws(distribution: str, seed: int, count: int, shape: float = 1.0) -> list[float]: ...
