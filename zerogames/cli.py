"""`zerogames COMMAND ...`: finds the command, runs it, and turns mistakes into one line."""

import importlib
import os
import pkgutil
import sys
from collections.abc import Callable, Sequence
from importlib.metadata import entry_points

from zerogames import commands
from zerogames.errors import UserError, unknown_name
from zerogames.openmp import let_threads_wait_briefly

GROUP = "zerogames.commands"
Command = Callable[[Sequence[str]], int]
"""Takes the arguments after its name, returns the exit code."""

USAGE_ERROR = 2
INTERRUPTED = 130


def find_commands() -> dict[str, Callable[[], Command]]:
    """Names of all commands with a loader each; nothing is imported yet."""
    found: dict[str, Callable[[], Command]] = {}
    for module in pkgutil.iter_modules(commands.__path__):
        if not module.name.startswith("_"):
            found[module.name] = _builtin(module.name)
    for point in entry_points(group=GROUP):
        found[point.name] = point.load
    return dict(sorted(found.items()))


def _builtin(name: str) -> Callable[[], Command]:
    def load() -> Command:
        command: Command = importlib.import_module(f"{commands.__name__}.{name}").main
        return command

    return load


def usage() -> str:
    """The help text."""
    lines = ["usage: zerogames COMMAND [OPTIONS]", "", "commands:"]
    for name, load in find_commands().items():
        purpose = (sys.modules[load().__module__].__doc__ or "").partition("\n")[0]
        lines.append(f"  {name:<12} {purpose}")
    lines += ["", "`zerogames COMMAND --help` tells more about one."]
    return "\n".join(lines)


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; exit code 2 for a user's mistake, 130 after Ctrl-C."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    let_threads_wait_briefly()
    try:
        if not arguments or arguments[0] in ("-h", "--help", "help"):
            print(usage())
            return 0
        if arguments[0] in ("-V", "--version"):
            from zerogames import __version__

            print(f"zerogames {__version__}")
            return 0
        name, *rest = arguments
        known = find_commands()
        if name not in known:
            raise unknown_name("command", name, known)
        return known[name]()(rest)
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return USAGE_ERROR
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        # The reader (head, less) has gone: close quietly instead of failing again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


if __name__ == "__main__":
    sys.exit(main())
