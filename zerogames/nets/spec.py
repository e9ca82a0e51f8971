"""What a net is, in numbers: the record a net's name is parsed to. Needs no torch."""

import re
from dataclasses import dataclass, fields
from typing import Literal

from zerogames.errors import UserError

Convention = Literal["lc0", "keras"]
Form = Literal["native", "dense", "opti1", "opti2"]
Value = Literal["wdl", "scalar", "binary"]
ValueHead = Literal["dense", "az", "gap", "tokens"]
Activation = Literal["relu", "mish"]
Bias = Literal["none", "static", "mask", "smolgen"]
Positions = Literal["table", "offsets", "map", "dense", "free"]
ValueLoss = Literal["cross-entropy", "mse", "binary"]
InputScale = tuple[tuple[int, float], ...]
"""Pairs of plane and factor."""

NORM_EPSILON: dict[Convention, float] = {"lc0": 1e-5, "keras": 1e-3}
"""Added to the variance by batch norms."""
NO_PASS_LOGIT = -1e4
"""The logit of an action the net cannot express: it is chosen only where nothing else is legal."""

MAX_BLOCKS = 256
MAX_CHANNELS = 4096
MAX_PARAMETERS = 1_000_000_000
"""A name that asks for more is taken for a slip, before any memory is."""


@dataclass(frozen=True, kw_only=True)
class Stage:
    """Equal blocks in a row; a kind of block may have settings of its own in a class of its own."""

    block: str
    """The kind, see `zerogames.nets.block_kinds`."""
    blocks: int
    channels: int

    @property
    def pattern_layers(self) -> int:
        """Layers with patterns in one block."""
        return 0

    @property
    def weights(self) -> int:
        """About the weights of one block."""
        return self.channels

    def sizes(self) -> tuple[tuple[str, int, int], ...]:
        """The name, the number and the limit of each size."""
        return (
            ("blocks", self.blocks, MAX_BLOCKS),
            ("channels", self.channels, MAX_CHANNELS),
        )


def random_taps(kernel: str) -> int:
    """The taps of the random patterns of a kernel: 9 for `rng`, 13 for `rng13`; 0 for others."""
    match = re.fullmatch(r"rng([2-9]|1\d|2[0-5])?", kernel)
    return int(match[1] or 9) if match else 0


@dataclass(frozen=True, kw_only=True)
class KernelStage(Stage):
    """Blocks around convolutions.

    `res` two convolutions, `mob` inverted bottleneck, `cnx` ConvNeXt, `golois` residual with one
    batch norm after the addition.
    """

    kernel: str
    """`3x3`, `5x5`, `rng` or `rng13`, or letters of the game's patterns in the order of the
    groups."""
    form: Form = "native"
    """The way a depthwise layer is computed; all forms share one set of weights."""
    expanded: int
    """Channels inside a block (those of the depthwise layer in `mob`, of the MLP in `cnx`)."""
    se_ratio: int = 0
    """Squeeze-and-excitation: hidden width is `channels // se_ratio`; 0 for none."""
    pattern_seed: int = 0
    """The seed of the random patterns of the kernel `rng`."""

    @property
    def random_taps(self) -> int:
        """The taps of its random patterns; 0 for patterns that are known."""
        return random_taps(self.kernel)

    @property
    def is_residual(self) -> bool:
        """Whether blocks have two full convolutions, not a depthwise one."""
        return self.block in ("res", "golois")

    @property
    def pattern_layers(self) -> int:
        """Layers with patterns in one block."""
        return 2 if self.is_residual else 1

    @property
    def weights(self) -> int:
        """About the weights of one block."""
        return (18 * self.channels if self.is_residual else 2 * self.expanded) * self.channels

    def sizes(self) -> tuple[tuple[str, int, int], ...]:
        """The name, the number and the limit of each size."""
        return (*super().sizes(), ("inner channels", self.expanded, 8 * MAX_CHANNELS))


@dataclass(frozen=True, kw_only=True)
class EncoderStage(Stage):
    """Encoder blocks: attention of the squares to each other, then a feed-forward network (FFN)."""

    heads: int
    width: int
    """Channels of queries, keys and values, all heads together."""
    hidden: int
    """Hidden units of the FFN."""
    function: str = ""
    """The FFN's activation; empty for the net's."""
    bias: Bias = "none"
    """What is added to the logits of attention: `static` a learnt table for each head, `mask` a
    learnt preference of each head for the game's patterns, extended over the board, `smolgen`
    Lc0's, made from the position."""
    hard: bool = False
    """With `mask`: each head sees one pattern alone, for ever."""
    pre_norm: bool = False
    """Norms before attention and FFN and a last one, instead of behind each sum (as Lc0)."""
    positions: Positions = "table"
    """How tokens know where they are: `table` learnt, `offsets` a learnt bias for each distance,
    `map` Lc0's map of moves, `dense` Lc0's dense layer over the pieces, `free` not at all."""
    dense: tuple[int, int] = (0, 0)
    """With `dense`: numbers for each square, and hidden units of the FFN behind the embedding."""
    gates: bool = False
    """Whether the embedding is scaled and shifted by learnt numbers for each square, as in Lc0."""
    smolgen: tuple[int, int, int] = (32, 256, 256)
    """With `smolgen`: numbers for each square, hidden units, and numbers for each head."""
    smolgen_function: str = "swish"

    @property
    def weights(self) -> int:
        """About the weights of one block."""
        total = 4 * self.width * self.channels + 2 * self.hidden * self.channels
        if self.bias == "smolgen":
            each_square, hidden, each_head = self.smolgen
            total += 64 * each_square * hidden + self.heads * hidden * each_head
        return total

    @property
    def epsilon(self) -> float:
        """Added to the variance by the norms of the blocks."""
        return 1e-3 if self.positions == "dense" else 1e-6

    def sizes(self) -> tuple[tuple[str, int, int], ...]:
        """The name, the number and the limit of each size."""
        return (
            *super().sizes(),
            ("heads", self.heads, 256),
            ("channels of attention", self.width, MAX_CHANNELS),
            ("hidden units", self.hidden, 8 * MAX_CHANNELS),
            *(("sizes of smolgen", size, MAX_CHANNELS) for size in self.smolgen),
            *(
                ("sizes of the dense embedding", size, 8 * MAX_CHANNELS)
                for size in (self.dense if self.positions == "dense" else ())
            ),
        )


@dataclass(frozen=True, kw_only=True)
class NetSpec:
    """An architecture for a game; `zerogames.nets.build_model` makes the torch module."""

    name: str
    """The name it was parsed from, e.g. `mob_krb_6x96+conv`."""
    game: str
    """Identity of the game, e.g. `go:size=9`."""
    encoding: str
    """Name of the input encoding, with its options."""

    family: str = ""
    """A kind of whole nets of the game's own, see `zerogames.game.NetFamily`."""
    layout: str = ""
    """The blocks and heads of a net of a family, in its own words; `stages` are then one that says
    no more than how large it is."""
    stages: tuple[Stage, ...]
    """The trunk, at least one; their names are joined by `-`."""
    activation: Activation = "relu"
    """The activation between layers; `mish` for residual and encoder blocks only."""
    convention: Convention = "lc0"
    """Which layers have biases and batch-norm scales, and the batch norm's epsilon."""
    input_scale: InputScale = ()
    """Factor for some planes: encoders emit raw values, e.g. the rule-50 counter in plies."""

    policy: str
    """`dense`, `conv` (two 3x3 convolutions, gathered), `points` (one 1x1), `az` (AlphaZero's), or
    a kind of the game's own, see `zerogames.nets.head_kinds`."""
    policy_sizes: str = ""
    """The sizes that follow the policy's name, for kinds that have some."""
    pass_logit: bool = True
    """Actions without a place on the policy planes get a logit from the pooled trunk, or -1e4."""
    value: Value
    """`wdl` three logits, `scalar` tanh, `binary` one logit for a game without draws."""
    value_head: ValueHead = "dense"
    """`dense` 1x1 to 32 and 128 units, `az` AlphaZero's, `gap` average-pooled trunk, 50 units,
    `tokens` Lc0's attention nets'."""
    value_sizes: tuple[int, int] = (32, 128)
    """Of `tokens`: numbers for each square, and hidden units."""
    moves_left_sizes: tuple[int, int] = (8, 128)
    """The same of moves left, or channels and hidden units of its 1x1 convolution."""
    first_player_plane: int | None = None
    """The plane that is one when the first player is to move, if the value head predicts the second
    player's chances ("White won" in Go); the model turns them to the side to move."""
    moves_left: bool = False
    ends: tuple[str, ...] = ()
    """Heads for training only: see `zerogames.game.EndTarget`."""

    value_loss: ValueLoss = "cross-entropy"
    value_weight: float = 1.0
    l2: float = 0.5e-4
    """Times the sum of squares of convolution and dense weights."""

    @property
    def channels(self) -> int:
        """Those of the last stage, which the heads read."""
        return self.stages[-1].channels

    def check(self) -> None:
        """Raise `UserError` for sizes no net has."""
        for stage in self.stages:
            for what, number, limit in stage.sizes():
                if not 1 <= number <= limit:
                    raise UserError(f"net '{self.name}': {what} must be 1 to {limit}, not {number}")
            ratio = stage.se_ratio if isinstance(stage, KernelStage) else 0
            if ratio > stage.channels:
                raise UserError(
                    f"net '{self.name}': a squeeze ratio of {ratio} leaves nothing of "
                    f"{stage.channels} channels"
                )
        for size in (*self.value_sizes, *self.moves_left_sizes):
            if not 1 <= size <= MAX_CHANNELS:
                raise UserError(f"net '{self.name}': sizes of heads must be 1 to {MAX_CHANNELS}")
        if sum(stage.blocks * stage.weights for stage in self.stages) > MAX_PARAMETERS:
            raise UserError(
                f"net '{self.name}' would have more than {MAX_PARAMETERS:,} parameters; "
                "take fewer blocks or channels"
            )

    def differences(self, other: "NetSpec") -> list[str]:
        """Why weights of `other` do not fit here, e.g. `channels 96 and 64`."""
        mine, others = ("-".join(stage.block for stage in net.stages) for net in (self, other))
        if mine != others:
            return [f"block {mine} and {others}"]
        loose = {"name", "game", "stages", "form", "value_weight", "value_loss", "l2"}
        pairs: list[tuple[NetSpec | Stage, NetSpec | Stage]] = [(self, other)]
        pairs += zip(self.stages, other.stages, strict=True)
        return [
            f"{field.name} {getattr(one, field.name)} and {getattr(two, field.name)}"
            for one, two in pairs
            for field in fields(one)
            if field.name not in loose and getattr(one, field.name) != getattr(two, field.name)
        ]
