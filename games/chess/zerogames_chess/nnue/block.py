"""Blocks of features, and products of extractors: the algebra's small pieces.

A block is a finite ordered set of yes-or-no questions about a position in one side's view. Most are
products: *some piece has this file and this role and this colour*, where all factors look at the
same piece. `feature_set` builds sums of blocks by name.
"""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import prod

import chess

from zerogames_chess.nnue.position import COLOURS, KING, ROLES, Piece, View, can_stand


class Block(ABC):
    """One named summand of a feature set."""

    name: str
    """The block's name in the name of a set."""
    size: int
    """Number of features."""
    max_active: int
    """No position has more active features, repeats counted."""

    @abstractmethod
    def active(self, view: View) -> list[int]:
        """Indices of the active features; a feature is repeated for each piece that makes it so."""

    def needs_refresh(self, before: View, after: View) -> bool:
        """Whether `changed` has no meaning or costs more than starting afresh."""
        return False

    def changed(self, before: View, after: View) -> tuple[list[int], list[int]]:
        """Features added and removed between two views, as multisets."""
        old, new = Counter(self.active(before)), Counter(self.active(after))
        return sorted((new - old).elements()), sorted((old - new).elements())

    @abstractmethod
    def describe(self, index: int) -> str:
        """The meaning of feature `index`, as text."""

    @property
    @abstractmethod
    def dead(self) -> frozenset[int]:
        """Features that no legal position activates; they stay so that indices are arithmetic."""


@dataclass(frozen=True)
class Extractor:
    """A base set with the function that finds a piece's element in it."""

    name: str
    size: int
    of: Callable[[Piece, int], int]
    """Takes the piece and the square of the perspective's king."""
    label: Callable[[int], str]
    of_king: Callable[[int], int] | None = None
    """The property of the own king's square that is read, if any: a change of it needs a
    refresh."""


def _numbered(name: str) -> Callable[[int], str]:
    return lambda element: f"{name} {element}"


def _relative(name: str) -> Callable[[int], str]:
    return lambda element: f"king's {name} {7 - element:+d}"


def _role(piece: Piece, _: int) -> int:
    return piece.role


FILE = Extractor("file", 8, lambda piece, _: piece.square & 7, lambda i: f"file {'abcdefgh'[i]}")
RANK = Extractor("rank", 8, lambda piece, _: piece.square >> 3, lambda i: f"rank {i + 1}")
SQUARE = Extractor("square", 64, lambda piece, _: piece.square, lambda i: chess.SQUARE_NAMES[i])
DIAG1 = Extractor(
    "diag1", 15, lambda piece, _: (piece.square & 7) + (piece.square >> 3), _numbered("diagonal1")
)
DIAG2 = Extractor(
    "diag2",
    15,
    lambda piece, _: (piece.square & 7) + 7 - (piece.square >> 3),
    _numbered("diagonal2"),
)
ROLE = Extractor("role", 6, _role, lambda i: ROLES[i])
ROLE5 = Extractor("role5", 5, _role, lambda i: ROLES[i])
COLOUR = Extractor("colour", 2, lambda piece, _: piece.colour, lambda i: COLOURS[i])
OWN_KING = Extractor(
    "own king",
    64,
    lambda _, king: king,
    lambda i: f"king {chess.SQUARE_NAMES[i]}",
    of_king=lambda king: king,
)
RELFILE = Extractor(
    "relfile",
    15,
    lambda piece, king: (king & 7) - (piece.square & 7) + 7,
    _relative("file"),
    of_king=lambda king: king & 7,
)
RELRANK = Extractor(
    "relrank",
    15,
    lambda piece, king: (king >> 3) - (piece.square >> 3) + 7,
    _relative("rank"),
    of_king=lambda king: king >> 3,
)


class Product(Block):
    """Features of one piece: every factor looks at the same one."""

    def __init__(self, name: str, *factors: Extractor) -> None:
        self.name = name
        self.factors = factors
        self.size = prod(factor.size for factor in factors)
        # A factor with five roles leaves the kings out.
        self.kings = ROLE5 not in factors
        self.max_active = 32 if self.kings else 30

    def index(self, piece: Piece, king: int) -> int:
        """The piece's feature: mixed radix, the last factor runs fastest."""
        index = 0
        for factor in self.factors:
            index = index * factor.size + factor.of(piece, king)
        return index

    def active(self, view: View) -> list[int]:
        """One feature per piece."""
        pieces = (piece for piece in view.pieces if self.kings or piece.role != KING)
        return [self.index(piece, view.king) for piece in pieces]

    def needs_refresh(self, before: View, after: View) -> bool:
        """Whether a part of the king's square that a factor reads has changed."""
        return any(
            factor.of_king is not None and factor.of_king(before.king) != factor.of_king(after.king)
            for factor in self.factors
        )

    def elements(self, index: int) -> list[int]:
        """The element of each factor."""
        found = []
        for factor in reversed(self.factors):
            index, element = divmod(index, factor.size)
            found.append(element)
        return found[::-1]

    def describe(self, index: int) -> str:
        """The labels of all factors."""
        pairs = zip(self.factors, self.elements(index), strict=True)
        return " ".join(factor.label(element) for factor, element in pairs)

    @cached_property
    def dead(self) -> frozenset[int]:
        """Features that no piece reaches: pawns on the back ranks, pieces on the king's square."""
        alive: set[int] = set()
        roles = range(6) if self.kings else range(5)
        reads_king = any(factor.of_king is not None for factor in self.factors)
        # For a set that ignores the king any square away from the piece stands for all.
        for square, role, colour in product(range(64), roles, range(2)):
            if can_stand(role, square):
                piece = Piece(square, role, colour)
                kings = range(64) if reads_king else [(square + 1) % 64]
                alive.update(self.index(piece, king) for king in kings if king != square)
        return frozenset(range(self.size)) - alive


PRODUCTS = (
    Product("piece", SQUARE, ROLE, COLOUR),
    Product("h", FILE, ROLE, COLOUR),
    Product("v", RANK, ROLE, COLOUR),
    Product("d1", DIAG1, ROLE, COLOUR),
    Product("d2", DIAG2, ROLE, COLOUR),
    Product("kp", OWN_KING, SQUARE, ROLE5, COLOUR),
    Product("relh", RELFILE, RANK, ROLE5, COLOUR),
    Product("relv", FILE, RELRANK, ROLE5, COLOUR),
    Product("relhv", RELFILE, RELRANK, ROLE5, COLOUR),
)
