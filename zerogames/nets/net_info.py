"""What a net file says about itself, read without torch."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import field
from math import prod
from pathlib import Path
from typing import Annotated, Protocol, cast

import numpy as np
from numpy.typing import NDArray
from pydantic import ConfigDict, Field, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass
from safetensors import SafetensorError, safe_open

from zerogames.errors import UserError, first_problem

FORMAT = 1
METADATA_KEY = "zerogames"
MAX_METADATA = 4_000_000
"""Characters; random patterns of the largest net need far less."""

Offset = tuple[Annotated[int, Field(ge=-2, le=2)], Annotated[int, Field(ge=-2, le=2)]]


@dataclass(frozen=True, kw_only=True, config=ConfigDict(extra="forbid", strict=False))
class NetInfo:
    """What a net file says about itself."""

    name: str
    """The architecture."""
    game: str
    encoding: str
    heads: dict[str, str]
    """`policy`, `value` and auxiliary heads, for readers that do not parse names."""
    step: int = 0
    """Training steps behind the weights."""
    metrics: dict[str, float] = field(default_factory=dict)
    data_licence: str = ""
    """Licence of the data it was trained on."""
    origin: str = ""
    """What the file of another program, from which it was read, says of itself."""
    patterns: list[list[list[Offset]]] = field(default_factory=list)
    """The taps of a net with random patterns: layer, group, taps."""
    format: int = FORMAT


_INFO = TypeAdapter(NetInfo)


class _TensorHeader(Protocol):
    def get_shape(self) -> list[int]: ...
    def get_dtype(self) -> str: ...


class TensorFile(Protocol):
    """The typed surface of what `safe_open` returns."""

    def metadata(self) -> dict[str, str] | None:
        """Texts by name."""

    def keys(self) -> list[str]:
        """The names of the tensors."""

    def get_slice(self, name: str) -> _TensorHeader:
        """A tensor's shape and type, without reading it."""

    def get_tensor(self, name: str) -> NDArray[np.float32]:
        """Read a tensor."""


def read_tensors(path: Path, names: Iterable[str]) -> Iterator[tuple[str, NDArray[np.float32]]]:
    """Read float32 tensors of a file that `open_tensors` has found whole, one after the other.

    Each is read by itself: what `safe_open` has mapped would count as memory beside the copies.
    """
    try:
        with path.open("rb") as stream:
            size = int.from_bytes(stream.read(8), "little")
            header = json.loads(stream.read(size))
            for name in names:
                first, last = header[name]["data_offsets"]
                stream.seek(8 + size + first)
                numbers = np.fromfile(stream, "<f4", (last - first) // 4)
                yield name, numbers.reshape(header[name]["shape"])
    except (OSError, ValueError) as error:
        raise UserError(f"{path} is not a whole .safetensors file ({error})") from None


def format_header(shapes: Mapping[str, Sequence[int]], metadata: Mapping[str, str]) -> bytes:
    """The beginning of a file of float32 tensors, which follow in this order."""
    header: dict[str, object] = {"__metadata__": metadata}
    first = 0
    for name, shape in shapes.items():
        last = first + 4 * prod(shape)
        header[name] = {"dtype": "F32", "shape": list(shape), "data_offsets": [first, last]}
        first = last
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text


def read_net_info(path: str | Path) -> NetInfo:
    """Read what a net file says about itself, without its weights."""
    path = Path(path)
    with open_tensors(path) as stream:
        return _parse_info(path, stream.metadata())


def net_version(path: Path) -> str:
    """Return the first 16 digits of the file's SHA-256."""
    try:
        with path.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()[:16]
    except OSError as error:
        raise UserError(f"{path}: {error.strerror or error}") from None


@contextmanager
def open_tensors(path: Path) -> Iterator[TensorFile]:
    """Open a net file; any damage met while it is open is a `UserError`."""
    if not path.is_file():
        raise UserError(f"there is no net file {path}")
    try:
        with safe_open(path, framework="np") as stream:
            yield cast(TensorFile, stream)
    except (SafetensorError, OSError, UnicodeError) as error:
        raise UserError(f"{path} is not a whole .safetensors file ({error})") from None


def _parse_info(path: Path, metadata: Mapping[str, str] | None) -> NetInfo:
    text = (metadata or {}).get(METADATA_KEY)
    if text is None or len(text) > MAX_METADATA:
        raise UserError(f"{path} is a .safetensors file, but no zerogames net")
    try:
        info = _INFO.validate_json(text)
    except ValidationError as error:
        found = first_problem(error, whole="metadata")
        raise UserError(f"{path}: its description is wrong at {found}") from None
    if info.format != FORMAT:
        raise UserError(f"{path} has format {info.format}; this version reads format {FORMAT}")
    return info
