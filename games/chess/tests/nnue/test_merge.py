"""Labels of several runs in one folder."""

from itertools import chain
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from zerogames_chess.nnue.merge import unique_parts
from zerogames_chess.nnue.records import RECORD, map_records, read_header, write_records

from zerogames.cli import main

HEADER = {"unit": "internal", "units_per_centipawn": 3.61, "engine": "Stockfish 15.1", "depth": 4}


def records(*positions: int, score: int = 0) -> NDArray[np.void]:
    """Positions told apart by a number; odd ones with black to move."""
    made = np.zeros(len(positions), RECORD)
    made["board"][:, 7] = np.array(positions, int) // 2
    made["black_to_move"] = np.array(positions, int) % 2
    made["score"] = score
    return made


def label(folder: Path, training: NDArray[np.void], validation: NDArray[np.void], **header: object):
    folder.mkdir()
    for part, some in (("training", training), ("validation", validation)):
        write_records(folder / f"{part}.zgd", some, HEADER | header | {"part": part})
    return str(folder)


def numbers(some: NDArray[np.void]) -> list[int]:
    return [2 * int(one["board"][7]) + int(one["black_to_move"]) for one in some]


positions = st.lists(st.lists(st.integers(0, 9), max_size=8), max_size=3)


@given(positions, positions)
def test_each_position_is_kept_once_where_it_is_met_first(
    training: list[list[int]], validation: list[list[int]]
) -> None:
    parts, left_out = unique_parts(
        [records(*some) for some in training], [records(*some) for some in validation]
    )
    held_out = list(dict.fromkeys(chain(*validation)))
    learnt = [one for one in dict.fromkeys(chain(*training)) if one not in held_out]
    assert numbers(parts["validation"]) == held_out
    assert numbers(parts["training"]) == learnt
    total = sum(map(len, training)) + sum(map(len, validation))
    assert left_out == total - len(held_out) - len(learnt)


def test_folders_are_put_together(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first = label(tmp_path / "first", records(1, 2, 3, score=5), records(4))
    second = label(tmp_path / "second", records(3, 4, 5, score=9), records(2))
    out = tmp_path / "all"
    assert main(["nnue", "merge", str(out), first, second]) == 0
    training = map_records(out / "training.zgd")
    assert numbers(training) == [1, 3, 5]
    assert training["score"].tolist() == [5, 5, 9]
    assert numbers(map_records(out / "validation.zgd")) == [4, 2]
    header = read_header(out / "validation.zgd")
    assert (header["unit"], header["part"]) == ("internal", "validation")
    assert header["origin"] == "merged: first, second"
    assert "3 positions were there more than once" in capsys.readouterr().err
    # A second time nothing is written over.
    assert main(["nnue", "merge", str(out), first]) == 2
    assert "has labels already" in capsys.readouterr().err


def test_the_depth_does_not_matter_for_static_labels(tmp_path: Path) -> None:
    first = label(tmp_path / "first", records(1), records(2), static=True)
    second = label(tmp_path / "second", records(3), records(4), static=True, depth=6)
    assert main(["nnue", "merge", str(tmp_path / "all"), first, second]) == 0


@pytest.mark.parametrize(
    ("other", "message"),
    [
        ({"depth": 9}, "was labelled otherwise than"),
        ({"static": True}, "(static, depth)"),
        ({"engine": "Stockfish 16"}, "(engine)"),
    ],
)
def test_labels_of_other_kinds_are_not_mixed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], other: dict[str, object], message: str
) -> None:
    first = label(tmp_path / "first", records(1), records(2))
    second = label(tmp_path / "second", records(3), records(4), **other)
    assert main(["nnue", "merge", str(tmp_path / "all"), first, second]) == 2
    assert message in " ".join(capsys.readouterr().err.split())
    assert not (tmp_path / "all").exists()


def test_mistakes_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["nnue", "merge", str(tmp_path / "all")]) == 2
    assert "name the folders" in capsys.readouterr().err
    assert main(["nnue", "merge", str(tmp_path / "all"), str(tmp_path / "none")]) == 2
    assert "there is no record file" in capsys.readouterr().err
    (tmp_path / "file").touch()
    first = label(tmp_path / "first", records(1), records(2))
    assert main(["nnue", "merge", str(tmp_path / "file"), first]) == 2
    assert "name a folder" in " ".join(capsys.readouterr().err.split())
