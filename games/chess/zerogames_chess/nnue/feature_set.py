"""Sums of blocks by name, such as `piece+h+v`: the name is all that is needed to rebuild a set."""

from collections.abc import Callable, Mapping
from functools import cache
from importlib.resources import files
from itertools import accumulate

import chess
import numpy as np
from numpy.typing import NDArray

from zerogames.errors import UserError, unknown_name
from zerogames_chess.nnue.block import PRODUCTS, Block
from zerogames_chess.nnue.line_blocks import (
    AttackBlock,
    AttackCountBlock,
    MoveBlock,
    NeighbourBlock,
    PairBlock,
    TopPairBlock,
)
from zerogames_chess.nnue.position import View

MAX_NAME = 200
"""Longer names are refused, in files too."""


@cache
def top_pairs() -> NDArray[np.uint16]:
    """The most frequent pairs of PIECE indices, most frequent first: `[4096, 2]`."""
    data = files("zerogames_chess.nnue").joinpath("top_pairs.bin").read_bytes()
    return np.frombuffer(data, "<u2").reshape(-1, 2)


def _top_pair_block(count: str) -> Block:
    pairs = top_pairs()
    if not count.isascii() or not count.isdecimal() or not 1 <= int(count[:9]) <= len(pairs):
        raise UserError(
            f"'toppp:{count[:20]}' is not a block; write toppp:K with K from 1 to {len(pairs)}"
        )
    return TopPairBlock([(int(first), int(second)) for first, second in pairs[: int(count)]])


BLOCKS: Mapping[str, Block] = {
    block.name: block
    for block in (
        *PRODUCTS,
        MoveBlock(),
        NeighbourBlock("px", along_ranks=True),
        NeighbourBlock("py", along_ranks=False),
        AttackBlock(),
        AttackCountBlock(),
        PairBlock(),
    )
}
"""Blocks without a parameter; a new one is one more entry."""
PARAMETRIC: Mapping[str, Callable[[str], Block]] = {"toppp": _top_pair_block}
"""Blocks written `name:parameter`."""


def parse_block(text: str) -> Block:
    """Find one block by its name."""
    name, colon, parameter = text.partition(":")
    if colon and name in PARAMETRIC:
        return PARAMETRIC[name](parameter)
    if text not in BLOCKS:
        known = [*BLOCKS, *(f"{name}:K" for name in PARAMETRIC)]
        raise unknown_name("feature block", text[:40], known)
    return BLOCKS[text]


class FeatureSet:
    """A sum of blocks: their features one after the other."""

    def __init__(self, name: str) -> None:
        if len(name) > MAX_NAME:
            raise UserError(f"the name of a feature set has at most {MAX_NAME} letters")
        parts = name.split("+")
        if len(set(parts)) != len(parts):
            raise UserError(f"feature set '{name}' names a block twice")
        self.name = name
        self.blocks = [parse_block(part) for part in parts]
        self.offsets = [0, *accumulate(block.size for block in self.blocks)][:-1]
        self.size = sum(block.size for block in self.blocks)
        self.max_active = sum(block.max_active for block in self.blocks)

    def active(self, board: chess.Board, pov: chess.Color) -> list[int]:
        """Active features as a multiset; a net's input is one for each that occurs."""
        view = View.of(board, pov)
        return [
            offset + index
            for block, offset in zip(self.blocks, self.offsets, strict=True)
            for index in block.active(view)
        ]

    def changed(
        self, board: chess.Board, move: chess.Move, pov: chess.Color
    ) -> tuple[list[int], list[int]]:
        """Added and removed features of a legal move; valid unless `needs_refresh`."""
        before, after = self._around(board, move, pov)
        added: list[int] = []
        removed: list[int] = []
        for block, offset in zip(self.blocks, self.offsets, strict=True):
            new, old = block.changed(before, after)
            added += [offset + index for index in new]
            removed += [offset + index for index in old]
        return added, removed

    def needs_refresh(self, board: chess.Board, move: chess.Move, pov: chess.Color) -> bool:
        """Whether a legal move asks for a fresh start in this perspective."""
        before, after = self._around(board, move, pov)
        return any(block.needs_refresh(before, after) for block in self.blocks)

    def describe(self, index: int) -> str:
        """The meaning of feature `index`, for plots and reports."""
        if not 0 <= index < self.size:
            raise IndexError(index)
        place = max(k for k, offset in enumerate(self.offsets) if offset <= index)
        block = self.blocks[place]
        return f"{block.name}: {block.describe(index - self.offsets[place])}"

    @property
    def dead(self) -> frozenset[int]:
        """Features that no legal position activates."""
        return frozenset(
            offset + index
            for block, offset in zip(self.blocks, self.offsets, strict=True)
            for index in block.dead
        )

    def _around(self, board: chess.Board, move: chess.Move, pov: chess.Color) -> tuple[View, View]:
        after = board.copy(stack=False)
        after.push(move)
        return View.of(board, pov), View.of(after, pov)
