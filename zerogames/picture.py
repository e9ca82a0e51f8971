"""Drawing a position once and showing it as colour text, SVG or pixels."""

import html
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from PIL import ImageFont

CELL = 48
"""Pixels (and SVG units) per cell."""
_MARGIN = CELL // 2
_HIGHLIGHT = "#f6c945"


class Picture(Protocol):
    """A drawn position."""

    def ansi(self, *, colour: bool = True) -> str:
        """Lines for a terminal, with or without escape codes."""

    def svg(self) -> str:
        """A self-contained SVG document."""

    def rgb(self) -> NDArray[np.uint8]:
        """Pixels `[H, W, 3]`."""


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

    def ansi(self, *, colour: bool = True) -> str:
        """One line a row, with coordinates."""
        width = max(len(label) for label in self.row_labels)
        lines = []
        for row, line in enumerate(self.pieces):
            cells = []
            for column, piece in enumerate(line):
                plain = piece.symbol if piece else self._empty(row, column)
                cells.append(self._ansi_cell(piece, plain, row, column) if colour else plain)
            separator = "" if colour else " "
            lines.append(f"{self.row_labels[row]:>{width}} {separator.join(cells)}")
        pad = " " * (width + 1)
        letters = "".join(f"{label:^3}" if colour else f"{label} " for label in self.column_labels)
        lines.append(f"{pad}{letters}".rstrip())
        if self.caption:
            lines.append(self.caption)
        return "\n".join(lines)

    def _empty(self, row: int, column: int) -> str:
        return "+" if (row, column) in self.dots else self.empty_symbol

    def _ansi_cell(self, piece: Piece | None, plain: str, row: int, column: int) -> str:
        symbol = (piece.glyph or "●") if piece else plain
        marked = (row, column) in self.highlight
        background = _HIGHLIGHT if marked else (self.light, self.dark)[(row + column) % 2]
        front = piece.fill if piece else "#8a7a55"
        red, green, blue = _rgb(background)
        front_red, front_green, front_blue = _rgb(front)
        return (
            f"\x1b[48;2;{red};{green};{blue}m\x1b[38;2;{front_red};{front_green};{front_blue}m"
            f" {symbol} \x1b[0m"
        )

    def _geometry(self) -> tuple[int, int, int, int]:
        rows, columns = len(self.pieces), len(self.pieces[0])
        height = rows * CELL + _MARGIN + (CELL // 2 if self.caption else 0)
        return rows, columns, height, columns * CELL + _MARGIN

    def svg(self) -> str:
        """Vector graphics without outside references."""
        rows, columns, height, width = self._geometry()
        out = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
            f'width="{width}" height="{height}" font-family="DejaVu Sans, sans-serif">',
            f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
        ]
        for row in range(rows):
            for column in range(columns):
                x, y = _MARGIN + column * CELL, row * CELL
                fill = (self.light, self.dark)[(row + column) % 2]
                edge = "" if self.crossings else ' stroke="#7a6a45" stroke-width="0.5"'
                out.append(
                    f'<rect x="{x}" y="{y}" width="{CELL}" height="{CELL}" fill="{fill}"{edge}/>'
                )
        for x1, y1, x2, y2 in self._lines():
            out.append(f'<path d="M{x1} {y1}L{x2} {y2}" stroke="#5b4a2a" stroke-width="1"/>')
        for row, column in sorted(self.dots):
            x, y = self._centre(row, column)
            out.append(f'<circle cx="{x}" cy="{y}" r="3" fill="#5b4a2a"/>')
        for row, line in enumerate(self.pieces):
            for column, piece in enumerate(line):
                if piece:
                    out.append(self._svg_piece(piece, row, column))
        for row, column in sorted(self.highlight):
            x, y = self._centre(row, column)
            out.append(
                f'<circle cx="{x}" cy="{y}" r="{CELL // 6}" fill="none" '
                f'stroke="{_HIGHLIGHT}" stroke-width="3"/>'
            )
        for text, x, y in self._labels():
            out.append(
                f'<text x="{x}" y="{y}" font-size="14" text-anchor="middle" '
                f'dominant-baseline="central">{html.escape(text)}</text>'
            )
        return "\n".join([*out, "</svg>\n"])

    def _svg_piece(self, piece: Piece, row: int, column: int) -> str:
        x, y = self._centre(row, column)
        if piece.glyph:
            return (
                f'<text x="{x}" y="{y}" font-size="{CELL - 8}" text-anchor="middle" '
                f'dominant-baseline="central" fill="{piece.fill}" stroke="{piece.outline}" '
                f'stroke-width="0.7">{html.escape(piece.glyph)}</text>'
            )
        return (
            f'<circle cx="{x}" cy="{y}" r="{CELL * 0.44:.1f}" fill="{piece.fill}" '
            f'stroke="{piece.outline}"/>'
        )

    def rgb(self) -> NDArray[np.uint8]:
        """The drawing as pixels, twice oversampled."""
        from PIL import Image, ImageDraw

        scale = 2
        rows, columns, height, width = self._geometry()
        image = Image.new("RGB", (width * scale, height * scale), "#ffffff")
        draw = ImageDraw.Draw(image)

        def box(x0: float, y0: float, x1: float, y1: float) -> list[float]:
            return [x0 * scale, y0 * scale, x1 * scale, y1 * scale]

        for row in range(rows):
            for column in range(columns):
                x, y = _MARGIN + column * CELL, row * CELL
                edge = None if self.crossings else "#7a6a45"
                fill = (self.light, self.dark)[(row + column) % 2]
                draw.rectangle(box(x, y, x + CELL, y + CELL), fill=fill, outline=edge)
        for x1, y1, x2, y2 in self._lines():
            draw.line(box(x1, y1, x2, y2), fill="#5b4a2a", width=scale)
        for row, column in sorted(self.dots):
            x, y = self._centre(row, column)
            draw.ellipse(box(x - 3, y - 3, x + 3, y + 3), fill="#5b4a2a")
        radius = CELL * 0.44
        for row, line in enumerate(self.pieces):
            for column, piece in enumerate(line):
                if not piece:
                    continue
                x, y = self._centre(row, column)
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
                    circle = box(x - radius, y - radius, x + radius, y + radius)
                    draw.ellipse(circle, fill=piece.fill, outline=piece.outline, width=scale)
        for row, column in sorted(self.highlight):
            x, y = self._centre(row, column)
            ring = box(x - CELL // 6, y - CELL // 6, x + CELL // 6, y + CELL // 6)
            draw.ellipse(ring, outline=_HIGHLIGHT, width=3 * scale)
        for text, x, y in self._labels():
            font = _font(14 * scale)
            draw.text((x * scale, y * scale), text, font=font, fill="#000000", anchor="mm")
        return np.asarray(image.resize((width, height), Image.Resampling.LANCZOS), np.uint8)

    def _centre(self, row: int, column: int) -> tuple[int, int]:
        return _MARGIN + column * CELL + CELL // 2, row * CELL + CELL // 2

    def _lines(self) -> list[tuple[int, int, int, int]]:
        if not self.crossings:
            return []
        rows, columns = len(self.pieces), len(self.pieces[0])
        across = [(*self._centre(row, 0), *self._centre(row, columns - 1)) for row in range(rows)]
        down = [(*self._centre(0, col), *self._centre(rows - 1, col)) for col in range(columns)]
        return across + down

    def _labels(self) -> list[tuple[str, int, int]]:
        rows, _, height, width = self._geometry()
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


def _rgb(colour: str) -> tuple[int, int, int]:
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)


@cache
def _font(size: int) -> "ImageFont.FreeTypeFont | ImageFont.ImageFont":
    from PIL import ImageFont

    try:
        return ImageFont.truetype("DejaVuSans.ttf", size)  # has the chess figures
    except OSError:
        return ImageFont.load_default(size)
