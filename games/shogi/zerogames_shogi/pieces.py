"""The kinds of pieces as the native rules number them, and what they are called."""

from dataclasses import dataclass

from zerogames_shogi import _native

PROMOTED = 8
"""Added to a kind that has promoted."""
KING = 7
HAND_ORDER = (6, 5, 4, 3, 2, 1, 0)
"""Kinds in hand from rook to pawn, as they are written."""
LETTERS = ("P", "L", "N", "S", "G", "B", "R", "K", "+P", "+L", "+N", "+S", "", "+B", "+R")
CSA_NAMES = (
    *("FU", "KY", "KE", "GI", "KI", "KA", "HI", "OU"),
    *("TO", "NY", "NK", "NG", "", "UM", "RY"),
)
KANJI = "歩香桂銀金角飛玉と杏圭全金馬龍"


@dataclass(frozen=True)
class SquarePiece:
    """A piece on the board."""

    side: int
    """0 Black, 1 White."""
    kind: int

    @property
    def letters(self) -> str:
        """The letters in SFEN, White's small."""
        return LETTERS[self.kind] if self.side == 0 else LETTERS[self.kind].lower()


def pieces_of(state: _native.State) -> list[SquarePiece | None]:
    """The 81 squares, row by row from 9a to 1i."""
    return [SquarePiece(code >> 4 & 1, code & 15) if code else None for code in state.squares]
