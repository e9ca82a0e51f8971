"""The plugin: what the framework knows of chess."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
import pydantic
from numpy.typing import NDArray
from zerogames_kernels import Pattern

from zerogames.base_game import BaseGame
from zerogames.errors import UserError
from zerogames.game import (
    Encoding,
    GameSpec,
    Heads,
    PolicyKind,
    PolicyMap,
    State,
    Symmetry,
)
from zerogames.nets.names import parse_net_name
from zerogames.nets.published import PublishedTable
from zerogames.nets.spec import NetSpec
from zerogames_chess import _native
from zerogames_chess.attention_sizes import ATTENTION_SIZES
from zerogames_chess.patterns import PATTERNS

if TYPE_CHECKING:
    from zerogames.nets.heads import PolicyHead
    from zerogames_chess.picture import ChessPicture

NUM_ACTIONS = 1858
STANDARD_START = 518
"""The usual array among the 960."""
_STANDARD_FEN = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1"
CONV_PLANES = 80
"""The convolutional policy head's planes, of which 73 mean moves."""
ATTENTION_PLANES = 67
"""The attention policy's planes, counted in boards: from- by to-square, then 8 x 24 promotions."""
_UCI = re.compile(r"[a-h][1-8][a-h][1-8][a-z]?")


@dataclass(frozen=True, kw_only=True)
class ChessOptions:
    """The options of chess."""

    variant: Literal["standard", "960"] = "standard"
    """960: any of the 960 starts, and castling is written king takes rook."""
    start: Annotated[int, pydantic.Field(ge=0, le=959)] = STANDARD_START
    """Number of the Chess960 start position, 0 to 959."""

    def __post_init__(self) -> None:
        if self.variant == "standard" and self.start != STANDARD_START:
            raise ValueError("another start needs variant=960")


def _plane_names() -> tuple[str, ...]:
    pieces = ("pawns", "knights", "bishops", "rooks", "queens", "king")
    names = []
    for age in range(8):
        when = f"{age} plies ago" if age else "now"
        names += [f"our {piece}, {when}" for piece in pieces]
        names += [f"their {piece}, {when}" for piece in pieces]
        names.append(f"repeated, {when}")
    return (
        *names,
        "we may castle queen side",
        "we may castle king side",
        "they may castle queen side",
        "they may castle king side",
        "black to move",
        "plies since capture or pawn move",
        "zeros",
        "ones",
    )


class Chess(BaseGame):
    """Actions are Lc0's 1858 policy entries in the mover's view, written as UCI moves."""

    def __init__(self, options: ChessOptions) -> None:
        super().__init__("chess", options)
        self.chess960 = options.variant == "960"
        self._start_fen = _start_fen(options.start)
        self.encodings: Mapping[str, Encoding] = {
            "lc0-classic": Encoding(
                name="lc0-classic",
                planes=_plane_names(),
                height=8,
                width=8,
                num_constant_planes=8,
                options={"fill": ("fen_only", "always", "no")},
            )
        }
        self.spec = GameSpec(
            name=self.name,
            identity=self.identity,
            action_size=NUM_ACTIONS,
            observation_shape=self.encodings["lc0-classic"].shape,
            max_plies=512,
        )
        self.symmetries: Sequence[Symmetry] = (
            Symmetry(
                "identity", np.arange(64, dtype=np.int32), np.arange(NUM_ACTIONS, dtype=np.int32)
            ),
        )

    @cached_property
    def heads(self) -> Heads:
        """Lc0's heads."""
        return Heads(
            policy=("classical", "conv", "attention"),
            value=("wdl", "scalar"),
            auxiliary=("moves_left",),
            policy_maps={
                "conv": _policy_map(CONV_PLANES, _native.conv_policy_map()),
                "attention": _policy_map(ATTENTION_PLANES, _native.attention_policy_map()),
            },
            kinds=(PolicyKind(name="attention", load=_attention_policy, sizes=ATTENTION_SIZES),),
        )

    @property
    def default_net(self) -> str:
        """A small net with the pieces' own kernels."""
        return "mob_krb_4x48"

    @property
    def patterns(self) -> Mapping[str, Pattern]:
        """The moves of knights, rooks and bishops; see `zerogames_chess.patterns`."""
        return PATTERNS

    @property
    def published_nets(self) -> Sequence[PublishedTable]:
        """The table of the papers on board-shaped kernels."""
        from zerogames_chess.published import PUBLISHED

        return (PUBLISHED,)

    def parse_net(self, name: str) -> NetSpec:
        """Read a net's name; the rule-50 counter is divided by 99 as in Lc0's training."""
        return parse_net_name(name, self, input_scales={"lc0-classic": ((109, 1 / 99),)})

    def initial_state(self) -> State:
        """The start position, in Chess960 the one with the number `start`."""
        return _native.State.from_fen(self._start_fen, self.chess960)

    def parse_state(self, text: str) -> State:
        """Read a FEN; in Chess960 also X-FEN and Shredder-FEN castling rights."""
        return _native.State.from_fen(text, self.chess960)

    def format_state(self, state: State) -> str:
        """The FEN, with X-FEN castling rights in Chess960."""
        return str(state)

    def parse_action(self, state: State, text: str) -> int:
        """Read a move as UCI (`e2e4`, `e7e8q`, `e1g1`) or SAN (`Nf3`, `exd6`, `O-O`)."""
        native = _native_state(state)
        if _UCI.fullmatch(text):
            return native.parse_uci(text)
        if native.result is not None:
            raise UserError(f"the game is over: {native.end_reason}")
        import chess

        board = chess.Board(native.fen, chess960=native.chess960)
        try:
            move = board.parse_san(text)
        except chess.AmbiguousMoveError:
            raise UserError(f"'{text[:40]}' may be several moves here; name the square") from None
        except chess.IllegalMoveError:
            raise UserError(f"'{text[:40]}' is not legal here") from None
        except ValueError:
            raise UserError(f"'{text[:40]}' is not a move; write e.g. e2e4 or Nf3") from None
        return native.parse_uci(board.uci(move))

    def format_action(self, state: State, action: int) -> str:
        """The move as UCI; castling is e1g1, in Chess960 king takes rook."""
        return _native_state(state).uci(action)

    @property
    def sides(self) -> tuple[str, str]:
        """The colours, the first player's first."""
        return "White", "Black"

    def notation(self, state: State, action: int) -> str:
        """The move as SAN, such as `Nf3`."""
        import chess

        native = _native_state(state)
        board = chess.Board(native.fen, chess960=native.chess960)
        return board.san(chess.Move.from_uci(native.uci(action)))

    def render(self, state: State, *, last_action: int | None = None) -> "ChessPicture":
        """The board from White's side, with the last move and a check marked."""
        from zerogames_chess.picture import ChessPicture

        return ChessPicture(_native_state(state), last_action)


def _attention_policy() -> "type[PolicyHead]":
    from zerogames_chess.attention_policy import AttentionPolicy

    return AttentionPolicy


def _start_fen(number: int) -> str:
    if number == STANDARD_START:
        return _STANDARD_FEN
    import chess

    return chess.Board.from_chess960_pos(number).fen()


def _policy_map(planes: int, meaning: NDArray[np.int32]) -> PolicyMap:
    """Turn the meaning of each entry (-1 for none) into the place of each action's logit."""
    index = np.empty(NUM_ACTIONS, np.int32)
    index[meaning[meaning >= 0]] = np.flatnonzero(meaning >= 0)
    return PolicyMap(planes=planes, index=index)


def _native_state(state: State) -> _native.State:
    if not isinstance(state, _native.State):
        raise TypeError(f"a chess state is wanted, not {type(state).__name__}")
    return state
