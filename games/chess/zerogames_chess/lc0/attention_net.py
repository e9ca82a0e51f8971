"""Lc0's attention nets as nets of ours, and back; the weights move by `zerogames_chess.lc0.slots`.

A body of encoders is a stage `enc` with Lc0's settings, its heads are the policy `attention` and
the value head `tokens`. Of the several heads of a file, a net of ours takes one of each kind.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import cast

import torch
from torch import nn

from zerogames.errors import UserError, unknown_name
from zerogames.nets.blocks.enc import Embedding, EncoderBlock
from zerogames.nets.heads import TokensHead
from zerogames.nets.model import Model, build_model
from zerogames.nets.spec import EncoderStage, NetSpec
from zerogames.registry import get_game
from zerogames_chess.attention_policy import AttentionPolicy
from zerogames_chess.attention_sizes import AttentionSizes
from zerogames_chess.lc0.layer import Encoding
from zerogames_chess.lc0.network import ACTIVATIONS, Frame, read_tower
from zerogames_chess.lc0.slots import (
    Layers,
    Path,
    Slot,
    encoder_slots,
    format_slots,
    linear_slots,
    plain,
)
from zerogames_chess.lc0.tower import RULE50_PLANE, check_tower, fill_tower, tower_name
from zerogames_chess.lc0.wire import Message, integer_field

SQUARES = 64
MAP, DENSE = 1, 2
"""Kinds of input embeddings."""
FUNCTIONS = {
    1: "mish",
    2: "relu",
    4: "tanh",
    5: "sigmoid",
    6: "selu",
    7: "swish",
    8: "relu2",
}
"""Activations of FFN and smolgen by their numbers; 0 is the net's."""
_UNKNOWN_FUNCTIONS = {3: "none", 9: "softmax"}
POLICY_HEADS = {"vanilla": 3, "optimistic": 4, "soft": 5, "opponent": 6}
VALUE_HEADS = {"winner": 1, "q": 2, "st": 3}
_POLICY, _VALUE = plain(45), plain(44)


@dataclass(frozen=True, kw_only=True)
class ChosenHeads:
    """Which heads of a file play."""

    policy: str = "vanilla"
    """`vanilla`, `optimistic`, `soft` or `opponent`."""
    value: str = "winner"
    """`winner`, `q` or `st`."""

    def __post_init__(self) -> None:
        for what, name, known in (
            ("policy head", self.policy, POLICY_HEADS),
            ("value head", self.value, VALUE_HEADS),
        ):
            if name not in known:
                raise unknown_name(what, name, known)


@dataclass(frozen=True, kw_only=True)
class HeadPlaces:
    """Where the layers of the chosen heads are."""

    policy_embedding: Path
    """Of the matrix; the bias is in the field behind."""
    queries: Path
    keys: Path
    promotion: Path
    policy_encoders: tuple[Path, int]
    """The message around them, and their field in it."""
    policy_head_count: tuple[Path, int]
    value: tuple[Path, Path, Path]
    """Of the embedding's, the hidden and the last matrix."""


TOP_LEVEL = HeadPlaces(
    policy_embedding=plain(4),
    queries=plain(17),
    keys=plain(19),
    promotion=plain(22),
    policy_encoders=((), 21),
    policy_head_count=((), 24),
    value=(plain(29), plain(7), plain(9)),
)
"""Of files with one head of each kind."""
MOVES_LEFT = (plain(31), plain(13), plain(15))


def is_attention_net(net: Message) -> bool:
    """Whether a file has an attention body, whatever its header says."""
    network = net.message(4).message(2)
    return network.integer(3, 3) in (6, 7, 134) or 27 in net.message(10)


def attention_to_model(net: Message, heads: ChosenHeads | None = None) -> Model:
    """A file's net as one of ours, in evaluation mode; raise `UserError` if we have no such net."""
    body = _Body(net, heads or ChosenHeads())
    game = get_game("chess")
    spec = game.parse_net(body.name())
    body.check_large_layers()  # no memory before the file is known to fill it
    model = build_model(spec, game)
    if body.tower is not None:
        with torch.no_grad():
            fill_tower(model, *body.tower)
    body.layers.fill(attention_slots(model, body.places))
    return model.eval()


class _Body:
    """What a file says about its net, with Lc0's rules for old headers."""

    def __init__(self, net: Message, heads: ChosenHeads) -> None:
        form = net.message(4)
        network = form.message(2)
        weights = net.message(10)
        self.layers = layers = Layers(weights, form.integer(1, 1) or 1)
        kind, ffn, smolgen = network.integer(3, 3), network.integer(9), network.integer(8)
        embedding = network.integer(10)
        if kind == 4 and 27 in weights:
            kind = 6
            if 35 in weights:
                ffn, smolgen = 8, 7
        if kind == 134:
            kind = 7
        if kind == 6 and 44 in weights and 45 in weights:
            kind, embedding = 7, DENSE
        if kind == 6 and 10 not in network:
            embedding = MAP
        if kind not in (6, 7):
            raise UserError(f"architecture {kind} with encoders is not known")
        self.activation = ACTIVATIONS.get(network.integer(7), "")
        for what, fits in (
            (f"input format {network.integer(1, 1)}", network.integer(1, 1) == 1),
            (f"policy format {network.integer(4, 1)}", network.integer(4, 1) == 3),
            (f"value format {network.integer(5, 1)}", network.integer(5, 1) in (1, 2)),
            (f"activation {network.integer(7)}", bool(self.activation)),
            (f"input embedding {embedding}", embedding in (0, MAP, DENSE)),
        ):
            if not fits:
                raise UserError(f"an attention net with {what} is not supported")
        self.ffn, self.smolgen = self._function(ffn), self._function(smolgen)
        self.embedding = embedding
        self.wdl = network.integer(5, 1) == 2
        self.moves_left = network.integer(6) != 0
        self.places = self._places(heads)
        self.tower = read_tower(weights, layers.default) if 2 in weights else None
        if self.tower is not None:
            check_tower(*self.tower)
            if embedding == DENSE:
                raise UserError("residual blocks before a dense input embedding are not supported")
        elif embedding == 0:
            raise UserError("encoders without an input embedding are not supported")

    def _function(self, number: int) -> str:
        """The name of an activation."""
        if number and number not in FUNCTIONS:
            name = _UNKNOWN_FUNCTIONS.get(number, number)
            raise UserError(f"the activation '{name}' of encoders is not supported")
        return FUNCTIONS.get(number, self.activation)

    def _places(self, heads: ChosenHeads) -> HeadPlaces:
        places, layers = TOP_LEVEL, self.layers
        if layers.has(_POLICY):
            inside = (*_POLICY, (POLICY_HEADS[heads.policy], 0))
            if not layers.has(inside):
                raise UserError(f"it has no policy head '{heads.policy}'")
            candidates = ((*inside, (1, 0)), (*_POLICY, (1, 0)), plain(4))
            places = replace(
                places,
                policy_embedding=next(
                    (path for path in candidates if layers.count(path)), candidates[-1]
                ),
                queries=(*inside, (3, 0)),
                keys=(*inside, (5, 0)),
                promotion=(*inside, (7, 0)),
                policy_encoders=(inside, 8),
                policy_head_count=(inside, 9),
            )
        elif heads.policy != "vanilla":
            raise UserError(f"it has no policy head '{heads.policy}'")
        if layers.has(_VALUE):
            inside = (*_VALUE, (VALUE_HEADS[heads.value], 0))
            if not layers.has(inside):
                raise UserError(f"it has no value head '{heads.value}'")
            places = replace(
                places, value=((*inside, (1, 0)), (*inside, (3, 0)), (*inside, (5, 0)))
            )
        elif heads.value != "winner":
            raise UserError(f"it has no value head '{heads.value}'")
        return places

    def bias_count(self, matrix: Path) -> int:
        """How many outputs a dense layer has."""
        *prefix, (number, index) = matrix
        return self.layers.count((*prefix, (number + 1, index)))

    def name(self) -> str:
        """The name of the architecture here."""
        channels = self.bias_count(plain(25))
        blocks = len(self.layers.messages(plain(27)))
        heads = self.layers.integer((), 28)
        encoder = plain(27)
        width, hidden = (
            self.bias_count((*encoder, (1, 0), (1, 0))),
            self.bias_count(plain(27, 4, 1)),
        )
        words = [self._bias_word(channels, heads)]
        if self.tower is not None:
            words.append("free")
        elif self.embedding == DENSE:
            each = self.bias_count(plain(37)) // SQUARES
            words.append(f"dense{each}.{self.bias_count(plain(41, 1))}")
        else:
            words.append("map")
        gates = [self.layers.has(plain(number)) for number in (33, 34)]
        if gates[0] != gates[1]:
            raise UserError("one of its two gates is missing; Lc0's backends disagree about that")
        words += ["gates"] if gates[0] else []
        words += [self.ffn] if self.ffn != self.activation else []
        self._refuse_relative()
        sizes = f"h{heads}{'' if width == channels else f'd{width}'}f{hidden}"
        name = f"enc_{'_'.join(words)}_{blocks}x{channels}{sizes}"
        if self.tower is not None:
            tower, excitation = tower_name(*self.tower)
            name = f"{tower}-{name}+{excitation}"
        options = [f"attention{attention_sizes(self.layers, self.places)}"]
        value = self.places.value
        options.append(f"tokens{self.bias_count(value[0])}.{self.bias_count(value[1])}")
        if self.moves_left:
            plies = (str(self.bias_count(path)) for path in MOVES_LEFT[:2])
            options.append(f"mlh{'.'.join(plies)}")
        options += [] if self.wdl else ["scalar"]
        options += [self.activation] if self.activation != "relu" else []
        return "+".join([name, *options])

    def _bias_word(self, channels: int, heads: int) -> str:
        inside = plain(27, 1, 9)
        with_smolgen = [
            self.layers.has(((27, number), (1, 0), (9, 0)))
            for number in range(len(self.layers.messages(plain(27))))
        ]
        if not any(with_smolgen):
            return "none"
        if not all(with_smolgen):
            raise UserError("only some of its encoders have smolgen")
        if channels == 0 or heads == 0:
            raise UserError("damaged: no channels or heads of attention")
        each_square = self.layers.count((*inside, (1, 0))) // channels
        hidden = self.bias_count((*inside, (2, 0)))
        each_head = self.bias_count((*inside, (6, 0))) // heads
        function = "" if self.smolgen == "swish" else self.smolgen
        return f"smolgen{each_square}.{hidden}.{each_head}{function}"

    def _refuse_relative(self) -> None:
        for number in range(len(self.layers.messages(plain(27)))):
            for field in (10, 11, 12):
                if self.layers.has(((27, number), (1, 0), (field, 0))):
                    raise UserError("relative position encodings are not supported (nor by Lc0)")

    def check_large_layers(self) -> None:
        """Raise `UserError` unless the largest layers have the numbers that their sizes say."""
        channels = self.bias_count(plain(25))
        for number in range(len(self.layers.messages(plain(27)))):
            block = ((27, number),)
            width = self.bias_count((*block, (1, 0), (1, 0)))
            self.layers.check((*block, (1, 0), (1, 0)), width * channels)
            hidden = self.bias_count((*block, (4, 0), (1, 0)))
            self.layers.check((*block, (4, 0), (1, 0)), hidden * channels)
        if self.embedding == DENSE:
            self.layers.check(plain(37), self.bias_count(plain(37)) * 12 * SQUARES)
        for path in (self.places.value[1], *([MOVES_LEFT[1]] if self.moves_left else [])):
            first = self.places.value[0] if path == self.places.value[1] else MOVES_LEFT[0]
            self.layers.check(path, self.bias_count(path) * self.bias_count(first) * SQUARES)


def attention_sizes(layers: Layers, places: HeadPlaces) -> AttentionSizes:
    """The sizes of a policy head."""

    def outputs(matrix: Path) -> int:
        *prefix, (number, index) = matrix
        return layers.count((*prefix, (number + 1, index)))

    prefix, field = places.policy_encoders
    sizes = AttentionSizes(
        embedding=outputs(places.policy_embedding), queries=outputs(places.queries)
    )
    encoders = len(layers.messages((*prefix, (field, 0))))
    if encoders == 0:
        return sizes
    first = (*prefix, (field, 0))
    if layers.has((*first, (1, 0), (9, 0))):
        raise UserError("smolgen in the encoders of a policy head is not supported")
    return replace(
        sizes,
        encoders=encoders,
        heads=layers.integer(*places.policy_head_count),
        width=outputs((*first, (1, 0), (1, 0))),
        hidden=outputs((*first, (4, 0), (1, 0))),
    )


def policy_slots(policy: nn.Module, places: HeadPlaces = TOP_LEVEL) -> list[Slot]:
    """The layers of the policy."""
    assert isinstance(policy, AttentionPolicy)
    slots = [
        *_at(places.policy_embedding, policy.embed),
        *_at(places.queries, policy.query),
        *_at(places.keys, policy.key),
        *_at(places.promotion, policy.promotion),
    ]
    prefix, field = places.policy_encoders
    for number, encoder in enumerate(policy.encoders):
        slots += encoder_slots((*prefix, (field, number)), cast(EncoderBlock, encoder))
    return slots


def attention_slots(model: Model, places: HeadPlaces = TOP_LEVEL) -> list[Slot]:
    """All layers of a net but those of a tower of residual blocks."""
    parts: Sequence[nn.Module] = [model.stem, *model.blocks]
    [embedding] = [part for part in parts if isinstance(part, Embedding)]
    factor = dict(model.spec.input_scale).get(RULE50_PLANE, 1.0)
    weight, *bias = _at(plain(25), embedding.embed)
    is_first = embedding is model.stem
    slots = [replace(weight, column=(RULE50_PLANE, factor) if is_first else None), *bias]
    if embedding.pieces is not None:
        slots += _at(plain(37), embedding.pieces)
    for number, norm in ((39, embedding.norm1), (42, embedding.norm2)):
        slots += [] if norm is None else _at(plain(number), norm)
    if embedding.ffn is not None:
        slots += linear_slots(plain(41), 1, embedding.ffn.expand)
        slots += linear_slots(plain(41), 3, embedding.ffn.project)
    for number, gate in ((33, embedding.factor), (34, embedding.summand)):
        slots += [] if gate is None else [Slot(plain(number), gate, is_turned=True)]
    if embedding.to_logits is not None:
        slots += _at(plain(35), embedding.to_logits)
    encoders = [part for part in parts if isinstance(part, EncoderBlock)]
    for number, block in enumerate(encoders):
        slots += encoder_slots(((27, number),), block)
    slots += policy_slots(model.policy, places)
    slots += _tokens_slots(model.value, places.value)
    if model.moves_left is not None:
        slots += _tokens_slots(model.moves_left, MOVES_LEFT)
    return slots


def _at(matrix: Path, layer: nn.Module) -> list[Slot]:
    *prefix, (number, _) = matrix
    return linear_slots(tuple(prefix), number, layer)


def _tokens_slots(head: nn.Module, matrices: tuple[Path, Path, Path]) -> list[Slot]:
    assert isinstance(head, TokensHead)
    layers = (head.embed, head.hidden, head.output)
    return [slot for path, one in zip(matrices, layers, strict=True) for slot in _at(path, one)]


def body_stage(spec: NetSpec) -> EncoderStage | None:
    """The encoders of a net that Lc0 has a form for; None for other nets."""
    [stage, *others] = spec.stages
    if others or not isinstance(stage, EncoderStage):
        return None
    fits = (
        stage.bias in ("none", "smolgen")
        and stage.positions in ("map", "dense")
        and not stage.pre_norm
        and spec.policy == "attention"
        and spec.value_head == "tokens"
    )
    return stage if fits else None


def format_policy(policy: AttentionPolicy, encoding: Encoding) -> bytes:
    """The fields of the policy among the weights."""
    return format_slots(policy_slots(policy), encoding, _policy_heads(policy))


def _policy_heads(policy: AttentionPolicy) -> dict[Path, int]:
    return {plain(24): policy.sizes.heads} if policy.sizes.encoders else {}


def format_attention(model: Model, frame: Frame, encoding: Encoding) -> bytes:
    """The message of a net of encoders, with one head of each kind."""
    spec, stage = model.spec, body_stage(model.spec)
    assert stage is not None
    assert isinstance(model.policy, AttentionPolicy)
    if not spec.encoding.startswith("lc0-classic") or spec.value not in ("wdl", "scalar"):
        raise UserError(f"net '{spec.name}': Lc0 has no such input or value; export it as ONNX")
    if model.policy.sizes.is_selu:
        raise UserError(f"net '{spec.name}': Lc0's attention nets have no SELU in the policy")
    numbers = {name: number for number, name in FUNCTIONS.items()} | {"": 0}
    for function in (stage.function, stage.smolgen_function):
        if function not in numbers:
            raise UserError(
                f"net '{spec.name}': Lc0 has no activation {function}; export it as ONNX"
            )
    is_dense, wdl = stage.positions == "dense", spec.value == "wdl"
    fields = {
        1: 1,
        2: 2 if wdl else 1,
        3: 6,
        4: 3,
        5: 2 if wdl else 1,
        6: int(model.moves_left is not None),
        7: int(spec.activation == "mish"),
        8: numbers[stage.smolgen_function],
        9: numbers[stage.function],
        10: DENSE if is_dense else MAP,
    }
    network = b"".join(integer_field(number, value) for number, value in fields.items())
    slots = attention_slots(model)
    counts = {plain(28): stage.heads, **_policy_heads(model.policy)}
    version = max(frame.min_version, (0, 31, 0) if is_dense else (0, 30, 0))
    weights = format_slots(slots, encoding, counts)
    return replace(frame, min_version=version).format(network, weights)
