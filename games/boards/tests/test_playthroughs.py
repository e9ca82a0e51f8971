"""Every game as it was played when its playthrough was written: rules, planes, texts, pictures."""

from pathlib import Path

import pytest
from playthrough import playthrough

FILES = sorted((Path(__file__).parent / "playthroughs").glob("*.txt"))


@pytest.mark.parametrize("file", FILES, ids=[file.stem for file in FILES])
def test_a_random_game_is_as_written(file: Path) -> None:
    written = file.read_text()
    identity = written.partition("\n")[0].removeprefix("game ")
    assert playthrough(identity) == written
