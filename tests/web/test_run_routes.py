"""Runs on the page: curves, the diagnosis, games, the net at every step; and runs that vanish."""

import json
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from starlette.testclient import TestClient

from zerogames import get_game
from zerogames.data.record import GameRecord, SearchColumns
from zerogames.report.diagnosis import diagnose, policy_entropy
from zerogames.report.run_data import RunData
from zerogames.runs.folder import RunPaths
from zerogames.web.server import WebSettings, make_app

sys.path.insert(0, str(Path(__file__).parent))
from small_run import STEPS, write_small_run

TOKEN = "t" * 32
HOST = "http://127.0.0.1:8680"
HOSTILE = "<img src=x onerror=alert(1)>"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("runs")
    write_small_run(path / "small")
    return path


@pytest.fixture
def ask(folder: Path) -> Iterator:  # type: ignore[type-arg]
    app = make_app(WebSettings(runs_folder=folder), TOKEN)
    with TestClient(app, base_url=HOST, headers={"origin": HOST}) as client:

        def post(name: str, status: int = 200, **question: object) -> dict:  # type: ignore[type-arg]
            path = f"/{TOKEN}/api/{name}"
            answer = client.post(path, json=question) if question else client.get(path)
            assert answer.status_code == status, answer.text
            return dict(answer.json())

        yield post


def test_runs_are_listed_and_shown(ask) -> None:  # type: ignore[no-untyped-def]
    assert ask("runs")["runs"] == [{"run": "small", "game": "connect4", "kind": "train"}]
    run = ask("run", run="small")
    assert [line["loss"] for line in run["metrics"]][:2] == [3, 2.99]
    assert run["ratings"][0]["elo"] == 100
    assert run["steps"] == list(STEPS)
    assert len(run["games"]) == 4
    game = run["games"][0]
    assert len(game["values"]) == len(game["actions"])
    texts = " ".join(finding["text"] for finding in run["findings"])
    assert "The run is under way" in texts
    assert "The policy loss falls: from 1.855 to 1.795" in texts
    assert "The value loss is flat" in texts


def test_the_net_of_every_step_tells_its_policy_and_value(ask) -> None:  # type: ignore[no-untyped-def]
    told = [ask("checkpoint", run="small", game="connect4", actions=[3], step=s) for s in STEPS]
    for step, found in zip(STEPS, told, strict=True):
        assert found["step"] == step
        assert sum(found["wdl"]) == pytest.approx(1, abs=1e-3)
        assert sum(move["prior"] for move in found["moves"]) == pytest.approx(1, abs=1e-3)
    assert len({found["wdl"][0] for found in told}) == len(STEPS)
    error = ask("checkpoint", 400, run="small", game="connect4", step=11)["error"]
    assert "step 11 is not there" in error
    error = ask("checkpoint", 400, run="small", game="chess", step=0)["error"]
    assert "\n" not in error


@pytest.mark.parametrize("name", ["../small", "/etc", ".", "", HOSTILE, "small/../small"])
def test_no_name_of_a_run_becomes_a_path(ask, name: str) -> None:  # type: ignore[no-untyped-def]
    assert "is not there any more" in ask("run", 400, run=name)["error"]


def test_a_run_that_is_deleted_while_it_is_shown_is_one_sentence(ask, folder: Path) -> None:  # type: ignore[no-untyped-def]
    shutil.copytree(folder / "small", folder / HOSTILE.replace("/", ""))
    name = HOSTILE.replace("/", "")
    assert name in {run["run"] for run in ask("runs")["runs"]}
    assert ask("run", run=name)["run"] == name
    shutil.rmtree(folder / name)
    assert "is not there any more" in ask("run", 400, run=name)["error"]


def test_damaged_files_of_a_run_are_named_and_the_rest_is_shown(ask, folder: Path) -> None:  # type: ignore[no-untyped-def]
    damaged = folder / "damaged"
    shutil.copytree(folder / "small", damaged)
    paths = RunPaths(damaged)
    (paths.shards / "0000-000001.parquet").write_bytes(b"no shard")
    paths.metrics.write_text('{"step": 1, "loss": 1e999}\nnonsense\n{"step": 2, "loss": null}\n')
    try:
        run = ask("run", run="damaged")
        assert [line["loss"] for line in run["metrics"]] == [None, None]
        assert any("0000-000001" in problem for problem in run["problems"])
        assert any("line 2" in problem for problem in run["problems"])
        assert len(run["games"]) == 4
    finally:
        shutil.rmtree(damaged)


def _findings(metrics=(), ratings=(), records=(), idle_s=1.0) -> dict[str, str]:  # type: ignore[no-untyped-def]
    run = RunData(
        path=Path("run"), game=get_game("connect4"), about={}, metrics=list(metrics),
        ratings=list(ratings), shards=[], problems=[],
    )  # fmt: skip
    return {one.text: one.level for one in diagnose(run, idle_s=idle_s, records=records)}


def _level(findings: dict[str, str], words: str) -> str:
    (level,) = [level for text, level in findings.items() if words in text]
    return level


@pytest.mark.parametrize(
    ("slope", "words", "level"),
    [(-0.02, "falls", "good"), (0.0, "is flat", "watch"), (0.02, "rises", "bad")],
)
def test_trends_of_losses_are_told(slope: float, words: str, level: str) -> None:
    lines = [{"step": step, "policy_loss": 2 + slope * step} for step in range(20)]
    assert _level(_findings(lines), f"The policy loss {words}") == level
    assert not any("policy loss" in text for text in _findings(lines[:4]))


def test_a_run_that_stands_still_or_memorises_is_told() -> None:
    ratings = [{"step": step, "elo": 50.0 if step else 99.0} for step in range(7)]
    assert _level(_findings(ratings=ratings), "not risen for 6 ratings: the best was 99") == "bad"
    assert _level(_findings(ratings=ratings[::-1]), "The rating rises") == "good"
    assert _level(_findings(ratings=ratings[:1]), "one rating so far") == "watch"
    lines = [{"step": 1, "loss": 1.0, "validation_loss": 1.5, "samples": 900, "positions": 30}]
    assert _level(_findings(lines), "memorises") == "bad"
    assert _level(_findings(lines), "too few games") == "bad"
    assert _level(_findings(lines, idle_s=4000), "has ended or waits") == "watch"
    assert _level(_findings(), "No training was reported") == "watch"


def _record(shares: list[float]) -> GameRecord:
    size = len(shares)
    search = SearchColumns.values_only({}, np.zeros(1, np.uint8))
    search = SearchColumns(
        **{
            **vars(search),
            "policy_offsets": np.array([0, size]),
            "policy_actions": np.arange(size, dtype=np.int32),
            "policy_visits": np.ones(size, np.int32),
            "policy_targets": np.array(shares, np.float32),
        }
    )
    return GameRecord(game="connect4", actions=np.zeros(1, np.int32), result=0.0, search=search)


def test_collapsed_policy_targets_are_told() -> None:
    assert policy_entropy([]) is None
    assert policy_entropy([_record([0.25] * 4)]) == pytest.approx(np.log(4))
    assert _level(_findings(records=[_record([0.25] * 4)]), "4.0 equal moves") == "good"
    assert _level(_findings(records=[_record([1.0, 0.0])]), "hardly varies") == "bad"


def test_settings_of_the_command_are_checked(capsys: pytest.CaptureFixture[str]) -> None:
    from zerogames.cli import main

    assert main(["web", "--run", "/no/such/run"]) == 2
    assert "--run /no/such/run" in capsys.readouterr().err
    assert main(["web", "--net", "/no/such.safetensors"]) == 2
    assert main(["web", "--port", "99999"]) == 2
    assert json.dumps(capsys.readouterr().err).count("error") == 2
