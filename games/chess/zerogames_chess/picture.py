"""Drawing a chess position."""

from dataclasses import dataclass, replace
from functools import cached_property

import chess
import chess.svg
import numpy as np
from numpy.typing import NDArray

from zerogames.picture import BoardPicture, Cell, Piece, rectangle
from zerogames_chess import _native

_SIDES = {chess.WHITE: ("#ffffff", "#303030"), chess.BLACK: ("#1c1c1c", "#d0d0d0")}
"""Fill and outline."""
_MARGIN = 15
"""Units that python-chess leaves for coordinates on each side."""


@dataclass(frozen=True)
class ChessPicture:
    """A position as colour text, SVG (drawn by python-chess) or pixels."""

    state: _native.State
    last_action: int | None = None
    """The action that led here, in the view of the side that played it."""
    side: chess.Color = chess.WHITE
    """The side that sits below in the SVG."""

    @cached_property
    def _board(self) -> chess.Board:
        return chess.Board(self.state.fen, chess960=self.state.chess960)

    @cached_property
    def _last_move(self) -> chess.Move | None:
        if self.last_action is None:
            return None
        name = _native.action_names()[self.last_action]
        squares = [chess.parse_square(name[:2]), chess.parse_square(name[2:4])]
        if self._board.turn == chess.WHITE:  # Black has moved
            squares = [chess.square_mirror(square) for square in squares]
        return chess.Move(*squares)

    @cached_property
    def _drawing(self) -> BoardPicture:
        def piece(square: chess.Square) -> Piece | None:
            found = self._board.piece_at(square)
            if found is None:
                return None
            fill, outline = _SIDES[found.color]
            # The filled figures serve both sides; their colour tells them apart.
            glyph = chess.UNICODE_PIECE_SYMBOLS[found.symbol().lower()]
            return Piece(found.symbol(), fill, outline, glyph)

        move = self._last_move
        squares = (move.from_square, move.to_square) if move else ()
        return BoardPicture(
            pieces=[[piece(8 * rank + file) for file in range(8)] for rank in range(7, -1, -1)],
            column_labels=list("abcdefgh"),
            row_labels=list("87654321"),
            light="#e8d0aa",
            dark="#b08a62",
            empty_symbol=".",
            highlight=frozenset(
                (7 - chess.square_rank(square), chess.square_file(square)) for square in squares
            ),
            caption=self._caption(),
        )

    def _caption(self) -> str:
        if self.state.end_reason:
            return self.state.end_reason
        side = "white" if self._board.turn == chess.WHITE else "black"
        return f"{side} to move" + (", in check" if self.state.in_check else "")

    def ansi(self, *, colour: bool = True) -> str:
        """Lines for a terminal; without colour White is upper case."""
        if not colour:
            return self._drawing.ansi(colour=False)
        return replace(self._drawing, empty_symbol=" ").ansi()  # the colours show the squares

    def svg(self) -> str:
        """A self-contained SVG document."""
        check = self._board.king(self._board.turn) if self.state.in_check else None
        return str(
            chess.svg.board(
                self._board, orientation=self.side, lastmove=self._last_move, check=check
            )
        )

    @property
    def cells(self) -> list[Cell]:
        """The squares where python-chess draws them."""
        size, half = chess.svg.SQUARE_SIZE, 0 if self.side == chess.WHITE else 7
        return [
            rectangle(
                chess.square_name(square),
                (
                    _MARGIN + size * abs(chess.square_file(square) - half),
                    _MARGIN + size * abs(7 - half - chess.square_rank(square)),
                ),
                size,
            )
            for square in chess.SQUARES
        ]

    def turned(self) -> "ChessPicture":
        """Seat the other side below."""
        return replace(self, side=not self.side)

    def rgb(self) -> NDArray[np.uint8]:
        """Pixels `[H, W, 3]`."""
        return self._drawing.rgb()
