"""The integer network: its parts, its file, and what an honest file must satisfy.

All values are from the side to move's view. Scales: an activation of one is 127, hidden weights
are times 64, a score is 600 units per float unit, and the last layer carries 16 more.
"""

import hashlib
import importlib.resources
import struct
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from zerogames.atomic import write_atomically
from zerogames.errors import UserError
from zerogames_chess.nnue.feature_set import MAX_NAME, FeatureSet

ACTIVATION_SCALE = 127
WEIGHT_SCALE = 64
OUTPUT_SCALE = 600
OUTPUT_FIXED = 16
SCALES = (ACTIVATION_SCALE, WEIGHT_SCALE, OUTPUT_SCALE, OUTPUT_FIXED)
MAX_SCORE = 10_000
"""The search clamps scores to this; mates lie above."""

MAX_ACCUMULATOR = 2_048
MAX_HIDDEN = 256
MAX_BIAS = 2**30
"""Keeps every 32-bit sum of a valid file from overflowing."""

SHIPPED = Path("shipped")
"""Stands for the shipped network."""

_MAGIC = b"ZGNN"
_VERSION = 1
_DIGEST = 32


@dataclass(frozen=True)
class Network:
    """Integer weights, rows as in the formulas; nets with three layers have no `w3`."""

    features: str
    w1: NDArray[np.int16]
    """[N, M], a row per feature."""
    b1: NDArray[np.int16]
    w2: NDArray[np.int8]
    """[O, 2M]: side to move first."""
    b2: NDArray[np.int32]
    w3: NDArray[np.int8]
    """[P, O]; P = 0 means no such layer."""
    b3: NDArray[np.int32]
    w4: NDArray[np.int8]
    """[P], or [O] without the third layer."""
    b4: int

    @property
    def sizes(self) -> tuple[int, int, int, int]:
        """N, M, O, P."""
        return (*self.w1.shape, len(self.b2), len(self.b3))

    @property
    def num_parameters(self) -> int:
        """Weights and biases of all layers."""
        parts = (self.w1, self.b1, self.w2, self.b2, self.w3, self.b3, self.w4)
        return sum(part.size for part in parts) + 1


def check_overflow(features: FeatureSet, w1: NDArray[np.int64], b1: NDArray[np.int64]) -> None:
    """Prove that no position overflows the 16-bit accumulator, or raise.

    Each block adds at most its largest `max_active` weights.
    """
    worst = np.abs(b1).astype(np.int64)  # [M]
    for block, offset in zip(features.blocks, features.offsets, strict=True):
        rows = np.abs(w1[offset : offset + block.size])
        if len(rows) > block.max_active:
            rows = np.partition(rows, len(rows) - block.max_active, axis=0)[-block.max_active :]
        worst += rows.sum(axis=0, dtype=np.int64)
    if worst.max() > np.iinfo(np.int16).max:
        neuron = int(worst.argmax())
        raise UserError(
            f"first-layer neuron {neuron} can reach {worst[neuron]}, beyond 16 bits; "
            "train with a smaller learning rate or weight decay"
        )


def write_network(path: Path, network: Network) -> None:
    """Write the file; it ends with the SHA-256 of everything before."""
    payload = serialize(network)
    write_atomically(
        path, lambda temporary: _write_bytes(temporary, payload + hashlib.sha256(payload).digest())
    )


def _write_bytes(path: Path, data: bytes) -> None:
    path.write_bytes(data)


def serialize(network: Network) -> bytes:
    """The payload, little-endian without padding."""
    name = network.features.encode()
    head = _MAGIC + struct.pack("<II", _VERSION, len(name)) + name
    head += struct.pack("<8I", *network.sizes, *SCALES)
    parts = (
        network.w1.astype("<i2"),
        network.b1.astype("<i2"),
        network.w2.astype("<i1"),
        network.b2.astype("<i4"),
        network.w3.astype("<i1"),
        network.b3.astype("<i4"),
        network.w4.astype("<i1"),
        np.array([network.b4], "<i4"),
    )
    return head + b"".join(part.tobytes() for part in parts)


def find_network(path: Path) -> Path:
    """The file, or for the word `shipped` the one that comes with the program."""
    if path == SHIPPED and not path.exists():
        return Path(str(importlib.resources.files("zerogames_chess") / "nets" / "chess.nnue"))
    return path


def read_network(path: Path) -> Network:
    """Read and check a file, or `shipped`; any damage or foreign content is refused in one line."""
    path = find_network(path)
    if path.is_dir():
        raise UserError(f"{path} is a folder; name a network file")
    if not path.is_file():
        raise UserError(f"there is no network file {path}")
    try:
        with path.open("rb") as file:
            return _read(file.read(4096), path)
    except _Refused as error:
        raise UserError(f"{path}: {error}") from None


class _Refused(Exception):
    pass


def _read(start: bytes, path: Path) -> Network:
    """Take the head from `start`; read the rest only when the size is what the head says."""
    if start[:4] != _MAGIC:
        raise _Refused("not a network file of `zerogames nnue`")
    if len(start) < 12:
        raise _Refused("the file is cut short; copy it again")
    version, name_size = struct.unpack_from("<II", start, 4)
    if version != _VERSION:
        raise _Refused(f"version {version} of the format is unknown; known: {_VERSION}")
    if name_size > MAX_NAME:
        raise _Refused(f"the feature set's name has {name_size} bytes; the file is damaged")
    if len(start) < 12 + name_size + 32:
        raise _Refused("the file is cut short; copy it again")
    try:
        name = start[12 : 12 + name_size].decode()
        features = FeatureSet(name)
    except UnicodeDecodeError:
        raise _Refused("the feature set's name is not text; the file is damaged") from None
    except UserError as error:
        raise _Refused(str(error)) from None
    *sizes, s_a, s_w, s_o, s_f = struct.unpack_from("<8I", start, 12 + name_size)
    if (s_a, s_w, s_o, s_f) != SCALES:
        raise _Refused(f"scales {(s_a, s_w, s_o, s_f)} are not supported, only {SCALES}")
    n, m, o, p = sizes
    if n != features.size:
        raise _Refused(f"feature set '{name}' has {features.size} features, the file says {n}")
    if not (1 <= m <= MAX_ACCUMULATOR and 1 <= o <= MAX_HIDDEN and 0 <= p <= MAX_HIDDEN):
        raise _Refused(
            f"sizes {m}-{o}-{p} are not from 1-1-0 to {MAX_ACCUMULATOR}-{MAX_HIDDEN}-{MAX_HIDDEN}"
        )
    layout: list[tuple[str, int]] = [
        ("<i2", n * m),
        ("<i2", m),
        ("<i1", o * 2 * m),
        ("<i4", o),
        ("<i1", p * o),
        ("<i4", p),
        ("<i1", p or o),
        ("<i4", 1),
    ]
    expected = 12 + name_size + 32 + sum(np.dtype(t).itemsize * size for t, size in layout)
    size = path.stat().st_size
    if size != expected + _DIGEST:
        raise _Refused(f"{size} bytes instead of {expected + _DIGEST}; copy it again")
    data = path.read_bytes()
    if hashlib.sha256(data[:expected]).digest() != data[expected : expected + _DIGEST]:
        raise _Refused("the checksum is wrong; the file is damaged")
    parts = []
    offset = 12 + name_size + 32
    for kind, length in layout:
        parts.append(np.frombuffer(data, kind, length, offset))
        offset += parts[-1].nbytes
    w1, b1, w2, b2, w3, b3, w4, b4 = parts
    for bias in (b2, b3, b4):
        if bias.size and np.abs(bias.astype(np.int64)).max() > MAX_BIAS:
            raise _Refused("a bias is beyond any reason; the file was not made by this program")
    network = Network(
        features=name,
        w1=w1.reshape(n, m),
        b1=b1,
        w2=w2.reshape(o, 2 * m),
        b2=b2,
        w3=w3.reshape(p, o),
        b3=b3,
        w4=w4,
        b4=int(b4[0]),
    )
    try:
        check_overflow(features, network.w1.astype(np.int64), b1.astype(np.int64))
    except UserError as error:
        raise _Refused(str(error)) from None
    return network
