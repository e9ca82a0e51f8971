"""Games to learn from."""

from itertools import cycle
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def games(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A PGN of 70 games: a few lines of play, told apart by their first moves."""
    path = tmp_path_factory.mktemp("pgn") / "games.pgn"
    firsts = [f"{file}{rank}" for file in "abcdefgh" for rank in (3, 4)]
    firsts = [first for first in firsts if first not in ("c3", "f3")]  # the knights' squares
    replies = ("e5", "d5", "c5", "Nf6", "Nc6")
    texts = [
        f'[Result "{result}"]\n\n1. {first} {reply} 2. Nf3 h6 3. Nc3 g6 {result}\n'
        for first, result in zip(firsts, cycle(("1-0", "0-1", "1/2-1/2")), strict=False)
        for reply in replies
    ]
    path.write_text("\n".join(texts))
    return path
