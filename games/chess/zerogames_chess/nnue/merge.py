"""`zerogames nnue merge`: the labels of several runs in one folder, each position once."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import tyro
from numpy.typing import NDArray
from rich.console import Console

from zerogames.errors import UserError
from zerogames.runs.disk import name_disk_errors
from zerogames.runs.lock import LockedFolder
from zerogames_chess.nnue.records import RECORD, map_records, read_header, write_records


@dataclass(frozen=True, kw_only=True)
class MergeOptions:
    """Put the labels of several runs together."""

    out: tyro.conf.Positional[Path]
    """The folder for all labels."""
    data: tyro.conf.Positional[tuple[Path, ...]]
    """The folders that `zerogames nnue data` made."""


def merge(options: tyro.conf.OmitArgPrefixes[MergeOptions]) -> int:
    """Put the labels of several runs of `zerogames nnue data` together, each position once.

    Args:
        options: which, and where to.
    """
    if not options.data:
        raise UserError("name the folders: zerogames nnue merge OUT LABELS LABELS ...")
    if (options.out / "training.zgd").exists():
        raise UserError(f"{options.out} has labels already; name a new folder first")
    kinds = [label_kind(read_header(folder / "training.zgd")) for folder in options.data]
    for folder, kind in zip(options.data, kinds, strict=True):
        wrong = [name for name in kind if kind[name] != kinds[0][name]]
        if wrong:
            raise UserError(
                f"{folder} was labelled otherwise than {options.data[0]} ({', '.join(wrong)})"
            )
    training, validation = (
        [map_records(folder / f"{part}.zgd") for folder in options.data]
        for part in ("training", "validation")
    )
    parts, duplicates = unique_parts(training, validation)
    names = ", ".join(folder.name for folder in options.data)
    console = Console(stderr=True)
    merged = {"origin": f"merged: {names}"[:1000], "dropped": {"duplicate": duplicates}}
    with name_disk_errors(options.out), LockedFolder(options.out):
        write_parts(options.out, parts, kinds[0] | merged, console)
    console.print(f"{duplicates:,} positions were there more than once")
    return 0


def label_kind(header: Mapping[str, object]) -> dict[str, object]:
    """Return what labels must have in common to be used together."""
    static = header.get("static", False)
    alike = ("unit", "units_per_centipawn", "engine")
    # A static label does not depend on the search that found the positions.
    return {name: header.get(name) for name in alike} | {
        "static": static,
        "depth": None if static else header.get("depth"),
    }


def unique_parts(
    training: Sequence[NDArray[np.void]], validation: Sequence[NDArray[np.void]]
) -> tuple[dict[str, NDArray[np.void]], int]:
    """Each position once, where it is met first, and how many were left out.

    A position that is in both parts is kept for validation: it never reaches training.
    """
    held_out = sum(map(len, validation))
    records = np.concatenate([np.zeros(0, RECORD), *validation, *training])
    keys = np.column_stack([records["board"], records["black_to_move"]])
    first = np.unique(keys.view(f"V{keys.shape[1]}").ravel(), return_index=True)[1]
    first.sort()
    parts = {
        "training": records[first[first >= held_out]],
        "validation": records[first[first < held_out]],
    }
    return parts, len(records) - len(first)


def write_parts(
    folder: Path,
    parts: Mapping[str, NDArray[np.void]],
    header: Mapping[str, object],
    console: Console,
) -> None:
    """Write a file for each part."""
    for part, records in parts.items():
        write_records(folder / f"{part}.zgd", records, {**header, "part": part})
        console.print(f"{part}: {len(records):,} positions in {folder / part}.zgd")
