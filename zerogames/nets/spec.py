"""What a net is, in numbers: the record a net's name is parsed to. Needs no torch."""

from dataclasses import dataclass, fields
from typing import Literal

from zerogames.errors import UserError

Block = Literal["res", "mob", "cnx", "golois"]
Convention = Literal["lc0", "keras"]
Form = Literal["native", "dense", "opti1", "opti2"]
Value = Literal["wdl", "scalar", "binary"]
ValueHead = Literal["dense", "az", "gap"]
Activation = Literal["relu", "mish"]
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
class NetSpec:
    """An architecture for a game; `zerogames.nets.build_model` makes the torch module."""

    name: str
    """The name it was parsed from, e.g. `mob_krb_6x96+conv`."""
    game: str
    """Identity of the game, e.g. `go:size=9`."""
    encoding: str
    """Name of the input encoding, with its options."""

    block: Block
    """`res` two convolutions, `mob` inverted bottleneck, `cnx` ConvNeXt, `golois` residual with
    one batch norm after the addition."""
    kernel: str
    """`3x3`, `5x5`, `rng`, or letters of the game's patterns in the order of the groups."""
    form: Form = "native"
    """The way a depthwise layer is computed; all forms share one set of weights."""
    blocks: int
    channels: int
    expanded: int
    """Channels inside a block (those of the depthwise layer in `mob`, of the MLP in `cnx`)."""
    se_ratio: int = 0
    """Squeeze-and-excitation: hidden width is `channels // se_ratio`; 0 for none."""
    activation: Activation = "relu"
    """The activation between layers; `mish` for residual nets of Lc0 only."""
    convention: Convention = "lc0"
    """Which layers have biases and batch-norm scales, and the batch norm's epsilon."""
    pattern_seed: int = 0
    """The seed of the random patterns of the kernel `rng`."""
    input_scale: InputScale = ()
    """Factor for some planes: encoders emit raw values, e.g. the rule-50 counter in plies."""

    policy: str
    """`dense`, `conv` (two 3x3 convolutions, gathered), `points` (one 1x1), `az` (AlphaZero's), or
    a kind of the game's own, see `zerogames.nets.head_kinds`."""
    pass_logit: bool = True
    """Actions without a place on the policy planes get a logit from the pooled trunk, or -1e4."""
    value: Value
    """`wdl` three logits, `scalar` tanh, `binary` one logit for a game without draws."""
    value_head: ValueHead = "dense"
    """`dense` 1x1 to 32 and 128 units, `az` AlphaZero's, `gap` average-pooled trunk, 50 units."""
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

    def check(self) -> None:
        """Raise `UserError` for sizes no net has."""
        for what, number, limit in (
            ("blocks", self.blocks, MAX_BLOCKS),
            ("channels", self.channels, MAX_CHANNELS),
            ("inner channels", self.expanded, 8 * MAX_CHANNELS),
        ):
            if not 1 <= number <= limit:
                raise UserError(f"net '{self.name}': {what} must be 1 to {limit}, not {number}")
        if self.se_ratio > self.channels:
            raise UserError(
                f"net '{self.name}': a squeeze ratio of {self.se_ratio} leaves nothing of "
                f"{self.channels} channels"
            )
        inner = 18 * self.channels if self.block in ("res", "golois") else 2 * self.expanded
        if self.blocks * inner * self.channels > MAX_PARAMETERS:
            raise UserError(
                f"net '{self.name}' would have more than {MAX_PARAMETERS:,} parameters; "
                "take fewer blocks or channels"
            )

    def differences(self, other: "NetSpec") -> list[str]:
        """Why weights of `other` do not fit here, e.g. `channels 96 and 64`."""
        loose = {"name", "game", "form", "value_weight", "value_loss", "l2"}
        return [
            f"{field.name} {getattr(self, field.name)} and {getattr(other, field.name)}"
            for field in fields(self)
            if field.name not in loose and getattr(self, field.name) != getattr(other, field.name)
        ]
