"""The tree is the architecture: who may import and include whom, and where packages lie.

The order is the table of `docs/architecture.md`: a room uses only the rooms above it.
"""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = {
    "zerogames_kernels": ROOT / "kernels" / "zerogames_kernels",
    "zerogames": ROOT / "zerogames",
    "zerogames_selfplay": ROOT / "selfplay" / "zerogames_selfplay",
    **{path.name: path for path in sorted(ROOT.glob("games/*/zerogames_*"))},
}
GAMES = {name for name, path in PACKAGES.items() if "games" in path.relative_to(ROOT).parts}
MODULES = {
    ".".join(file.relative_to(package.parent).with_suffix("").parts).removesuffix(".__init__"): file
    for package in PACKAGES.values()
    for file in sorted(package.rglob("*.py"))
}
STUBS = {
    ".".join(file.relative_to(package.parent).with_suffix("").parts)
    for package in PACKAGES.values()
    for file in package.rglob("*.pyi")
}
"""Among them the compiled modules."""
BASE = "zerogames.*"
"""The modules of `zerogames` that have no row of their own."""
SURFACE = "zerogames.game"
"""Names the types of what a game offers to the rooms below it, for type checkers only."""


@cache
def table() -> dict[str, str]:
    """The rooms of docs/architecture.md in their order, with what the table says they use."""
    text = (ROOT / "docs" / "architecture.md").read_text()
    rows = re.findall(r"^\| `(zerogames[\w.*]*)` \|[^|]*\|([^|]*)\|$", text, re.MULTILINE)
    return {room: uses.strip() for room, uses in rows}


def room_of(module: str) -> str:
    parts = module.split(".")
    names = (".".join(parts[:end]) for end in range(len(parts), 0, -1))
    if parts[0] != "zerogames" or module == "zerogames":
        return next(name for name in names if name in table())
    return next((name for name in names if name in table() and name != "zerogames"), BASE)


class Import(NamedTuple):
    module: str
    imported: str
    names: tuple[str, ...]
    for_types: bool


@cache
def imports() -> tuple[Import, ...]:
    """Every import of a module of the project by another, wherever in the file it stands."""
    return tuple(
        found
        for module, file in MODULES.items()
        for source in (file, *file.parent.glob(f"{file.stem}.pyi"))
        for found in _imports_of(module, source)
    )


def _imports_of(module: str, file: Path) -> Iterator[Import]:
    tree = ast.parse(file.read_text())
    is_stub = file.suffix == ".pyi"
    guarded = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
    ]
    for_types = {id(inner) for node in guarded for part in node.body for inner in ast.walk(part)}
    for node in ast.walk(tree):
        targets: list[tuple[str, tuple[str, ...]]] = []
        if isinstance(node, ast.Import):
            targets = [(alias.name, ()) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module}: write imports in full"
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                if inner in MODULES or inner in STUBS:
                    targets.append((inner, ()))
                else:
                    targets.append((str(node.module), (alias.name,)))
        for imported, names in targets:
            if imported.partition(".")[0] in PACKAGES:
                yield Import(module, imported, names, is_stub or id(node) in for_types)


def used_rooms() -> dict[str, list[str]]:
    """The rooms that each room imports, in the order of the table, without itself and the base."""
    order = list(table())
    used: dict[str, set[str]] = {room: set() for room in order}
    for found in imports():
        if not (found.for_types and found.module == SURFACE):
            used[room_of(found.module)].add(room_of(found.imported))
    return {room: sorted(rooms - {room, BASE}, key=order.index) for room, rooms in used.items()}


def test_rooms_use_only_rooms_above_them() -> None:
    order = list(table())
    wrong = [
        f"{found.module} imports {found.imported}"
        for found in imports()
        if order.index(room_of(found.imported)) > order.index(room_of(found.module))
        and not (found.for_types and found.module == SURFACE)
    ]
    assert not wrong


def test_the_table_says_what_each_room_uses() -> None:
    for room, uses in used_rooms().items():
        told = ", ".join(f"`{name.removeprefix('zerogames.')}`" for name in uses)
        assert table()[room] == told, f"docs/architecture.md, {room}: write {told}"


def test_every_package_has_its_row() -> None:
    for name, package in PACKAGES.items():
        inner = sorted(folder.parent for folder in package.glob("*/__init__.py"))
        divided = name in ("zerogames", "zerogames_selfplay")
        for room in [name, *(f"{name}.{folder.name}" for folder in inner if divided)]:
            assert room in table(), room


@pytest.mark.parametrize("game", sorted(GAMES))
def test_parts_of_a_game_import_one_another_without_cycles(game: str) -> None:
    used: dict[str, set[str]] = {}
    for found in imports():
        parts = [name.split(".")[:2] for name in (found.module, found.imported)]
        if parts[0][0] == parts[1][0] == game and parts[0] != parts[1] and not found.for_types:
            used.setdefault(".".join(parts[0]), set()).add(".".join(parts[1]))
    while leaves := {part for users in used.values() for part in users} - set(used):
        used = {part: users - leaves for part, users in used.items() if users - leaves}
    assert not used, "these import one another, or what does"


@pytest.mark.parametrize("name", PACKAGES)
def test_packages_import_no_game(name: str) -> None:
    """Games are found through entry points; no game imports another, or self-play."""
    allowed = {
        "zerogames_kernels": set(),
        "zerogames": {"zerogames_kernels"},
        "zerogames_selfplay": {"zerogames", "zerogames_kernels"},
    }.get(name, {"zerogames", "zerogames_kernels"})
    used = {
        found.imported.partition(".")[0]
        for found in imports()
        if found.module.partition(".")[0] == name
    }
    assert used - {name} <= allowed


def test_private_names_stay_in_their_package() -> None:
    """A private module serves the package that it lies in; other private names only their file."""
    wrong = []
    for module, imported, names, _ in imports():
        package, _, name = imported.rpartition(".")
        is_private = name.startswith("_")
        inside = module == package or module.startswith(f"{package}.")
        if is_private and not inside:
            wrong.append(f"{module} imports {imported}")
        wrong += [
            f"{module} imports {imported}.{one}"
            for one in names
            if re.match("_[a-z]", one, re.IGNORECASE)
        ]
    assert not wrong


INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)
CORE = ROOT / "selfplay" / "core"
NATIVE_ROOMS = [CORE, ROOT / "kernels", *sorted(ROOT.glob("games/*/cpp"))]


@pytest.mark.parametrize("room", NATIVE_ROOMS, ids=lambda room: str(room.relative_to(ROOT)))
def test_native_rooms_include_only_themselves_and_the_core(room: Path) -> None:
    sources = [file for end in ("hpp", "cpp", "cu", "h") for file in room.rglob(f"*.{end}")]
    assert sources
    core = CORE / "include"
    for file in sources:
        if "tests" in file.relative_to(room).parts:
            continue
        for included in INCLUDE.findall(file.read_text()):
            own = [file.parent / included, room / included]
            places = [*own, core / included] if room.parts[-3] == "games" else own
            if room == CORE:
                places = [core / included, CORE / "cpp" / included]
            found = [place.resolve() for place in places if place.exists()]
            assert found, f"{file} includes {included}, which is not in its room or the core"
            assert found[0].is_relative_to(room) or found[0].is_relative_to(core)


def test_the_core_names_only_the_error_type_of_python() -> None:
    """What C++ asks of Python's modules; other objects are handed to it."""
    found = {
        match
        for room in NATIVE_ROOMS
        for file in room.rglob("*.[ch]pp")
        for match in re.findall(
            r'(?:import_|PyImport_ImportModule)\(\s*("?[^")]*)', file.read_text()
        )
    }
    assert found <= {'"zerogames.errors'}


MAX_ARGUMENTS = 6
SCHEMAS = ("custom_op", "register_fake", "register_kernel", "register_autograd")
"""Decorators of functions whose arguments are the flat schema of a torch operator."""


def functions(node: ast.AST, path: str) -> Iterator[tuple[str, ast.FunctionDef]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef):
            yield f"{path}.{child.name}", child
        if isinstance(child, ast.FunctionDef | ast.ClassDef):
            yield from functions(child, f"{path}.{child.name}")
        else:
            yield from functions(child, path)


def num_arguments(function: ast.FunctionDef) -> int:
    given = function.args
    named = [*given.posonlyargs, *given.args, *given.kwonlyargs]
    rest = [argument for argument in (given.vararg, given.kwarg) if argument is not None]
    return len([*named, *rest]) - (bool(named) and named[0].arg in ("self", "cls"))


def test_functions_take_at_most_six_arguments() -> None:
    tests = [ROOT / "tests", *ROOT.glob("[gks]*/tests"), *ROOT.glob("games/*/tests")]
    places = [*PACKAGES.values(), ROOT / "benchmarks", *tests]
    found = {
        f"{file.relative_to(ROOT)}: {path.removeprefix('.')}"
        for place in places
        for file in place.rglob("*.py")
        for path, function in functions(ast.parse(file.read_text()), "")
        if num_arguments(function) > MAX_ARGUMENTS
        and not any(name in ast.unparse(one) for one in function.decorator_list for name in SCHEMAS)
    }
    assert not found


@pytest.mark.parametrize("folder", ["games", "kernels", "selfplay", "tests"])
def test_folders_of_packages_are_not_packages(folder: str) -> None:
    assert not list((ROOT / folder).glob("__init__.py"))


def test_every_package_is_typed() -> None:
    for package in PACKAGES.values():
        assert (package / "py.typed").exists(), package
