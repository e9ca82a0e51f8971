"""Where a file of Lc0 keeps which weights of a net of ours: one table for both directions."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import groupby

import numpy as np
import torch
from torch import Tensor, nn

from zerogames.errors import UserError
from zerogames.nets.blocks.enc import EncoderBlock
from zerogames_chess.lc0.layer import Encoding, Floats, count_numbers, decode_layer, encode_layer
from zerogames_chess.lc0.wire import Message, bytes_field, integer_field

Path = tuple[tuple[int, int], ...]
"""Numbers of fields from the outside in, each with its place among fields of the same number."""


@dataclass(frozen=True, eq=False)
class Slot:
    """A layer of the file and the tensor that holds the same numbers."""

    path: Path
    tensor: Tensor
    is_turned: bool = False
    """Whether the file has the tensor's axes the other way round."""
    column: tuple[int, float] | None = None
    """A column of the matrix that the file has multiplied by a factor."""

    @torch.no_grad()
    def fill(self, message: Message, default: int) -> None:
        """Take the file's numbers."""
        if self.is_turned:
            numbers = torch.from_numpy(decode_layer(message, default))
            self.tensor.copy_(numbers.reshape(tuple(self.tensor.shape)[::-1]).T)
        else:  # without another copy
            decode_layer(message, default, self.tensor.view(-1).numpy())
        if self.column is not None:
            place, factor = self.column
            self.tensor[:, place] = (self.tensor[:, place].double() / factor).float()

    def numbers(self) -> Floats:
        """The numbers as the file has them."""
        tensor = self.tensor.detach().cpu().float()
        if self.column is not None:
            place, factor = self.column
            tensor = tensor.clone()
            tensor[:, place] = (tensor[:, place].double() * factor).float()
        found: Floats = np.ascontiguousarray((tensor.T if self.is_turned else tensor).numpy())
        return found


def plain(*numbers: int, index: int = 0) -> Path:
    """The path of fields that are not repeated, but for the first one perhaps."""
    first, *others = numbers
    return ((first, index), *((number, 0) for number in others))


def linear_slots(prefix: Path, first: int, layer: nn.Module) -> list[Slot]:
    """The matrix of a dense layer, and its bias in the field behind; also those of a layer norm."""
    slots = [Slot((*prefix, (first, 0)), layer.get_parameter("weight"))]
    if isinstance(getattr(layer, "bias", None), nn.Parameter):
        slots.append(Slot((*prefix, (first + 1, 0)), layer.get_parameter("bias")))
    return slots


def encoder_slots(prefix: Path, block: EncoderBlock) -> list[Slot]:
    """The layers of an encoder."""
    attention, ffn = (*prefix, (1, 0)), (*prefix, (4, 0))
    slots = [
        *linear_slots(attention, 1, block.query),
        *linear_slots(attention, 3, block.key),
        *linear_slots(attention, 5, block.value),
        *linear_slots(attention, 7, block.output),
    ]
    if block.smolgen is not None:
        inside = (*attention, (9, 0))
        slots += [
            *linear_slots(inside, 1, block.smolgen.compress),
            *linear_slots(inside, 2, block.smolgen.hidden),
            *linear_slots(inside, 4, block.smolgen.norm1),
            *linear_slots(inside, 6, block.smolgen.output),
            *linear_slots(inside, 8, block.smolgen.norm2),
        ]
    return [
        *slots,
        *linear_slots(prefix, 2, block.norm1),
        *linear_slots(ffn, 1, block.ffn.expand),
        *linear_slots(ffn, 3, block.ffn.project),
        *linear_slots(prefix, 5, block.norm2),
    ]


class Layers:
    """The layers of a file's weights, by their paths; none is decoded before it is asked for."""

    def __init__(self, weights: Message, default: int) -> None:
        self.default = default
        self.messages: Callable[[Path], Sequence[Message]] = cache(self._messages)
        self._weights = weights

    def _messages(self, path: Path) -> Sequence[Message]:
        """All messages of the last field of a path."""
        parent = self._weights if len(path) == 1 else self._message(path[:-1])
        return parent.messages(path[-1][0]) if parent is not None else ()

    def _message(self, path: Path) -> Message | None:
        found = self.messages(path)
        return found[path[-1][1]] if path[-1][1] < len(found) else None

    def count(self, path: Path) -> int:
        """How many numbers a layer has; 0 for one that is not there."""
        message = self._message(path)
        return 0 if message is None else count_numbers(message, self.default)

    def has(self, path: Path) -> bool:
        """Whether a field is there."""
        return self._message(path) is not None

    def integer(self, prefix: Path, number: int) -> int:
        """A number among the fields of a message; 0 if it is absent."""
        parent = self._message(prefix) if prefix else self._weights
        return 0 if parent is None else parent.integer(number)

    def check(self, path: Path, count: int) -> None:
        """Raise `UserError` unless a layer has so many numbers."""
        found = self.count(path)
        if found != count:
            raise UserError(f"{name_path(path)} has {found} numbers where {count} are known")

    def fill(self, slots: Iterable[Slot]) -> None:
        """Copy the numbers to a net, once all are known to be there."""
        slots = list(slots)
        for slot in slots:
            self.check(slot.path, slot.tensor.numel())
        for slot in slots:
            message = self._message(slot.path)
            assert message is not None
            slot.fill(message, self.default)


def name_path(path: Path) -> str:
    """A path for messages."""
    parts = (f"{number}[{index}]" if index else str(number) for number, index in path)
    return f"weights field {'.'.join(parts)}"


def format_slots(
    slots: Sequence[Slot], encoding: Encoding, numbers: Mapping[Path, int] | None = None
) -> bytes:
    """The fields of all slots as messages in messages; `numbers` are further integer fields."""
    entries: list[tuple[Path, Slot | int]] = [(slot.path, slot) for slot in slots]
    entries += (numbers or {}).items()
    return b"".join(_format(sorted(entries, key=lambda entry: entry[0]), encoding, 0))


def _format(
    entries: Sequence[tuple[Path, Slot | int]], encoding: Encoding, depth: int
) -> Iterator[bytes]:
    for (number, _), group in groupby(entries, key=lambda entry: entry[0][depth]):
        inside = list(group)
        path, what = inside[0]
        if len(path) > depth + 1:
            yield bytes_field(number, b"".join(_format(inside, encoding, depth + 1)))
        elif isinstance(what, int):
            yield integer_field(number, what)
        else:
            yield bytes_field(number, encode_layer(what.numbers(), encoding))
