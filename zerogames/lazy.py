"""Packages whose names are imported from their modules on first use."""

import importlib
from collections.abc import Callable, Mapping, Sequence


def import_on_use(
    package: str, modules: Mapping[str, Sequence[str]]
) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """Make `__getattr__` and `__dir__` of a package.

    Args:
        package: The package's name.
        modules: The public names by the module of the package that defines them.
    """
    homes = {name: f"{package}.{module}" for module, names in modules.items() for name in names}

    def get_attribute(name: str) -> object:
        if name not in homes:
            raise AttributeError(f"module '{package}' has no attribute '{name}'")
        return getattr(importlib.import_module(homes[name]), name)

    def list_names() -> list[str]:
        return sorted({*vars(importlib.import_module(package)), *homes})

    return get_attribute, list_names
