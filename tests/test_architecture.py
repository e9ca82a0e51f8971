"""The tree is the architecture: who may import whom, and where packages lie."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = {
    "zerogames_kernels": ROOT / "kernels" / "zerogames_kernels",
    "zerogames": ROOT / "zerogames",
    "zerogames_selfplay": ROOT / "selfplay" / "zerogames_selfplay",
    **{path.name: path for path in ROOT.glob("games/*/zerogames_*")},
}
GAMES = {name for name, path in PACKAGES.items() if "games" in path.relative_to(ROOT).parts}
ALLOWED = {
    "zerogames_kernels": set(),
    "zerogames": {"zerogames_kernels"},
    "zerogames_selfplay": {"zerogames", "zerogames_kernels"},
    **{name: {"zerogames", "zerogames_kernels"} for name in GAMES},
}


def imported_packages(package: Path) -> set[str]:
    found = set()
    for file in package.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Import):
                found |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                found.add(node.module.partition(".")[0])
    return found & set(PACKAGES)


@pytest.mark.parametrize("name", PACKAGES)
def test_imports_point_one_way(name: str) -> None:
    assert imported_packages(PACKAGES[name]) - {name} <= ALLOWED[name]


@pytest.mark.parametrize("folder", ["games", "kernels", "selfplay", "tests"])
def test_folders_of_packages_are_not_packages(folder: str) -> None:
    assert not list((ROOT / folder).glob("__init__.py"))


def test_every_package_is_typed() -> None:
    for package in PACKAGES.values():
        if package.is_dir():
            assert (package / "py.typed").exists(), package
