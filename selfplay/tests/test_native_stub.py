"""The stub of the compiled search has the members of its classes, and they explain each."""

import ast
from pathlib import Path

import pytest

import zerogames.search
from zerogames import get_game

STUB = Path(zerogames.search.__file__).with_name("_search.pyi")


def stub_members(name: str) -> set[str]:
    classes = {
        node.name: node
        for node in ast.parse(STUB.read_text()).body
        if isinstance(node, ast.ClassDef)
    }
    inherited = set[str]().union(*(stub_members(ast.unparse(base)) for base in classes[name].bases))
    functions = {node.name for node in classes[name].body if isinstance(node, ast.FunctionDef)}
    return inherited | functions - {"__init__"}


@pytest.mark.parametrize("name", ["Search", "Pool", "Rollouts"])
def test_compiled_classes_have_the_members_of_the_stub_and_explain_each(name: str) -> None:
    native = getattr(type(get_game("connect4").initial_state()), name)
    for compiled in (getattr(zerogames.search, name), native):
        members = {member for member in vars(compiled) if not member.startswith("_")}
        assert members == stub_members(name)
        assert compiled.__doc__
        for member in members:
            # nanobind's own text is the signature alone.
            text = getattr(compiled, member).__doc__ or ""
            assert [line for line in text.splitlines() if line and "->" not in line], member
