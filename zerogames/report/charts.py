"""Line charts as SVG text, for pages that must not need anything else."""

import html
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

WIDTH, HEIGHT = 560, 300
_LEFT, _RIGHT, _TOP, _BOTTOM = 58, 16, 34, 44
_MOST_DOTS = 60
"""The largest number of dots on a line; more would hide it."""
COLOURS = ("#2563a8", "#d1662a", "#3a8f5c", "#8a4fa3", "#b03a5b", "#6b6f76")
"""Told apart also by people who see red and green alike: they differ in lightness."""

Point = tuple[float, float]


@dataclass(frozen=True, kw_only=True)
class Series:
    """A line."""

    name: str
    points: Sequence[Point]
    band: Sequence[tuple[float, float, float]] = field(default=())
    """x, low, high: an interval around the line."""
    notes: Sequence[str] = field(default=())
    """Shown when the mouse rests on a point."""


@dataclass(frozen=True, kw_only=True)
class Level:
    """A dashed line across the chart, such as the rating of a fixed player."""

    name: str
    value: float


@dataclass(frozen=True, kw_only=True)
class LineChart:
    """A chart of lines; `svg` draws it."""

    title: str
    series: Sequence[Series]
    x_label: str
    levels: Sequence[Level] = ()
    from_zero: bool = False
    y_format: Callable[[float], str] = lambda value: f"{value:g}"
    y_range: tuple[float, float] | None = None
    width: int = WIDTH
    height: int = HEIGHT

    def svg(self) -> str:
        """The whole chart, or a note that there is nothing to draw yet."""
        shown = [one for one in self.series if one.points]
        if not shown:
            return _empty(self.title, self.width, self.height)
        xs = [x for one in shown for x, _ in one.points]
        x_ticks = nice_ticks(min(xs), max(xs), 6)
        y_ticks = nice_ticks(*self._y_limits(shown), 5)
        frame = _Frame(
            x_low=min(xs),
            x_high=max(max(xs), min(xs) + 1e-9),
            y_low=min(y_ticks[0], self._y_limits(shown)[0]),
            y_high=max(y_ticks[-1], self._y_limits(shown)[1]),
            width=self.width,
            height=self.height,
        )
        parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width} {self.height}" '
            f'role="img" aria-label="{html.escape(self.title)}">',
            f'<text class="title" x="{_LEFT}" y="16">{html.escape(self.title)}</text>',
            *self._axes(frame, x_ticks, y_ticks),
            *(self._level(frame, level) for level in self.levels),
        ]
        for index, one in enumerate(shown):
            parts += _draw(frame, one, COLOURS[index % len(COLOURS)], self.y_format)
        if len(shown) > 1:
            parts += _legend(shown, self.width)
        return "".join([*parts, "</svg>"])

    def _y_limits(self, shown: Sequence[Series]) -> tuple[float, float]:
        if self.y_range is not None:
            return self.y_range
        ys = [y for one in shown for _, y in one.points] + [level.value for level in self.levels]
        ys += [bound for one in shown for _, low, high in one.band for bound in (low, high)]
        low, high = min(ys), max(ys)
        if self.from_zero:
            low = min(0.0, low)
        if low == high:
            low, high = low - 0.5, high + 0.5
        return low, high

    def _axes(
        self, frame: "_Frame", x_ticks: Sequence[float], y_ticks: Sequence[float]
    ) -> list[str]:
        bottom = self.height - _BOTTOM
        parts = []
        for tick in y_ticks:
            y = frame.y(tick)
            parts.append(
                f'<path class="grid" d="M{_LEFT} {y:.1f}H{self.width - _RIGHT}"/>'
                f'<text class="tick" x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">'
                f"{html.escape(self.y_format(tick))}</text>"
            )
        for tick in x_ticks:
            if not frame.x_low <= tick <= frame.x_high:
                continue
            parts.append(
                f'<text class="tick" x="{frame.x(tick):.1f}" y="{bottom + 17}" '
                f'text-anchor="middle">{tick:g}</text>'
            )
        parts.append(f'<path class="axis" d="M{_LEFT} {bottom}H{self.width - _RIGHT}"/>')
        middle = (_LEFT + self.width - _RIGHT) / 2
        parts.append(
            f'<text class="tick" x="{middle:.0f}" y="{self.height - 8}" text-anchor="middle">'
            f"{html.escape(self.x_label)}</text>"
        )
        return parts

    def _level(self, frame: "_Frame", level: Level) -> str:
        y = frame.y(level.value)
        return (
            f'<path class="level" d="M{_LEFT} {y:.1f}H{self.width - _RIGHT}"/>'
            f'<text class="tick" x="{self.width - _RIGHT - 4}" y="{y - 4:.1f}" text-anchor="end">'
            f"{html.escape(level.name)}</text>"
        )


@dataclass(frozen=True, kw_only=True)
class _Frame:
    x_low: float
    x_high: float
    y_low: float
    y_high: float
    width: int
    height: int

    def x(self, value: float) -> float:
        share = (value - self.x_low) / (self.x_high - self.x_low)
        return _LEFT + share * (self.width - _LEFT - _RIGHT)

    def y(self, value: float) -> float:
        share = (value - self.y_low) / (self.y_high - self.y_low)
        return self.height - _BOTTOM - share * (self.height - _TOP - _BOTTOM)


def _draw(frame: _Frame, one: Series, colour: str, y_format: Callable[[float], str]) -> list[str]:
    parts = []
    if one.band:
        upper = [f"{frame.x(x):.1f} {frame.y(high):.1f}" for x, _, high in one.band]
        lower = [f"{frame.x(x):.1f} {frame.y(low):.1f}" for x, low, _ in reversed(one.band)]
        outline = "L".join([*upper, *lower])
        parts.append(f'<path d="M{outline}Z" fill="{colour}" opacity="0.15"/>')
    line = "L".join(f"{frame.x(x):.1f} {frame.y(y):.1f}" for x, y in one.points)
    parts.append(f'<path class="line" d="M{line}" stroke="{colour}"/>')
    if len(one.points) <= _MOST_DOTS:
        notes = one.notes or [f"{one.name}: {y_format(y)}" for _, y in one.points]
        for (x, y), note in zip(one.points, notes, strict=True):
            parts.append(
                f'<circle cx="{frame.x(x):.1f}" cy="{frame.y(y):.1f}" r="3" fill="{colour}">'
                f"<title>{html.escape(note)}</title></circle>"
            )
    return parts


def _legend(shown: Sequence[Series], width: int) -> list[str]:
    """Draw the legend from the right, on the line of the title."""
    parts: list[str] = []
    right = float(width - _RIGHT)
    for index in reversed(range(len(shown))):
        name = shown[index].name
        right -= 6.6 * len(name)
        colour = COLOURS[index % len(COLOURS)]
        parts.append(
            f'<text class="tick" x="{right:.0f}" y="16">{html.escape(name)}</text>'
            f'<rect x="{right - 16:.0f}" y="8" width="11" height="8" rx="2" fill="{colour}"/>'
        )
        right -= 28
    return parts


def _empty(title: str, width: int, height: int) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img">'
        f'<text class="title" x="{_LEFT}" y="16">{html.escape(title)}</text>'
        f'<text class="tick" x="{width / 2:.0f}" y="{height / 2:.0f}" text-anchor="middle">'
        "nothing measured yet</text></svg>"
    )


def nice_ticks(low: float, high: float, wanted: int) -> list[float]:
    """Round numbers from just below `low` to just above `high`."""
    span = high - low
    if span <= 0:
        return [low]
    rough = span / max(1, wanted)
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in (1, 2, 2.5, 5, 10) if factor * power >= rough * 0.999)
    first = math.floor(low / step + 1e-9)
    last = math.ceil(high / step - 1e-9)
    return [round(number * step, 12) for number in range(first, last + 1)]
