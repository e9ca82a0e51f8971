"""Blocks that look at more than one piece: moves, attacks, neighbours on a line, pairs."""

from collections.abc import Sequence
from functools import cached_property
from itertools import pairwise, permutations, product

import chess
import numpy as np

from zerogames_chess.nnue.block import PRODUCTS, Block
from zerogames_chess.nnue.position import COLOURS, KING, ROLES, Piece, View, can_stand

PIECE = PRODUCTS[0]
KINDS = tuple(f"{colour} {role}" for role in ROLES for colour in COLOURS)
"""The kinds of pieces by role * 2 + colour."""


def _targets(view: View, piece: Piece) -> chess.SquareSet:
    """Pseudo-legal destinations without castling and en passant, as if it were that side's turn."""
    board = view.board
    colour = chess.WHITE if piece.colour == 0 else chess.BLACK
    attacked = board.attacks(piece.square)
    if piece.role != 0:
        return attacked & ~chess.SquareSet(board.occupied_co[colour])
    targets = attacked & chess.SquareSet(board.occupied_co[not colour])
    step, start_rank = (8, 1) if colour == chess.WHITE else (-8, 6)
    square = piece.square + step
    if 0 <= square < 64 and board.piece_type_at(square) is None:
        targets.add(square)
        if piece.square >> 3 == start_rank and board.piece_type_at(square + step) is None:
            targets.add(square + step)
    return targets


class MoveBlock(Block):
    """(from, to): some piece could move so; both sides, no castling, no en passant."""

    name = "move"
    size = 64 * 64
    # A side has at most nine queens, two rooks, bishops and knights, and its king.
    max_active = 2 * (9 * 27 + 2 * 14 + 2 * 13 + 2 * 8 + 8)

    def active(self, view: View) -> list[int]:
        """The pairs of all pieces; the four promotions of a pawn are one pair."""
        return [
            piece.square * 64 + target for piece in view.pieces for target in _targets(view, piece)
        ]

    def needs_refresh(self, before: View, after: View) -> bool:
        """One move opens and closes lines: often there is little that stays."""
        added, removed = self.changed(before, after)
        return 2 * (len(added) + len(removed)) > len(self.active(after))

    def describe(self, index: int) -> str:
        """Both squares."""
        return f"move {chess.SQUARE_NAMES[index // 64]}{chess.SQUARE_NAMES[index % 64]}"

    @cached_property
    def dead(self) -> frozenset[int]:
        """Pairs that neither a queen nor a knight connects."""
        empty = chess.Board(None)
        alive: set[int] = set()
        for square, piece in product(chess.SQUARES, (chess.QUEEN, chess.KNIGHT)):
            empty.set_piece_at(square, chess.Piece(piece, chess.WHITE))
            alive.update(square * 64 + target for target in empty.attacks(square))
            empty.remove_piece_at(square)
        return frozenset(range(self.size)) - alive


class NeighbourBlock(Block):
    """Line x kind x kind of the next piece on that line, along ranks (`px`) or files (`py`)."""

    size = 8 * 12 * 12
    max_active = 28  # Of 32 pieces on full lines four have no next one.

    def __init__(self, name: str, *, along_ranks: bool) -> None:
        self.name = name
        self.along_ranks = along_ranks

    def active(self, view: View) -> list[int]:
        """One feature per pair of neighbours."""
        lines: list[list[Piece]] = [[] for _ in range(8)]
        for piece in view.pieces:  # In order of squares: ascending on ranks and on files.
            lines[piece.square >> 3 if self.along_ranks else piece.square & 7].append(piece)
        return [
            (number * 12 + first.kind) * 12 + second.kind
            for number, line in enumerate(lines)
            for first, second in pairwise(line)
        ]

    def describe(self, index: int) -> str:
        """The line and both kinds."""
        line, first, second = index // 144, index // 12 % 12, index % 12
        where = f"rank {line + 1}" if self.along_ranks else f"file {'abcdefgh'[line]}"
        return f"{where} {KINDS[first]} then {KINDS[second]}"

    @cached_property
    def dead(self) -> frozenset[int]:
        """A king beside itself; along ranks also pawns on the back ranks."""
        dead = set()
        for line, first, second in product(range(8), range(12), range(12)):
            same_king = first == second and first >= 2 * KING
            back_rank = self.along_ranks and line in (0, 7) and min(first, second) < 2
            if same_king or back_rank:
                dead.add((line * 12 + first) * 12 + second)
        return frozenset(dead)


class AttackBlock(Block):
    """SQUARE x ROLE x COLOUR: some such piece attacks this square, whatever stands there."""

    name = "mb"
    size = 768
    # Pawns reach 16 squares, a king 8; what other pieces a side has reach each square once.
    max_active = 2 * (16 + 8 + 4 * 64)

    def active(self, view: View) -> list[int]:
        """The attacked squares of each kind, once each."""
        found = {
            target * 12 + piece.kind
            for piece in view.pieces
            for target in view.board.attacks(piece.square)
        }
        return sorted(found)

    def describe(self, index: int) -> str:
        """The square and the kind."""
        return f"{chess.SQUARE_NAMES[index // 12]} attacked by {KINDS[index % 12]}"

    @cached_property
    def dead(self) -> frozenset[int]:
        """The features that no pawn attacks: the first two ranks on their side."""
        own = {square * 12 for square in range(16)}
        return frozenset(own | {square * 12 + 1 for square in range(48, 64)})


class AttackCountBlock(Block):
    """The number of squares that each kind attacks, clipped, as one of several buckets."""

    name = "mc"
    LIMITS = (8, 15, 16, 25, 25, 8)
    """The highest bucket by role."""
    size = 2 * (sum(LIMITS) + len(LIMITS))
    max_active = 12
    # Fewest squares of one piece (its blocker counts): knight 2, rook 2, queen 3; a king 3, 5, 8.
    UNREACHED: tuple[tuple[int, ...], ...] = ((), (1,), (), (1,), (1, 2), (0, 1, 2, 4, 6, 7))

    def _first(self, role: int, colour: int) -> int:
        before = sum(2 * (limit + 1) for limit in self.LIMITS[:role])
        return before + colour * (self.LIMITS[role] + 1)

    def active(self, view: View) -> list[int]:
        """One bucket per kind, also for kinds that are not there."""
        attacked: list[set[int]] = [set() for _ in range(12)]
        for piece in view.pieces:
            attacked[piece.kind].update(view.board.attacks(piece.square))
        return [
            self._first(role, colour) + min(len(attacked[role * 2 + colour]), self.LIMITS[role])
            for role in range(6)
            for colour in range(2)
        ]

    def describe(self, index: int) -> str:
        """The kind and its number of squares."""
        for role, colour in reversed(list(product(range(6), range(2)))):
            if index >= self._first(role, colour):
                squares = index - self._first(role, colour)
                return f"{KINDS[role * 2 + colour]} attacks {squares} squares"
        raise IndexError(index)

    @cached_property
    def dead(self) -> frozenset[int]:
        """Numbers that no placement gives."""
        return frozenset(
            self._first(role, colour) + squares
            for role, unreached in enumerate(self.UNREACHED)
            for colour in range(2)
            for squares in unreached
        )


class PairBlock(Block):
    """PIECE x PIECE: ordered pairs of two pieces."""

    name = "pp"
    size = 768 * 768
    max_active = 32 * 31

    def active(self, view: View) -> list[int]:
        """All ordered pairs of different pieces."""
        indices = PIECE.active(view)
        return [first * 768 + second for first, second in permutations(indices, 2)]

    def describe(self, index: int) -> str:
        """Both pieces."""
        return f"{PIECE.describe(index // 768)} and {PIECE.describe(index % 768)}"

    @cached_property
    def dead(self) -> frozenset[int]:
        """Two pieces on one square, two kings of a colour, side by side, dead single pieces."""
        index = np.arange(768)
        square, kind = index // 12, index % 12
        alone = np.array([can_stand(place % 12 // 2, place // 12) for place in range(768)])
        alive = alone[:, None] & alone[None, :] & (square[:, None] != square[None, :])
        king = kind >= 2 * KING
        both = king[:, None] & king[None, :]
        file, rank = square & 7, square >> 3
        near = (abs(file[:, None] - file) <= 1) & (abs(rank[:, None] - rank) <= 1)
        alive &= ~(both & ((kind[:, None] == kind[None, :]) | near))
        return frozenset(np.flatnonzero(~alive.ravel()).tolist())


class TopPairBlock(Block):
    """The most frequent unordered pairs of PIECE, from a list kept with the package."""

    max_active = 32 * 31 // 2

    def __init__(self, pairs: Sequence[tuple[int, int]]) -> None:
        self.pairs = pairs
        self.size = len(pairs)
        self.name = f"toppp:{self.size}"
        self.max_active = min(self.max_active, self.size)
        self._numbers = {frozenset(pair): number for number, pair in enumerate(pairs)}

    def active(self, view: View) -> list[int]:
        """The kept pairs among the pieces."""
        indices = PIECE.active(view)
        pairs = (
            frozenset((first, second))
            for place, first in enumerate(indices)
            for second in indices[place + 1 :]
        )
        return [self._numbers[pair] for pair in pairs if pair in self._numbers]

    def describe(self, index: int) -> str:
        """Both pieces."""
        first, second = self.pairs[index]
        return f"{PIECE.describe(first)} and {PIECE.describe(second)}"

    @cached_property
    def dead(self) -> frozenset[int]:
        """None: every pair was seen."""
        return frozenset()
