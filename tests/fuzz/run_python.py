"""Runs the targets of `python_targets.py`: with atheris if it is installed, else by mutation.

    python tests/fuzz/run_python.py [NAME ...] [--seconds S] [--runs N]

Atheris (`pip install atheris`) sees which lines an input reaches and keeps what reaches new ones in
`build/fuzz/corpus/python-<name>`. The bytes of a finding are left in `build/fuzz`.
"""

import argparse
import random
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from python_targets import Target

LONGEST_S = 20
"""An input that takes longer is a finding."""
LARGEST_MB = 1500
"""The largest memory of the process; the libraries take up to 500 MB of it."""
MAX_BYTES = 200_000
FINDINGS = Path(__file__).parents[2] / "build" / "fuzz"
"""Where the bytes of findings are left."""
_FAVOURITES = b'\0\xff\x7f\x80()[]{};\\"/-+.09eEwWbB \n=,:'
_PACKAGES = [
    "zerogames",
    "zerogames_chess",
    "zerogames_go",
    "zerogames_classics",
    "zerogames_shogi",
]


def mutate(data: bytearray, corpus: Sequence[bytes], source: random.Random) -> None:
    """One change of a kind that breaks parsers, as in `replay.cpp`."""
    data = data or bytearray(b"\n")
    at = source.randrange(len(data))
    match source.randrange(7):
        case 0:
            data[at] ^= 1 << source.randrange(8)
        case 1:
            data[at] = source.randrange(256)
        case 2:
            del data[at:]
        case 3:
            del data[at : at + 1 + source.randrange(64)]
        case 4:
            start = source.randrange(len(data))
            data[at:at] = data[start : start + 1 + source.randrange(256)]
        case 5:
            other = source.choice(corpus)
            start = source.randrange(len(other) or 1)
            data[at:at] = other[start : start + 1 + source.randrange(256)]
        case _:
            data[at] = source.choice(_FAVOURITES)


def mutant(corpus: Sequence[bytes], source: random.Random) -> bytes:
    """A file of the corpus with one to six changes."""
    data = bytearray(source.choice(corpus))
    for _ in range(source.randint(1, 6)):
        mutate(data, corpus, source)
    return bytes(data)


def check(target: "Target", data: bytes, largest_mb: int = LARGEST_MB) -> bool:
    """Read one input within the limits of time and memory; whether it was accepted."""
    from python_targets import run

    signal.signal(signal.SIGALRM, _too_long)
    signal.alarm(LONGEST_S)
    try:
        accepted = run(target, data)
    finally:
        signal.alarm(0)
    largest = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    assert largest < largest_mb, f"the process has taken {largest} MB"
    return accepted


def _too_long(number: int, frame: FrameType | None) -> None:
    raise TimeoutError(f"one input took longer than {LONGEST_S} s")


def by_mutation(name: str, seconds: float, runs: int) -> int:
    """Mutants of the corpus, from a seed; the exit code."""
    from python_targets import TARGETS

    corpus, source = TARGETS[name].corpus(name), random.Random(time.time_ns())
    end, done = time.monotonic() + seconds, 0
    while done < runs and time.monotonic() < end:
        data = mutant(corpus, source) if done >= len(corpus) else corpus[done]
        try:
            check(TARGETS[name], data)
        except BaseException:
            path = FINDINGS / f"finding-python-{name}-{done}"
            path.write_bytes(data)
            print(f"{name}: finding after {done} inputs, in {path}", file=sys.stderr)
            raise
        done += 1
    print(f"{name}: {done} inputs", flush=True)
    return 0


def with_atheris(name: str, seconds: float, runs: int) -> None:
    """Mutants that reach new lines of our packages; ends the process."""
    import atheris

    with atheris.instrument_imports(include=_PACKAGES):
        from python_targets import TARGETS

    target = TARGETS[name]
    learned = FINDINGS / "corpus" / f"python-{name}"
    learned.mkdir(parents=True, exist_ok=True)
    for number, data in enumerate(target.corpus(name)):
        (learned / f"seed-{number}").write_bytes(data)
    options = [
        f"-max_total_time={max(1, round(seconds))}",
        f"-runs={runs}",
        f"-timeout={LONGEST_S}",
        f"-rss_limit_mb={LARGEST_MB}",
        f"-max_len={MAX_BYTES}",
        f"-artifact_prefix={FINDINGS}/finding-python-{name}-",
        "-print_final_stats=1",
        "-verbosity=0",
    ]

    from python_targets import run

    def read(data: bytes) -> None:
        run(target, data)

    atheris.Setup([sys.argv[0], *options, str(learned)], read)
    atheris.Fuzz()


def main() -> int:
    """Run each target in a process of its own; the exit code is 1 if any has a finding."""
    sys.path.insert(0, str(Path(__file__).parent))
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", help="The targets; by default all.")
    parser.add_argument("--seconds", type=float, default=60, help="Seconds for each, default 60.")
    parser.add_argument("--runs", type=int, default=(1 << 31) - 1, help="Inputs for each at most.")
    parser.add_argument("--plain", action="store_true", help="Mutate even if atheris is there.")
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    FINDINGS.mkdir(parents=True, exist_ok=True)
    if options.here:
        [name] = options.names
        try:
            if not options.plain:
                with_atheris(name, options.seconds, options.runs)
        except ModuleNotFoundError as error:
            if error.name != "atheris":
                raise
        return by_mutation(name, options.seconds, options.runs)
    from python_targets import TARGETS

    failed = []
    for name in options.names or TARGETS:
        command = [sys.executable, __file__, "--here", name, *("--plain",) * options.plain]
        command += [f"--seconds={options.seconds}", f"--runs={options.runs}"]
        print(f"fuzzing {name}", flush=True)
        done = subprocess.run(command, text=True, stderr=subprocess.PIPE, check=False)
        lines = done.stderr.splitlines()
        if done.returncode:
            failed.append(name)
            print(done.stderr[-6000:], flush=True)
        print(*(line for line in lines if "number_of_executed" in line), sep="\n", flush=True)
    print(f"findings in: {', '.join(failed)}" if failed else "no findings")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
