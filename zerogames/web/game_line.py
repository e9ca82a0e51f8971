"""A line of moves as the page sends it, replayed; and what the page shows of its last position.

The page sends the whole line each time: the server keeps no games, so a page goes on where it was
after the server was started again. Lines that were replayed are remembered for speed alone.
"""

import re
import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass

from zerogames.errors import UserError
from zerogames.game import Game, State
from zerogames.picture import CellPicture
from zerogames.registry import get_game

LARGEST_LINE = 5000
"""The most plies of a line."""
_KEPT_LINES = 32


@dataclass(frozen=True)
class GameLine:
    """A start and the moves after it."""

    game: Game
    start: str
    """As `Game.format_state` writes it; empty for the initial position."""
    actions: tuple[int, ...]
    states: tuple[State, ...]
    """One more than actions."""
    texts: tuple[str, ...]
    """The moves as people read them."""

    @property
    def state(self) -> State:
        """The last position."""
        return self.states[-1]


class GameLines:
    """Replays lines, from the longest one that it remembers."""

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[str, str, tuple[int, ...]], GameLine] = OrderedDict()
        self._lock = threading.Lock()

    def replay(self, identity: str, start: str, actions: Sequence[int]) -> GameLine:
        """Replay a line; raise `UserError` for a position or a move that is not legal."""
        if len(actions) > LARGEST_LINE:
            raise UserError(f"the game is too long: {LARGEST_LINE} plies is the most")
        wanted = tuple(actions)
        line = self._known(identity, start, wanted)
        if line is None:
            game = get_game(identity)
            state = game.parse_state(start) if start else game.initial_state()
            line = GameLine(game, start, (), (state,), ())
        states, texts = list(line.states), list(line.texts)
        for action in wanted[len(line.actions) :]:
            fits = 0 <= action < line.game.spec.action_size
            if not (fits and states[-1].is_legal(action)):
                raise UserError(f"move {len(texts) + 1} is not legal")
            texts.append(line.game.notation(states[-1], action))
            states.append(states[-1].play(action))
        line = GameLine(line.game, start, wanted, tuple(states), tuple(texts))
        with self._lock:
            self._kept[identity, start, wanted] = line
            while len(self._kept) > _KEPT_LINES:
                self._kept.popitem(last=False)
        return line

    def _known(self, identity: str, start: str, wanted: tuple[int, ...]) -> GameLine | None:
        """Return the longest known line from which this one goes on."""
        with self._lock:
            lines = [
                line
                for (game, begin, actions), line in self._kept.items()
                if (game, begin) == (identity, start) and wanted[: len(actions)] == actions
            ]
        return max(lines, key=lambda line: len(line.actions), default=None)


_VIEW_BOX = re.compile(r'viewBox="([-\d.]+)[ ,]+([-\d.]+)[ ,]+([-\d.]+)[ ,]+([-\d.]+)"')


def show_position(line: GameLine, *, view: int = 0) -> dict[str, object]:
    """Describe the last position for the page, as the first (0) or second (1) player sees it."""
    game, state = line.game, line.state
    picture = game.render(state, last_action=line.actions[-1] if line.actions else None)
    if view and isinstance(picture, CellPicture):
        picture = picture.turned()
    svg = picture.svg()
    found = _VIEW_BOX.search(svg)
    cells = picture.cells if found and isinstance(picture, CellPicture) else ()
    names = {cell.name for cell in cells}
    return {
        "game": game.spec.identity,
        "sides": game.sides,
        "position": game.format_state(state),
        "svg": svg,
        "box": [float(number) for number in found.groups()] if found else [0, 0, 1, 1],
        "cells": [{"name": cell.name, "corners": cell.corners} for cell in cells],
        "legal": [
            {
                "action": action,
                "text": game.notation(state, action),
                "cells": list(game.action_cells(state, action, names)),
            }
            for action in state.legal_actions().tolist()
        ],
        "moves": line.texts,
        "movers": [before.to_play for before in line.states[:-1]],
        "to_play": state.to_play,
        "result": state.result,
        "reason": state.end_reason,
    }
