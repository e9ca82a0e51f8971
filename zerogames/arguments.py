"""Reading a command's arguments: a mistake is one line with the nearest valid word.

`tyro` reads them into dataclasses and functions; what it refuses becomes a `UserError`, and numbers
that are not finite are refused here, before the command sees any.
"""

import contextlib
import io
import math
import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeVar

import tyro
from tyro import _errors as events  # the only place where tyro tells what it refused

from zerogames.errors import UserError, unknown_name

T = TypeVar("T")

_KINDS = {"INT": "a whole number", "FLOAT": "a finite number", "PATH": "a path", "STR": "a text"}
"""What a value must be, by tyro's word for it."""


_registry = tyro.constructors.ConstructorRegistry()


@_registry.primitive_rule
def _finite_float(
    info: tyro.constructors.PrimitiveTypeInfo,
) -> tyro.constructors.PrimitiveConstructorSpec[float] | None:
    """Read a float; no setting may be infinite or not a number."""
    if info.type is not float:
        return None
    return tyro.constructors.PrimitiveConstructorSpec(
        nargs=1,
        metavar="FLOAT",
        instance_from_str=lambda words: _read_float(words[0]),
        is_instance=lambda value: isinstance(value, int | float),
        str_from_instance=lambda value: [str(value)],
    )


def _read_float(word: str) -> float:
    number = float(word)
    if not math.isfinite(number):
        raise ValueError(f"{word} is not a finite number")
    return number


def read_options(kind: Callable[..., T], argv: Sequence[str], prog: str, **more: Any) -> T:
    """Make the dataclass, or call the function, that the arguments behind `prog` are for.

    `more` is what `tyro.cli` takes beside these.
    """
    cli: Callable[..., T] = partial(tyro.cli, kind, **more)
    return _parse(cli, argv, prog)


def read_subcommand(
    kinds: dict[str, Callable[..., Any]], argv: Sequence[str], prog: str, **more: Any
) -> Any:
    """Do the same for one of several by the name that the arguments begin with."""
    name = argv[0] if argv else "-"
    if name not in kinds and not name.startswith("-"):
        raise unknown_name(f"command of `{prog}`", f"{name:.60}", kinds)
    return _parse(partial(tyro.extras.subcommand_cli_from_dict, kinds, **more), argv, prog)


def _parse(cli: Callable[..., T], argv: Sequence[str], prog: str) -> T:
    helps = not {"-h", "--help"}.isdisjoint(argv)

    def parse(arguments: Sequence[str], outputs: bool) -> T:
        return cli(args=arguments, prog=prog, console_outputs=outputs, registry=_registry)

    def refuse(event: events.ParseErrorEvent) -> None:
        raise _Refused(event)

    try:
        with events.on_parse_error(refuse):
            return parse(argv, helps or any(word.startswith("--tyro-") for word in argv))
    except _Refused as refused:
        error = _explain(refused.event, argv, lambda: _known_options(parse, argv))
        raise error from None
    except SystemExit as end:
        if end.code != 2:  # the end of the help, or of a command whose reader has gone
            raise
        raise UserError(f"wrong arguments; `{prog} --help` lists what there is") from None


class _Refused(Exception):
    def __init__(self, event: events.ParseErrorEvent) -> None:
        self.event = event


def _explain(
    event: events.ParseErrorEvent, argv: Sequence[str], known: Callable[[], set[str]]
) -> UserError:
    """Say in one line what is wrong."""
    tokens = getattr(event, "tokens", None) or getattr(event, "unrecognized_tokens", None)
    if tokens:
        option = next((token for token in tokens if token.startswith("-")), None)
        if option is None:
            return UserError(f"'{tokens[0]:.60}' is one argument too many")
        return _unknown_option(option.partition("=")[0], known())
    if isinstance(event, events.MissingArgs | events.BadValue):
        # What is missing may be there under a wrong name.
        options = [word.partition("=")[0] for word in argv if word.startswith("--")]
        wrong = [option for option in options if option.replace("_", "-") not in known()]
        if wrong:
            return _unknown_option(wrong[0], known())
    if isinstance(event, events.MissingArgs):
        names = ", ".join(_name(missing.arg) for missing in event.missing_arguments)
        return UserError(f"{names} is missing; `{event.prog} --help` tells more")
    if isinstance(event, events.MissingSubcommand):
        return UserError(f"name what to do: {', '.join(event.subcommand_spec.parser_from_name)}")
    if isinstance(event, events.InvalidChoice):
        name = _name(event.argument)
        return unknown_name(f"{name}", f"{event.value:.60}", event.choices)
    if isinstance(event, events.BadValue):
        missing = "is missing" if event.argument.is_positional() else "needs a value"
        return UserError(f"{_name(event.argument)} {missing}")
    if isinstance(event, events.InstantiationFailure) and event.argument is not None:
        return _wrong_value(event.argument, event.message, argv)
    message = getattr(event, "message", f"wrong arguments; see `{event.prog} --help`")
    return UserError(" ".join(str(message).split()))


def _name(argument: Any) -> str:
    """What the user types for an argument: its option, or the name of its place."""
    if argument.is_positional():
        return str(argument.field.intern_name).rpartition(".")[2].upper()
    return str(argument.lowered.name_or_flags[-1])


def _wrong_value(argument: Any, message: str, argv: Sequence[str]) -> UserError:
    name = _name(argument)
    metavar = str(argument.lowered.metavar)
    quoted = re.search(r"'(.*)'$", message)
    given = _given(name, argv) or (quoted and quoted[1])
    kinds = [text for word, text in _KINDS.items() if re.search(rf"\b{word}\b", metavar)]
    if given is None or not kinds:
        return UserError(f"{name}: {' '.join(message.split())}")
    return UserError(f"{name}: write {kinds[0]}, not '{given:.60}'")


def _given(option: str, argv: Sequence[str]) -> str | None:
    """The value of an option on the command line; None for an argument without a name."""
    for place, word in enumerate(argv):
        name, equals, value = word.partition("=")
        if name.replace("_", "-") == option:
            return value if equals else next(iter(argv[place + 1 :]), None)
    return None


def _unknown_option(option: str, known: set[str]) -> UserError:
    error = unknown_name("option", option, known)
    # Some commands have a hundred: the nearest is enough.
    nearest = str(error).partition("; known:")[0].partition(" known:")[0]
    return UserError(f"{nearest} (--help lists all)")


def _known_options(parse: Callable[[Sequence[str], bool], Any], argv: Sequence[str]) -> set[str]:
    """The options in the help of the command, or of the part of it that was named."""
    part = [word for word in argv[:1] if not word.startswith("-")]
    text = io.StringIO()
    with contextlib.redirect_stdout(text), contextlib.suppress(SystemExit):
        parse([*part, "--help"], True)
    plain = re.sub(r"\x1b\[[0-9;]*m", "", text.getvalue())
    lines = re.findall(r"^\W*?(--?\w.*)$", plain, re.MULTILINE)
    return {option for line in lines for option in re.findall(r"--[a-z][\w.-]*", line)}
