"""The file of a net for our own float32 kernels; written and read here without torch or onnx.

The tensors are `stem.weight`, `stem.bias`, `blocks.0.first.weight` and so on as
`zerogames_kernels.trunks.float_trunk.Trunk` takes them, and `heads`, the bytes of an ONNX model;
the metadata is a `NativeHeader`.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TypedDict, cast

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import save

from zerogames.nets.net_info import open_tensors

METADATA_KEY = "zerogames-native"


class NativeHeader(TypedDict):
    """The facts about a native net that its tensors do not tell."""

    board: tuple[int, int]
    """The height and width of the board."""
    stem_relu: bool
    """Whether a ReLU follows the stem."""
    block_relus: list[bool]
    """Whether a ReLU follows each residual sum."""
    outputs: list[str]
    """The names of the trunk's outputs in the ONNX model of the heads."""
    output_relus: list[list[bool]]
    """Whether a ReLU follows each layer of each output."""
    dense_relus: list[list[bool]]
    """Whether a ReLU follows each dense layer of each output."""


def format_native(header: NativeHeader, tensors: Mapping[str, NDArray[np.generic]]) -> bytes:
    """Return the file's content."""
    contiguous = {name: np.ascontiguousarray(array) for name, array in tensors.items()}
    return save(contiguous, {METADATA_KEY: json.dumps(header)})


def read_native(path: Path) -> tuple[NativeHeader, dict[str, NDArray[np.float32]]]:
    """Read a file; what the header and the tensors hold is not checked."""
    with open_tensors(path) as file:
        metadata = file.metadata() or {}
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    return cast(NativeHeader, json.loads(metadata[METADATA_KEY])), tensors
