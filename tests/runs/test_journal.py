"""What was appended is read back, whatever happens to the rest of the file or to the writer."""

import json
import os
import resource
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from zerogames.runs.journal import Journal, pack_entry, read_journal

BENCHMARK = Path(__file__).resolve().parents[2] / "benchmarks" / "journal.py"
ENTRIES = [b"first", b"", b"a longer entry " * 9, pack_entry(b"an entry inside")[:-1], b"\0" * 40]


def write(path: Path, batches: Sequence[Sequence[bytes]]) -> None:
    journal = Journal(path)
    for batch in batches:
        journal.append(batch)
    journal.close()


@settings(max_examples=50, deadline=None)
@given(st.lists(st.lists(st.binary(max_size=100), min_size=1, max_size=4), max_size=6))
def test_entries_are_read_back_in_their_order(
    tmp_path_factory: pytest.TempPathFactory, batches: list[list[bytes]]
) -> None:
    path = tmp_path_factory.mktemp("journal") / "a.journal"
    write(path, batches)
    if batches:
        contents = read_journal(path)
        assert list(contents.entries) == [entry for batch in batches for entry in batch]
        assert (contents.num_damaged, contents.torn_bytes) == (0, 0)
    assert path.exists() == bool(batches)


def test_a_file_that_was_cut_off_anywhere_gives_its_whole_entries(tmp_path: Path) -> None:
    path = tmp_path / "a.journal"
    write(path, [ENTRIES])
    data = path.read_bytes()
    stops = [len(b"".join(map(pack_entry, ENTRIES[:n]))) for n in range(len(ENTRIES) + 1)]
    for size in range(len(data) + 1):
        path.write_bytes(data[:size])
        contents = read_journal(path)
        whole = sum(stop <= size for stop in stops[1:])
        assert list(contents.entries) == ENTRIES[:whole]
        assert (contents.num_damaged, contents.torn_bytes) == (0, size - stops[whole])


def test_a_flipped_byte_costs_its_own_entry_only_and_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "a.journal"
    write(path, [ENTRIES])
    data = path.read_bytes()
    stops = [len(b"".join(map(pack_entry, ENTRIES[: n + 1]))) for n in range(len(ENTRIES))]
    for at in range(len(data)):
        for flip in (0x01, 0x80, 0xFF):
            path.write_bytes(data[:at] + bytes([data[at] ^ flip]) + data[at + 1 :])
            contents = read_journal(path)
            hit = sum(stop <= at for stop in stops)
            assert list(contents.entries) == ENTRIES[:hit] + ENTRIES[hit + 1 :]
            assert contents.num_damaged == 1


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=200), st.integers(0, len(ENTRIES)))
def test_bytes_that_are_no_entry_are_passed_over(
    tmp_path_factory: pytest.TempPathFactory, noise: bytes, at: int
) -> None:
    path = tmp_path_factory.mktemp("journal") / "a.journal"
    parts = [*map(pack_entry, ENTRIES[:at]), noise, *map(pack_entry, ENTRIES[at:])]
    path.write_bytes(b"".join(parts))
    contents = read_journal(path)
    assert list(contents.entries) == ENTRIES
    assert contents.num_damaged + (contents.torn_bytes > 0) == bool(noise)


def test_after_a_failed_append_the_file_is_as_before_and_takes_more(tmp_path: Path) -> None:
    path = tmp_path / "a.journal"
    journal = Journal(path)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    for expected in ([], [b"one"]):
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limits[1]))
        try:
            with pytest.raises(OSError, match="too large"):
                journal.append([b"two", b"x" * 5000])
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        contents = read_journal(path)
        assert (list(contents.entries), contents.torn_bytes) == (expected, 0)
        if not expected:
            journal.append([b"one"])
    journal.append([b"two"])
    journal.close()
    assert list(read_journal(path).entries) == [b"one", b"two"]


def test_another_writers_file_is_not_taken_over(tmp_path: Path) -> None:
    path = tmp_path / "a.journal"
    write(path, [[b"one"]])
    with pytest.raises(FileExistsError):
        Journal(path).append([b"two"])
    assert list(read_journal(path).entries) == [b"one"]


def test_a_removed_journal_is_gone(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "a.journal")
    journal.append([b"one"])
    journal.remove()
    journal.remove()
    assert not os.listdir(tmp_path)


@pytest.mark.parametrize("kills", [40, pytest.param(2000, marks=pytest.mark.slow)])
def test_killed_writers_lose_nothing_that_they_acknowledged(kills: int) -> None:
    command = [sys.executable, str(BENCHMARK), "--kills", str(kills)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=1200, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    figures = {line["name"]: line["value"] for line in map(json.loads, done.stdout.splitlines())}
    assert figures["journal: writers killed"] == kills
    assert figures["journal: acknowledged"] > kills / 2
    assert figures["journal: lost"] == 0
