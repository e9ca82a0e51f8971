"""The rules of Go, written plainly and slowly, to compare the compiled ones with."""

from dataclasses import dataclass, field

Stones = dict[int, int]
"""Point to colour, 0 Black, 1 White."""


def neighbours(size: int, point: int) -> list[int]:
    row, column = divmod(point, size)
    steps = ((row - 1, column), (row + 1, column), (row, column - 1), (row, column + 1))
    return [r * size + c for r, c in steps if 0 <= r < size and 0 <= c < size]


def chain(size: int, stones: Stones, point: int) -> set[int]:
    found, front = {point}, [point]
    while front:
        for near in neighbours(size, front.pop()):
            if near not in found and stones.get(near) == stones[point]:
                found.add(near)
                front.append(near)
    return found


def liberties(size: int, stones: Stones, point: int) -> set[int]:
    members = chain(size, stones, point)
    return {n for member in members for n in neighbours(size, member) if n not in stones}


def place(size: int, stones: Stones, point: int, colour: int) -> tuple[Stones, set[int], set[int]]:
    """The board after a stone was put: also what it captured, and what died by suicide."""
    after = {**stones, point: colour}
    captured: set[int] = set()
    for near in neighbours(size, point):
        if after.get(near) == 1 - colour and not liberties(size, after, near):
            captured |= chain(size, after, near)
    after = {p: c for p, c in after.items() if p not in captured}
    dead: set[int] = set()
    if not liberties(size, after, point):
        dead = chain(size, after, point)
        after = {p: c for p, c in after.items() if p not in dead}
    return after, captured, dead


def area_score(size: int, stones: Stones) -> int:
    """Black's stones and territory less White's."""
    lead = sum(1 if colour == 0 else -1 for colour in stones.values())
    seen: set[int] = set()
    for start in range(size * size):
        if start in stones or start in seen:
            continue
        region, front, borders = {start}, [start], set()
        while front:
            for near in neighbours(size, front.pop()):
                if near in stones:
                    borders.add(stones[near])
                elif near not in region:
                    region.add(near)
                    front.append(near)
        seen |= region
        if len(borders) == 1:
            lead += len(region) * (1 if borders == {0} else -1)
    return lead


@dataclass
class PlainGo:
    """A game; `history` holds every board so far with the side to move."""

    size: int
    ko: str = "positional"
    suicide: bool = True
    stones: Stones = field(default_factory=dict)
    to_play: int = 0
    passes: int = 0
    ko_point: int | None = None
    history: list[tuple[Stones, int]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.history.append((self.stones, self.to_play))

    def is_legal(self, action: int) -> bool:
        if self.passes == 2:
            return False
        if action == self.size**2:
            return True
        if action in self.stones:
            return False
        after, _, dead = place(self.size, self.stones, action, self.to_play)
        if dead and not self.suicide:
            return False
        if self.ko == "simple":
            return action != self.ko_point
        if self.ko == "situational":
            return (after, 1 - self.to_play) not in self.history
        return all(after != before for before, _ in self.history)

    def legal_actions(self) -> list[int]:
        return [action for action in range(self.size**2 + 1) if self.is_legal(action)]

    def play(self, action: int) -> None:
        self.ko_point = None
        if action == self.size**2:
            self.passes += 1
        else:
            self.passes = 0
            self.stones, captured, dead = place(self.size, self.stones, action, self.to_play)
            if len(captured) == 1 and not dead:
                alone = len(chain(self.size, self.stones, action)) == 1
                if alone and liberties(self.size, self.stones, action) == captured:
                    (self.ko_point,) = captured
        self.to_play = 1 - self.to_play
        self.history.append((self.stones, self.to_play))
