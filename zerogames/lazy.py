"""Packages whose names are imported from their modules on first use."""

import ast
import importlib
from collections.abc import Callable
from pathlib import Path


def import_on_use(
    package: str, file: str
) -> tuple[Callable[[str], object], Callable[[], list[str]], list[str]]:
    """Make `__getattr__`, `__dir__` and `__all__` of a package from the stub beside its `__file__`.

    The stub lists the public names for type checkers and for us: `from module import name as name`.
    """
    stub = ast.parse(Path(file).with_suffix(".pyi").read_bytes())
    imports = [node for node in stub.body if isinstance(node, ast.ImportFrom)]
    homes = {alias.name: str(node.module) for node in imports for alias in node.names}

    def get_attribute(name: str) -> object:
        if name not in homes:
            raise AttributeError(f"module '{package}' has no attribute '{name}'")
        return getattr(importlib.import_module(homes[name]), name)

    def list_names() -> list[str]:
        return sorted({*vars(importlib.import_module(package)), *homes})

    return get_attribute, list_names, sorted(homes)
