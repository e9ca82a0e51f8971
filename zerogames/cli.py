"""`zerogames COMMAND ...`: finds the command, runs it, and turns mistakes into one line."""

import ast
import errno
import importlib.util
import os
import pkgutil
import sys
from collections.abc import Callable, Sequence
from importlib.machinery import PathFinder
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path

from zerogames import commands
from zerogames.errors import UserError, unknown_name
from zerogames.openmp import limit_openmp_spinning

GROUP = "zerogames.commands"
Command = Callable[[Sequence[str]], int]
"""Takes the arguments after its name, returns the exit code."""

USAGE_ERROR = 2
INTERRUPTED = 130


def find_commands() -> dict[str, EntryPoint]:
    """Return where each command is, by name: ours, then those of plugins; imports none."""
    own = (
        EntryPoint(module.name.replace("_", "-"), f"{commands.__name__}.{module.name}:main", GROUP)
        for module in pkgutil.iter_modules(commands.__path__)
        if not module.name.startswith("_")
    )
    found = {point.name: point for point in (*own, *entry_points(group=GROUP))}
    return dict(sorted(found.items()))


def usage() -> str:
    """Return the help text."""
    lines = ["usage: zerogames COMMAND [OPTIONS]", "", "commands:"]
    for name, point in find_commands().items():
        lines.append(f"  {name:<12} {read_purpose(point.module)}")
    lines += ["", "`zerogames COMMAND --help` tells more about one."]
    return "\n".join(lines)


def read_purpose(module: str) -> str:
    """Return the first line of a module's docstring, or nothing if it cannot be read.

    The source is read and neither the module nor its packages are imported: commands import torch.
    """
    name, *parts = module.split(".")
    spec = importlib.util.find_spec(name)
    for part in parts:
        name = f"{name}.{part}"
        spec = PathFinder.find_spec(name, spec.submodule_search_locations) if spec else None
    if spec is None or not (spec.origin or "").endswith(".py"):
        return ""
    try:
        tree = ast.parse(Path(str(spec.origin)).read_bytes())
    except (OSError, SyntaxError):
        return ""
    return (ast.get_docstring(tree) or "").partition("\n")[0]


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; exit code 2 for a user's mistake, 130 after Ctrl-C.

    `zerogames.__main__` calls it, and answers Ctrl-C while this module is imported.
    """
    arguments = list(sys.argv[1:] if argv is None else argv)
    limit_openmp_spinning()
    try:
        if not arguments:
            print(usage(), file=sys.stderr)
            return USAGE_ERROR
        if arguments[0] in ("-h", "--help", "help"):
            print(usage())
            return 0
        if arguments[0] in ("-V", "--version"):
            from zerogames.version import __version__

            print(f"zerogames {__version__}")
            return 0
        name, *rest = arguments
        known = find_commands()
        if name not in known:
            raise unknown_name("command", name, known)
        command: Command = known[name].load()
        return command(rest)
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return USAGE_ERROR
    except BrokenPipeError:
        # The reader (head, less) has gone: close quietly instead of failing again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        if error.errno != errno.ENAMETOOLONG:
            raise
        # Wherever a word of the user is tried as a file.
        print(f"error: '{str(error.filename)[:40]}...' is too long for a name", file=sys.stderr)
        return USAGE_ERROR
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return INTERRUPTED
