"""From the text that names a net to the net."""

import importlib
import os
import sys
from pathlib import Path

import pytest

from zerogames import UserError, get_game
from zerogames.game import Game
from zerogames.nets import build_model, read_net_info, save_net
from zerogames.runs.net_source import (
    check_resumed_net,
    default_net,
    find_net,
    newest_run_net,
    shipped_net,
)

GAME = get_game("othello:size=4")


def write_net(
    path: Path,
    identity: str = "othello:size=4",
    *,
    name: str = "res_3x3_1x8",
    age_s: int = 0,
) -> Path:
    game = get_game(identity)
    path.parent.mkdir(parents=True, exist_ok=True)
    save_net(path, build_model(game.parse_net(name), game, seed=1))
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
    found = default_net(GAME, runs=tmp_path)
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
    monkeypatch.delitem(sys.modules, package.name, raising=False)
    plain = get_game("go:size=5")
    made: Game = importlib.import_module("shipped_go_plugin").ShippedGo(plain.options)  # type: ignore[attr-defined]
    assert made.spec.identity == "go:size=5"
    return made


def test_a_net_for_any_board_serves_the_boards_up_to_its_own(
    packaged_game: Game, tmp_path: Path
) -> None:
    nets = tmp_path / "shipped_go_plugin" / "nets"
    for size in (3, 7, 9):
        write_net(nets / f"{size}.safetensors", f"go:size={size}", name="res_3x3_1x8+gap")
    assert shipped_net(packaged_game) == nets / "7.safetensors"
    dense = write_net(nets / "5.safetensors", "go:size=5,komi=0.5")
    assert shipped_net(packaged_game) == dense


def test_a_packaged_net_fits_exactly_or_in_shape(packaged_game: Game, tmp_path: Path) -> None:
    nets = tmp_path / "shipped_go_plugin" / "nets"
    assert shipped_net(packaged_game) is None
    write_net(nets / "a.safetensors", "go:size=7")
    assert shipped_net(packaged_game) is None
    other_komi = write_net(nets / "b.safetensors", "go:size=5,komi=0.5")
    assert shipped_net(packaged_game) == other_komi
    exact = write_net(nets / "c.safetensors", "go:size=5")
    assert shipped_net(packaged_game) == exact
    found = default_net(packaged_game, runs=tmp_path / "none")
    assert found is not None
    assert (found.path, found.origin) == (exact, "shipped with the game")


def test_words_name_the_shipped_and_the_newest_net(packaged_game: Game, tmp_path: Path) -> None:
    nets, runs = tmp_path / "shipped_go_plugin" / "nets", tmp_path / "runs"
    for word, place in (("shipped", "comes with"), ("newest", "is in"), ("", "is here")):
        with pytest.raises(UserError, match=f"there is no net for go:size=5 that {place}"):
            find_net(word, packaged_game, runs=runs)
    shipped = write_net(nets / "c.safetensors", "go:size=5")
    newest = write_net(runs / "run" / "net.safetensors", "go:size=5")
    assert find_net("shipped", packaged_game, runs=runs).path == shipped
    assert find_net("newest", packaged_game, runs=runs).path == newest
    assert find_net(None, packaged_game, runs=runs).path == newest
    with pytest.raises(UserError, match="which game"):
        find_net("newest")


def test_files_and_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    file = write_net(tmp_path / "x.safetensors")
    for text in (file, str(file)):
        source = find_net(text)
        assert (source.path, source.file()) == (file, file)
        assert source.load()[1].game == "othello:size=4"
    with pytest.raises(UserError, match="is a net for othello:size=4, not for connect4"):
        find_net(file, get_game("connect4"))
    for text in ("none.safetensors", "some/where"):
        with pytest.raises(UserError, match=f"there is no net file '{text}'; train one"):
            find_net(text, GAME)
    with pytest.raises(UserError, match="for a name add --game"):
        find_net("res_3x3_1x8")
    new = find_net("res_3x3_1x8", GAME)
    assert new.path is None
    model, info = new.load(seed=3)
    assert (info.name, info.step, model.spec.game) == ("res_3x3_1x8", 0, "othello:size=4")
    made = new.file()
    assert read_net_info(made).name == "res_3x3_1x8"
    assert new.file() == made


def test_a_net_is_written_once_it_fits(tmp_path: Path) -> None:
    file, copy = write_net(tmp_path / "x.safetensors"), tmp_path / "copy.safetensors"
    find_net(file, GAME).write(copy)
    assert copy.read_bytes() == file.read_bytes()
    find_net(copy, GAME).write(copy)
    assert copy.read_bytes() == file.read_bytes()
    find_net("res_3x3_1x8", GAME).write(copy, seed=1)
    assert copy.read_bytes() == file.read_bytes()  # written with the same seed
    copy.write_bytes(file.read_bytes()[:-9])
    with pytest.raises(UserError):
        find_net(copy, GAME).write(file)


def test_a_run_continues_with_its_own_net_only(tmp_path: Path) -> None:
    for text in (None, "newest", "shipped", "gone.safetensors", "res_3x3_1x8"):
        check_resumed_net(text, "res_3x3_1x8", tmp_path, GAME)
    with pytest.raises(UserError, match="trains the net res_3x3_1x8, not res_3x3_2x8"):
        check_resumed_net("res_3x3_2x8", "res_3x3_1x8", tmp_path, GAME)
