"""The torch module of a net."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn
from zerogames_kernels import Pattern

from zerogames.errors import UserError, unknown_name
from zerogames.game import Game
from zerogames.nets import program as layers
from zerogames.nets.block_kinds import StageSite, find_block
from zerogames.nets.heads import make_ends, make_moves_left, make_policy, make_value
from zerogames.nets.layers import initialize
from zerogames.nets.names import check_patterns, net_patterns
from zerogames.nets.program import Program
from zerogames.nets.program_writer import ProgramWriter, array
from zerogames.nets.spec import NetSpec, Value


class Output(NamedTuple):
    """The outputs of a net, in the side to move's view."""

    policy_logits: Tensor
    """`[B, A]`."""
    value_logits: Tensor
    """`[B, 3]` win, draw, loss; or `[B, 1]`, one raw number for a scalar or two-way value."""
    moves_left: Tensor | None
    """`[B]` turns to the end of the game, if the net has that head."""
    ends: Mapping[str, Tensor] | None = None
    """The outputs of heads for training only: logits `[B, H * W]` or numbers `[B, 1]`."""


def win_draw_loss(value_logits: Tensor, value: Value) -> Tensor:
    """Probabilities `[B, 3]`; a scalar v becomes ((1 + v) / 2, 0, (1 - v) / 2)."""
    if value == "wdl":
        return torch.softmax(value_logits, dim=1)
    # (1 + tanh z) / 2 is sigmoid(2 z).
    win = torch.sigmoid(2 * value_logits if value == "scalar" else value_logits)
    return torch.cat([win, torch.zeros_like(win), 1 - win], dim=1)


class Model(nn.Module):
    """A net: planes `[B, P, H, W]` of its encoding, raw values, to an `Output`."""

    input_scale: Tensor | None
    analyses: Sequence[str] = ()
    """The names of what `analyse` tells."""
    origin = ""
    """What the file of another program, from which it was read, says of itself."""

    def __init__(
        self,
        spec: NetSpec,
        game: Game,
        patterns: Sequence[tuple[Pattern, ...]],
    ) -> None:
        super().__init__()
        self.spec = spec
        self.patterns = tuple(patterns)
        """The patterns of each spatial layer, one for each group of channels."""
        self.input_shape = game.encodings[spec.encoding.partition(":")[0]].shape
        planes, height, width = self.input_shape
        self.register_buffer("input_scale", _scale(spec, planes), persistent=False)
        self.stem, self.blocks = _make_trunk(spec, game, self.patterns, self.input_shape)
        self.policy: nn.Module = make_policy(spec, game)
        self.value = make_value(spec, height * width)
        self.moves_left = make_moves_left(spec, height * width)
        self.ends = make_ends(spec, game)

    def forward(self, planes: Tensor) -> Output:
        """Evaluate positions."""
        x = planes if self.input_scale is None else planes * self.input_scale
        trunk = self.blocks(self.stem(x))
        value = self.value(trunk)
        if self.spec.first_player_plane is not None:
            # "White won" turned to the side to move: p becomes 1 - p where Black is to play.
            value = value * (1 - 2 * planes[:, self.spec.first_player_plane, 0, :1])
        moves_left = None
        if self.moves_left is not None:
            moves_left = torch.relu(self.moves_left(trunk)).squeeze(1)
        ends = None
        if self.training and self.ends:
            ends = {name: head(trunk) for name, head in self.ends.items()}
        return Output(self.policy(trunk), value, moves_left, ends)

    def evaluate(self, planes: Tensor) -> tuple[Tensor, Tensor, Tensor | None]:
        """Policy logits `[B, A]`, win-draw-loss probabilities `[B, 3]`, moves left `[B]`."""
        output = self(planes)
        wdl = win_draw_loss(output.value_logits, self.spec.value)
        return output.policy_logits, wdl, output.moves_left

    def analyse(self, planes: Tensor) -> Mapping[str, Tensor]:
        """What it says of positions besides, for analysis: each `[B]` or `[B, H * W]`.

        Those of Go may have `ownership` (from -1 to 1), `score` and `lead` (points), all in the
        side to move's view.
        """
        return {}

    def program(self, game: Game | None = None) -> Program:
        """The net as a program of layers, see `zerogames.nets.program`.

        Args:
            game: Another board size, if the net serves any.
        """
        spec, shape = self.spec, self.input_shape
        if game is not None:
            shape = game.encodings[spec.encoding.partition(":")[0]].shape
        net = ProgramWriter(spec.name, self, shape)
        x = planes = net.program.planes
        if self.input_scale is not None:
            factors = array(self.input_scale)
            x = net.append(layers.InputScale, planes, shape=planes.shape, factors=factors)
        trunk = net.write(self.blocks, net.write(self.stem, x))
        outputs = {"policy": net.write(self.policy, trunk)}
        raw = net.write(self.value, trunk)
        plane = spec.first_player_plane
        given = {"value": spec.value, "first_player_plane": plane}
        inputs = (raw,) if plane is None else (raw, planes)
        with net.within("value"):
            outputs["wdl"] = net.append(layers.WinDrawLoss, *inputs, shape=(3,), **given)
        if self.moves_left is not None:
            raw = net.write(self.moves_left, trunk)
            with net.within("moves_left"):
                outputs["moves_left"] = net.append(layers.MovesLeft, raw, shape=())
        return net.finish(outputs)


def _scale(spec: NetSpec, planes: int) -> Tensor | None:
    if not spec.input_scale:
        return None
    scale = torch.ones(planes, 1, 1)
    for plane, factor in spec.input_scale:
        scale[plane] = factor
    return scale


def _make_trunk(
    spec: NetSpec,
    game: Game,
    patterns: Sequence[tuple[Pattern, ...]],
    shape: tuple[int, int, int],
) -> tuple[nn.Module, nn.Sequential]:
    """The stem, and the blocks of all stages with what leads from one to the next."""
    inputs, height, width = shape
    stem: nn.Module = nn.Identity()
    parts: list[nn.Module] = []
    first = 0
    for number, stage in enumerate(spec.stages):
        last = first + stage.blocks * stage.pattern_layers
        site = StageSite(
            spec=spec,
            stage=stage,
            inputs=inputs,
            is_first=number == 0,
            board=(height, width),
            patterns=patterns[first:last],
            game_patterns=game.patterns,
        )
        entry, blocks = find_block(stage, game).load()(site)
        if number == 0:
            stem = entry or stem
        elif entry is not None:
            parts.append(entry)
        parts += blocks
        first, inputs = last, stage.channels
    return stem, nn.Sequential(*parts)


def build_model(
    spec: NetSpec,
    game: Game,
    *,
    seed: int = 0,
    patterns: Sequence[tuple[Pattern, ...]] | None = None,
) -> Model:
    """Make a net with new weights.

    Args:
        spec: The architecture.
        game: The game; may be another size of the spec's game when the net serves any board.
        seed: Of the weights.
        patterns: Of each spatial layer, from a file; by default those the spec implies.
    """
    spec.check()
    encoding = spec.encoding.partition(":")[0]
    if encoding not in game.encodings:
        raise unknown_name(f"encoding of {game.spec.name}", encoding, game.encodings)
    if spec.family:
        return _build_of_family(spec, game, seed)
    wanted = net_patterns(spec, game)
    if patterns is not None:
        _, height, width = game.encodings[encoding].shape
        if [len(groups) for groups in patterns] != [len(groups) for groups in wanted]:
            raise UserError(f"net '{spec.name}': {len(patterns)} patterned layers do not fit it")
        stages = [one for one in spec.stages for _ in range(one.blocks * one.pattern_layers)]
        for stage, groups in zip(stages, patterns, strict=True):
            check_patterns(spec, stage, groups, (height, width))
        wanted = tuple(patterns)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = Model(spec, game, wanted)
        initialize(model)
    return model


def _build_of_family(spec: NetSpec, game: Game, seed: int) -> Model:
    families = {family.name: family for family in game.heads.families}
    if spec.family not in families:
        raise unknown_name(f"kind of net of {game.spec.name}", spec.family, families)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = families[spec.family].load()(spec, game)
        initialize(model)
    return model
