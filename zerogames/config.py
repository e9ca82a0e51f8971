"""Typed settings: frozen dataclasses from nested tables, and back.

A settings class is the only definition of its options; the string under a field is its help.
Presets are in `zerogames.presets`, the command line is in `zerogames.command_line`.
"""

import dataclasses
import math
import tomllib
from pathlib import Path
from typing import Any, TypeVar

from zerogames.errors import UserError, first_problem, unknown_name

T = TypeVar("T")


def read_toml(path: Path) -> dict[str, Any]:
    """The tables of a TOML file."""
    try:
        with path.open("rb") as file:
            return tomllib.load(file)
    except OSError as error:
        raise UserError(f"{path}: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: {error}") from None
    except RecursionError:
        raise UserError(f"{path}: its values are nested too deeply") from None


def make_settings(kind: type[T], given: dict[str, Any]) -> T:
    """Make settings from nested tables; a wrong key or value is named."""
    _check_keys(kind, given, "")
    import pydantic  # slow to import, and not needed to show the help of a command

    try:
        settings = pydantic.TypeAdapter(kind).validate_python(given)
    except pydantic.ValidationError as error:
        value = error.errors()[0]["input"]
        raise UserError(f"{first_problem(error)} (given {value!r:.60})") from None
    _check_finite(settings, "")
    return settings


def _check_finite(settings: Any, prefix: str) -> None:
    """Raise `UserError` for a number in the settings that is infinite or not a number."""
    for field in dataclasses.fields(settings):
        value = getattr(settings, field.name)
        name = f"{prefix}{field.name}"
        if dataclasses.is_dataclass(value):
            _check_finite(value, f"{name}.")
        for number in value if isinstance(value, tuple) else (value,):
            if isinstance(number, float) and not math.isfinite(number):
                raise UserError(f"{name.replace('_', '-')}: write a finite number, not {number}")


def to_table(settings: Any) -> dict[str, Any]:
    """The settings as nested tables of plain values, for TOML and JSON."""

    def plain(fields: list[tuple[str, Any]]) -> dict[str, Any]:
        given = [(name, value) for name, value in fields if value is not None]
        return {name: str(value) if isinstance(value, Path) else value for name, value in given}

    return dataclasses.asdict(settings, dict_factory=plain)


def _check_keys(kind: Any, given: dict[str, Any], prefix: str) -> None:
    hints = {field.name: field.type for field in dataclasses.fields(kind)}
    for key, value in given.items():
        if key not in hints:
            raise unknown_name("setting", f"{prefix}{key}", [f"{prefix}{name}" for name in hints])
        inner = hints[key]
        if isinstance(value, dict) and dataclasses.is_dataclass(inner):
            _check_keys(inner, value, f"{prefix}{key}.")


def merge_tables(base: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
    """The tables of `base` with the values of `given` in their places."""
    merged = dict(base)
    for key, value in given.items():
        old: Any = merged.get(key)
        both_tables = isinstance(old, dict) and isinstance(value, dict)
        merged[key] = merge_tables(old, value) if both_tables else value
    return merged
