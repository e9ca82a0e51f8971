"""Drawing a position once and showing it as colour text, SVG or pixels."""

import html
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import TYPE_CHECKING, Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from PIL import ImageFont

CELL = 48
"""Pixels (and SVG units) per cell."""
_MARGIN = CELL // 2
_HIGHLIGHT = "#f6c945"
_LINE = "#5b4a2a"
_RADIUS = 0.44 * CELL


class Picture(Protocol):
    """A drawn position."""

    def ansi(self, *, colour: bool = True) -> str:
        """Lines for a terminal, with or without escape codes."""

    def svg(self) -> str:
        """A self-contained SVG document."""

    def rgb(self) -> NDArray[np.uint8]:
        """Pixels `[H, W, 3]`."""


@dataclass(frozen=True)
class Cell:
    """A place on a picture that a person can point at."""

    name: str
    """As the texts of moves have it, e.g. `e4`; a column's cells may share one."""
    corners: tuple[tuple[float, float], ...]
    """A polygon in the units of the SVG's `viewBox`."""


@runtime_checkable
class CellPicture(Picture, Protocol):
    """A picture that names its cells, so that moves can be pointed at."""

    @property
    def cells(self) -> Sequence[Cell]:
        """The places that moves may name."""

    def turned(self) -> "CellPicture":
        """Return the picture as the second player sees it, or itself if both see the same."""


def rectangle(name: str, corner: tuple[float, float], width: float, height: float = 0.0) -> Cell:
    """Make a cell from its left upper corner; a square without `height`."""
    (x, y), (right, bottom) = corner, (corner[0] + width, corner[1] + (height or width))
    return Cell(name, ((x, y), (right, y), (right, bottom), (x, bottom)))


def find_cells(text: str, names: Collection[str]) -> tuple[str, ...]:
    """Return the names of cells in the text of a move, in their order: `e7e8q` gives e7 and e8.

    The longest name counts: `Q16` is not `Q1`. A name of letters alone must stand alone.
    """
    return tuple(_cell_names(tuple(names)).findall(text)) if names else ()


@cache
def _cell_names(names: tuple[str, ...]) -> re.Pattern[str]:
    longest_first = sorted(set(names), key=len, reverse=True)
    return re.compile(
        "|".join(
            rf"(?<![A-Za-z]){re.escape(name)}(?![A-Za-z])" if name.isalpha() else re.escape(name)
            for name in longest_first
        )
    )


@dataclass(frozen=True)
class Piece:
    """A disc, or with a `glyph` a figure, on a cell."""

    symbol: str
    """One character for text without colours."""
    fill: str
    """Colour as `#rrggbb`."""
    outline: str = "#202020"
    glyph: str = ""
    """Drawn instead of a disc."""


@dataclass(frozen=True, kw_only=True)
class BoardPicture:
    """A rectangular board, rows from the top as shown, with pieces on cells or on crossings."""

    pieces: Sequence[Sequence[Piece | None]]
    """`[rows][columns]`."""
    column_labels: Sequence[str]
    row_labels: Sequence[str]
    light: str = "#e9d7b0"
    dark: str = "#e9d7b0"
    """Cell colours; alternate when they differ."""
    crossings: bool = False
    """Pieces stand on the crossings of lines, as in Go."""
    dots: frozenset[tuple[int, int]] = frozenset()
    """`(row, column)` of star points."""
    empty_symbol: str = "."
    highlight: frozenset[tuple[int, int]] = frozenset()
    """`(row, column)` of the last move."""
    caption: str = field(default="")
    opposite: bool = False
    """The players sit on opposite sides: the second sees the board turned."""

    @property
    def cells(self) -> list[Cell]:
        """The cells, named by column and row, such as `e4`."""
        return [
            rectangle(
                f"{self.column_labels[column]}{self.row_labels[row]}".replace(" ", ""),
                (_MARGIN + column * CELL, row * CELL),
                CELL,
            )
            for row, column in np.ndindex(len(self.pieces), len(self.pieces[0]))
        ]

    def turned(self) -> Self:
        """Turn the board by half a turn if the players sit on opposite sides."""
        if not self.opposite:
            return self
        rows, columns = len(self.pieces) - 1, len(self.pieces[0]) - 1
        swapped = (rows + columns) % 2 == 1

        def turn(cells: frozenset[tuple[int, int]]) -> frozenset[tuple[int, int]]:
            return frozenset((rows - row, columns - column) for row, column in cells)

        return replace(
            self,
            pieces=[line[::-1] for line in self.pieces[::-1]],
            column_labels=self.column_labels[::-1],
            row_labels=self.row_labels[::-1],
            light=self.dark if swapped else self.light,
            dark=self.light if swapped else self.dark,
            dots=turn(self.dots),
            highlight=turn(self.highlight),
        )

    def ansi(self, *, colour: bool = True) -> str:
        """One line a row, with coordinates."""
        width = max(len(label) for label in self.row_labels)
        separator = "" if colour else " "
        lines = []
        for row, line in enumerate(self.pieces):
            cells = []
            for column, piece in enumerate(line):
                empty = "+" if (row, column) in self.dots else self.empty_symbol
                plain = piece.symbol if piece else empty
                cells.append(self._ansi_cell(piece, plain, row, column) if colour else plain)
            lines.append(f"{self.row_labels[row]:>{width}} {separator.join(cells)}")
        pad = " " * (width + 1)
        letters = "".join(f"{label:^3}" if colour else f"{label} " for label in self.column_labels)
        lines.append(f"{pad}{letters}".rstrip())
        if self.caption:
            lines.append(self.caption)
        return "\n".join(lines)

    def _ansi_cell(self, piece: Piece | None, plain: str, row: int, column: int) -> str:
        symbol = (piece.glyph or "●") if piece else plain
        marked = (row, column) in self.highlight
        background = _HIGHLIGHT if marked else self._background(row, column)
        front = piece.fill if piece else "#8a7a55"
        return f"\x1b[48;2;{_rgb(background)}m\x1b[38;2;{_rgb(front)}m {symbol} \x1b[0m"

    def svg(self) -> str:
        """Vector graphics without outside references."""
        height, width = self._size()
        out = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
            f'width="{width}" height="{height}" font-family="DejaVu Sans, sans-serif">',
            f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
        ]
        edge = ' shape-rendering="crispEdges"'  # No seams between the cells.
        if not self.crossings:
            edge = ' stroke="#7a6a45" stroke-width="0.5"'
        for x, y, fill in self._cells():
            out.append(
                f'<rect x="{x}" y="{y}" width="{CELL}" height="{CELL}" fill="{fill}"{edge}/>'
            )
        for x1, y1, x2, y2 in self._lines():
            out.append(f'<path d="M{x1} {y1}L{x2} {y2}" stroke="{_LINE}" stroke-width="1"/>')
        for x, y in self._centres(self.dots):
            out.append(f'<circle cx="{x}" cy="{y}" r="3" fill="{_LINE}"/>')
        for piece, x, y in self._placed():
            if piece.glyph:
                style = f' fill="{piece.fill}" stroke="{piece.outline}" stroke-width="0.7"'
                out.append(_svg_text(piece.glyph, x, y, CELL - 8, style))
            else:
                out.append(
                    f'<circle cx="{x}" cy="{y}" r="{_RADIUS:.1f}" fill="{piece.fill}" '
                    f'stroke="{piece.outline}"/>'
                )
        for x, y in self._centres(self.highlight):
            out.append(
                f'<circle cx="{x}" cy="{y}" r="{CELL // 6}" fill="none" '
                f'stroke="{_HIGHLIGHT}" stroke-width="3"/>'
            )
        out += [_svg_text(text, x, y, 14) for text, x, y in self._labels()]
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

        edge = None if self.crossings else "#7a6a45"
        for x, y, fill in self._cells():
            cell = around(x + CELL / 2, y + CELL / 2, CELL / 2)
            draw.rectangle(cell, fill=fill, outline=edge)
        for line in self._lines():
            draw.line([scale * end for end in line], fill=_LINE, width=scale)
        for x, y in self._centres(self.dots):
            draw.ellipse(around(x, y, 3), fill=_LINE)
        for piece, x, y in self._placed():
            if piece.glyph:
                draw.text(
                    (x * scale, y * scale),
                    piece.glyph,
                    font=_font((CELL - 8) * scale),
                    fill=piece.fill,
                    stroke_width=scale,
                    stroke_fill=piece.outline,
                    anchor="mm",
                )
            else:
                disc = around(x, y, _RADIUS)
                draw.ellipse(disc, fill=piece.fill, outline=piece.outline, width=scale)
        for x, y in self._centres(self.highlight):
            draw.ellipse(around(x, y, CELL // 6), outline=_HIGHLIGHT, width=3 * scale)
        for text, x, y in self._labels():
            font = _font(14 * scale)
            draw.text((x * scale, y * scale), text, font=font, fill="#000000", anchor="mm")
        return np.asarray(image.resize((width, height), Image.Resampling.LANCZOS), np.uint8)

    def _size(self) -> tuple[int, int]:
        """Height and width."""
        rows, columns = len(self.pieces), len(self.pieces[0])
        height = rows * CELL + _MARGIN + (CELL // 2 if self.caption else 0)
        return height, columns * CELL + _MARGIN

    def _centre(self, row: int, column: int) -> tuple[int, int]:
        return _MARGIN + column * CELL + CELL // 2, row * CELL + CELL // 2

    def _centres(self, cells: frozenset[tuple[int, int]]) -> list[tuple[int, int]]:
        return [self._centre(row, column) for row, column in sorted(cells)]

    def _background(self, row: int, column: int) -> str:
        return (self.light, self.dark)[(row + column) % 2]

    def _cells(self) -> Iterator[tuple[int, int, str]]:
        """The left upper corner and the colour of each cell."""
        for row, column in np.ndindex(len(self.pieces), len(self.pieces[0])):
            yield _MARGIN + column * CELL, row * CELL, self._background(row, column)

    def _placed(self) -> Iterator[tuple[Piece, int, int]]:
        """The pieces with the centres of their cells."""
        for row, line in enumerate(self.pieces):
            for column, piece in enumerate(line):
                if piece:
                    yield piece, *self._centre(row, column)

    def _lines(self) -> list[tuple[int, int, int, int]]:
        if not self.crossings:
            return []
        rows, columns = len(self.pieces), len(self.pieces[0])
        across = [(*self._centre(row, 0), *self._centre(row, columns - 1)) for row in range(rows)]
        down = [(*self._centre(0, col), *self._centre(rows - 1, col)) for col in range(columns)]
        return across + down

    def _labels(self) -> list[tuple[str, int, int]]:
        rows, (height, width) = len(self.pieces), self._size()
        labels = [
            (text, self._centre(0, i)[0], rows * CELL + _MARGIN // 2)
            for i, text in enumerate(self.column_labels)
        ]
        labels += [
            (text, _MARGIN // 2, self._centre(i, 0)[1]) for i, text in enumerate(self.row_labels)
        ]
        if self.caption:
            labels.append((self.caption, width // 2, height - CELL // 4))
        return labels


def _svg_text(text: str, x: int, y: int, size: int, style: str = "") -> str:
    return (
        f'<text x="{x}" y="{y}" font-size="{size}" text-anchor="middle" '
        f'dominant-baseline="central"{style}>{html.escape(text)}</text>'
    )


def _rgb(colour: str) -> str:
    """A colour as terminals read it: `red;green;blue`."""
    return ";".join(map(str, bytes.fromhex(colour[1:])))


@cache
def _font(size: int) -> "ImageFont.FreeTypeFont | ImageFont.ImageFont":
    from PIL import ImageFont

    try:
        return ImageFont.truetype("DejaVuSans.ttf", size)  # has the chess figures
    except OSError:
        return ImageFont.load_default(size)
