"""Drawing a shogi position."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from zerogames.picture import BoardPicture, Cell, Piece, rectangle
from zerogames_shogi import _native
from zerogames_shogi.pieces import HAND_ORDER, KANJI, LETTERS, PROMOTED, SquarePiece, pieces_of

_SIZE = 9
_CELL = 48
_LEFT, _TOP = 72, 28
_RANKS = "abcdefghi"
_KANJI_RANKS = "一二三四五六七八九"
_WOOD, _MARKED, _RED = "#edc987", "#f6b26b", "#b3200f"
_SIDES = (Piece("x", "#101010", "#101010"), Piece("o", "#1f3f9f", "#1f3f9f"))


@dataclass(frozen=True)
class ShogiPicture:
    """A position as text, SVG with kanji, or pixels with letters; Black's side is below."""

    state: _native.State
    last_action: int | None = None
    """The action that led here, in the view of the side that played it."""
    side: int = 0
    """The side that sits below in the SVG."""

    @cached_property
    def _pieces(self) -> list[SquarePiece | None]:
        return pieces_of(self.state)

    @cached_property
    def _marked(self) -> int | None:
        """The square on which the last move ended."""
        if self.last_action is None:
            return None
        square = self.last_action % (_SIZE * _SIZE)
        return square if self.side_to_move == 1 else _SIZE * _SIZE - 1 - square

    @property
    def side_to_move(self) -> int:
        """0 Black, 1 White."""
        return 0 if self.state.sfen.split()[1] == "b" else 1

    def _caption(self) -> str:
        if self.state.end_reason:
            return self.state.end_reason
        side = ("black", "white")[self.side_to_move]
        return f"{side} to move" + (", in check" if self.state.in_check else "")

    def _hand(self, side: int) -> list[tuple[int, int]]:
        """Kinds and numbers in hand, the rook first."""
        hand = self.state.hands[side]
        return [(kind, hand[kind]) for kind in HAND_ORDER if hand[kind]]

    def _hand_letters(self, side: int) -> str:
        words = [
            f"{number if number > 1 else ''}{LETTERS[kind]}" for kind, number in self._hand(side)
        ]
        return f"{('black', 'white')[side]} in hand: {' '.join(words) or '-'}"

    def ansi(self, *, colour: bool = True) -> str:
        """Lines for a terminal; White's pieces are small letters, promoted ones have a plus."""
        lines = [self._hand_letters(1)]
        for row in range(_SIZE):
            cells = [self._cell_text(_SIZE * row + column, colour) for column in range(_SIZE)]
            lines.append(f"{_RANKS[row]} {''.join(cells)}".rstrip())
        lines.append("  " + "".join(f"{file:>2} " for file in range(_SIZE, 0, -1)).rstrip())
        return "\n".join([*lines, self._hand_letters(0), self._caption()])

    def _cell_text(self, square: int, colour: bool) -> str:
        piece = self._pieces[square]
        text = f"{piece.letters if piece else '.':>2} "
        if not colour:
            return text
        background = "246;178;107" if square == self._marked else "237;201;135"
        front = "140;120;80"
        if piece:
            front = "179;32;15" if piece.kind >= PROMOTED else ("16;16;16", "31;63;159")[piece.side]
        return f"\x1b[48;2;{background}m\x1b[38;2;{front}m{text}\x1b[0m"

    def svg(self) -> str:
        """A self-contained SVG document; the other side's pieces stand on their heads."""
        width, height = 2 * _LEFT + _SIZE * _CELL, 2 * _TOP + _SIZE * _CELL
        out = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
            f'width="{width}" height="{height}" '
            'font-family="Noto Serif CJK JP, Noto Sans CJK JP, IPAGothic, serif">',
            f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
            f'<rect x="{_LEFT}" y="{_TOP}" width="{_SIZE * _CELL}" height="{_SIZE * _CELL}" '
            f'fill="{_WOOD}"/>',
        ]
        if self._marked is not None:
            x, y = self._corner(self._marked)
            out.append(f'<rect x="{x}" y="{y}" width="{_CELL}" height="{_CELL}" fill="{_MARKED}"/>')
        right, bottom = _LEFT + _SIZE * _CELL, _TOP + _SIZE * _CELL
        for line in range(_SIZE + 1):
            x, y = _LEFT + line * _CELL, _TOP + line * _CELL
            out.append(f'<path d="M{x} {_TOP}V{bottom}M{_LEFT} {y}H{right}" stroke="#5b4a2a"/>')
        for at in range(_SIZE):
            middle = at * _CELL + _CELL // 2
            place = at if self.side == 0 else _SIZE - 1 - at
            out.append(_text(str(_SIZE - place), _LEFT + middle, _TOP // 2, 14))
            out.append(_text(_KANJI_RANKS[place], right + 12, _TOP + middle, 14))
        for square, piece in enumerate(self._pieces):
            if piece:
                x, y = self._corner(square)
                out.append(self._svg_piece(piece, x + _CELL // 2, y + _CELL // 2))
        for side in (0, 1):
            for kind, number, x, y in self._hand_places(side):
                out.append(self._svg_piece(SquarePiece(side, kind), x, y))
                if number > 1:
                    out.append(_text(str(number), x + 24, y + 12, 13))
        out.append(_text(self._caption(), width // 2, height - _TOP // 2, 14))
        return "\n".join([*out, "</svg>\n"])

    def _hand_places(self, side: int) -> list[tuple[int, int, int, int]]:
        """Kind, number and centre of pieces in hand: below at the right, above at the left."""
        hand, below = self._hand(side), side == self.side
        x = _LEFT + _SIZE * _CELL + _LEFT // 2 + 4 if below else _LEFT // 2 - 8
        places = []
        for place, (kind, number) in enumerate(hand):
            from_edge = _CELL // 2 + (len(hand) - 1 - place) * 40
            y = _TOP + _SIZE * _CELL - from_edge if below else _TOP + from_edge
            places.append((kind, number, x, y))
        return places

    def _svg_piece(self, piece: SquarePiece, x: int, y: int) -> str:
        """A pointed tile that looks towards the opponent."""
        turn = " rotate(180)" if piece.side != self.side else ""
        colour = _RED if piece.kind >= PROMOTED else "#101010"
        kanji = "王" if piece == SquarePiece(1, 7) else KANJI[piece.kind]
        return (
            f'<g transform="translate({x} {y}){turn}">'
            '<path d="M0 -21L13 -16L17 20H-17L-13 -16Z" fill="#f8e3b4" stroke="#6b4f1d"/>'
            f'<text x="0" y="3" font-size="24" text-anchor="middle" dominant-baseline="central" '
            f'fill="{colour}">{kanji}</text></g>'
        )

    @property
    def cells(self) -> list[Cell]:
        """The squares, and the pieces in the hand of the side to move, named as in drops: `P*`."""
        squares = [
            rectangle(
                f"{_SIZE - square % _SIZE}{_RANKS[square // _SIZE]}", self._corner(square), _CELL
            )
            for square in range(_SIZE * _SIZE)
        ]
        hand = [
            rectangle(f"{LETTERS[kind]}*", (x - 18, y - 22), 36, 43)
            for kind, _, x, y in self._hand_places(self.side_to_move)
        ]
        return squares + hand

    def turned(self) -> "ShogiPicture":
        """Seat the other side below."""
        return replace(self, side=1 - self.side)

    def _corner(self, square: int) -> tuple[int, int]:
        row, column = divmod(square if self.side == 0 else _SIZE * _SIZE - 1 - square, _SIZE)
        return _LEFT + column * _CELL, _TOP + row * _CELL

    def rgb(self) -> NDArray[np.uint8]:
        """Pixels `[H, W, 3]`; letters, as few fonts have kanji."""

        def drawn(piece: SquarePiece | None) -> Piece | None:
            if piece is None:
                return None
            side = _SIDES[piece.side]
            fill = _RED if piece.kind >= PROMOTED else side.fill
            return Piece(piece.letters[-1], fill, fill, piece.letters[-1])

        marked = frozenset[tuple[int, int]]()
        if self._marked is not None:
            marked = frozenset({divmod(self._marked, _SIZE)})
        rows = [self._pieces[_SIZE * row : _SIZE * (row + 1)] for row in range(_SIZE)]
        hands = ", ".join(self._hand_letters(side) for side in (0, 1))
        return BoardPicture(
            pieces=[[drawn(piece) for piece in row] for row in rows],
            column_labels=[str(file) for file in range(_SIZE, 0, -1)],
            row_labels=list(_RANKS),
            light=_WOOD,
            dark=_WOOD,
            highlight=marked,
            caption=hands,
        ).rgb()


def _text(text: str, x: int, y: int, size: int) -> str:
    return (
        f'<text x="{x}" y="{y}" font-size="{size}" text-anchor="middle" '
        f'dominant-baseline="central">{text}</text>'
    )
