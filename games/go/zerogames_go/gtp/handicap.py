"""The points of handicap stones."""

from zerogames.errors import UserError
from zerogames_go import _native


def fixed_handicap(size: int, count: int) -> list[int]:
    """The points of the protocol; raises `UserError` where it has none for this number."""
    try:
        return [int(point) for point in _native.fixed_handicap(size, count)]
    except UserError:
        raise UserError("invalid number of stones") from None


def free_handicap(size: int, count: int) -> list[int]:
    """Points for boards or numbers without fixed ones: off the edge first, far from each other."""
    points: list[int] = []

    def worth(point: int) -> tuple[bool, int, int, int]:
        row, column = divmod(point, size)
        edge = min(row, column, size - 1 - row, size - 1 - column)
        gaps = [abs(row - p // size) + abs(column - p % size) for p in points]
        return edge > 0, min(gaps, default=0), -abs(edge - 3), -point

    free = set(range(size * size))
    for _ in range(count):
        best = max(free, key=worth)
        points.append(best)
        free.remove(best)
    return points
