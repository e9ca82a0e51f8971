"""What the class of every native state has; for type checkers only, there is no such module.

A plugin's `_native.pyi` derives its state's class from this one and adds what is its own.
"""

from typing import Self

import numpy as np
from numpy.typing import NDArray

from zerogames.data.record_samples import RecordColumns
from zerogames.search.pool import Pool as _Pool
from zerogames.search.pool import PoolGames
from zerogames.search.rollouts import Rollouts as _Rollouts
from zerogames.search.search import Search as _Search
from zerogames.search.settings import PoolSettings, SearchSettings

class BoundGame:
    """What `zerogames::bind_play` adds."""

    @staticmethod
    def Search(
        state: BoundGame,
        settings: SearchSettings,
        *,
        encoding: str,
        seed: int = 0,
        needs_observation: bool = True,
    ) -> _Search: ...
    @staticmethod
    def Pool(
        initial: BoundGame,
        search: SearchSettings,
        settings: PoolSettings,
        games: PoolGames,
        *,
        encoding: str,
        needs_observation: bool = True,
    ) -> _Pool: ...
    @staticmethod
    def Rollouts(state: BoundGame, *, seed: int = 0) -> _Rollouts: ...

class NativeState(BoundGame):
    """What `zerogames::bind_state` and `zerogames::bind_play` give a state: see `State`."""

    @property
    def action_size(self) -> int: ...
    @property
    def to_play(self) -> int: ...
    @property
    def plies(self) -> int: ...
    @property
    def result(self) -> float | None: ...
    @property
    def end_reason(self) -> str: ...
    @property
    def position_key(self) -> int: ...
    @property
    def observation_key(self) -> int: ...
    def legal_actions(self) -> NDArray[np.int32]: ...
    def is_legal(self, action: int) -> bool: ...
    def play(self, action: int) -> Self: ...
    def observe(
        self, encoding: str, out: NDArray[np.float32] | None = None
    ) -> NDArray[np.float32]: ...
    def pack(self, encoding: str) -> bytes: ...
    def replay_samples(self, encoding: str, game: RecordColumns) -> list[bytes]: ...
    def __copy__(self) -> Self: ...
    def __deepcopy__(self, memo: object) -> Self: ...
