"""`zerogames report`: one page from whatever a run has written so far."""

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from zerogames.cli import main
from zerogames.data.record import GameRecord
from zerogames.data.shard import write_shard
from zerogames.report.charts import LineChart, Series, nice_ticks
from zerogames.runs.folder import RunFolder


def metric(step: int) -> dict[str, float]:
    return {
        "time_s": 60.0 * step,
        "step": step,
        "games": 10 * step,
        "positions": 300 * step,
        "loss": 3 / step,
        "policy_loss": 2 / step,
        "value_loss": 1 / step,
        "policy_accuracy": 1 - 1 / step,
        "value_mse": 0.5 / step,
        "games_per_h": 600.0,
    }


def rating(step: int) -> dict[str, object]:
    return {
        "time_s": 60.0 * step,
        "step": step,
        "elo": 100.0 * step,
        "low": 100.0 * step - 50,
        "high": 100.0 * step + 50,
        "results": [{"opponent": "<random>", "wins": 7, "draws": 1, "losses": 2}],
        "anchors": {"<random>": 0.0, "mcts:100": 400.0},
    }


@pytest.fixture
def run(tmp_path: Path) -> Path:
    folder = tmp_path / "a & b"
    (folder / "shards").mkdir(parents=True)
    settings = {"net": "res_3x3_1x8", "seed": 5}
    (tmp_path / "begun").mkdir()
    with RunFolder(tmp_path / "begun", kind="train", game="connect4", settings=settings) as begun:
        begun.begin()
    (tmp_path / "begun" / "run.json").rename(folder / "run.json")
    lines = "".join(json.dumps(metric(step)) + "\n" for step in range(1, 6))
    (folder / "metrics.jsonl").write_text(lines)
    (folder / "ratings.jsonl").write_text("".join(json.dumps(rating(s)) + "\n" for s in (2, 4)))
    won = GameRecord(
        game="connect4",
        actions=np.array([0, 1, 0, 1, 0, 1, 0], np.int32),
        result=1.0,
        reason="four",
    )
    for number in range(3):
        write_shard(folder / "shards" / f"0000-{number:06d}.parquet", [won])
    return folder


class Links(HTMLParser):
    """Everything on a page that a browser would fetch, and whether its tags are closed."""

    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.links += [value or "" for name, value in attrs if name in ("src", "href")]
        if tag not in ("meta", "img"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def page_of(run: Path, *more: str) -> str:
    assert main(["report", str(run), *more]) == 0
    return (run / "report.html").read_text()


def test_the_page_needs_nothing_else_and_has_it_all(run: Path) -> None:
    page = page_of(run)
    reader = Links()
    reader.feed(page)
    assert reader.open == []
    assert reader.links
    assert all(link.startswith("data:") for link in reader.links)
    assert "@import" not in page
    assert "url(" not in page
    for title in ("Elo with 95 % interval", "Loss", "Policy accuracy", "Games per hour"):
        assert title in page
    assert page.count("the first player won (four) after 7 plies") == 3
    assert "400 ± 50" in page
    assert "7-1-2" in page
    assert "<random>" not in page  # names are text, not tags
    assert "Not readable" not in page


def test_the_curves_are_drawn_to_scale(run: Path) -> None:
    page = page_of(run)
    chart = page[page.index('aria-label="Policy accuracy"') :].partition("</svg>")[0]
    line = re.search(r'class="line" d="M([^"]*)"', chart)
    assert line is not None
    points = [tuple(map(float, point.split())) for point in line[1].split("L")]
    xs, ys = zip(*points, strict=True)
    assert np.allclose(np.diff(xs), np.diff(xs)[0], atol=0.2)
    rise = np.array([1 - 1 / step for step in range(1, 6)])
    assert np.allclose((ys[0] - np.array(ys)) / (ys[0] - ys[-1]), rise / rise[-1], atol=0.01)


def test_a_run_being_written_is_no_problem(run: Path) -> None:
    with (run / "metrics.jsonl").open("a") as file:
        file.write('{"time_s": 360.0, "st')
    (run / "ratings.jsonl").unlink()
    page = page_of(run)
    assert "nothing measured yet" in page
    assert "Not readable" not in page


def test_damage_is_named_and_the_rest_is_shown(run: Path) -> None:
    lines = (run / "metrics.jsonl").read_text().splitlines()
    strange = ["[1, 2]", "{" * 5000, '{"time_s": null, "loss": "x"}', '{"time_s": NaN, "loss": 1}']
    (run / "metrics.jsonl").write_text("\n".join([lines[0], *strange, *lines[1:]]) + "\n")
    shard = run / "shards" / "0000-000001.parquet"
    shard.write_bytes(shard.read_bytes()[:200])
    page = page_of(run)
    assert "metrics.jsonl, line 2" in page
    assert "0000-000001.parquet" in page
    assert page.count("the first player won") == 2


def test_only_records_or_only_figures_make_a_page(run: Path, tmp_path: Path) -> None:
    (run / "run.json").unlink()
    assert "connect4" in page_of(run)  # known from the shards
    figures = tmp_path / "figures"
    figures.mkdir()
    (figures / "run.json").write_text('{"game": "go:size=9"}')
    assert "go:size=9" in page_of(figures)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere"], "there is no run folder"),
        (["."], "holds no run"),
        (["RUN", "--games", "-1"], "--games"),
        (["RUN", "--out", "no/such/folder.html"], "--out"),
    ],
)
def test_mistakes_get_one_line(
    arguments: list[str],
    message: str,
    run: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    monkeypatch.chdir(empty)
    assert main(["report", *(str(run) if word == "RUN" else word for word in arguments)]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


def test_ticks_are_round_and_cover_the_range() -> None:
    assert nice_ticks(0, 1, 5) == [0, 0.2, 0.4, 0.6, 0.8, 1.0]
    assert nice_ticks(-130, 1480, 5) == [-500, 0, 500, 1000, 1500]
    assert nice_ticks(3, 3, 5) == [3]


def test_a_chart_of_one_point_is_drawn() -> None:
    svg = LineChart(title="t", series=[Series(name="a", points=[(1, 1)])], x_label="x").svg()
    assert "nan" not in svg
    assert svg.count("<circle") == 1
