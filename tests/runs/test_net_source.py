"""Which net plays when none is named."""

import importlib
import os
from pathlib import Path

import pytest

from zerogames import get_game
from zerogames.game import Game
from zerogames.nets import build_model, save_net
from zerogames.nets.shipped import find_net, newest_run_net, shipped_net

GAME = get_game("othello:size=4")


def write_net(path: Path, identity: str = "othello:size=4", *, age_s: int = 0) -> Path:
    game = get_game(identity)
    path.parent.mkdir(parents=True, exist_ok=True)
    save_net(path, build_model(game.parse_net("res_3x3_1x8"), game, seed=1))
    written = path.stat().st_mtime - age_s
    os.utime(path, (written, written))
    return path


def test_the_newest_net_of_this_game_is_taken(tmp_path: Path) -> None:
    write_net(tmp_path / "old" / "net.safetensors", age_s=100)
    newest = write_net(tmp_path / "new" / "net.safetensors", age_s=50)
    write_net(tmp_path / "other" / "net.safetensors", "othello:size=6")
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "net.safetensors").write_bytes(b"half a net")
    assert newest_run_net(GAME, runs=tmp_path) == newest
    found = find_net(GAME, runs=tmp_path)
    assert found is not None
    assert found.path == newest
    assert "new" in found.origin


def test_no_runs_no_net(tmp_path: Path) -> None:
    assert newest_run_net(GAME, runs=tmp_path / "nowhere") is None


@pytest.fixture
def packaged_game(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Game:
    """Go on a small board as another package would offer it, with nets of its own."""
    package = tmp_path / "shipped_go_plugin"
    package.mkdir()
    (package / "__init__.py").write_text(
        "from zerogames import get_game\n"
        "class ShippedGo(type(get_game('go'))):\n"
        "    '''The same rules.'''\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    plain = get_game("go:size=5")
    made: Game = importlib.import_module("shipped_go_plugin").ShippedGo(plain.options)  # type: ignore[attr-defined]
    assert made.spec.identity == "go:size=5"
    return made


def test_a_packaged_net_fits_exactly_or_in_shape(packaged_game: Game, tmp_path: Path) -> None:
    nets = tmp_path / "shipped_go_plugin" / "nets"
    assert shipped_net(packaged_game) is None
    write_net(nets / "a.safetensors", "go:size=7")
    assert shipped_net(packaged_game) is None
    other_komi = write_net(nets / "b.safetensors", "go:size=5,komi=0.5")
    assert shipped_net(packaged_game) == other_komi
    exact = write_net(nets / "c.safetensors", "go:size=5")
    assert shipped_net(packaged_game) == exact
    found = find_net(packaged_game, runs=tmp_path / "none")
    assert found is not None
    assert (found.path, found.origin) == (exact, "shipped with the game")
