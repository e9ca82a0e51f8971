"""Cross-checks with GNU Go, an independent program, where it is installed."""

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from go_samples import own_games
from zerogames_go import _native

import zerogames

GNUGO = shutil.which("gnugo") or "/usr/games/gnugo"
pytestmark = pytest.mark.skipif(not Path(GNUGO).exists(), reason="GNU Go is not installed")


class GnuGo:
    """The program behind the Go Text Protocol."""

    def __init__(self, *options: str) -> None:
        self._process = subprocess.Popen(
            [GNUGO, "--mode", "gtp", *options],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def ask(self, command: str) -> str:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(command + "\n")
        self._process.stdin.flush()
        lines = []
        while line := self._process.stdout.readline().rstrip("\n"):
            lines.append(line)
        answer = "\n".join(lines)
        assert answer.startswith("="), f"{command}: {answer}"
        return answer[1:].strip()

    def close(self) -> None:
        self.ask("quit")
        self._process.wait(timeout=10)
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.stdout.close()


@pytest.fixture
def gnugo(request: pytest.FixtureRequest) -> Iterator[GnuGo]:
    program = GnuGo("--chinese-rules", *getattr(request, "param", ()))
    yield program
    program.close()


RULES = [
    pytest.param(("--positional-superko", "--forbid-suicide"), "rules=chinese", id="positional"),
    pytest.param(("--situational-superko", "--forbid-suicide"), "rules=aga", id="situational"),
    pytest.param(("--simple-ko", "--forbid-suicide"), "rules=japanese", id="simple"),
    pytest.param(
        ("--simple-ko", "--allow-all-suicide"), "rules=japanese,suicide=true", id="suicide"
    ),
]


@pytest.mark.parametrize(("gnugo", "rules"), RULES, indirect=["gnugo"])
@pytest.mark.parametrize("size", [5, 9])
def test_legal_moves_and_captures_agree(gnugo: GnuGo, rules: str, size: int) -> None:
    game = zerogames.get_game(f"go:size={size},{rules}")
    state = game.initial_state()
    rng = np.random.default_rng(size)
    gnugo.ask(f"boardsize {size}")
    gnugo.ask("clear_board")
    for ply in range(40 * size // 2):
        legal = state.legal_actions().tolist()
        if len(legal) < 2:
            break
        colour = "bw"[state.to_play]
        if ply % 4 == 0 or len(legal) < 20:
            names = {game.format_action(state, action) for action in legal[:-1]}
            assert set(gnugo.ask(f"all_legal {colour}").split()) == names
        action = int(rng.choice(legal[:-1]))
        gnugo.ask(f"play {colour} {game.format_action(state, action)}")
        state = state.play(action)
        if ply % 10 == 9:
            for player, sign in (("black", 1), ("white", -1)):
                points = np.flatnonzero(state.board().ravel() == sign)  # type: ignore[attr-defined]
                names = {game.format_action(state, p) for p in points.tolist()}
                assert set(gnugo.ask(f"list_stones {player}").split()) == names


def test_fixed_handicap_stones_agree(gnugo: GnuGo) -> None:
    for size in (7, 8, 9, 10, 13, 16, 19):
        most = 4 if size in (7, 8, 10, 16) else 9
        game = zerogames.get_game(f"go:size={size}")
        for stones in range(2, most + 1):
            gnugo.ask(f"boardsize {size}")
            gnugo.ask("clear_board")
            points = _native.fixed_handicap(size, stones).tolist()
            names = {game.format_action(game.initial_state(), point) for point in points}
            assert set(gnugo.ask(f"fixed_handicap {stones}").split()) == names, (size, stones)


def test_moves_of_real_games_are_legal_there_too(gnugo: GnuGo) -> None:
    for record in own_games()[:4]:
        game = zerogames.get_game(record.game)
        state = record.start_state(game)
        gnugo.ask("boardsize 9")
        gnugo.ask("clear_board")
        for action in record.actions.tolist():
            colour, name = "bw"[state.to_play], game.format_action(state, action)
            assert gnugo.ask(f"is_legal {colour} {name}") == "1"
            gnugo.ask(f"play {colour} {name}")
            state = state.play(action)
