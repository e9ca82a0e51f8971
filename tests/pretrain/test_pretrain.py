"""Supervised training: the command, what it writes, going on, and users' mistakes."""

import dataclasses
import io
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console
from safetensors.torch import load_file

from zerogames import get_game
from zerogames.cli import main
from zerogames.command_line import read_arguments
from zerogames.commands.pretrain import COMMAND, run_pretraining
from zerogames.data.sources import Source
from zerogames.data.split import Selection
from zerogames.nets import build_model, load_net, save_net
from zerogames.presets import Preset
from zerogames.pretrain.card import command_line
from zerogames.pretrain.settings import PretrainSettings, ValidationSettings
from zerogames.pretrain.validation_set import ValidationSet
from zerogames.runs.metrics_log import read_lines

ROOT = Path(__file__).parent.parent.parent
PRESETS = [
    preset
    for path in sorted((ROOT / "configs").glob("*/*.toml"))
    if (preset := Preset(path)).serves("pretrain")
]


def arguments(games: Path, out: Path, *more: str) -> list[str]:
    return [
        *("--game", "chess", "--data", str(games), "--out", str(out), "--net", "mob_3x3_1x8+conv"),
        *("--trainer.batch-size", "16", "--trainer.warmup-steps", "2", "--trainer.threads", "1"),
        *("--reading.shuffle-buffer", "200", "--validation.every", "4", "--report-every", "2"),
        *more,
    ]


def test_a_run_writes_metrics_checkpoints_a_net_and_a_card(games: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    shown = io.StringIO()
    console = Console(file=shown, width=200)
    settings = read_arguments(
        COMMAND, arguments(games, out, "--steps", "6", "--licence", "CC0-1.0")
    )
    assert run_pretraining(settings, console) == 0
    text = shown.getvalue()
    assert "chess: 1 files: PGN (1)" in text
    assert "validation accuracy" in text

    lines = read_lines(out / "metrics.jsonl")
    trained = [line for line in lines if "loss" in line]
    validated = [line for line in lines if "validation" in line]
    assert [line["step"] for line in trained] == [2, 4, 6]
    assert [line["step"] for line in validated] == [4, 6]
    figures = validated[-1]["validation"]
    assert figures["value_mse"] == pytest.approx(4 * figures["value_mse_quarter"])
    assert {"opening/policy_accuracy", "middle/value_mse", "end/policy_loss"} <= set(figures)
    assert all(0 <= line["waiting_share"] <= 1 for line in trained)
    assert list(out.glob("events.*"))
    assert (out / "checkpoints/step-00000006").is_dir()

    _, info = load_net(out / "net.safetensors")
    assert (info.step, info.data_licence) == (6, "CC0-1.0")
    assert info.metrics["policy_accuracy"] == pytest.approx(figures["policy_accuracy"])
    card = (out / "MODEL_CARD.md").read_text()
    assert "CC0-1.0" in card
    assert "96 positions in 6 steps" in card


def test_the_same_command_goes_on(games: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    assert main(["pretrain", *arguments(games, out, "--steps", "4")]) == 0
    first = load_file(out / "net.safetensors")
    # The folder's own settings serve where the command says nothing.
    assert main(["pretrain", "--game", "chess", "--out", str(out), "--steps", "8"]) == 0
    assert [line["step"] for line in read_lines(out / "metrics.jsonl") if "loss" in line] == [
        *(2, 4, 6, 8)
    ]
    changed = load_file(out / "net.safetensors")
    assert any(not np.array_equal(first[name], changed[name]) for name in first)
    assert len(json.loads((out / "run.json").read_text())["sessions"]) == 2
    # Done: nothing happens any more.
    assert main(["pretrain", "--game", "chess", "--out", str(out)]) == 0
    assert read_lines(out / "metrics.jsonl")[-1]["step"] == 8


def test_runs_with_one_seed_are_equal(games: Path, tmp_path: Path) -> None:
    nets = []
    for name in "ab":
        out = tmp_path / name
        assert main(["pretrain", *arguments(games, out, "--steps", "3")]) == 0
        nets.append(load_file(out / "net.safetensors"))
    assert all(np.array_equal(nets[0][name], nets[1][name]) for name in nets[0])


def test_a_net_file_is_tuned(games: Path, tmp_path: Path) -> None:
    game = get_game("chess")
    file = tmp_path / "given.safetensors"
    save_net(file, build_model(game.parse_net("res_3x3_1x8+conv+scalar"), game, seed=5))
    out = tmp_path / "run"
    more = ("--net", str(file), "--steps", "1", "--trainer.learning-rate", "1e-6")
    assert main(["pretrain", *arguments(games, out, *more)]) == 0
    given, tuned = load_file(file), load_file(out / "net.safetensors")
    assert given.keys() == tuned.keys()
    assert all(
        np.allclose(given[name], tuned[name], atol=1e-4) for name in given if "running" not in name
    )


def test_the_validation_set_is_held_out_and_fixed(games: Path) -> None:
    game = get_game("chess")
    settings = ValidationSettings(share=0.3, positions=40, per_game=2)
    sets = [ValidationSet(Source([games], game), settings, batch_size=16) for _ in range(2)]
    batches = [[batch.copy() for batch in one.batches()] for one in sets]
    assert sum(map(len, batches[0])) == len(sets[0]) == min(40, 2 * sets[0].num_games)
    for a, b in zip(*batches, strict=True):
        assert np.array_equal(a.planes, b.planes)
    # A folder that is named twice counts twice in training only.
    twice = ValidationSet(
        Source([games, games], game), dataclasses.replace(settings, positions=1000), batch_size=16
    )
    assert len(twice) == 2 * twice.num_games < 40 * 2
    assert twice.num_games == sum(
        Selection(part="validation", validation_share=0.3).wants(one.key)
        for one in Source([games], game).games()
    )
    few = dataclasses.replace(settings, positions=8, final_positions=40)
    last = ValidationSet(Source([games], game), few, batch_size=16)
    assert sum(map(len, last.batches())) == 8
    all_of_them = [batch.copy() for batch in last.batches(final=True)]
    # The few are some of all, not the first games'.
    usual = next(last.batches()).planes.copy()
    assert np.array_equal(usual, all_of_them[0].planes[:8])
    first = ValidationSet(
        Source([games], game), dataclasses.replace(settings, positions=8), batch_size=8
    )
    first_games = {planes.tobytes() for planes in next(first.batches()).planes}
    assert len({planes.tobytes() for planes in usual} & first_games) < 4
    for a, b in zip(batches[0], all_of_them, strict=True):
        assert np.array_equal(a.planes, b.planes)
    training = Selection(part="train", validation_share=0.3)
    keys = [one.key for one in Source([games], game).games()]
    assert 0 < sum(not training.wants(key) for key in keys) < len(keys)


def test_passes_do_not_count_for_nets_that_cannot_pass(tmp_path: Path) -> None:
    file = tmp_path / "games.sgf"
    points = ["aa", "bb", "cc", "dd", "ee", "ff", "gg", "hh", "ii"]
    texts = [
        f"(;GM[1]FF[4]SZ[9]KM[7]RE[B+1];B[{first}];W[{second}];B[];W[])"
        for first in points
        for second in points
        if first != second
    ]
    file.write_text("".join(texts))
    losses = {}
    for net in ("mobile.conv.avg.bin.1.8.16", "mobile.conv.avg.bin.1.8.16+pass"):
        out = tmp_path / net
        command = ["--game", "go:size=9", "--data", str(file), "--net", net, "--out", str(out)]
        more = ["--steps", "1", "--trainer.batch-size", "32", "--reading.shuffle-buffer", "100"]
        assert main(["pretrain", *command, *more, "--trainer.threads", "1"]) == 0
        losses[net] = read_lines(out / "metrics.jsonl")[-1]["validation"]["policy_loss"]
    # About log 81 for a new net; a pass that cannot be expressed would cost 10,000.
    assert all(loss < 10 for loss in losses.values()), losses


def test_a_configuration_keeps_its_options_of_the_game() -> None:
    assert read_arguments(COMMAND, ["--preset", "9x9-laptop", "--game", "go"]).game == "go:size=9"
    assert (
        read_arguments(COMMAND, ["--preset", "9x9-laptop", "--game", "go:size=13"]).game
        == "go:size=13"
    )
    assert (
        read_arguments(COMMAND, ["--preset", str(ROOT / "configs/go/9x9-laptop.toml")]).game
        == "go:size=9"
    )


@pytest.mark.parametrize(
    ("game", "data", "net"),
    [
        ("chess", "chess/lc0-v6-chunks", "lc0/maia-1500.pb.gz"),
        ("go:size=9", "go/leelaz-9x9-sample", "mob_3x3_1x8+gap"),
    ],
)
def test_real_files_are_learnt_from(
    shared: Path, tmp_path: Path, game: str, data: str, net: str
) -> None:
    file = shared / net
    command = ["--game", game, "--data", str(shared / data)]
    command += ["--net", str(file) if file.exists() else net, "--out", str(tmp_path / "run")]
    command += ["--steps", "1", "--trainer.batch-size", "8", "--trainer.threads", "1"]
    assert main(["pretrain", *command, "--validation.positions", "16"]) == 0
    figures = read_lines(tmp_path / "run" / "metrics.jsonl")[-1]["validation"]
    if file.exists():  # the games were played by this very net
        assert figures["policy_accuracy"] > 0.4


def test_ctrl_c_leaves_a_run_that_goes_on(games: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    command = [sys.executable, "-m", "zerogames", "pretrain"]
    child = subprocess.Popen(
        [*command, *arguments(games, out, "--minutes", "30")],
        stdout=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
        env={**os.environ, "CUDA_VISIBLE_DEVICES": ""},
    )
    deadline = time.monotonic() + 120
    while not (out / "metrics.jsonl").exists() and time.monotonic() < deadline:
        time.sleep(0.1)
    child.send_signal(signal.SIGINT)
    text, _ = child.communicate(timeout=120)
    assert child.returncode == 0
    assert "the same command continues" in text
    step = load_net(out / "net.safetensors")[1].step
    assert step >= 2
    assert (out / f"checkpoints/step-{step:08d}").is_dir()


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--data", "/nowhere"], "/nowhere: no such file or folder"),
        (["--net", "mob_xyz_1x8"], "unknown kernel of chess 'xyz'"),
        (["--net", "none.safetensors"], "there is no net file 'none.safetensors'"),
        (["--steps", "0"], "--steps must be positive"),
        (["--validation.share", "1"], "validation.share 1 is not between 0 and 1"),
        (["--trainer.batch-size", "0"], "batch_size must be 1 or more"),
        (["--game", "ches"], "unknown game 'ches'"),
    ],
)
def test_mistakes_are_told(
    games: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], more: list[str], message: str
) -> None:
    out = tmp_path / "run"
    assert main(["pretrain", *arguments(games, out, "--steps", "1"), *more]) == 2
    assert message in capsys.readouterr().err
    assert not out.exists()


def test_a_second_command_in_the_folder_is_refused_until_the_first_is_gone(
    games: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "run"

    def command(steps: int) -> list[str]:
        options = arguments(games, out, "--steps", str(steps))
        return [sys.executable, "-m", "zerogames", "pretrain", *options]

    first = subprocess.Popen(command(100_000), stdout=subprocess.PIPE, text=True)
    try:
        assert first.stdout is not None
        next(line for line in first.stdout if "validation on" in line)
        second = subprocess.run(command(2), capture_output=True, text=True, check=False)
        assert second.returncode == 2
        assert second.stderr == (
            f"error: {out} is in use by process {first.pid}; wait for its end or name another "
            "folder\n"
        )
        next(line for line in first.stdout if "validation accuracy" in line)
    finally:
        first.kill()
        first.communicate()
    # What the killed process held is free at once, and its newest checkpoint is continued.
    step = max(int(path.name[5:]) for path in (out / "checkpoints").glob("step-*"))
    assert main(["pretrain", *arguments(games, out, "--steps", str(step + 2))]) == 0
    assert f"continuing at step {step:,}" in capsys.readouterr().out
    assert len(json.loads((out / "run.json").read_text())["sessions"]) == 2


def test_no_data_another_net_and_a_foreign_folder_are_refused(
    games: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["pretrain", "--game", "chess", "--out", str(tmp_path / "a")]) == 2
    assert "say what to learn from: --data PATH" in capsys.readouterr().err
    out = tmp_path / "run"
    assert main(["pretrain", *arguments(games, out, "--steps", "1")]) == 0
    before = {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    assert main(["pretrain", *arguments(games, out, "--net", "mob_3x3_1x16+conv")]) == 2
    assert "trains the net mob_3x3_1x8+conv, not mob_3x3_1x16+conv" in capsys.readouterr().err
    assert {path: path.read_bytes() for path in out.rglob("*") if path.is_file()} == before
    other = tmp_path / "other"
    other.mkdir()
    (other / "precious").write_text("x")
    assert main(["pretrain", *arguments(games, other, "--steps", "1")]) == 2
    assert "is not empty and has no run.json" in capsys.readouterr().err


@pytest.mark.parametrize("preset", PRESETS, ids=lambda preset: preset.path.stem)
def test_presets_name_nets_that_exist(preset: Preset) -> None:
    for net in preset.nets or (None,):
        settings = preset.settings(PretrainSettings, command="pretrain", net=net)
        dataclasses.replace(settings, data=(Path("x"),)).check()
        game = get_game(settings.game)
        assert settings.net is not None
        assert game.parse_net(settings.net)


def test_the_papers_settings() -> None:
    chess = read_arguments(COMMAND, ["--preset", "cg2024", "--net", "mob_krb_6x96"])
    trainer = chess.trainer
    assert (chess.steps, trainer.batch_size, trainer.optimizer) == (100_000, 1024, "sgd")
    assert (trainer.learning_rate, trainer.boundaries) == (0.02, (30_000, 60_000))
    assert trainer.factors == (0.1, 0.25)  # 0.02, 0.002, 0.0005
    assert (chess.validation.share, chess.validation.every) == (0.2, 2000)
    assert trainer.search_value_share == 1
    go = read_arguments(COMMAND, ["--preset", "mobile", "--net", "mobile.small"])
    assert (go.trainer.batch_size, go.steps) == (32, 200 * 31_250)
    assert go.trainer.boundaries == (100 * 31_250, 150 * 31_250)
    assert (go.validation.positions, go.validation.per_game) == (100_000, 1)


def test_the_card_repeats_the_command() -> None:
    settings = read_arguments(
        COMMAND, ["--data", "a/games.pgn", "--net", "x", "--steps", "9", "--reading.no-symmetries"]
    )
    assert command_line(settings) == (
        "zerogames pretrain --game chess --data games.pgn --net x --steps 9 --seed 1 "
        "--reading.no-symmetries"
    )
