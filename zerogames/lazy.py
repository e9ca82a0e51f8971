"""Packages whose names are imported from their modules on first use."""

import importlib
import re
from collections.abc import Callable
from pathlib import Path

_IMPORT = re.compile(r"^from (\S+) import (\w+) as \2$", re.MULTILINE)


def import_on_use(
    package: str, file: str
) -> tuple[Callable[[str], object], Callable[[], list[str]], list[str]]:
    """Make `__getattr__`, `__dir__` and `__all__` of a package from the stub beside its `__file__`.

    The stub lists the public names for type checkers and for us: `from module import name as name`.
    """
    # Not by `ast`, which fails now and then in Python 3.11 when threads use it at once.
    stub = Path(file).with_suffix(".pyi").read_text(encoding="utf-8")
    homes = {name: module for module, name in _IMPORT.findall(stub)}

    def get_attribute(name: str) -> object:
        if name not in homes:
            raise AttributeError(f"module '{package}' has no attribute '{name}'")
        return getattr(importlib.import_module(homes[name]), name)

    def list_names() -> list[str]:
        return sorted({*vars(importlib.import_module(package)), *homes})

    return get_attribute, list_names, sorted(homes)
