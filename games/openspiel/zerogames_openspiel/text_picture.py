"""A position drawn as text only."""

import html
import re
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

_ESCAPE = re.compile(r"\x1b\[[0-9;]*m")
_LINE, _COLUMN, _MARGIN = 20, 10, 12
"""Pixels per line and per letter, and around them."""


@dataclass(frozen=True)
class TextPicture:
    """Lines in letters of one width."""

    text: str

    def ansi(self, *, colour: bool = True) -> str:
        """The text, with its escape codes if it has any and `colour` asks for them."""
        return self.text if colour else _ESCAPE.sub("", self.text)

    def svg(self) -> str:
        """The lines as text."""
        height, width = self._size()
        lines = [
            f'<text x="{_MARGIN}" y="{self._baseline(number)}" xml:space="preserve">'
            f"{html.escape(line)}</text>"
            for number, line in enumerate(self._lines())
        ]
        return "\n".join(
            [
                f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
                f'width="{width}" height="{height}" font-family="DejaVu Sans Mono, monospace" '
                f'font-size="16">',
                f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
                *lines,
                "</svg>\n",
            ]
        )

    def rgb(self) -> NDArray[np.uint8]:
        """The lines as pixels."""
        from PIL import Image, ImageDraw, ImageFont

        height, width = self._size()
        image = Image.new("RGB", (width, height), "#ffffff")
        draw = ImageDraw.Draw(image)
        font: ImageFont.FreeTypeFont | ImageFont.ImageFont
        try:
            font = ImageFont.truetype("DejaVuSansMono.ttf", 16)
        except OSError:
            font = ImageFont.load_default(16)
        for number, line in enumerate(self._lines()):
            # Letter by letter: the font that stands in has letters of different widths.
            for column, letter in enumerate(line):
                at = (_MARGIN + column * _COLUMN, self._baseline(number))
                draw.text(at, letter, font=font, fill="#000000", anchor="ls")
        return np.asarray(image, np.uint8)

    def _lines(self) -> list[str]:
        return self.ansi(colour=False).expandtabs().splitlines()

    def _size(self) -> tuple[int, int]:
        """Height and width."""
        lines = self._lines()
        longest = max(map(len, lines), default=0)
        return 2 * _MARGIN + _LINE * len(lines), 2 * _MARGIN + _COLUMN * longest

    def _baseline(self, number: int) -> int:
        return _MARGIN + _LINE * number + 15
