"""Drawing boards of hexagons."""

import html
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from zerogames.picture import CELL, Cell, Piece

_RADIUS = CELL / math.sqrt(3)
"""From the centre of a hexagon to its corners; its width is `CELL`."""
_MARGIN = CELL
_EMPTY, _LINE, _HIGHLIGHT = "#e9d7b0", "#5b4a2a", "#f6c945"


@dataclass(frozen=True)
class Mark:
    """A text beside the board."""

    text: str
    x: float
    y: float


@dataclass(frozen=True, kw_only=True)
class HexPicture:
    """Rows of hexagons that stand on a corner; each row may be shifted."""

    pieces: Sequence[Sequence[Piece | None]]
    """`[rows][columns]`, rows from the top."""
    shifts: Sequence[int]
    """Half cells by which each row begins further right than the leftmost one could."""
    row_labels: Sequence[str]
    column_labels: Sequence[str]
    """Above the cells of the first row."""
    edges: Sequence[tuple[str, Sequence[tuple[int, int, int]]]] = ()
    """Colours, each with the sides of cells that have it: row, column, and the side's number,
    clockwise from 0, the upper right one."""
    highlight: frozenset[tuple[int, int]] = frozenset()
    """`(row, column)` of the last move."""
    caption: str = ""

    @property
    def cells(self) -> Sequence[Cell]:
        """The hexagons, named by the labels of their columns and rows."""
        return [
            Cell(f"{name}{self.row_labels[row]}", tuple(_corners(*self._centre(row, column))))
            for row, pieces in enumerate(self.pieces)
            for column, name in enumerate(self.column_labels[: len(pieces)])
        ]

    def turned(self) -> Self:
        """Return the picture itself: both players see the same."""
        return self

    def ansi(self, *, colour: bool = True) -> str:
        """One line a row, with coordinates; two characters are a cell."""
        width = max(map(len, self.row_labels))
        head = " " * (width + 1 + self.shifts[0] + 1)
        lines = [head + " ".join(f"{label:<1}" for label in self.column_labels)]
        for row, pieces in enumerate(self.pieces):
            cells = []
            for column, piece in enumerate(pieces):
                plain = piece.symbol if piece else "."
                marked = (row, column) in self.highlight
                if not colour:
                    cells.append(plain)
                    continue
                front = piece.fill if piece else "#8a7a55"
                back = f"\x1b[48;2;{_rgb(_HIGHLIGHT)}m" if marked else ""
                cells.append(f"{back}\x1b[38;2;{_rgb(front)}m{'⬢' if piece else plain}\x1b[0m")
            line = f"{self.row_labels[row]:>{width}} {' ' * self.shifts[row]} {' '.join(cells)}"
            lines.append(line.rstrip())
        if self.caption:
            lines.append(self.caption)
        return "\n".join(lines)

    def svg(self) -> str:
        """Vector graphics without outside references."""
        height, width = self._size()
        out = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
            f'width="{width}" height="{height}" font-family="DejaVu Sans, sans-serif">',
            f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
        ]
        for x, y, _, _ in self._cells():
            corners = " ".join(f"{cx:.1f},{cy:.1f}" for cx, cy in _corners(x, y))
            out.append(f'<polygon points="{corners}" fill="{_EMPTY}" stroke="{_LINE}"/>')
        for fill, (x1, y1), (x2, y2) in self._edges():
            out.append(
                f'<path d="M{x1:.1f} {y1:.1f}L{x2:.1f} {y2:.1f}" stroke="{fill}" '
                'stroke-width="6" stroke-linecap="round"/>'
            )
        for x, y, piece, marked in self._cells():
            if piece:
                out.append(
                    f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{0.38 * CELL:.1f}" '
                    f'fill="{piece.fill}" stroke="{piece.outline}"/>'
                )
            if marked:
                out.append(
                    f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{CELL // 6}" fill="none" '
                    f'stroke="{_HIGHLIGHT}" stroke-width="3"/>'
                )
        for mark in self._marks():
            out.append(
                f'<text x="{mark.x:.1f}" y="{mark.y:.1f}" font-size="14" text-anchor="middle" '
                f'dominant-baseline="central">{html.escape(mark.text)}</text>'
            )
        return "\n".join([*out, "</svg>\n"])

    def rgb(self) -> NDArray[np.uint8]:
        """The drawing as pixels, twice oversampled."""
        from PIL import Image, ImageDraw

        scale = 2
        height, width = self._size()
        image = Image.new("RGB", (width * scale, height * scale), "#ffffff")
        draw = ImageDraw.Draw(image)

        def around(x: float, y: float, radius: float) -> list[float]:
            corners = (x - radius, y - radius, x + radius, y + radius)
            return [scale * number for number in corners]

        for x, y, _, _ in self._cells():
            corners = [(scale * cx, scale * cy) for cx, cy in _corners(x, y)]
            draw.polygon(corners, fill=_EMPTY, outline=_LINE)
        for fill, start, end in self._edges():
            draw.line([scale * number for number in (*start, *end)], fill=fill, width=6 * scale)
        for x, y, piece, marked in self._cells():
            if piece:
                disc = around(x, y, 0.38 * CELL)
                draw.ellipse(disc, fill=piece.fill, outline=piece.outline, width=scale)
            if marked:
                draw.ellipse(around(x, y, CELL // 6), outline=_HIGHLIGHT, width=3 * scale)
        for mark in self._marks():
            place = (mark.x * scale, mark.y * scale)
            draw.text(place, mark.text, fill="#000000", anchor="mm", font_size=14 * scale)
        return np.asarray(image.resize((width, height), Image.Resampling.LANCZOS), np.uint8)

    def _size(self) -> tuple[int, int]:
        """Height and width."""
        ends = [shift + 2 * len(row) for shift, row in zip(self.shifts, self.pieces, strict=True)]
        rows = 1.5 * _RADIUS * len(self.pieces) + _RADIUS
        return round(rows + _MARGIN + CELL / 2), round(max(ends) * CELL / 2 + 2 * _MARGIN)

    def _centre(self, row: int, column: int) -> tuple[float, float]:
        x = _MARGIN + (self.shifts[row] + 2 * column + 1) * CELL / 2
        return x, _MARGIN + _RADIUS * (1.5 * row + 0.5)

    def _cells(self) -> Iterator[tuple[float, float, Piece | None, bool]]:
        """Centre, piece, and whether it is highlighted."""
        for row, pieces in enumerate(self.pieces):
            for column, piece in enumerate(pieces):
                yield *self._centre(row, column), piece, (row, column) in self.highlight

    def _edges(self) -> Iterator[tuple[str, tuple[float, float], tuple[float, float]]]:
        for fill, sides in self.edges:
            for row, column, side in sides:
                corners = _corners(*self._centre(row, column))
                yield fill, corners[side], corners[(side + 1) % 6]

    def _marks(self) -> Iterator[Mark]:
        for column, text in enumerate(self.column_labels):
            x, y = self._centre(0, column)
            yield Mark(text, x - CELL / 4, y - CELL)
        for row, text in enumerate(self.row_labels):
            x, y = self._centre(row, 0)
            yield Mark(text, x - 0.8 * CELL, y)
        if self.caption:
            height, width = self._size()
            yield Mark(self.caption, width / 2, height - CELL / 4)


def _corners(x: float, y: float) -> list[tuple[float, float]]:
    """Clockwise from the top one."""
    turns = [math.radians(60 * corner - 90) for corner in range(6)]
    return [(x + _RADIUS * math.cos(turn), y + _RADIUS * math.sin(turn)) for turn in turns]


def _rgb(colour: str) -> str:
    """A colour as terminals read it: `red;green;blue`."""
    return ";".join(map(str, bytes.fromhex(colour[1:])))
