"""What a run's folder may hold before and after it is begun."""

import json
from pathlib import Path

import pytest

from zerogames import UserError, get_game
from zerogames.run_folder import NET_NAME, RUN_NAME, begin_session, read_run

GAME = get_game("connect4")


def test_starts_are_counted_and_settings_kept(tmp_path: Path) -> None:
    for number in range(3):
        assert begin_session(tmp_path / "run", "train", GAME, {"seed": 7}) == number
    table = read_run(tmp_path / "run", "train")
    assert table is not None
    assert table["settings"] == {"seed": 7}
    assert len(table["sessions"]) == 3


def test_a_net_or_the_rest_of_a_killed_start_is_no_hindrance(tmp_path: Path) -> None:
    (tmp_path / NET_NAME).write_bytes(b"net")
    (tmp_path / f".{RUN_NAME}.123.tmp").write_text('{"kind": "tra')
    assert begin_session(tmp_path, "selfplay", GAME, {}) == 0


def test_folders_of_something_else_are_refused(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("dear reader")
    with pytest.raises(UserError, match=r"is not empty and has no run\.json"):
        begin_session(tmp_path, "train", GAME, {})
    begin_session(tmp_path / "run", "train", GAME, {})
    with pytest.raises(UserError, match="folder of `zerogames train`"):
        begin_session(tmp_path / "run", "pretrain", GAME, {})
    with pytest.raises(UserError, match="a run of connect4, not of othello"):
        begin_session(tmp_path / "run", "train", get_game("othello"), {})
    with pytest.raises(UserError, match="is a file"):
        begin_session(tmp_path / "thesis.txt", "train", GAME, {})


@pytest.mark.parametrize("missing", ["kind", "game", "sessions", "settings"])
def test_a_file_without_one_of_its_parts_is_named(tmp_path: Path, missing: str) -> None:
    begin_session(tmp_path, "train", GAME, {})
    table = json.loads((tmp_path / RUN_NAME).read_text())
    del table[missing]
    (tmp_path / RUN_NAME).write_text(json.dumps(table))
    with pytest.raises(UserError, match=f"damaged or of an older version.*{missing}"):
        begin_session(tmp_path, "train", GAME, {})
