"""The definition of ladders, word for word, to compare the compiled reader with."""

from plain_go import Stones, chain, liberties, neighbours, place

LOST, UNSETTLED = -1, 1


class OutOfLimits(Exception):
    """A question took too long."""


class PlainReader:
    def __init__(self, size: int, stones: Stones, *, nodes: int = 1000, depth: int = 100) -> None:
        self.size = size
        self.stones = stones
        self.max_nodes = nodes
        self.max_depth = depth
        self.nodes = 0

    def labels(self) -> dict[int, int]:
        """The label of every stone that has one."""
        found: dict[int, int] = {}
        for stone in self.stones:
            if stone in found or len(liberties(self.size, self.stones, stone)) > 2:
                continue
            label = self._label(stone)
            if label is not None:
                found |= dict.fromkeys(chain(self.size, self.stones, stone), label)
        return found

    def _label(self, stone: int) -> int | None:
        if not self._ask(self.stones, stone, None):
            return None
        defender = self.stones[stone]
        for point in range(self.size**2):
            played = self._play(self.stones, point, defender, None)
            if played and not self._ask(played[0], stone, played[1]):
                return UNSETTLED
        return LOST

    def _ask(self, stones: Stones, stone: int, ko: int | None) -> bool:
        """Whether the attacker, to move, captures; a question beyond the limits means no."""
        self.nodes = 0
        try:
            return self.captured_by_attacker(stones, stone, ko, 0)
        except OutOfLimits:
            return False

    def _count(self, depth: int) -> None:
        self.nodes += 1
        if self.nodes > self.max_nodes or depth > self.max_depth:
            raise OutOfLimits

    def _play(
        self, stones: Stones, point: int, colour: int, ko: int | None
    ) -> tuple[Stones, int | None] | None:
        """The board after a legal move and the point a ko then forbids; None if it is illegal."""
        if point in stones or point == ko:
            return None
        after, captured, dead = place(self.size, stones, point, colour)
        if dead:
            return None
        alone = len(chain(self.size, after, point)) == 1
        is_ko = len(captured) == 1 and alone and liberties(self.size, after, point) == captured
        return after, next(iter(captured)) if is_ko else None

    def captured_by_attacker(self, stones: Stones, stone: int, ko: int | None, depth: int) -> bool:
        """A: the attacker is to move."""
        self._count(depth)
        attacker = 1 - stones[stone]
        moves = liberties(self.size, stones, stone)
        if len(moves) == 1:
            return self._play(stones, next(iter(moves)), attacker, ko) is not None
        if len(moves) > 2:
            return False

        def closed(move: int) -> tuple[int, int]:
            return sum(near is None or near in stones for near in self._sides(move)), move

        for move in sorted(moves, key=closed):
            played = self._play(stones, move, attacker, ko)
            if played and self.captured_after_defence(played[0], stone, played[1], depth + 1):
                return True
        return False

    def _sides(self, point: int) -> list[int | None]:
        """Four neighbours; off the board counts as taken."""
        near: list[int | None] = list(neighbours(self.size, point))
        return near + [None] * (4 - len(near))

    def captured_after_defence(
        self, stones: Stones, stone: int, ko: int | None, depth: int
    ) -> bool:
        """D: the defender is to move."""
        self._count(depth)
        own = liberties(self.size, stones, stone)
        if len(own) >= 2:
            return False
        defender = stones[stone]
        captures: set[int] = set()
        for member in chain(self.size, stones, stone):
            for near in neighbours(self.size, member):
                if stones.get(near) == 1 - defender:
                    weak = liberties(self.size, stones, near)
                    if len(weak) == 1:
                        captures |= weak
        for move in [*own, *sorted(captures - own)]:
            played = self._play(stones, move, defender, ko)
            if played and not self.captured_by_attacker(played[0], stone, played[1], depth + 1):
                return False
        return True
