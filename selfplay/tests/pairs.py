"""A small game in Python in which a side acts twice in a row: four in a row on 4x4 cells.

The first player places one stone, then each player places two, as in Connect6.
"""

from dataclasses import dataclass
from functools import cache
from typing import Self

import numpy as np
from numpy.typing import NDArray

SIZE = 4
ACTIONS = SIZE * SIZE
_CELLS = np.arange(ACTIONS).reshape(SIZE, SIZE)
_LINES = [
    sum(1 << int(cell) for cell in line)
    for line in (*_CELLS, *_CELLS.T, _CELLS.diagonal(), _CELLS[::-1].diagonal())
]


@dataclass(frozen=True)
class Pairs:
    stones: tuple[int, int] = (0, 0)
    """A bit for each cell."""

    @property
    def plies(self) -> int:
        return (self.stones[0] | self.stones[1]).bit_count()

    @property
    def to_play(self) -> int:
        return (self.plies + 1) // 2 % 2

    @property
    def result(self) -> float | None:
        for stones, result in zip(self.stones, (1.0, -1.0), strict=True):
            if any(stones & line == line for line in _LINES):
                return result
        return 0.0 if self.plies == ACTIONS else None

    @property
    def end_reason(self) -> str:
        return "" if self.result is None else "end"

    def legal_actions(self) -> NDArray[np.int32]:
        actions = [a for a in range(ACTIONS) if self.result is None and self.is_legal(a)]
        return np.array(actions, np.int32)

    def is_legal(self, action: int) -> bool:
        return not (self.stones[0] | self.stones[1]) >> action & 1

    def play(self, action: int) -> Self:
        own, side = self.stones[self.to_play] | 1 << action, self.to_play
        return type(self)((own, self.stones[1]) if side == 0 else (self.stones[0], own))

    def observe(self, encoding: str, out: NDArray[np.float32] | None = None) -> NDArray[np.float32]:
        cells = np.arange(ACTIONS)
        planes = [self.stones[side] >> cells & 1 for side in (self.to_play, 1 - self.to_play)]
        last_of_turn = np.full(ACTIONS, self.plies % 2 == 0)
        return np.array([*planes, last_of_turn], np.float32).reshape(3, SIZE, SIZE)

    @property
    def position_key(self) -> int:
        return self.stones[0] << ACTIONS | self.stones[1]

    observation_key = position_key


@cache
def minimax(state: Pairs) -> float:
    """The result under perfect play, the first player's view."""
    if state.result is not None:
        return state.result
    results = {minimax(state.play(int(action))) for action in state.legal_actions()}
    return max(results) if state.to_play == 0 else min(results)


def random_position(rng: np.random.Generator, plies: int) -> Pairs:
    """A position that is not over after `plies` moves."""
    while True:
        state = Pairs()
        for _ in range(plies):
            if state.result is None:
                state = state.play(int(rng.choice(state.legal_actions())))
        if state.result is None:
            return state
