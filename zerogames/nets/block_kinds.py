"""The kinds of blocks by name; needs no torch. Plugins add kinds as `GamePlugin.block_kinds`.

A stage of a net is written `<block>_<words>_<blocks>x<channels>`, perhaps with further sizes behind
it, such as `h6`. A kind reads the words, and names the function that makes the modules of a stage.
"""

import importlib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast, get_args

from zerogames_kernels import Pattern

from zerogames.errors import UserError, unknown_name
from zerogames.game import Game
from zerogames.nets.spec import (
    Bias,
    EncoderStage,
    Form,
    KernelStage,
    NetSpec,
    Positions,
    Stage,
    random_taps,
)
from zerogames.registry import plugin_of

if TYPE_CHECKING:
    from torch import nn

SQUARES: tuple[str, ...] = ("3x3", "5x5")
SHAPE = "<block>_<kernel>_<blocks>x<channels>, e.g. mob_3x3_6x64"
FFN_FUNCTIONS = ("relu", "relu2", "mish", "gelu", "swish", "selu")
_SMOLGEN = re.compile(r"smolgen(?:(\d{1,6})\.(\d{1,6})\.(\d{1,6}))?([a-z]\w*)?", re.ASCII)
_DENSE = re.compile(r"dense(\d{1,6})\.(\d{1,6})", re.ASCII)


@dataclass(frozen=True, kw_only=True)
class StageText:
    """A stage in a net's name, taken apart."""

    net: str
    """The whole name, for messages."""
    block: str
    words: tuple[str, ...]
    """What stands between the block and the sizes."""
    blocks: int
    channels: int
    sizes: Mapping[str, int] = field(default_factory=dict)
    """Further sizes by letter, e.g. `h6`."""


@dataclass(frozen=True, kw_only=True)
class StageSite:
    """Where a stage is built."""

    spec: NetSpec
    stage: Stage
    inputs: int
    """Channels before it: those of the input if it is the first, else those of the trunk."""
    is_first: bool
    board: tuple[int, int]
    patterns: Sequence[Sequence[Pattern]]
    """Of each layer with patterns, in order."""
    game_patterns: Mapping[str, Pattern]


MakeStage = Callable[[StageSite], "tuple[nn.Module | None, Sequence[nn.Module]]"]
"""Makes what leads into a stage (None: nothing; for the first stage the net's stem) and its blocks.

Each is a module from and to `[B, C, H, W]` with a method `layers`, see
`zerogames.nets.program_writer`.
"""


@dataclass(frozen=True, kw_only=True)
class BlockKind:
    """A kind of block."""

    name: str
    """The word with which stages of this kind begin."""
    read: Callable[[StageText, Game], Stage]
    """Reads a stage; raises `UserError` that names the wrong part."""
    load: Callable[[], MakeStage]
    """Imports the function that makes its modules; called when a net is made."""
    any_board: Callable[[Stage], bool] = lambda _: True
    """Whether the same weights serve every board size."""


def check_kernel(kernel: str, game: Game) -> None:
    """Raise `UserError` unless the game's nets can have this kernel."""
    letters = "".join(game.patterns)
    if kernel in SQUARES or random_taps(kernel):
        return
    if not kernel or set(kernel) - set(letters):
        known = [*SQUARES, "rng", *([letters] if letters else [])]
        extra = f" (or any letters of {letters}, in the order of the groups)" if letters else ""
        raise UserError(f"{unknown_name(f'kernel of {game.spec.name}', kernel, known)}{extra}")
    if len(set(kernel)) != len(kernel):
        raise UserError(f"kernel '{kernel}' repeats a letter; each group is a different pattern")


def read_kernel_stage(text: StageText, game: Game, *, expansion: int, se_ratio: int) -> KernelStage:
    """Read `<kernel>[_<form>]`; blocks have `expansion` times the channels inside."""
    if len(text.words) not in (1, 2) or text.sizes:
        raise UserError(f"'{text.net}' is not a net name; write {SHAPE}")
    check_kernel(text.words[0], game)
    form = text.words[1] if len(text.words) == 2 else "native"
    if form not in get_args(Form):
        raise unknown_name("kernel form", form, get_args(Form))
    stage = KernelStage(
        block=text.block,
        kernel=text.words[0],
        form=cast(Form, form),
        blocks=text.blocks,
        channels=text.channels,
        expanded=expansion * text.channels,
        se_ratio=min(se_ratio, text.channels),
    )
    if stage.is_residual and form != "native":
        raise UserError(f"net '{text.net}': only depthwise kernels (mob, cnx) have a form '{form}'")
    return stage


def read_encoder_stage(text: StageText, game: Game) -> EncoderStage:
    """Read `<bias>[_<setting>...]_<blocks>x<channels>[h<heads>][d<width>][f<hidden>]`."""
    bias, *settings = text.words or ("",)
    found: dict[str, Any] = {}
    smolgen = _SMOLGEN.fullmatch(bias)
    if smolgen:
        bias = "smolgen"
        if smolgen[1]:
            found["smolgen"] = tuple(int(smolgen[part]) for part in (1, 2, 3))
        if smolgen[4]:
            found["smolgen_function"] = smolgen[4]
            if smolgen[4] not in FFN_FUNCTIONS:
                raise unknown_name("activation of smolgen", smolgen[4], FFN_FUNCTIONS)
    elif bias not in get_args(Bias):
        raise unknown_name("attention bias", bias, get_args(Bias))
    plain = [one for one in get_args(Positions) if one != "dense"]
    words: dict[str, dict[str, object]] = {
        "pre": {"pre_norm": True},
        "gates": {"gates": True},
        **{name: {"positions": name} for name in plain},
        **{name: {"function": name} for name in FFN_FUNCTIONS},
        **({"hard": {"hard": True}} if bias == "mask" else {}),
    }
    for word in settings:
        dense = _DENSE.fullmatch(word)
        if dense:
            found |= {"positions": "dense", "dense": (int(dense[1]), int(dense[2]))}
        elif word in words:
            found |= words[word]
        else:
            known = [*words, "dense<numbers>.<hidden units>"]
            raise unknown_name("setting of encoder blocks", word, known)
    unknown = set(text.sizes) - set("hdf")
    if unknown:
        raise UserError(
            f"net '{text.net}': '{min(unknown)}' is no size of encoder blocks; write e.g. 4x96h6 "
            "with heads h, channels of attention d, hidden units f"
        )
    width = text.sizes.get("d", text.channels)
    heads = text.sizes.get("h", max(1, width // 32))
    if heads == 0 or width % heads:
        raise UserError(f"net '{text.net}': {width} channels do not divide among {heads} heads")
    if (bias == "mask" or found.get("positions") == "map") and not game.patterns:
        raise UserError(f"net '{text.net}': {game.spec.name} has no patterns; take another bias")
    return EncoderStage(
        block=text.block,
        blocks=text.blocks,
        channels=text.channels,
        heads=heads,
        width=width,
        hidden=text.sizes.get("f", 2 * text.channels),
        bias=cast(Bias, bias),
        **found,
    )


def encoder_serves_any_board(stage: Stage) -> bool:
    """Whether nothing in encoder blocks depends on the board's size."""
    assert isinstance(stage, EncoderStage)
    fixed = stage.gates or stage.bias in ("static", "smolgen")
    return not fixed and stage.positions in ("offsets", "free")


def _kernel_kind(name: str, *, expansion: int, se_ratio: int = 2) -> BlockKind:
    def read(text: StageText, game: Game) -> Stage:
        return read_kernel_stage(text, game, expansion=expansion, se_ratio=se_ratio)

    return BlockKind(name=name, read=read, load=lambda: _load(name))


def _load(module: str) -> MakeStage:
    made = importlib.import_module(f"zerogames.nets.blocks.{module}").make_stage
    return cast(MakeStage, made)


BLOCK_KINDS = (
    _kernel_kind("res", expansion=1),
    _kernel_kind("mob", expansion=6),
    _kernel_kind("cnx", expansion=4, se_ratio=0),
    BlockKind(
        name="enc",
        read=read_encoder_stage,
        load=lambda: _load("enc"),
        any_board=encoder_serves_any_board,
    ),
)
"""The blocks that names of every game's nets may have."""
_UNNAMED = (_kernel_kind("golois", expansion=1, se_ratio=0),)
"""Those that only names of papers have."""


def block_kinds(game: Game) -> Mapping[str, BlockKind]:
    """Return the kinds of blocks of a game's nets by the name that they have in names of nets."""
    plugin = plugin_of(game)
    own = () if plugin is None else plugin.block_kinds
    return {kind.name: kind for kind in (*BLOCK_KINDS, *own)}


def find_block(stage: Stage, game: Game) -> BlockKind:
    """Find the kind of a stage."""
    kinds = {**block_kinds(game), **{kind.name: kind for kind in _UNNAMED}}
    if stage.block not in kinds:
        raise unknown_name("block", stage.block, kinds)
    return kinds[stage.block]
