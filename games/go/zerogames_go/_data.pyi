import numpy as np
from numpy.typing import NDArray

from zerogames.game import State

class LeelaChunk:
    @staticmethod
    def from_text(text: bytes, size: int) -> LeelaChunk: ...
    @staticmethod
    def from_binary(data: bytes) -> LeelaChunk: ...
    @property
    def size(self) -> int: ...
    @property
    def num_dropped(self) -> int: ...
    @property
    def num_games(self) -> int: ...
    def num_positions(self, game: int) -> int: ...
    def key(self, game: int) -> int: ...
    def result(self, game: int) -> float: ...
    def samples(self, game: int, chosen: NDArray[np.int32], encoding: str) -> list[bytes]: ...

def replay_samples(
    state: State,
    encoding: str,
    actions: NDArray[np.int32],
    chosen: NDArray[np.int32],
    policy_offsets: NDArray[np.int64],
    policy_actions: NDArray[np.int32],
    policy_targets: NDArray[np.float32],
    search_q: NDArray[np.float32],
    search_d: NDArray[np.float32],
    result: float,
    is_whole: bool,
) -> list[bytes]: ...
