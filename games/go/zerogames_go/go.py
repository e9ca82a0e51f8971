"""Go as a plugin."""

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, cast

import numpy as np
from numpy.typing import NDArray
from zerogames_kernels import Pattern

from zerogames.base_game import BaseGame
from zerogames.errors import UserError
from zerogames.game import (
    Encoding,
    EndTarget,
    GameSpec,
    Heads,
    NetFamily,
    PolicyKind,
    PolicyMap,
    State,
    Symmetry,
)
from zerogames.nets.published import PublishedTable
from zerogames.nets.spec import NetSpec
from zerogames.picture import BoardPicture, Piece
from zerogames.symmetry import square_symmetries
from zerogames_go import _native
from zerogames_go.katago.layout import is_katago_name, parse_katago_name
from zerogames_go.leela_zero.names import is_leela_zero_name, parse_leela_zero_name
from zerogames_go.options import GoOptions, native_rules
from zerogames_go.paper_nets import is_paper_name, parse_paper_name
from zerogames_go.patterns import PATTERNS

if TYPE_CHECKING:
    from zerogames.nets.heads import PolicyHead
    from zerogames_go.katago.model import KataGoModel

COLUMN_LETTERS = "ABCDEFGHJKLMNOPQRSTUVWXYZ"
"""The letter I is skipped."""

_BLACK = Piece("X", "#101010")
_WHITE = Piece("O", "#f8f8f8")

_GOLOIS_PLANES = (
    "Black to play",
    "own stones in a lost ladder",
    "opponent's stones in a lost ladder",
    "own stones in an unsettled ladder",
    "opponent's stones in an unsettled ladder",
    *(f"stones of chains with {n} libert{'y' if n == 1 else 'ies'}" for n in range(1, 6)),
    "stones of chains with 6 or more liberties",
    "own stones",
    "opponent's stones",
    *(
        f"{side} stones {ago} pl{'y' if ago == 1 else 'ies'} ago"
        for ago in range(1, 5)
        for side in ("own", "opponent's")
    ),
)
_LEELA_PLANES = (
    *(
        f"{side} stones" + (f" {ago} pl{'y' if ago == 1 else 'ies'} ago" if ago else "")
        for side in ("own", "opponent's")
        for ago in range(8)
    ),
    "Black to play",
    "White to play",
)
_KATAGO_PLANES = (
    "on the board",
    "own stones",
    "opponent's stones",
    *(f"stones of chains with {n} libert{'y' if n == 1 else 'ies'}" for n in range(1, 4)),
    "points that a ko or superko forbids",
    "ko recapture bans of the clean-up phases",
    "unused",
    *(f"move {ago} pl{'y' if ago == 1 else 'ies'} ago" for ago in range(1, 6)),
    "stones in a ladder",
    "stones in a ladder 1 ply ago",
    "stones in a ladder 2 plies ago",
    "own moves that start a working ladder",
    "own area",
    "opponent's area",
    "own stones at the second clean-up phase",
    "opponent's stones at the second clean-up phase",
    *(f"pass {ago} pl{'y' if ago == 1 else 'ies'} ago" for ago in range(1, 6)),
    "own komi / 20",
    "ko rule: not simple",
    "ko rule: positional 0.5, situational -0.5",
    "suicide is legal",
    "territory scoring",
    "tax on seki",
    "tax on all groups",
    "a clean-up phase",
    "the second clean-up phase",
    "a pass would end the game",
    "a playout advantage is given",
    "playout advantage / 2",
    "a button is to be taken",
    "parity of board and komi",
)
_KATAGO_NUMBERS = 19
_BLACK_TO_PLAY = {"golois-21": 0, "leela-18": 16}
"""The plane that is one everywhere when Black is to play, by encoding."""


class Go(BaseGame):
    """Actions are row * size + column, row 0 at the bottom; the last one, size * size, passes.

    Black is the first player, also when White begins a handicap game.
    """

    def __init__(self, options: GoOptions) -> None:
        super().__init__("go", options)
        self.size = size = options.size
        self._rules = native_rules(options)
        self._start = _native.Go(size, self._rules, handicap=options.handicap)
        history = {"history": ("zero", "repeat")}
        self.encodings: Mapping[str, Encoding] = {
            "golois-21": Encoding(
                name="golois-21",
                planes=_GOLOIS_PLANES,
                height=size,
                width=size,
                options=history
                | {
                    "ladder-nodes": ("1000", "100", "10000"),
                    "ladder-depth": ("100", "50", "200"),
                },
            ),
            "leela-18": Encoding(
                name="leela-18",
                planes=_LEELA_PLANES,
                height=size,
                width=size,
                num_constant_planes=2,
                options=history,
            ),
            "katago-v7": Encoding(
                name="katago-v7",
                planes=_KATAGO_PLANES,
                height=size,
                width=size,
                num_constant_planes=_KATAGO_NUMBERS,
                options={
                    "conservative-pass": ("off", "on"),
                    "pass-alive": ("rules", "suicide"),
                    "handicap-bonus": ("none", "stones", "stones-1"),
                },
            ),
        }
        self.spec = GameSpec(
            name=self.name,
            identity=self.identity,
            action_size=size * size + 1,
            observation_shape=self.encodings["golois-21"].shape,
            max_plies=self._start.rules.max_plies,
        )
        points = np.append(np.arange(size * size), -1).astype(np.int32)
        self.heads = Heads(
            policy=("conv", "dense"),
            value=("wdl", "scalar", "binary"),
            policy_maps={"conv": PolicyMap(planes=1, index=points)},
            kinds=(PolicyKind(name="leelaz", load=_leela_zero_policy),),
            families=(NetFamily(name="katago", load=_katago_model, any_board=True),),
            ends=(
                EndTarget(name="ownership", per_cell=True, weight=0.3),
                EndTarget(name="score", per_cell=False, weight=0.0015, delta=12.0),
            ),
        )
        self.symmetries: Sequence[Symmetry] = square_symmetries(size, num_other_actions=1)

    @property
    def patterns(self) -> Mapping[str, Pattern]:
        """Cross, diagonals and keima; see `zerogames_go.patterns`."""
        return PATTERNS

    @property
    def published_nets(self) -> Sequence[PublishedTable]:
        """The table of the MobileNet-for-Go papers."""
        from zerogames_go.published import PUBLISHED

        return (PUBLISHED,)

    def parse_net(self, name: str) -> NetSpec:
        """Read a name of the papers on Go, such as `mobile.small`, or of the general form."""
        if is_paper_name(name):
            return parse_paper_name(name, self, first_player_planes=_BLACK_TO_PLAY)
        if is_leela_zero_name(name):
            return parse_leela_zero_name(name, self)
        if is_katago_name(name):
            return parse_katago_name(name, self)
        return super().parse_net(name)

    @property
    def default_net(self) -> str:
        """A small net of depthwise blocks."""
        return "mob_3x3_4x48"

    def initial_state(self) -> State:
        """The empty board, Black to move; with a handicap its stones, White to move."""
        return self._start

    def parse_state(self, text: str) -> State:
        """Read a position as one SGF tree of this size: set-up, then moves of the main line.

        `AB`, `AW` hold stones, `PL` the side to move, `KM` the komi if it is another one. Two
        properties are ours: `XK`, points that a ko forbids, and `XP`, passes just played.
        """
        return _native.Go.from_sgf(text, self.size, self._rules)

    def format_state(self, state: State) -> str:
        """The position on one line, e.g. `(;GM[1]FF[4]SZ[9]KM[7]AB[ee]PL[W])`."""
        return str(state)

    def parse_action(self, state: State, text: str) -> int:
        """Read a point such as `Q16` (no letter I), or `pass`."""
        action = self.parse_point(text)
        if not state.is_legal(action):
            reason = "is not legal here" if state.result is None else "comes after the end"
            raise UserError(f"'{text}' {reason}")
        return action

    def parse_point(self, text: str) -> int:
        """Read a point or `pass`, legal or not."""
        if text.lower() == "pass":
            return self.size * self.size
        letters = COLUMN_LETTERS[: self.size]
        column = letters.find(text[0].upper()) if text else -1
        row = int(text[1:]) - 1 if text[1:].isascii() and text[1:].isdecimal() else -1
        if column < 0 or not 0 <= row < self.size:
            raise UserError(
                f"'{text}' is not a move; write a point from A1 to {letters[-1]}{self.size}"
                " (there is no I), or pass"
            )
        return row * self.size + column

    def format_action(self, state: State, action: int) -> str:
        """A point such as `Q16`, or `pass`."""
        if action == self.size * self.size:
            return "pass"
        return f"{COLUMN_LETTERS[action % self.size]}{action // self.size + 1}"

    def sensible_actions(self, state: State, net: NetSpec | None = None) -> Sequence[int]:
        """What a player with this net chooses from: no own eye is filled, no won game passed away.

        A net without a logit for passing passes only when nothing else is sensible.
        """
        from zerogames_go.passing import options_to_move

        options = options_to_move(
            _go_state(state),
            rules=self.options.rules,
            net_has_pass=net is None or net.pass_logit,
        )
        return options.actions

    def area_score(self, state: State) -> float:
        """Black's area less White's and the komi, every stone counted where it stands."""
        return _go_state(state).score

    def ownership(self, state: State) -> NDArray[np.int8]:
        """`[size, size]`, row 0 at the bottom: +1 Black's area, -1 White's, 0 nobody's."""
        return _go_state(state).ownership()

    @property
    def sides(self) -> tuple[str, str]:
        """The colours, the first player's first."""
        return "Black", "White"

    def render(self, state: State, *, last_action: int | None = None) -> BoardPicture:
        """A wooden board with row 1 at the bottom; the caption tells turn or result."""
        stones = _go_state(state).board()[::-1]
        size = self.size
        highlight = frozenset[tuple[int, int]]()
        if last_action is not None and last_action < size * size:
            highlight = frozenset({(size - 1 - last_action // size, last_action % size)})
        by_sign = {1: _BLACK, -1: _WHITE, 0: None}
        return BoardPicture(
            pieces=[[by_sign[int(stone)] for stone in row] for row in stones],
            column_labels=list(COLUMN_LETTERS[:size]),
            row_labels=[str(size - row) for row in range(size)],
            light="#dcb468",
            dark="#dcb468",
            crossings=True,
            dots=frozenset(star_points(size)),
            highlight=highlight,
            caption=_caption(_go_state(state)),
        )


def _leela_zero_policy() -> "type[PolicyHead]":
    from zerogames_go.leela_zero.policy import LeelaZeroPolicy

    return LeelaZeroPolicy


def _katago_model() -> "type[KataGoModel]":
    from zerogames_go.katago.model import KataGoModel

    return KataGoModel


def _go_state(state: State) -> _native.Go:
    return cast(_native.Go, state)


def _caption(state: _native.Go) -> str:
    if state.result is None:
        turn = "White" if state.to_play else "Black"
        passed = ", the opponent passed" if state.passes else ""
        return f"{turn} to play{passed}"
    lead = state.score
    result = "draw" if lead == 0 else f"{'B' if lead > 0 else 'W'}+{abs(lead):g}"
    return f"{result} ({state.end_reason})"


def star_points(size: int) -> list[tuple[int, int]]:
    """Rows and columns of the marked points of a board."""
    if size < 7:
        return [(size // 2, size // 2)] if size % 2 else []
    low = 3 if size >= 13 else 2
    lines = [low, size - 1 - low]
    if size % 2 and size >= 13:
        lines.append(size // 2)
    points = [(row, column) for row in lines for column in lines]
    if size % 2 and size < 13:
        points.append((math.floor(size / 2), math.floor(size / 2)))
    return points
