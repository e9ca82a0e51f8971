"""What the documents show is what happens."""

import doctest
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
DOCUMENTS = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
]


def _name(document: Path) -> str:
    return str(document.relative_to(ROOT))


def _anchors(document: Path) -> set[str]:
    """The anchors of a document's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", document.read_text(), re.MULTILINE)
    plain = [re.sub(r"[^\w\- ]", "", heading.lower()) for heading in headings]
    return {heading.replace(" ", "-") for heading in plain}


def test_the_readmes_examples_run() -> None:
    result = doctest.testfile(str(ROOT / "README.md"), module_relative=False)
    assert result.attempted > 5
    assert result.failed == 0


def test_the_examples_of_the_python_guide_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # The examples write files.
    monkeypatch.syspath_prepend(ROOT / "examples" / "tictactoe")
    result = doctest.testfile(
        str(ROOT / "docs" / "python.md"), module_relative=False, optionflags=doctest.ELLIPSIS
    )
    assert result.attempted > 40
    assert result.failed == 0


@pytest.mark.parametrize("document", DOCUMENTS, ids=_name)
def test_links_between_documents_lead_somewhere(document: Path) -> None:
    for target in re.findall(r"\]\(([^)]+)\)", document.read_text()):
        if target.startswith("https:"):
            continue
        name, _, anchor = target.partition("#")
        page = (document.parent / name).resolve() if name else document
        assert page.exists(), target
        assert not anchor or anchor in _anchors(page), target


def test_the_index_names_every_page_and_result() -> None:
    index = (ROOT / "docs" / "index.md").read_text()
    for page in (ROOT / "docs").rglob("*.md"):
        name = str(page.relative_to(ROOT / "docs"))
        assert name == "index.md" or f"({name})" in index, name


def test_the_glossary_is_in_alphabetical_order_and_names_a_file_for_each_word() -> None:
    sections = (ROOT / "docs" / "glossary.md").read_text().split("\n## ")[1:-1]
    for section in sections:
        rows = [line.split(" | ") for line in section.splitlines() if line.startswith("| ")][1:]
        words = [row[0].removeprefix("| ").lower() for row in rows]
        assert words == sorted(words)
        assert all("](../" in row[2] for row in rows), section


def test_make_targets_of_the_readme_exist() -> None:
    makefile, readme = (ROOT / "Makefile").read_text(), (ROOT / "README.md").read_text()
    for target in re.findall(r"(?:^|`)make ([a-z-]+)", readme, re.MULTILINE):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target
