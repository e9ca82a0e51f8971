"""Line charts as SVG text, for pages that must not need anything else."""

import html
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import cycle

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
class LineChart:
    """A chart of lines; `svg` draws it."""

    title: str
    series: Sequence[Series]
    x_label: str
    levels: Mapping[str, float] = field(default_factory=dict)
    """Dashed lines across the chart by name, such as the ratings of fixed players."""
    from_zero: bool = False
    y_format: Callable[[float], str] = lambda value: f"{value:g}"
    y_range: tuple[float, float] | None = None
    height: int = HEIGHT

    def svg(self) -> str:
        """The whole chart, or a note that there is nothing to draw yet."""
        shown = [one for one in self.series if one.points]
        nothing = _text(WIDTH / 2, self.height / 2, "nothing measured yet", "middle")
        parts = self._draw(shown) if shown else [nothing]
        title = html.escape(self.title)
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {self.height}" '
            f'role="img" aria-label="{title}"><text class="title" x="{_LEFT}" y="16">{title}'
            f"</text>{''.join(parts)}</svg>"
        )

    def _y_limits(self, shown: Sequence[Series]) -> tuple[float, float]:
        if self.y_range is not None:
            return self.y_range
        ys = [y for one in shown for _, y in one.points] + list(self.levels.values())
        ys += [bound for one in shown for _, low, high in one.band for bound in (low, high)]
        low, high = min(ys), max(ys)
        if self.from_zero:
            low = min(0.0, low)
        if low == high:
            low, high = low - 0.5, high + 0.5
        return low, high

    def _draw(self, shown: Sequence[Series]) -> list[str]:
        limits = self._y_limits(shown)
        y_ticks = nice_ticks(*limits, 5)
        y_low, y_high = min(y_ticks[0], limits[0]), max(y_ticks[-1], limits[1])
        xs = [x for one in shown for x, _ in one.points]
        x_low, x_high = min(xs), max(max(xs), min(xs) + 1e-9)
        right, bottom = WIDTH - _RIGHT, self.height - _BOTTOM

        def place(point: Point) -> tuple[float, float]:
            x, y = point
            across, up = (x - x_low) / (x_high - x_low), (y - y_low) / (y_high - y_low)
            return _LEFT + across * (right - _LEFT), bottom - up * (bottom - _TOP)

        parts = []
        for tick in y_ticks:
            _, y = place((x_low, tick))
            parts.append(f'<path class="grid" d="M{_LEFT} {y:.1f}H{right}"/>')
            parts.append(_text(_LEFT - 6, y + 4, self.y_format(tick), "end"))
        for tick in nice_ticks(min(xs), max(xs), 6):
            if x_low <= tick <= x_high:
                x, _ = place((tick, y_low))
                parts.append(_text(x, bottom + 17, f"{tick:g}", "middle"))
        parts.append(f'<path class="axis" d="M{_LEFT} {bottom}H{right}"/>')
        parts.append(_text((_LEFT + right) / 2, self.height - 8, self.x_label, "middle"))
        for name, value in self.levels.items():
            _, y = place((x_low, value))
            parts.append(f'<path class="level" d="M{_LEFT} {y:.1f}H{right}"/>')
            parts.append(_text(right - 4, y - 4, name, "end"))
        for one, colour in zip(shown, cycle(COLOURS), strict=False):
            parts += self._draw_series(one, colour, place)
        return parts + (_legend(shown, right) if len(shown) > 1 else [])

    def _draw_series(
        self, one: Series, colour: str, place: Callable[[Point], tuple[float, float]]
    ) -> list[str]:
        def path(points: Iterable[Point]) -> str:
            return "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in map(place, points))

        parts = []
        if one.band:
            around = [(x, high) for x, _, high in one.band]
            around += [(x, low) for x, low, _ in reversed(one.band)]
            parts.append(f'<path d="{path(around)}Z" fill="{colour}" opacity="0.15"/>')
        parts.append(f'<path class="line" d="{path(one.points)}" stroke="{colour}"/>')
        if len(one.points) <= _MOST_DOTS:
            notes = one.notes or [f"{one.name}: {self.y_format(y)}" for _, y in one.points]
            for (x, y), note in zip(map(place, one.points), notes, strict=True):
                parts.append(
                    f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}">'
                    f"<title>{html.escape(note)}</title></circle>"
                )
        return parts


def _text(x: float, y: float, text: str, anchor: str = "start") -> str:
    return (
        f'<text class="tick" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">'
        f"{html.escape(text)}</text>"
    )


def _legend(shown: Sequence[Series], right: float) -> list[str]:
    """Draw the legend from the right, on the line of the title."""
    parts: list[str] = []
    for one, colour in reversed(list(zip(shown, cycle(COLOURS), strict=False))):
        right -= 6.6 * len(one.name)
        parts.append(_text(right, 16, one.name))
        parts.append(
            f'<rect x="{right - 16:.0f}" y="8" width="11" height="8" rx="2" fill="{colour}"/>'
        )
        right -= 28
    return parts


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
