"""KataGo's input features, version 7, word for word, to compare the compiled encoder with."""

from dataclasses import dataclass, field
from math import floor

import numpy as np
from plain_go import Stones, chain, liberties, neighbours, place

PASS = -1


@dataclass
class PlainKataGo:
    """A game with what the features need; points are row * size + column, row 0 at the bottom."""

    size: int
    komi: float = 7.5
    ko: str = "positional"
    suicide: bool = True
    friendly_pass: bool = False
    bonus: str = "none"
    start: Stones = field(default_factory=dict)
    to_play: int = 0
    moves: list[tuple[int, int]] = field(default_factory=list)
    boards: list[Stones] = field(default_factory=list)
    """Before each move, and now."""
    ko_points: list[int | None] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.boards.append(self.start)
        self.ko_points.append(None)

    def play(self, action: int) -> None:
        stones, ko = self.boards[-1], None
        if action != PASS:
            stones, captured, dead = place(self.size, stones, action, self.to_play)
            if len(captured) == 1 and not dead and len(chain(self.size, stones, action)) == 1:
                ko = (
                    next(iter(captured))
                    if liberties(self.size, stones, action) == captured
                    else None
                )
        self.moves.append((self.to_play, action))
        self.boards.append(stones)
        self.ko_points.append(ko)
        self.to_play = 1 - self.to_play

    def turn(self) -> None:
        """The other side moves: the board becomes a new starting board."""
        self.start = self.boards[-1]
        self.moves, self.boards, self.ko_points = [], [self.start], [None]
        self.to_play = 1 - self.to_play

    def side_at(self, ply: int) -> int:
        """Who is to move before move number `ply`."""
        return self.moves[ply][0] if ply < len(self.moves) else self.to_play

    # Ends by KataGo's rules.

    def pass_repeats(self, ply: int) -> bool:
        """Whether the side to move before move `ply` has passed before in that position."""
        here = (self.boards[ply], self.side_at(ply))
        return self.ko == "simple" and any(
            action == PASS and (self.boards[i], colour) == here
            for i, (colour, action) in enumerate(self.moves[:ply])
        )

    def pass_would_end(self, ply: int) -> bool:
        passed = ply > 0 and self.moves[ply - 1][1] == PASS
        return passed or self.pass_repeats(ply)

    def ended_game(self, ply: int) -> bool:
        """Whether move number `ply` ended the game."""
        if self.moves[ply][1] == PASS:
            return self.pass_would_end(ply)
        if self.ko != "simple":
            return False
        passes = [i for i in range(ply) if self.moves[i][1] == PASS]
        first = passes[-1] + 1 if passes else 0
        positions = [(self.boards[i], self.side_at(i)) for i in range(first, ply + 2)]
        return positions.count(positions[-1]) >= 3

    # Features.

    def observe(self) -> np.ndarray:
        size, own = self.size, self.to_play
        now, ply = self.boards[-1], len(self.moves)
        planes = np.zeros((41, size * size), np.float32)
        planes[0] = 1
        for point, colour in now.items():
            planes[1 if colour == own else 2, point] = 1
            count = len(liberties(size, now, point))
            if count <= 3:
                planes[2 + count, point] = 1
        for point in self.banned():
            planes[6, point] = 1
        ends = self.pass_would_end(ply)
        passes = 0
        while passes < ply and self.moves[-1 - passes][1] == PASS:
            passes += 1
        hidden = ends and self.friendly_pass and passes == 1 and not self.pass_repeats(ply)
        used = 0
        while not hidden and used < min(5, ply):
            used += 1
            if self.ended_game(ply - used):
                break
        for ago in range(used):
            action = self.moves[-1 - ago][1]
            if action == PASS:
                planes[22 + ago] = 1
            else:
                planes[9 + ago, action] = 1
        marked, working = ladders(size, now, self.ko_points[-1], own)
        before = marked
        planes[14, list(marked)] = 1
        for ago in (1, 2):
            if used >= ago:
                before = ladders(size, self.boards[-1 - ago], self.ko_points[-1 - ago], own)[0]
            planes[14 + ago, list(before)] = 1
        planes[17, list(working)] = 1
        for point, colour in area(size, now, suicide=self.suicide).items():
            planes[18 if colour == own else 19, point] = 1
        komi = self.own_komi()
        planes[27] = komi / 20
        planes[28] = self.ko != "simple"
        planes[29] = {"simple": 0, "positional": 0.5, "situational": -0.5}[self.ko]
        planes[30] = self.suicide
        planes[36] = ends and not hidden
        planes[40] = wave(size, komi)
        return planes.reshape(41, size, size)

    def banned(self) -> set[int]:
        found = {self.ko_points[-1]} - {None}
        if self.ko != "simple":
            for point in set(range(self.size**2)) - set(self.boards[-1]):
                after, _, dead = place(self.size, self.boards[-1], point, self.to_play)
                if dead and (len(dead) == 1 or not self.suicide):
                    continue
                for ply, board in enumerate(self.boards):
                    same_side = self.side_at(ply) != self.to_play
                    if board == after and (self.ko == "positional" or same_side):
                        found.add(point)
        return found

    def own_komi(self) -> float:
        handicap = sum(colour == 0 for colour in self.start.values())
        for colour, action in self.moves:
            if colour == 1 and action != PASS:
                break
            handicap += colour == 0 and action != PASS
        if handicap < 2 or 1 in self.start.values():
            handicap = 0
        gift = {"none": 0, "stones": handicap, "stones-1": max(0, handicap - 1)}[self.bonus]
        komi = self.komi + gift if self.to_play == 1 else -self.komi - gift
        return min(max(komi, -(self.size**2) - 20), self.size**2 + 20)


def wave(size: int, komi: float) -> float:
    below = 2 * floor(komi / 2) if size % 2 == 0 else 2 * floor((komi - 1) / 2) + 1
    rest = komi - below
    return rest if rest < 0.5 else 1 - rest if rest < 1.5 else rest - 2


def area(size: int, stones: Stones, *, suicide: bool) -> Stones:
    """Owner of each point that has one, dead stones in pass-alive territory taken as dead."""
    owner: Stones = {}
    for colour in (0, 1):
        chains, found = [], set()
        for point in sorted(p for p, c in stones.items() if c == colour):
            if point not in found:
                chains.append(chain(size, stones, point))
                found |= chains[-1]
        if not chains:
            continue
        regions, found = [], set()
        for point in range(size**2):
            if point in found or stones.get(point) == colour:
                continue
            region, front = {point}, [point]
            while front:
                for near in neighbours(size, front.pop()):
                    if near not in region and stones.get(near) != colour:
                        region.add(near)
                        front.append(near)
            regions.append(region)
            found |= region

        def beside(chain: set[int]) -> set[int]:
            return {near for point in chain for near in neighbours(size, point)}

        alive = list(chains)
        while True:
            dropped = [chain for chain in chains if chain not in alive]
            enclosed = [r for r in regions if not any(beside(c) & r for c in dropped)]

            def is_vital(region: set[int], own: set[int]) -> bool:
                touched = {p for p in region if suicide or p not in stones}
                return bool(beside(own) & region) and touched <= beside(own)

            kept = [own for own in alive if sum(is_vital(r, own) for r in enclosed) >= 2]
            if len(kept) == len(alive):
                break
            alive = kept
        for own in alive:
            owner |= dict.fromkeys(own, colour)
        near_own = beside(set().union(*chains))
        for region in regions:
            enemies = any(point in stones for point in region)
            if region in enclosed and (len(region - near_own) <= 1 or not enemies):
                owner |= dict.fromkeys(region, colour)
            elif not enemies:
                owner |= dict.fromkeys(region - set(owner), colour)
    return stones | owner


# Ladders.


def play_on(
    size: int, stones: Stones, point: int, colour: int, ko: int | None
) -> tuple[Stones, int | None] | None:
    """The board after a legal move and the point a ko then forbids; None if it is illegal."""
    if point in stones or point == ko:
        return None
    after, captured, dead = place(size, stones, point, colour)
    if dead:
        return None
    alone = len(chain(size, after, point)) == 1
    is_ko = len(captured) == 1 and alone and liberties(size, after, point) == captured
    return after, next(iter(captured)) if is_ko else None


def ladders(size: int, stones: Stones, ko: int | None, own: int) -> tuple[set[int], set[int]]:
    """The stones in ladders, and the moves of `own` that start one."""
    marked: set[int] = set()
    working: set[int] = set()
    seen: set[int] = set()
    for stone, colour in stones.items():
        if stone in seen:
            continue
        members = chain(size, stones, stone)
        seen |= members
        free = liberties(size, stones, stone)
        if len(free) == 1 and defender_loses(size, stones, stone):
            marked |= members
        if len(free) == 2:
            starts = set()
            for move in free:
                played = play_on(size, stones, move, 1 - colour, ko)
                if played and defender_loses(size, played[0], stone):
                    starts.add(move)
            if starts:
                marked |= members
                working |= starts if colour != own else set()
    return marked, working


def defender_loses(size: int, stones: Stones, stone: int) -> bool:
    """The defender moves, no ko stands."""
    free = liberties(size, stones, stone)
    if len(free) >= 2:
        return False
    colour = stones[stone]
    moves = set(free)
    for member in chain(size, stones, stone):
        for near in neighbours(size, member):
            if stones.get(near) == 1 - colour and len(liberties(size, stones, near)) == 1:
                moves |= liberties(size, stones, near)
    for move in moves:
        played = play_on(size, stones, move, colour, None)
        if played and not attacker_wins(size, played[0], stone, played[1]):
            return False
    return True


def attacker_wins(size: int, stones: Stones, stone: int, ko: int | None) -> bool:
    free = liberties(size, stones, stone)
    if len(free) != 2:
        return len(free) < 2
    if double_ko(size, stones, stone, free):
        return True
    for move in free:
        played = play_on(size, stones, move, 1 - stones[stone], ko)
        if played and played[1] is None and defender_loses(size, played[0], stone):
            return True
    return False


def double_ko(size: int, stones: Stones, stone: int, free: set[int]) -> bool:
    defender = stones[stone]
    for point in free:
        weak = []
        for near in neighbours(size, point):
            if stones.get(near) != defender:
                return False
            if len(liberties(size, stones, near)) == 1:
                weak.append(near)
        if len(weak) != 1 or len(chain(size, stones, weak[0])) != 1:
            return False
    for point in free:
        if len(liberties(size, {**stones, point: defender}, point)) > 2:
            return False
    return not any(
        stones.get(near) == 1 - defender and len(liberties(size, stones, near)) == 1
        for member in chain(size, stones, stone)
        for near in neighbours(size, member)
    )
