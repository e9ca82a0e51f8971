"""Programs that are no engines end the match at once, in one line: real programs."""

import subprocess
import sys
import time
from pathlib import Path

import pytest

from zerogames.arena.players import PlayerFault, parse_player
from zerogames.errors import UserError
from zerogames.registry import get_game

GARBAGE = """
import random, sys
sys.stdout.buffer.write(random.Random(1).randbytes(100_000))
sys.exit(5)
"""


@pytest.mark.parametrize(
    ("player", "reason"),
    [
        ("uci:cat", "the question comes back"),
        ("uci:true", "ended with code 0"),
        ("uci:false", "ended with code 1"),
        ("uci:yes", "lines without an answer"),
        ("gtp:cat", "the question comes back"),
        ("gtp:true", "ended with code 0"),
        ("gtp:yes", "lines without an answer"),
        ("uci:PYTHON garbage.py", "ended with code 5"),
        ("gtp:PYTHON garbage.py", "ended with code 5"),
    ],
)
def test_a_program_that_is_no_engine_ends_the_match(
    player: str, reason: str, tmp_path: Path
) -> None:
    (tmp_path / "garbage.py").write_text(GARBAGE)
    game = "chess" if player.startswith("uci") else "go:size=9"
    command = [sys.executable, "-m", "zerogames", "match", player.replace("PYTHON", sys.executable)]
    began = time.monotonic()
    done = subprocess.run(
        [*command, "random", "--game", game, "--depth", "1", "--games", "50"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        timeout=60,
    )
    assert time.monotonic() - began < 30
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert reason in " ".join(done.stderr.split())
    assert "does not speak this protocol" in " ".join(done.stderr.split())


@pytest.mark.parametrize(("kind", "module"), [("uci", "zerogames_chess"), ("gtp", "zerogames_go")])
def test_a_silent_program_costs_one_wait(
    kind: str, module: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(f"{module}.{kind}_player.PATIENCE_S", 0.3)
    with pytest.raises(UserError, match="nothing was said within"):
        parse_player(f"{kind}:sleep 1000").make(get_game("chess"))


def test_an_introduction_without_end_costs_two_games_and_then_the_match(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("zerogames_chess.uci_player.PATIENCE_S", 0.3)
    script = tmp_path / "talker.py"
    script.write_text("import time; print('hello', flush=True); time.sleep(1000)")
    player = parse_player(f"uci:{sys.executable} {script}")
    for _ in range(2):
        with pytest.raises(PlayerFault, match="no answer"):
            player.make(get_game("chess"))
    with pytest.raises(UserError, match="no end of the answer"):
        player.make(get_game("chess"))
