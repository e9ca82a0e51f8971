"""What a game is: the surface every plugin has and everything else is written against.

Views: `State.result` is the first player's; `State.observe`, actions and all values that a net or
the search handles are the side to move's.
"""

import math
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray
from zerogames_kernels import Pattern

from zerogames.errors import UserError, unknown_name
from zerogames.picture import Picture

if TYPE_CHECKING:
    from zerogames.data.formats import GameData
    from zerogames.export.formats import ExportFormat
    from zerogames.nets.block_kinds import BlockKind
    from zerogames.nets.heads import PolicyHead
    from zerogames.nets.model import Model
    from zerogames.nets.published import PublishedTable
    from zerogames.nets.spec import NetSpec


@dataclass(frozen=True, kw_only=True)
class GameSpec:
    """The numbers of a game with its options."""

    name: str
    """The plugin's name, e.g. `go`."""
    identity: str
    """Name and options that differ from the defaults, e.g. `go:size=9`."""
    action_size: int
    """Number of policy entries A."""
    observation_shape: tuple[int, int, int]
    """Planes, height, width of the default encoding."""
    max_plies: int
    """The longest game that the rules allow; a match ends a longer one as a draw. Self-play has a
    limit of its own, `--pool.max-plies`."""
    in_python: bool = False
    """The rules are written in Python and are meant to be; without it the first search of such a
    game warns that it is slow."""
    acts_again: bool = False
    """A side may act several times in a row: its turn is more than one action. Where sides always
    take turns, what is known of a ply's player needs no replay of the game."""


@dataclass(frozen=True, kw_only=True)
class Encoding:
    """A named way to turn a state into planes."""

    name: str
    planes: tuple[str, ...]
    """The meaning of each plane."""
    height: int
    width: int
    num_constant_planes: int = 0
    """The last planes, each one number everywhere; all others are bits."""
    options: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Option name to values, the default first; written `name:option=value`."""

    @property
    def shape(self) -> tuple[int, int, int]:
        """Planes, height, width."""
        return len(self.planes), self.height, self.width

    def unpack(self, packed: bytes) -> NDArray[np.float32]:
        """Expand what `State.pack` gave to float32 `[P, H, W]`."""
        cells = self.height * self.width
        words = math.ceil(cells / 64)
        num_bit_planes = len(self.planes) - self.num_constant_planes
        bit_bytes = num_bit_planes * words * 8
        if len(packed) != bit_bytes + 4 * self.num_constant_planes:
            raise UserError(f"{len(packed)} bytes are not a packed '{self.name}' observation")
        bits = np.frombuffer(packed, np.uint8, bit_bytes).reshape(num_bit_planes, words * 8)
        bit_planes = np.unpackbits(bits, axis=1, bitorder="little")[:, :cells]
        constants = np.frombuffer(packed, "<f4", offset=bit_bytes)
        planes = np.empty((len(self.planes), cells), np.float32)
        planes[:num_bit_planes] = bit_planes
        planes[num_bit_planes:] = constants[:, None]
        return planes.reshape(self.shape)


@dataclass(frozen=True, eq=False)
class Symmetry:
    """A transformation of the board under which the game is the same.

    Both permutations say where each new entry comes from: `new = old[permutation]`.
    """

    name: str
    cells: NDArray[np.int32]
    """`[H * W]`, row-major."""
    actions: NDArray[np.int32]
    """`[A]`."""

    def planes(self, planes: NDArray[np.float32]) -> NDArray[np.float32]:
        """Transform planes `[..., H, W]`."""
        flat = planes.reshape(*planes.shape[:-2], -1)
        return flat[..., self.cells].reshape(planes.shape)

    def policy(self, policy: NDArray[np.float32]) -> NDArray[np.float32]:
        """Transform numbers per action `[..., A]`."""
        return policy[..., self.actions]


@dataclass(frozen=True, eq=False)
class PolicyMap:
    """The places of the actions' logits on the planes of a convolutional policy head."""

    planes: int
    index: NDArray[np.int32]
    """`[A]` into the flattened `[planes, H, W]`; -1 for an action that has no plane (a pass)."""


@dataclass(frozen=True, kw_only=True)
class PolicyKind:
    """A kind of policy head; those of every game are in `zerogames.nets.head_kinds`."""

    name: str
    """The name in specs and in the options of net names, e.g. `conv`."""
    load: "Callable[[], type[PolicyHead]]"
    """Imports the class; called when a net is made."""
    any_board: bool = False
    """Whether the same weights serve every board size."""
    sizes: str = ""
    """A regular expression for the sizes that may follow the name, e.g. `+attention48.56`."""

    def fits_sizes(self, option: str) -> bool:
        """Whether an option is this kind's name with sizes."""
        found = re.fullmatch(f"{self.name}({self.sizes})", option, re.ASCII)
        return found is not None and bool(found[1])


@dataclass(frozen=True, kw_only=True)
class EndTarget:
    """A property of a game's end that nets may learn to predict, to learn faster.

    Nets have a head for it if their name says so (`+ownership`); the numbers come from the `end` of
    the plugin's `zerogames.data.formats.GameData`.
    """

    name: str
    """The name, which is also the option in names of nets."""
    per_cell: bool
    """A number from -1 to 1 for every cell of the board, or one number."""
    weight: float
    """The weight of its loss: cross-entropy, mean over the cells, or Huber's."""
    delta: float = 1.0
    """The error at which Huber's loss becomes linear."""


@dataclass(frozen=True, kw_only=True)
class NetFamily:
    """A kind of whole nets of a game's own, instead of a stem, blocks and heads from here."""

    name: str
    """The name in `NetSpec.family`."""
    load: "Callable[[], Callable[[NetSpec, Game], Model]]"
    """Imports the class; called when a net is made."""
    any_board: bool = False
    """Whether the same weights serve every board size."""


@dataclass(frozen=True, kw_only=True)
class Heads:
    """The heads a game's nets may have, the default first."""

    policy: tuple[str, ...]
    value: tuple[str, ...]
    auxiliary: tuple[str, ...] = ()
    """The further heads, such as `moves_left`."""
    policy_maps: Mapping[str, PolicyMap] = field(default_factory=dict)
    """The maps of the convolutional ones among `policy`."""
    kinds: tuple[PolicyKind, ...] = ()
    """The kinds of policy heads that only this game has."""
    families: tuple[NetFamily, ...] = ()
    """The kinds of whole nets that only this game has."""
    ends: tuple[EndTarget, ...] = ()
    """Heads for training only."""


class State(Protocol):
    """A position with the history that rules and encoders need; an immutable value."""

    @property
    def to_play(self) -> int:
        """0 first player, 1 second; unspecified once the game is over."""

    @property
    def plies(self) -> int:
        """Moves played since the initial or parsed position."""

    def legal_actions(self) -> NDArray[np.int32]:
        """Ascending; empty once the game is over."""

    def is_legal(self, action: int) -> bool:
        """False also for numbers outside the action space."""

    def play(self, action: int) -> Self:
        """Return the next state; raise `UserError` for an illegal action."""

    @property
    def result(self) -> float | None:
        """+1 the first player won, 0 draw, -1 the second won, None while the game is not over."""

    @property
    def end_reason(self) -> str:
        """The reason of the result, such as `checkmate`; empty while the game is not over."""

    def observe(self, encoding: str, out: NDArray[np.float32] | None = None) -> NDArray[np.float32]:
        """Planes `[P, H, W]` in the side to move's view, raw values, into `out` if given."""

    @property
    def position_key(self) -> int:
        """Equal for equal positions under the game's repetition rule."""

    @property
    def observation_key(self) -> int:
        """Covers everything an encoder reads; keys the evaluation cache."""


class Solver(Protocol):
    """Knows the result of every position with best play; one thread at a time, but for `stop`."""

    @property
    def quick_plies(self) -> int:
        """Plies from which a position takes a second at most; before, it may take minutes."""

    def action_results(self, state: State) -> NDArray[np.int8]:
        """`[L]` for the legal actions: +1 won, 0 drawn, -1 lost, in the view of who plays them."""

    def best_actions(self, state: State) -> NDArray[np.int32]:
        """Actions that keep the result, at least one; the quickest wins and longest losses where
        they are cheap to find.
        """  # noqa: D205

    def stop(self) -> None:
        """End a running call with a `UserError`; from any thread, and refuse all later ones."""


class Game(Protocol):
    """A game with its options; made by its plugin, see `zerogames.get_game`."""

    @property
    def spec(self) -> GameSpec:
        """Name, sizes and limits."""

    @property
    def sides(self) -> tuple[str, str]:
        """The names of the players, such as White and Black."""

    def initial_state(self) -> State:
        """The position games start from."""

    def parse_state(self, text: str) -> State:
        """Read what `format_state` wrote; raise `UserError` with the reason for anything else."""

    def format_state(self, state: State) -> str:
        """One line that holds the position, such as a FEN."""

    def parse_action(self, state: State, text: str) -> int:
        """Read a legal move; raise `UserError` otherwise."""

    def format_action(self, state: State, action: int) -> str:
        """Write a move as players of the game do."""

    def notation(self, state: State, action: int) -> str:
        """Write a move as books of the game do, for people to read."""

    def action_cells(self, state: State, action: int, names: Collection[str]) -> Sequence[str]:
        """Name the cells of the picture that a person points at, one after another, for a move.

        `names` are those of the picture. An empty answer stands for a move without cells, such as
        a pass. Moves with equal cells, such as promotions, are told apart by their texts.
        """

    @property
    def encodings(self) -> Mapping[str, Encoding]:
        """The encodings by name, the default first."""

    @property
    def symmetries(self) -> Sequence[Symmetry]:
        """The identity first."""

    @property
    def patterns(self) -> Mapping[str, Pattern]:
        """Board-shaped kernels by the letter they have in net names."""

    @property
    def heads(self) -> Heads:
        """The heads its nets may have."""

    def parse_net(self, name: str) -> "NetSpec":
        """Read the name of a net for this game; raise `UserError` otherwise."""

    @property
    def default_net(self) -> str:
        """The net to start with: small, fast on a CPU."""

    @property
    def published_nets(self) -> "Sequence[PublishedTable]":
        """Tables of nets that papers on the game give, for `zerogames info --papers`."""

    def sensible_actions(self, state: State, net: "NetSpec | None" = None) -> Sequence[int] | None:
        """The legal actions that a player with this net chooses from; None for all of them."""

    def new_solver(self) -> Solver | None:
        """A solver if the game is solved, else None."""

    def render(self, state: State, *, last_action: int | None = None) -> Picture:
        """Draw the position; a picture prints itself as colour text, SVG or pixels."""


@dataclass(frozen=True, kw_only=True)
class GamePlugin:
    """Everything that a game offers; an entry point of the group `zerogames.games` names it.

    Listing the games and finding a net by its ending import the plugins, so a plugin imports
    neither torch nor onnx: the functions below import what they need when they are called.
    """

    name: str
    """The game's name in identities, e.g. `go`."""
    title: str
    """The name as a person writes it; also the gymnasium id, e.g. `Connect4`."""
    options: type[Any]
    """A frozen dataclass with a default and a docstring for every field."""
    create: "Callable[[Any], Game]"
    """Makes the game from its options."""
    data: "Callable[[Any], GameData] | None" = None
    """Takes the game; returns the data files that it reads and writes beside those of all games."""
    openings: "Callable[[Any], str] | None" = None
    """Takes the game; returns its book of openings: in each line the moves, then # and a name."""
    net_formats: "Mapping[str, Callable[[Path], Model]]" = field(default_factory=dict)
    """Readers of other programs' nets, by the ending of their files, e.g. `.pb.gz`."""
    block_kinds: "tuple[BlockKind, ...]" = ()
    """Kinds of blocks that only this game's nets may have."""
    export_formats: "Mapping[str, Callable[[], ExportFormat]]" = field(default_factory=dict)
    """Formats to export nets to, by the name users write; a function returns the format."""
    needs: str = ""
    """A module of another distribution; where that is missing, the game is not listed."""
    members: "Callable[[], Mapping[str, str]] | None" = None
    """For a plugin that stands for many games: their identities, each with its further options."""


def find_encoding(game: Game, text: str) -> Encoding:
    """Find the encoding that `name` or `name:option=value` names; raise `UserError` otherwise."""
    name = text.partition(":")[0]
    if name not in game.encodings:
        raise unknown_name(f"encoding of {game.spec.name}", name, game.encodings)
    return game.encodings[name]


def play_actions(state: State, actions: Sequence[int]) -> State:
    """Play several actions."""
    for action in actions:
        state = state.play(int(action))
    return state


def format_actions(game: Game, state: State, actions: Iterable[int]) -> list[str]:
    """Write a line of actions from `state` on as moves."""
    texts = []
    for action in actions:
        texts.append(game.format_action(state, int(action)))
        state = state.play(int(action))
    return texts


def parse_actions(game: Game, state: State, moves: Iterable[str]) -> list[int]:
    """Read a line of moves from `state` on; raise `UserError` for one that is not legal."""
    actions = []
    for move in moves:
        actions.append(game.parse_action(state, move))
        state = state.play(actions[-1])
    return actions


def parse_position(game: Game, text: str) -> State:
    """Read `[startpos | <position>] [moves <move> ...]`, as users write positions."""
    position, _, moves = f" {text.strip()} ".partition(" moves ")
    position = position.strip()
    state = game.initial_state() if position in ("", "startpos") else game.parse_state(position)
    return play_actions(state, parse_actions(game, state, moves.split()))
