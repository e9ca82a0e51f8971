"""Comparing nets: the trainings, the table, the statistics."""

import json
import math
from pathlib import Path

import pytest

from zerogames.cli import main
from zerogames.commands.compare import CompareSettings, plan
from zerogames.pretrain.comparison import Compared, Curve, make_table
from zerogames.pretrain.statistics import mean_and_deviation, student_tails, welch_test
from zerogames.runs.metrics_log import read_lines


def test_student_and_welch_agree_with_published_values() -> None:
    # The usual table of Student's distribution.
    for freedom, t in ((1, 12.706), (2, 4.303), (5, 2.571), (30, 2.042)):
        assert student_tails(t, freedom) == pytest.approx(0.05, abs=1e-4)
    assert student_tails(0, 3) == pytest.approx(1)
    assert student_tails(-2.571, 5) == student_tails(2.571, 5)
    # Freedom 4 and t = 5 / sqrt(2/3), for which the distribution has a closed form.
    angle = math.atan(5 / math.sqrt(2 / 3) / 2)
    closed = 1 - math.sin(angle) * (1 + math.cos(angle) ** 2 / 2)
    assert welch_test([1, 2, 3], [6, 7, 8]) == pytest.approx(closed, abs=1e-7)
    assert welch_test([1, 1], [1, 1]) == 1
    assert welch_test([1, 1], [2, 2]) == 0
    assert math.isnan(welch_test([1], [2, 3]))
    assert mean_and_deviation([1, 3]) == (2, pytest.approx(math.sqrt(2)))


def compared(name: str, accuracy: tuple[float, ...]) -> Compared:
    curves = {
        seed: Curve(
            step=(1,),
            policy_accuracy=(value / 2,),
            value_mse=(0.3,),
            final_policy_accuracy=value,
            final_value_mse=0.4,
        )
        for seed, value in enumerate(accuracy, 1)
    }
    return Compared(name=name, parameters=1234, speed=500.4, curves=curves)


def test_the_table_has_means_deviations_and_tests() -> None:
    lines = make_table([compared("a", (0.40, 0.42)), compared("b", (0.50, 0.52))]).splitlines()
    assert (
        lines[2]
        == "| `a` | 1,234 | 500 | 2 | 41.00 ± 1.41% | - | 0.4000 ± 0.0000 | 0.1000 ± 0.0000 | - |"
    )
    assert "51.00 ± 1.41%" in lines[3]
    assert "| 0.019 |" in lines[3]  # t = 7.07 with freedom 2
    assert "41.00%" in make_table([compared("a", (0.41,))])


def test_trainings_are_planned_seed_by_seed(games: Path) -> None:
    runs = plan(
        CompareSettings(
            preset=("cg2024",), nets=("mob_krb_6x96", "mob_5x5_6x96"), data=(games,), seeds=(3, 4)
        )
    )
    assert [(run.net, run.seed) for run in runs] == [
        *(("mob_krb_6x96", 3), ("mob_5x5_6x96", 3), ("mob_krb_6x96", 4), ("mob_5x5_6x96", 4)),
    ]
    assert all(run.steps == 100_000 and run.trainer.batch_size == 1024 for run in runs)


def test_nets_are_trained_compared_and_drawn(games: Path, tmp_path: Path) -> None:
    config = tmp_path / "small.toml"
    config.write_text(
        'game = "chess"\nsteps = 2\n[reading]\nshuffle_buffer = 100\n[validation]\nevery = 1\n'
        "positions = 8\nfinal_positions = 30\n[trainer]\nbatch_size = 16\nthreads = 1\n"
    )
    nets = ("mob_3x3_1x8+conv", "res_3x3_1x8+conv")
    out = tmp_path / "out"
    command = [
        "compare",
        "--preset",
        str(config),
        "--data",
        str(games),
        "--nets",
        *nets,
        "--out",
        str(out),
    ]
    assert main([*command, "--seeds", "1", "2"]) == 0
    table = json.loads((out / "comparison.json").read_text())
    assert [row["net"] for row in table] == list(nets)
    assert table[0]["runs"].keys() == {"1", "2"}
    run = table[0]["runs"]["1"]
    assert run["step"] == [1, 2]
    # Curves are of the usual positions, eight; the table is of all.
    assert all(
        8 * accuracy == pytest.approx(round(8 * accuracy)) for accuracy in run["policy_accuracy"]
    )
    last = read_lines(out / f"{nets[0]}-seed1" / "metrics.jsonl")[-1]
    assert (last["validation"]["positions"], last["final_validation"]["positions"]) == (8, 30)
    assert run["final_policy_accuracy"] == last["final_validation"]["policy_accuracy"]
    assert table[0]["positions_per_cpu_s"] > 0
    assert (out / "comparison.png").read_bytes().startswith(b"\x89PNG")
    text = (out / "comparison.md").read_text()
    assert "Data: games.pgn; 2 steps with batches of 16." in text
    # Again: everything is done, nothing is trained anew.
    before = (out / f"{nets[0]}-seed1" / "metrics.jsonl").read_text()
    assert main([*command, "--seeds", "1", "2"]) == 0
    assert (out / f"{nets[0]}-seed1" / "metrics.jsonl").read_text() == before


SMALL = ("--preset", "cg2024-laptop")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "name a preset"),
        (["--preset", "nothing"], "unknown preset of `zerogames pretrain` 'nothing'"),
        ([*SMALL], "--data PATH"),
        ([*SMALL, "--data", "x", "--seeds", "1", "1"], "numbers that differ"),
        ([*SMALL, "--data", "x", "--nets", "res_3x3_1x8", "res_3x3_1x8"], "named twice"),
        ([*SMALL, "mobile-laptop", "--data", "x"], "different games"),
    ],
)
def test_mistakes_are_told(
    capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    assert main(["compare", *arguments]) == 2
    assert message in capsys.readouterr().err
