"""The one string that names a game everywhere: `chess`, `go:size=9,komi=7`."""

import dataclasses
from typing import Any

import pydantic

from zerogames.errors import UserError, unknown_name


def split_identity(text: str) -> tuple[str, dict[str, str]]:
    """Split `name:key=value,...` into the name and its options as text."""
    name, colon, rest = text.strip().partition(":")
    options: dict[str, str] = {}
    for part in rest.split(",") if colon else []:
        key, equals, value = (piece.strip() for piece in part.partition("="))
        if not (key and equals and value):
            raise UserError(f"'{part}' in '{text}' is not an option; write {name}:option=value")
        if key in options:
            raise UserError(f"option '{key}' is given twice in '{text}'")
        options[key] = value
    return name, options


def parse_options(name: str, options_type: type[Any], texts: dict[str, str]) -> Any:
    """Make the plugin's options from text; name the wrong one and what it may be."""
    fields = {field.name.replace("_", "-"): field for field in dataclasses.fields(options_type)}
    for key in texts:
        if key not in fields:
            raise unknown_name(f"option of {name}", key, fields)
    values = {fields[key].name: value for key, value in texts.items()}
    try:
        return pydantic.TypeAdapter(options_type).validate_strings(values)
    except pydantic.ValidationError as error:
        first = error.errors()[0]
        key = str(first["loc"][0]).replace("_", "-") if first["loc"] else "options"
        reason = first["msg"].removeprefix("Value error, ")
        where = f"'{texts[key]}': " if key in texts else ""
        raise UserError(f"{name} option {key}={where}{reason}") from None


def format_identity(name: str, options: Any) -> str:
    """Write name and options; those at their default are left out."""
    parts = [
        f"{field.name.replace('_', '-')}={_format_value(getattr(options, field.name))}"
        for field in dataclasses.fields(options)
        if getattr(options, field.name) != field.default
    ]
    return f"{name}:{','.join(parts)}" if parts else name


def _format_value(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return f"{value:g}"
    return str(value)
