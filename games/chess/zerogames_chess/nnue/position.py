"""A position as one side sees it: what feature sets are functions of."""

from dataclasses import dataclass
from functools import cached_property

import chess

ROLES = ("pawn", "knight", "bishop", "rook", "queen", "king")
KING = 5
OWN, ENEMY = 0, 1
COLOURS = ("own", "enemy")


@dataclass(frozen=True)
class Piece:
    """A piece in the view of a perspective."""

    square: int
    """0 = a1 to 63 = h8, ranks mirrored for Black's perspective."""
    role: int
    colour: int
    """Relative: `OWN` or `ENEMY`."""

    @property
    def kind(self) -> int:
        """Role and colour in one number below 12."""
        return self.role * 2 + self.colour


@dataclass(frozen=True)
class View:
    """A position turned so that the perspective's side moves up the board as White does."""

    board: chess.Board

    @staticmethod
    def of(board: chess.Board, pov: chess.Color) -> "View":
        """The view of colour `pov`: for Black ranks are mirrored and colours swapped."""
        return View(board if pov == chess.WHITE else board.mirror())

    @cached_property
    def pieces(self) -> tuple[Piece, ...]:
        """All pieces in the order of squares."""
        return tuple(
            Piece(square, piece.piece_type - 1, OWN if piece.color == chess.WHITE else ENEMY)
            for square, piece in sorted(self.board.piece_map().items())
        )

    @cached_property
    def king(self) -> int:
        """The square of the perspective's own king."""
        square = self.board.king(chess.WHITE)
        if square is None:
            raise ValueError("a position without a king has no features")
        return square


def can_stand(role: int, square: int) -> bool:
    """Whether a piece of that role can stand there in a legal position."""
    return role != 0 or 0 < square >> 3 < 7
