"""The kinds of heads by name; needs no torch. Games add policy heads through `Heads.kinds`."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import TYPE_CHECKING

from zerogames.errors import unknown_name
from zerogames.game import Game, PolicyKind
from zerogames.nets.block_kinds import find_block
from zerogames.nets.spec import NetSpec

if TYPE_CHECKING:
    from zerogames.nets.heads import PolicyHead


def _heads() -> ModuleType:
    from zerogames.nets import heads

    return heads


POLICY_KINDS = (
    PolicyKind(name="dense", load=lambda: _heads().DensePolicy),
    PolicyKind(name="conv", load=lambda: _heads().ConvPolicy, any_board=True),
    PolicyKind(name="points", load=lambda: _heads().PointsPolicy, any_board=True),
    PolicyKind(name="az", load=lambda: _heads().AlphaZeroPolicy),
)
"""The policy heads that every game's nets may have."""


@dataclass(frozen=True, kw_only=True)
class ValueKind:
    """A kind of value head: planes or averages, a hidden dense layer, an output layer."""

    channels: int = 0
    """Channels of the 1x1 convolution before the hidden layer; 0 averages the trunk over the board
    instead, so that the same weights serve every board size."""
    hidden: int
    """Units of the hidden layer."""
    tokens: bool = False
    """Whether it takes tokens and no norm, with sizes of the net's own."""

    @property
    def any_board(self) -> bool:
        """Whether the same weights serve every board size."""
        return self.channels == 0 and not self.tokens


VALUE_KINDS = {
    "dense": ValueKind(channels=32, hidden=128),
    "az": ValueKind(channels=1, hidden=256),
    "gap": ValueKind(hidden=50),
    "tokens": ValueKind(hidden=128, tokens=True),
}
"""The value heads by their names in specs: Lc0's, AlphaZero's, the pooled one of the Go papers, and
that of Lc0's attention nets."""


def policy_kinds(game: Game) -> Mapping[str, PolicyKind]:
    """Return the kinds of policy heads of a game's nets by name."""
    return {kind.name: kind for kind in (*POLICY_KINDS, *game.heads.kinds)}


def find_policy(spec: NetSpec, game: Game) -> "type[PolicyHead]":
    """Import the class of a net's policy head."""
    kinds = policy_kinds(game)
    if spec.policy not in kinds:
        raise unknown_name(f"policy head of {game.spec.name}", spec.policy, kinds)
    return kinds[spec.policy].load()


def serves_any_board(spec: NetSpec, game: Game) -> bool:
    """Return whether the same weights serve every board size."""
    if spec.family:
        return any(kind.any_board for kind in game.heads.families if kind.name == spec.family)
    heads = policy_kinds(game)[spec.policy].any_board and VALUE_KINDS[spec.value_head].any_board
    return heads and all(find_block(stage, game).any_board(stage) for stage in spec.stages)
