"""Calls every function of every extension module wrongly, to see that the interpreter lives.

    python tests/misuse/probe.py [--calls N] [--seed N] [--only TEXT]

Modules, classes and functions are found by walking through the installed packages, so new ones are
probed as they are. Arguments come from the types in the signature, from the right calls of
`native_calls.py`, and from anything; then parts are changed. Objects that calls return are used in
later calls. A call must return, or raise one clear Python error, or be ended by a signal or by
`stop`. It is a finding if the process dies or hangs, or if an error is none for a user.
"""

import argparse
import contextlib
import dataclasses
import faulthandler
import importlib
import importlib.machinery
import pkgutil
import random
import re
import resource
import signal
import sys
import threading
import time
import warnings
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import FrameType, ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import torch

sys.path += [str(Path(__file__).parent), str(Path(__file__).parents[1] / "fuzz")]

from native_calls import Call, calls, objects
from zerogames_kernels.native import LEVELS

PREFIXES = ("zerogames", "zerogames_")
SHORT_S, LONGEST_S = 0.25, 20.0
"""After the first a call is told to stop; after the second the process is ended."""
MOST_MEMORY = 3 << 30
"""What calls may take beyond what the libraries have."""
MOST_OBJECTS = 6
"""Of each type, for later calls."""
GOOD_ERRORS = (TypeError, ValueError, IndexError, AttributeError, OverflowError, MemoryError)
"""`UserError` is a `ValueError`; errors of Python are raised by parts that are no arrays at all."""
UNCLEAR = re.compile(r"std::|vector::|vector<|basic_string|bad_alloc|bad_cast|instance of|^\s*$")

EXTREMES: tuple[Any, ...] = (
    *(None, True, -1, 0, 1, 2, 3, 7, 64, 82, 255, 1858, 65536, -(2**31), 2**31 - 1, 2**31, 2**63),
    *(2**64 - 1, -(2**70), 0.0, -0.5, 1e300, float("nan"), float("inf"), "", "x", "\0", "\ud800"),
    *("e2e4", "0000", "8/8/8/8/8/8/8/8 w - - 0 1", "9" * 400, b"", b"\0" * 40, b"\x06\0\0\0" * 99),
    *((), [], {}, [[]], [1, 2, 3], [None] * 3, [2**40] * 4, object(), int, len),
)
SPECIAL = ("__copy__", "__deepcopy__", "__str__")
TENSORS = (torch.float32, torch.int8)
KINDS = ("f4", "f8", "i1", "u1", "u2", "i2", "i4", "i8", "u8", "?", "O", "S3", "c8", "f2")


class Probe:
    """Everything that can be called, and what it is called with."""

    def __init__(self, seed: int, only: str) -> None:
        self.random = random.Random(seed)
        self.objects: dict[type, list[object]] = defaultdict(list)
        for item in objects():
            self.keep(item)
        found = [item for items in self.objects.values() for item in items]
        self.right = [call for call in calls(found) if only in repr(call[0])]
        self.functions = [pair for pair in self.find_functions() if only in ".".join(pair[0])]
        assert self.functions or self.right, "nothing to probe"
        self.counts: Counter[str] = Counter()
        self.called: set[str] = set()

    # What there is.

    @staticmethod
    def modules() -> list[ModuleType]:
        """Every extension module of the installed packages."""
        names = {name.partition(".")[0] for name in sys.modules if name.startswith(PREFIXES)}
        for name in sorted(names):
            package = importlib.import_module(name)
            for module in pkgutil.walk_packages(getattr(package, "__path__", []), f"{name}."):
                # A variant for another CPU would take the place of the one that is loaded.
                if not module.name.endswith(("__main__", *LEVELS)):
                    importlib.import_module(module.name)
        suffixes = tuple(importlib.machinery.EXTENSION_SUFFIXES)
        found = {
            id(module): module
            for name, module in sorted(sys.modules.items())
            if name.startswith(PREFIXES) and str(getattr(module, "__file__", "")).endswith(suffixes)
        }
        return list(found.values())

    def find_functions(self) -> Iterator[tuple[tuple[str, ...], object]]:
        """Names and functions, methods (of types), constructors and properties."""
        waiting: list[tuple[tuple[str, ...], object]] = [
            ((module.__name__,), module) for module in self.modules()
        ]
        seen = set()
        while waiting:
            name, owner = waiting.pop()
            for member, value in sorted(vars(owner).items()):
                if member.startswith("__") and member not in (
                    "__copy__",
                    "__deepcopy__",
                    "__str__",
                ):
                    continue
                path = (*name, member)
                if isinstance(value, type) and id(value) not in seen:
                    seen.add(id(value))
                    waiting.append((path, value))
                    yield path, value
                elif hasattr(value, "__nb_signature__"):
                    yield path, (owner, value) if isinstance(owner, type) else value
                elif isinstance(owner, type) and isinstance(value, property):
                    yield path, (owner, value)

    def keep(self, item: object) -> None:
        """Remember an object of ours for later calls."""
        for part in item if isinstance(item, tuple | list) else (item,):
            if type(part).__module__.startswith(PREFIXES):
                held = self.objects[type(part)]
                if len(held) < MOST_OBJECTS:
                    held.append(part)
                else:
                    held[self.random.randrange(1, MOST_OBJECTS)] = part

    # Values.

    def anything(self) -> Any:
        """A value of any kind."""
        match self.random.randrange(8):
            case 0 | 1 | 2:
                return self.random.choice(EXTREMES)
            case 3 | 4:
                return self.array(self.random.choice(KINDS), self.shape())
            case 5:
                held = self.random.choice(list(self.objects.values()))
                return self.random.choice(held)
            case 6:
                _, args, kwargs = self.random.choice(self.right)
                values = [*args, *kwargs.values()]
                return self.random.choice(values) if values else None
            case _:
                return torch.ones(
                    self.shape(), dtype=self.random.choice([torch.float32, torch.int8])
                )

    def shape(self) -> tuple[int, ...]:
        """A small shape."""
        sizes = (0, 1, 1, 2, 3, 4, 8, 9, 40, 82)
        return tuple(self.random.choice(sizes) for _ in range(self.random.randrange(4)))

    def array(self, kind: str, shape: tuple[int, ...]) -> Any:
        """An array of that type."""
        fill = self.random.choice((0, 0, 1, 1, 2, -1, 100, 2**30))
        with np.errstate(all="ignore"):
            return np.full(shape, fill).astype(kind)

    def of_type(self, text: str) -> Any:
        """A value of the type that a signature names."""
        text = text.strip()
        if "|" in text and "[" not in text:
            return self.of_type(self.random.choice(text.split("|")))
        if found := re.match(r"ndarray\[(.*)\]", text):
            kind = re.search(r"dtype=(\w+)", found[1])
            dims = re.search(r"shape=\(([^)]*)\)", found[1])
            shape = self.shape()
            if dims:
                free = self.random.choice((0, 1, 2, 8))
                shape = tuple(
                    free if dim.strip() == "*" else int(dim)
                    for dim in dims[1].split(",")
                    if dim.strip()
                )
            return self.array(kind[1] if kind else "f4", shape)
        if found := re.match(r"(?:tuple|list|collections\.abc\.Sequence)\[(.*)\]", text):
            parts = split_commas(found[1])
            if text.startswith("tuple"):
                return tuple(self.of_type(part) for part in parts)
            return [self.of_type(parts[0]) for _ in range(self.random.randrange(4))]
        match text:
            case "int":
                small = self.random.randrange(-2, 90)
                return self.random.choice([small, small, *filter(is_int, EXTREMES)])
            case "float":
                return self.random.choice([0.0, 0.5, 1.0, *filter(is_float, EXTREMES)])
            case "bool":
                return self.random.random() < 0.5
            case "str":
                texts = [a for _, args, _ in self.right for a in args if isinstance(a, str)]
                return self.random.choice([*filter(is_str, EXTREMES), *texts, "h+v", "positional"])
            case "bytes":
                texts = [a for _, args, _ in self.right for a in args if isinstance(a, bytes)]
                return self.random.choice([b"", b"\0" * 99, *texts])
            case "None":
                return None
        for kind, held in self.objects.items():
            if f"{kind.__module__}.{kind.__qualname__}" == text and held:
                return self.random.choice(held)
        return self.anything()

    def changed(self, value: Any) -> Any:
        """The value with one part made wrong."""
        if self.random.random() < 0.2:
            return self.anything()
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            names = [field.name for field in dataclasses.fields(value)]
            value = SimpleNamespace(**{name: getattr(value, name) for name in names})
        if isinstance(value, SimpleNamespace) or type(value).__name__ == "Symmetries":
            parts = dict(vars(value))
            name = self.random.choice(list(parts))
            parts[name] = self.changed(parts[name])
            if self.random.random() < 0.1:
                del parts[name]
            return SimpleNamespace(**parts)
        if isinstance(value, dict) and value:
            name = self.random.choice(list(value))
            other = value | {name: self.changed(value[name])}
            if self.random.random() < 0.1:
                del other[name]
            return other
        if isinstance(value, tuple | list) and value:
            items = list(value)
            at = self.random.randrange(len(items))
            match self.random.randrange(6):
                case 0:
                    del items[at]
                case 1:
                    items.insert(at, items[at])
                case _:
                    items[at] = self.changed(items[at])
            return tuple(items) if isinstance(value, tuple) else items
        if isinstance(value, np.ndarray):
            return self.changed_array(value)
        if isinstance(value, torch.Tensor):
            return self.changed_tensor(value)
        if isinstance(value, bytes | bytearray) and value:
            data = bytearray(value)
            for _ in range(self.random.randrange(1, 4)):
                data[self.random.randrange(len(data))] = self.random.randrange(256)
            return bytes(data[: self.random.choice((None, None, len(data) // 2, -1))])
        if isinstance(value, str) and value:
            at = self.random.randrange(len(value))
            return value[:at] + self.random.choice(("", "9", " ", "K", "\0")) + value[at + 1 :]
        return self.anything()

    def changed_array(self, value: Any) -> Any:
        """Another type, size, layout, byte order or content."""
        match self.random.randrange(9):
            case 0:
                with np.errstate(all="ignore"), warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    return value.astype(self.random.choice(KINDS))
            case 1:
                return value.astype(value.dtype.newbyteorder(">"))
            case 2:
                return value[: len(value) // 2] if value.ndim else value
            case 3:
                return np.concatenate([value, value]) if value.ndim else value
            case 4:
                return np.asfortranarray(np.repeat(value, 2, axis=-1)[..., ::2])
            case 5:
                return value.reshape(-1)
            case 6:
                copy = value.copy()
                copy.flags.writeable = False
                return copy
            case 7:
                raw = np.zeros(value.nbytes + 1, np.uint8)[1:]
                return raw[: value.nbytes].view(value.dtype).reshape(value.shape)  # not aligned
            case _:
                copy = value.copy()
                if copy.size and copy.dtype.kind in "fiu":
                    wrong = (-1, 1, 2**31 - 1, -(2**31), 10**6, 3, float("nan"))
                    number = self.random.choice(wrong if copy.dtype.kind == "f" else wrong[:-1])
                    with np.errstate(all="ignore"):
                        copy.flat[self.random.randrange(copy.size)] = np.array(number).astype(
                            copy.dtype
                        )
                return copy

    def changed_tensor(self, value: torch.Tensor) -> Any:
        """Another type, size, layout or place."""
        if not value.ndim or value.is_sparse or value.is_meta:
            return self.anything()
        match self.random.randrange(7):
            case 0:
                kinds = torch.float64, torch.bfloat16, torch.float32, torch.int32, torch.float16
                return value.to(self.random.choice(kinds))
            case 1:
                return value[:1]
            case 2:
                return torch.cat([value, value])
            case 3:
                return value.transpose(0, -1)
            case 4:
                return value.to("meta")
            case 5:
                return value.data_ptr()
            case _:
                return value.numpy() if value.dtype == torch.float32 else value.to_sparse()

    # Calls.

    def draw(self) -> Call:
        """A function with arguments, mostly with something wrong in them."""
        if self.right and (not self.functions or self.random.random() < 0.6):
            function, args, kwargs = self.random.choice(self.right)
            for _ in range(self.random.choice((0, 1, 1, 1, 2))):
                if kwargs and (not args or self.random.random() < 0.5):
                    other = self.changed(kwargs)
                    kwargs = other if isinstance(other, dict) else {}
                else:
                    other = self.changed(args)
                    args = other if isinstance(other, tuple) else (other,)
            return function, args, kwargs
        path, found = self.random.choice(self.functions)
        self.called.add(".".join(path))
        if isinstance(found, type):
            signature = getattr(vars(found).get("__init__"), "__nb_signature__", ())
            signature = signature or getattr(vars(found).get("__new__"), "__nb_signature__", ())
            return found, self.arguments(signature)[1:], {}
        if not isinstance(found, tuple):
            return found, self.arguments(found.__nb_signature__), {}  # type: ignore[attr-defined]
        owner, member = found
        held = [
            item
            for kind, items in self.objects.items()
            if issubclass(kind, owner)
            for item in items
        ]
        receiver = (
            self.random.choice(held) if held and self.random.random() < 0.95 else self.anything()
        )
        if isinstance(member, property):
            assert member.fget is not None
            if member.fset is not None and self.random.random() < 0.5:
                return member.fset, (receiver, self.anything()), {}
            return member.fget, (receiver,), {}
        arguments = self.arguments(member.__nb_signature__)
        takes_self = "(self" in member.__nb_signature__[0][0]
        return member, (receiver, *arguments[1:]) if takes_self else arguments, {}

    def arguments(self, signature: Sequence[Any]) -> tuple[Any, ...]:
        """Values for the parameters of one of the overloads."""
        if not signature:
            return tuple(self.anything() for _ in range(self.random.randrange(3)))
        text = self.random.choice(signature)[0].partition("(")[2].rpartition(")")[0]
        values = []
        for part in split_commas(text):
            name, _, kind = part.partition(":")
            if name.strip() in ("", "*", "/"):
                continue
            kind = kind.rpartition(" = ")[0] or kind
            values.append(self.of_type(kind) if self.random.random() < 0.9 else self.anything())
        return tuple(values)

    def attempt(self, call: Call) -> None:
        """Make a call; what it must not do is raised as AssertionError."""
        function, args, kwargs = call
        try:
            result = function(*args, **kwargs)
        except (*GOOD_ERRORS, TimeoutError) as error:
            self.counts[type(error).__name__] += 1
            if not isinstance(error, TypeError) and UNCLEAR.search(str(error)):
                raise AssertionError(f"unclear: {type(error).__name__}: {error}") from error
        else:
            self.counts["answered"] += 1
            self.keep(result)

    def attempt_in_threads(self, call: Call) -> None:
        """The same call three times at once."""
        wrong: list[BaseException] = []

        def run() -> None:
            try:
                self.attempt(call)
            except BaseException as error:
                wrong.append(error)

        threads = [threading.Thread(target=run) for _ in range(3)]
        started = []
        for thread in threads:
            with contextlib.suppress(RuntimeError):  # No memory for its stack.
                thread.start()
                started.append(thread)
        for thread in started:
            thread.join()
        if wrong:
            raise wrong[0]


def name_of(function: object) -> str:
    """What is called."""
    owner = type(getattr(function, "__self__", None)).__qualname__
    return f"{owner}.{getattr(function, '__name__', function)}"


def split_commas(text: str) -> list[str]:
    """Parts between commas that are in no brackets."""
    depth, parts = 0, [""]
    for letter in text:
        depth += (letter in "([{") - (letter in ")]}")
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return parts


def is_int(value: object) -> bool:
    """Whether it is an integer."""
    return type(value) is int


def is_float(value: object) -> bool:
    """Whether it is a float."""
    return isinstance(value, float)


def is_str(value: object) -> bool:
    """Whether it is a text."""
    return isinstance(value, str)


class Watch:
    """Tells calls that last too long to stop; ends the process if they do not."""

    def __init__(self, probe: Probe) -> None:
        self.probe = probe
        self.current: list[object] = []
        """The objects of the call that is being made."""
        self.began = time.monotonic()
        signal.signal(signal.SIGALRM, self.interrupt)
        threading.Thread(target=self.stop_long_calls, daemon=True).start()

    def interrupt(self, number: int, frame: FrameType | None) -> None:
        """Raised where a call looks for signals."""
        raise TimeoutError("told to stop")

    def stop_long_calls(self) -> None:
        """Runs in a thread; `stop` may be called from any."""
        while True:
            time.sleep(SHORT_S / 2)
            if time.monotonic() - self.began > SHORT_S:
                for item in self.current:
                    if hasattr(item, "stop"):
                        item.stop()

    def attempt(self, call: Call, *, in_threads: bool) -> None:
        """Make a call with a bound on its time."""
        self.current = [getattr(call[0], "__self__", None), *call[1]]
        self.began = time.monotonic()
        signal.setitimer(signal.ITIMER_REAL, SHORT_S, SHORT_S)
        faulthandler.dump_traceback_later(LONGEST_S, exit=True)
        try:
            (self.probe.attempt_in_threads if in_threads else self.probe.attempt)(call)
        except TimeoutError:
            pass  # It came between two lines of ours.
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            faulthandler.cancel_dump_traceback_later()


def main() -> int:
    """Probe, and print what was called last if that is a finding."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=20_000)
    parser.add_argument("--seconds", type=float, default=1e9)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="")
    parser.add_argument("--last", type=Path, help="A file for the call that is being made.")
    given = parser.parse_args()
    faulthandler.enable()
    warnings.simplefilter("ignore")
    probe = Probe(given.seed, given.only)
    watch, began, findings = Watch(probe), time.monotonic(), 0
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + MOST_MEMORY, used + MOST_MEMORY))
    last = given.last.open("w") if given.last else None
    done = 0
    for done in range(given.calls):
        if time.monotonic() - began > given.seconds:
            break
        try:
            call = probe.draw()
        except (TypeError, ValueError, RuntimeError, OverflowError):
            probe.counts["not made"] += 1  # NumPy or torch cannot change it in that way.
            continue
        text = f"call {done}: {name_of(call[0])} {call[1:]!r}"[:1500]
        if last:
            last.seek(0)
            last.write(text + "\n\0")
            last.flush()
        try:
            watch.attempt(call, in_threads=probe.random.random() < 0.03)
        except BaseException as error:
            findings += 1
            print(f"FINDING {type(error).__name__}: {str(error)[:500]}\n  in {text}", flush=True)
            if findings > 30:
                break
    print(
        f"{done + 1} calls of {len(probe.functions)} functions and {len(probe.right)} right calls"
    )
    print(f"never called: {len(probe.functions) - len(probe.called)}; {dict(probe.counts)}")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
