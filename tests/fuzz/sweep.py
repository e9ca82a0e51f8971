"""Damages files of every kind that commands read: each is read, or refused in one line.

    python tests/fuzz/sweep.py [KIND ...] [--files 100000] [--seed 1] [--seconds S]

The kinds are the targets of `python_targets.py`, so a new reader joins by one line there. Mutants
are read in this process, under limits of time and memory; one in `COMMAND_SHARE` of those that a
command takes as they are goes through the command too, which must end with exit code 0, or 2 and
one line. A table of what happened is printed; the bytes of a finding are left in `build/fuzz`.
"""

import argparse
import contextlib
import io
import os
import random
import resource
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from python_targets import TARGETS, a_folder
from run_python import FINDINGS, check, mutant

from zerogames.cli import main as run_command

LARGEST_MB = 1000
"""Of the whole process, of which the libraries take half."""
COMMAND_SHARE = 40
COMMANDS: dict[str, tuple[str, list[str]]] = {
    "preset": ("preset.toml", ["info"]),
    "net_info": ("net.safetensors", ["info"]),
    "net_file": ("net.safetensors", ["info"]),
    "lc0_weights": ("net.pb", ["info"]),
    "lc0_gz": ("net.pb.gz", ["info"]),
    "leela_zero_weights": ("net.txt", ["info"]),
    "int8_onnx": ("net.int8.onnx", ["info"]),
    "shard": ("games.parquet", ["info"]),
    "chess_pgn": ("games.pgn", ["data", "inspect", "--game", "chess"]),
    "chess_data": ("games", ["data", "inspect", "--game", "chess"]),
    "archive": ("games", ["data", "inspect", "--game", "chess"]),
    "go_sgf": ("game.sgf", ["data", "inspect", "--game", "go"]),
    "go_data": ("games", ["data", "stats", "--game", "go"]),
    "shogi_csa": ("game.csa", ["data", "stats", "--game", "shogi"]),
}
"""The name that a file of a kind has and the command that reads it."""


@dataclass
class Row:
    """What happened to the files of a kind."""

    kind: str
    files: int = 0
    read: int = 0
    commands: int = 0
    longest_s: float = 0.0
    findings: int = 0


def command(kind: str, data: bytes) -> None:
    """Give a file to its command; an answer of another form is an AssertionError."""
    name, words = COMMANDS[kind]
    out, error = io.StringIO(), io.StringIO()
    with a_folder() as folder:
        (folder / name).write_bytes(data)
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(error):
            code = run_command([*words, str(folder / name)])
    said = error.getvalue()
    assert code in (0, 1, 2), f"exit code {code}"
    assert "Traceback" not in said + out.getvalue(), said
    if code == 2:
        errors = [line for line in said.splitlines() if line.startswith("error: ")]
        assert len(errors) == 1, f"not one line: {said!r}"
        assert said.rstrip().endswith(errors[0]), f"not one line: {said!r}"


def sweep(kind: str, files: int, seed: int, end: float) -> Row:
    """Read mutants of one kind."""
    row, corpus = Row(kind), TARGETS[kind].corpus(kind)
    source = random.Random(f"{kind} {seed}")
    for number in range(files):
        if time.monotonic() > end:
            break
        data = mutant(corpus, source) if number >= len(corpus) else corpus[number]
        began = time.monotonic()
        try:
            row.read += check(TARGETS[kind], data, LARGEST_MB)
            if kind in COMMANDS and number % COMMAND_SHARE == 0:
                row.commands += 1
                command(kind, data)
        except BaseException as error:
            row.findings += 1
            FINDINGS.mkdir(parents=True, exist_ok=True)
            path = FINDINGS / f"finding-sweep-{kind}-{seed}-{number}"
            path.write_bytes(data)
            print(f"{path}: {type(error).__name__}: {str(error)[:300]}", file=sys.stderr)
            if isinstance(error, KeyboardInterrupt):
                raise
        row.files += 1
        row.longest_s = max(row.longest_s, time.monotonic() - began)
    return row


def table(rows: Sequence[Row]) -> Iterator[str]:
    """Lines of Markdown."""
    yield "| kind | files | read | refused | by the command too | longest, s | findings |"
    yield "|---|---|---|---|---|---|---|"
    for row in rows:
        numbers = (row.files, row.read, row.files - row.read - row.findings, row.commands)
        longest = f"{row.longest_s:.2f}"
        yield f"| `{row.kind}` | {' | '.join(map(str, numbers))} | {longest} | {row.findings} |"
    largest = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    files, findings = sum(row.files for row in rows), sum(row.findings for row in rows)
    yield f"\n{files} files, {findings} findings, at most {largest} MB"


def main() -> int:
    """Sweep the kinds in turn, so that each gets its share of the time."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("kinds", nargs="*", default=list(TARGETS))
    parser.add_argument("--files", type=int, default=100_000, help="Files of all kinds together.")
    parser.add_argument("--seconds", type=float, default=1e9, help="For all kinds together.")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    rows, began = [], time.monotonic()
    # onnxruntime and the display write to the file itself, not to what Python calls stderr.
    with open(os.devnull, "w") as nothing:
        kept = os.dup(2)
        own = sys.stderr = os.fdopen(kept, "w")
        os.dup2(nothing.fileno(), 2)
        for number, kind in enumerate(given.kinds):
            left = began + given.seconds * (number + 1) / len(given.kinds)
            rows.append(sweep(kind, -(-given.files // len(given.kinds)), given.seed, left))
            print(f"{kind}: {rows[-1]}", file=own, flush=True)
    print("\n".join(table(rows)), flush=True)
    return 1 if any(row.findings for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
