"""The one string that names a game everywhere: `chess`, `go:size=9,komi=7`."""

import dataclasses
import inspect
import typing
from dataclasses import dataclass
from typing import Any

from zerogames.errors import UserError, unknown_name


def split_identity(text: str) -> tuple[str, dict[str, str]]:
    """Split `name:key=value,...` into the name and its options as text."""
    name, colon, rest = text.strip().partition(":")
    return name, split_options(rest, f"{name}:option=value") if colon else {}


def split_options(text: str, form: str) -> dict[str, str]:
    """Split `key=value,...`; commas inside round brackets belong to the value.

    Errors say that options are written as `form`.
    """
    options: dict[str, str] = {}
    for part in _split_at_commas(text):
        key, equals, value = (piece.strip() for piece in part.partition("="))
        if not (key and equals and value):
            raise UserError(f"'{part}' in '{text}' is not an option; write {form}")
        if key in options:
            raise UserError(f"option '{key}' is given twice in '{text}'")
        options[key] = value
    return options


def _split_at_commas(text: str) -> list[str]:
    """Split where no round bracket is open."""
    parts, depth = [""], 0
    for letter in text:
        depth += {"(": 1, ")": -1}.get(letter, 0)
        if letter == "," and depth <= 0:
            parts.append("")
        else:
            parts[-1] += letter
    return parts


def parse_options(name: str, options_type: type[Any], texts: dict[str, str]) -> Any:
    """Make the plugin's options from text; name the wrong one and what it may be."""
    fields = {field.name.replace("_", "-"): field for field in dataclasses.fields(options_type)}
    for key in texts:
        if key not in fields:
            raise unknown_name(f"option of {name}", key, fields)
    hints = typing.get_type_hints(options_type)
    values = {fields[key].name: _choice(hints[fields[key].name], texts[key]) for key in texts}
    import pydantic  # slow to import, and not needed to show the help of a command

    try:
        return pydantic.TypeAdapter(options_type).validate_python(values)
    except pydantic.ValidationError as error:
        first = error.errors()[0]
        key = str(first["loc"][0]).replace("_", "-") if first["loc"] else "options"
        reason = first["msg"].removeprefix("Value error, ")
        raise UserError(f"{name}:{key}={texts.get(key, '')}: {reason}") from None


def _choice(hint: Any, text: str) -> Any:
    """The member of a Literal that is written so, or the text for pydantic to convert."""
    choices = typing.get_args(hint) if typing.get_origin(hint) is typing.Literal else ()
    return next((choice for choice in choices if format_value(choice) == text), text)


def format_identity(name: str, options: Any) -> str:
    """Write name and options; those at their default are left out."""
    parts = [
        f"{field.name.replace('_', '-')}={format_value(getattr(options, field.name))}"
        for field in dataclasses.fields(options)
        if getattr(options, field.name) != field.default
    ]
    return f"{name}:{','.join(parts)}" if parts else name


def format_value(value: object) -> str:
    """Write an option's value as `parse_options` reads it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return f"{value:g}"
    return str(value)


@dataclass(frozen=True, kw_only=True)
class Option:
    """One option of a game, for people to read."""

    name: str
    default: str
    choices: tuple[str, ...]
    """All values there are; empty where any of the kind is taken."""
    kind: str
    """The name of the type, e.g. `int`."""
    meaning: str


def describe_options(options: type[Any]) -> list[Option]:
    """Describe the options that a plugin's dataclass defines."""
    hints = typing.get_type_hints(options)
    found = []
    for field in dataclasses.fields(options):
        hint = hints[field.name]
        choices = typing.get_args(hint) if typing.get_origin(hint) is typing.Literal else ()
        found.append(
            Option(
                name=field.name.replace("_", "-"),
                default=format_value(field.default),
                choices=tuple(map(format_value, choices)),
                kind=getattr(hint, "__name__", str(hint)),
                meaning=_field_meaning(options, field.name),
            )
        )
    return found


def _field_meaning(options: type, name: str) -> str:
    """The docstring below a dataclass field, as written in the source."""
    lines = inspect.getsource(options).splitlines()
    for index, line in enumerate(lines[:-1]):
        if line.strip().startswith(f"{name}:") and '"""' in lines[index + 1]:
            return lines[index + 1].strip().strip('"').rstrip(".")
    return "no description"
