"""The status of stones, and the score.

Nets here have no head for the owner of a point. Chains that Benson's rule proves alive are alive.
The status of the others is estimated by random playouts to the end: a chain is dead where the
opponent owns its points in most of them. That is right for settled positions without seki; a chain
that only good play kills or saves may be estimated wrongly.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from zerogames_go import _native
from zerogames_go.options import RulesName
from zerogames_go.sgf import sgf_point

PLAYOUTS = 400
Status = Literal["alive", "seki", "dead"]
COUNTED_AS_THEY_STAND: frozenset[RulesName] = frozenset({"tromp-taylor"})
"""Rules by which players capture dead stones before they pass; by the others they agree."""


def chains(board: NDArray[np.int8]) -> list[list[int]]:
    """Points of each chain, ascending, of a board `[size, size]`."""
    size = len(board)
    flat = board.ravel()
    seen: set[int] = set()
    found = []
    for first in np.flatnonzero(flat).tolist():
        if first in seen:
            continue
        chain, front = {first}, [first]
        while front:
            point = front.pop()
            row, column = divmod(point, size)
            for up, right in ((-1, 0), (1, 0), (0, -1), (0, 1)):
                r, c = row + up, column + right
                other = r * size + c
                inside = 0 <= r < size and 0 <= c < size
                if inside and other not in chain and flat[other] == flat[first]:
                    chain.add(other)
                    front.append(other)
        seen |= chain
        found.append(sorted(chain))
    return found


@dataclass(frozen=True, eq=False)
class StoneStatus:
    """The estimated end of a position: owners of points, dead and living chains, score."""

    ownership: NDArray[np.float32]
    """`[size, size]`, row 0 at the bottom: +1 Black's, -1 White's."""
    dead: list[list[int]]
    """The dead chains."""
    alive: list[list[int]]
    """The living chains."""
    score: float
    """Black's area less White's and the komi, dead stones taken away."""

    @property
    def dead_points(self) -> set[int]:
        """All dead stones."""
        return {point for chain in self.dead for point in chain}


def estimate_status(state: _native.Go, *, playouts: int = PLAYOUTS, seed: int = 0) -> StoneStatus:
    """Estimate the owner of each point and the status of each chain."""
    board = state.board()
    owned = state.playout_ownership(playouts=playouts, seed=seed)
    certain = state.unconditionally_alive()
    owned = np.where(certain != 0, certain, owned).astype(np.float32)
    flat_board, flat_owned = board.ravel(), owned.ravel()
    dead: list[list[int]] = []
    alive: list[list[int]] = []
    for chain in chains(board):
        own_view = flat_owned[chain].mean() * flat_board[chain[0]]
        (dead if own_view < 0 else alive).append(chain)
    return StoneStatus(owned, dead, alive, _score_without(state, dead))


def status_as_it_stands(state: _native.Go) -> StoneStatus:
    """Every stone alive, the area as the rules count it."""
    ownership = state.ownership().astype(np.float32)
    return StoneStatus(ownership, [], chains(state.board()), state.score)


def _score_without(state: _native.Go, dead: list[list[int]]) -> float:
    board = state.board().ravel()
    board[[point for chain in dead for point in chain]] = 0
    size = state.size
    stones = {
        name: "".join(
            f"[{sgf_point(size, point)}]" for point in np.flatnonzero(board == sign).tolist()
        )
        for name, sign in (("AB", 1), ("AW", -1))
    }
    setup = "".join(name + points for name, points in stones.items() if points)
    return _native.Go.from_sgf(f"(;SZ[{size}]{setup})", size, state.rules).score


def format_score(lead: float) -> str:
    """A score in the protocol's form: `B+2.5`, `W+10`, `0`."""
    if lead == 0:
        return "0"
    return f"{'B' if lead > 0 else 'W'}+{abs(lead):g}"
