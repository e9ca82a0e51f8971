"""The plugin: what the framework knows of shogi."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal, get_args

import numpy as np
import pydantic
from numpy.typing import NDArray
from zerogames_kernels import Pattern

from zerogames.base_game import BaseGame
from zerogames.game import Encoding, GameSpec, Heads, PolicyMap, State, Symmetry
from zerogames.nets.names import parse_net_name
from zerogames.nets.spec import InputScale, NetSpec
from zerogames_shogi import _native
from zerogames_shogi.patterns import PATTERNS

if TYPE_CHECKING:
    from zerogames_shogi.picture import ShogiPicture

SIZE = 9
NUM_ACTION_PLANES = 27
"""Ten directions, the same with promotion, seven kinds in hand."""
NUM_ACTIONS = NUM_ACTION_PLANES * SIZE * SIZE

Handicap = Literal[
    "none", "lance", "bishop", "rook", "rook-lance", "two", "four", "six", "eight", "ten"
]
_HANDICAP_RANKS: dict[Handicap, str] = {
    "none": "lnsgkgsnl/1r5b1",
    "lance": "lnsgkgsn1/1r5b1",
    "bishop": "lnsgkgsnl/1r7",
    "rook": "lnsgkgsnl/7b1",
    "rook-lance": "lnsgkgsn1/7b1",
    "two": "lnsgkgsnl/9",
    "four": "1nsgkgsn1/9",
    "six": "2sgkgs2/9",
    "eight": "3gkg3/9",
    "ten": "4k4/9",
}
"""White's first two ranks."""


@dataclass(frozen=True, kw_only=True)
class ShogiOptions:
    """The options of shogi."""

    handicap: Handicap = "none"
    """The pieces that White plays without; White then moves first. `two`: rook and bishop."""
    entering_king: Literal["27-points", "none"] = "27-points"
    """Whether a king in the promotion zone wins by the 27-point declaration, claimed at once."""
    max_plies: Annotated[int, pydantic.Field(ge=1, le=1024)] = 512
    """The number of moves after which a game is drawn."""


def start_sfen(handicap: Handicap) -> str:
    """Return the start position of a handicap."""
    side = "b" if handicap == "none" else "w"
    ranks = _HANDICAP_RANKS[handicap]
    return f"{ranks}/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL {side} - 1"


HANDICAPS: tuple[Handicap, ...] = get_args(Handicap)

_HAND_KINDS = ("pawns", "lances", "knights", "silvers", "golds", "bishops", "rooks")
_KINDS = (
    *_HAND_KINDS,
    "king",
    *("promoted pawns", "promoted lances", "promoted knights", "promoted silvers"),
    *("promoted bishops", "promoted rooks"),
)
_PLANES = (
    *(f"our {kind}" for kind in _KINDS),
    *(f"their {kind}" for kind in _KINDS),
    "squares we attack",
    "squares they attack",
    "files with a pawn of ours",
    "files with a pawn of theirs",
    *(f"our {kind} in hand" for kind in _HAND_KINDS),
    *(f"their {kind} in hand" for kind in _HAND_KINDS),
    "earlier occurrences of the position",
    "in check",
    "White to move",
    "ones",
)


def _input_scale() -> InputScale:
    """The factors that bring counts to at most 1."""
    most = {"pawns": 18, "bishops": 2, "rooks": 2}
    first = _PLANES.index("our pawns in hand")
    hands = [1 / most.get(kind, 4) for kind in _HAND_KINDS] * 2
    return (*((first + i, factor) for i, factor in enumerate(hands)), (first + len(hands), 1 / 3))


class Shogi(BaseGame):
    """Actions are 81 * plane + target square in the mover's view, written as USI moves.

    The planes: the directions up, up-left, up-right, left, right, down, down-left, down-right and
    the knight's two jumps; the same with promotion; drops of pawn, lance, knight, silver, gold,
    bishop and rook. The mover's pieces move up; square 0 is then its own 9a, the far left corner.
    """

    def __init__(self, options: ShogiOptions) -> None:
        super().__init__("shogi", options)
        self.declaration = options.entering_king == "27-points"
        self.max_plies = options.max_plies
        self.start = start_sfen(options.handicap)
        self.encodings: Mapping[str, Encoding] = {
            "board": Encoding(
                name="board", planes=_PLANES, height=SIZE, width=SIZE, num_constant_planes=18
            )
        }
        self.spec = GameSpec(
            name=self.name,
            identity=self.identity,
            action_size=NUM_ACTIONS,
            observation_shape=self.encodings["board"].shape,
            max_plies=self.max_plies,
        )
        labels = np.arange(NUM_ACTIONS, dtype=np.int32)
        self.heads = Heads(
            policy=("conv", "dense"),
            value=("wdl", "scalar"),
            auxiliary=("moves_left",),
            policy_maps={"conv": PolicyMap(planes=NUM_ACTION_PLANES, index=labels)},
        )
        # The start is no mirror image of itself, but every rule is the same in the mirror, so what
        # was learnt of a position holds for its image; a small net sees twice the positions.
        cells = np.arange(SIZE * SIZE, dtype=np.int32)
        self.symmetries: Sequence[Symmetry] = (
            Symmetry("identity", cells, labels),
            Symmetry("mirror", _mirrored(cells), _mirrored_labels(labels)),
        )

    @property
    def default_net(self) -> str:
        """A small net with kernels of rooks, bishops, knights and golds."""
        return "mob_rbng_4x48"

    @property
    def patterns(self) -> Mapping[str, Pattern]:
        """The moves of the pieces; see `zerogames_shogi.patterns`."""
        return PATTERNS

    def parse_net(self, name: str) -> NetSpec:
        """Read a net's name; counts of pieces in hand are divided by the most there may be."""
        return parse_net_name(name, self, input_scales={"board": _input_scale()})

    def initial_state(self) -> State:
        """The start position of the handicap."""
        return self.parse_state(self.start)

    def parse_state(self, text: str) -> State:
        """Read an SFEN; the move's number may be left out."""
        return _native.State.from_sfen(text, self.declaration, self.max_plies)

    def format_state(self, state: State) -> str:
        """The SFEN."""
        return str(state)

    def parse_action(self, state: State, text: str) -> int:
        """Read a move as USI: `7g7f`, `8h2b+`, `P*5e`."""
        return native_state(state).parse_usi(text)

    def format_action(self, state: State, action: int) -> str:
        """The move as USI."""
        return native_state(state).usi(action)

    @property
    def sides(self) -> tuple[str, str]:
        """The colours, the first player's first."""
        return "Black", "White"

    def render(self, state: State, *, last_action: int | None = None) -> "ShogiPicture":
        """The board from Black's side with both hands, the last move's target marked."""
        from zerogames_shogi.picture import ShogiPicture

        return ShogiPicture(native_state(state), last_action)


def native_state(state: State) -> _native.State:
    """The state as what it is."""
    if not isinstance(state, _native.State):
        raise TypeError(f"a shogi state is wanted, not {type(state).__name__}")
    return state


def _mirrored(cells: NDArray[np.int32]) -> NDArray[np.int32]:
    return cells.reshape(-1, SIZE)[:, ::-1].ravel()


def _mirrored_labels(labels: NDArray[np.int32]) -> NDArray[np.int32]:
    ways = np.array([0, 2, 1, 4, 3, 5, 7, 6, 9, 8])
    planes = np.concatenate([ways, 10 + ways, np.arange(20, NUM_ACTION_PLANES)])
    return np.ascontiguousarray(labels.reshape(-1, SIZE, SIZE)[planes][:, :, ::-1]).ravel()
