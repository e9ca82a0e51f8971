"""Typed settings: frozen dataclasses, TOML presets, command-line overrides.

A settings class is the only definition of its options; the string under a field is its help.
"""

import dataclasses
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeVar

import pydantic
import tyro

from zerogames.errors import UserError, unknown_name

T = TypeVar("T")


def config_folders() -> list[Path]:
    """Where presets are looked for: the checkout's, then the packaged copy."""
    package = Path(__file__).resolve().parent
    folders = [package.parent / "configs", package / "configs"]
    return [folder for folder in folders if folder.is_dir()]


def find_config(game: str, name: str) -> Path:
    """The file of a preset: a path as given, or `configs/<game>/<name>.toml`."""
    given = Path(name)
    if given.suffix == ".toml":
        if given.is_file():
            return given
        raise UserError(f"{given}: no such file")
    names = set()
    for folder in config_folders():
        path = folder / game / f"{name}.toml"
        if path.is_file():
            return path
        names |= {file.stem for file in (folder / game).glob("*.toml")}
    raise unknown_name(f"preset of {game}", name, names)


def read_settings(kind: type[T], path: Path, *, base: T | None = None) -> T:
    """Read a TOML file on top of `base`; a wrong key or value is named."""
    try:
        with path.open("rb") as file:
            given = tomllib.load(file)
    except OSError as error:
        raise UserError(f"{path}: {error.strerror}") from None
    except tomllib.TOMLDecodeError as error:
        raise UserError(f"{path}: {error}") from None
    try:
        return make_settings(kind, given, base=base)
    except UserError as error:
        raise UserError(f"{path}: {error}") from None


def make_settings(kind: type[T], given: dict[str, Any], *, base: T | None = None) -> T:
    """Make settings from nested tables on top of `base`; a wrong key or value is named."""
    _check_keys(kind, given, "")
    merged = _merge(to_table(base), given) if base is not None else given
    try:
        return pydantic.TypeAdapter(kind).validate_python(merged)
    except pydantic.ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        message = first["msg"].removeprefix("Value error, ")
        raise UserError(f"{where}: {message} (given {first['input']!r:.60})") from None


def to_table(settings: Any) -> dict[str, Any]:
    """The settings as nested tables of plain values, for TOML and JSON."""
    table: dict[str, Any] = {}
    for field in dataclasses.fields(settings):
        value = getattr(settings, field.name)
        if dataclasses.is_dataclass(value):
            table[field.name] = to_table(value)
        elif isinstance(value, Path):
            table[field.name] = str(value)
        elif value is not None:
            table[field.name] = value
    return table


def parse_arguments(
    kind: type[T], argv: Sequence[str], *, prog: str, base: T, description: str
) -> T:
    """Let the command line override `base`: `--search.simulations 64`."""
    return tyro.cli(
        kind,
        args=argv,
        prog=prog,
        description=description,
        default=base,
    )


def take_option(argv: Sequence[str], name: str) -> tuple[str | None, list[str]]:
    """Take `--name VALUE` or `--name=VALUE` out of the arguments: it decides on the defaults."""
    rest: list[str] = []
    value: str | None = None
    arguments = iter(argv)
    for argument in arguments:
        if argument == f"--{name}":
            value = next(arguments, None)
            if value is None:
                raise UserError(f"--{name} needs a value")
        elif argument.startswith(f"--{name}="):
            value = argument.partition("=")[2]
        else:
            rest.append(argument)
    return value, rest


def _check_keys(kind: Any, given: dict[str, Any], prefix: str) -> None:
    hints = {field.name: field.type for field in dataclasses.fields(kind)}
    for key, value in given.items():
        if key not in hints:
            raise unknown_name("setting", f"{prefix}{key}", [f"{prefix}{name}" for name in hints])
        inner = hints[key]
        if isinstance(value, dict) and dataclasses.is_dataclass(inner):
            _check_keys(inner, value, f"{prefix}{key}.")


def _merge(base: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
    merged = dict(base)
    for key, value in given.items():
        old: Any = merged.get(key)
        both_tables = isinstance(old, dict) and isinstance(value, dict)
        merged[key] = _merge(old, value) if both_tables else value
    return merged
