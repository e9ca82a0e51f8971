"""Wrong arguments of every command: one line that names the nearest valid word, exit code 2."""

import subprocess
import sys
import time
from pathlib import Path

import pytest

from zerogames.cli import find_commands, main

UNKNOWN = [
    ("compare --sedes 3", "did you mean '--seeds'"),
    ("data", "inspect, stats, convert"),
    ("data inspct x", "did you mean 'inspect'"),
    ("data convert x --uot y", "did you mean '--out'"),
    ("data convert x", "--out is missing"),
    ("data --json", "unknown option '--json'"),
    ("export", "NET is missing"),
    ("export a b", "'b' is one argument too many"),
    ("export a --foramt onnx", "did you mean '--format'"),
    ("games chess --x", "unknown option '--x'"),
    ("games go:size=nine", "size=nine"),
    ("games ches", "did you mean 'chess'"),
    ("gtp --nodse 3", "did you mean '--nodes'"),
    ("import", "WEIGHTS is missing"),
    ("import a --licence x", "unknown option '--licence'"),
    ("info --paper", "did you mean '--papers'"),
    ("info a b", "too many"),
    ("match --gaems 3 random random", "did you mean '--games'"),
    ("match random", "two players"),
    ("new-game", "NAME is missing"),
    ("new-game a b", "too many"),
    ("nnue", "bench, data, features, merge, study, train"),
    ("nnue trian", "did you mean 'train'"),
    ("nnue train", "DATA, OUT is missing"),
    ("nnue train a b --metod pqr", "did you mean '--method'"),
    ("nnue train a b --method x", "known: eval, pqr"),
    ("nnue study --presets x", "did you mean '--preset'"),
    ("nnue bench --dpeth 3", "did you mean '--depth'"),
    ("nnue merge", "is missing"),
    ("perft", "DEPTH is missing"),
    ("perft three", "write a whole number, not 'three'"),
    ("play --sdie first", "did you mean '--side'"),
    ("play --side thrid", "known: first, random, second"),
    ("play --level 3.5", "write a whole number, not '3.5'"),
    ("play --level 99", "from 1 to 10"),
    ("pretrain --dta x", "did you mean '--data'"),
    ("pretrain --trainer.bacth-size 3", "did you mean '--trainer.batch-size'"),
    ("refute", "OUT is missing"),
    ("refute --dat x", "did you mean '--data'"),
    ("report", "RUN is missing"),
    ("report a --game 3", "did you mean '--games'"),
    ("selfplay --gmae chess", "did you mean '--game'"),
    ("selfplay --game connect4 --simulations -3", "simulations must be at least 1"),
    ("tournament --rounds x random random", "unknown option '--rounds'"),
    ("train x", "'x' is one argument too many"),
    ("train --search.simulatoins 3", "did you mean '--search.simulations'"),
    ("train --seed", "--seed needs a value"),
    ("uci --ndoes 3", "did you mean '--nodes'"),
    ("usi --ndoes 3", "did you mean '--nodes'"),
    ("web --prot 3", "did you mean '--port'"),
]
VALUES = [
    ("compare", "--steps", "int"),
    ("compare", "--threads", "int"),
    ("data convert x --out OUT", "--games-per-shard", "int"),
    ("gtp", "--nodes", "int"),
    ("match random random", "--games", "int"),
    ("nnue train a OUT", "--m", "int"),
    ("nnue train a OUT", "--epochs", "int"),
    ("nnue train a OUT", "--label-weight", "float"),
    ("nnue train a OUT", "--learning-rate", "float"),
    ("nnue data OUT", "--seed", "int"),
    ("play", "--nodes", "int"),
    ("pretrain --data x --out OUT", "--minutes", "float"),
    ("pretrain --data x --out OUT", "--checkpoint-minutes", "float"),
    ("pretrain --data x --out OUT", "--validation.share", "float"),
    ("pretrain --data x --out OUT", "--steps", "int"),
    ("refute OUT --data x --engine y", "--validation", "float"),
    ("refute OUT --data x --engine y", "--depth", "int"),
    ("report x", "--games", "int"),
    ("selfplay --out OUT", "--minutes", "float"),
    ("selfplay --out OUT", "--games", "int"),
    ("train --out OUT", "--minutes", "float"),
    ("train --out OUT", "--steps", "int"),
    ("train --out OUT", "--search.cpuct", "float"),
    ("uci", "--nodes", "int"),
    ("uci", "--hash", "int"),
]
WRONG = {"int": ["x", "3.5", "1e3"], "float": ["x", "nan", "-inf", "1e400"]}
CASES = [
    *UNKNOWN,
    *(
        (f"{command} {option} {value}", f"{option}: write")
        for command, option, kind in VALUES
        for value in WRONG[kind]
    ),
    *((f"{command} {option}", f"{option} needs a value") for command, option, _ in VALUES),
]


@pytest.mark.parametrize(("arguments", "message"), CASES)
def test_a_wrong_argument_is_one_line(
    arguments: str,
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(arguments.replace("OUT", str(tmp_path / "out")).split()) == 2
    captured = capsys.readouterr()
    assert captured.err.startswith("error: ")
    assert captured.err.count("\n") == 1
    assert message in captured.err
    assert captured.out == ""
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "arguments",
    [
        *("info LONG", "import LONG", "export LONG --game chess", "data stats LONG", "report LONG"),
        *("play --game chess --net LONG", "uci --net LONG", "gtp --net LONG", "train --out LONG"),
    ],
)
def test_a_name_too_long_for_a_file_is_one_line(
    arguments: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(arguments.replace("LONG", "a" * 300).split()) == 2
    said = capfd.readouterr().err
    assert said.startswith("error: ")
    assert said.count("\n") == 1
    assert "too long" in said
    assert not list(tmp_path.iterdir())


def test_every_command_has_a_wrong_argument_here() -> None:
    assert {arguments.split()[0] for arguments, _ in CASES} == set(find_commands())


@pytest.mark.parametrize(
    "arguments",
    [
        "train --game connect4 --minutes",
        "selfplay --game connect4 --minutes",
        "pretrain --data x --minutes",
        "pretrain --data x --checkpoint-minutes",
    ],
)
@pytest.mark.parametrize("value", ["0", "-1"])
def test_a_duration_is_positive(
    arguments: str,
    value: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main([*arguments.split(), value]) == 2
    captured = capsys.readouterr()
    assert captured.err.count("\n") == 1
    assert "minutes" in captured.err
    assert captured.out == ""
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("value", ["nan", "inf"])
def test_a_preset_has_finite_numbers(
    value: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    preset = tmp_path / "endless.toml"
    preset.write_text(f'command = "train"\ngame = "connect4"\nminutes = {value}\n')
    assert main(["train", "--preset", str(preset), "--out", str(tmp_path / "out")]) == 2
    assert "minutes: write a finite number" in capsys.readouterr().err


@pytest.mark.parametrize(
    "content",
    [
        b"\xff\xfe",
        b"a = " + b"[" * 20000,
        b"a = " + b"{a=" * 20000,
        b"a = " + b"[" * 9000 + b"]" * 9000,
    ],
    ids=["no UTF-8", "lists", "tables", "closed lists"],
)
def test_damaged_toml_is_one_line(
    content: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    preset = tmp_path / "broken.toml"
    preset.write_bytes(content)
    assert main(["train", "--preset", str(preset)]) == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert main(["info", "--preset", str(preset)]) == 2
    assert capsys.readouterr().err.count("\n") == 1


START = """
import sys
import zerogames.version
print("up", flush=True)
from zerogames.__main__ import main
sys.exit(main())
"""


@pytest.mark.parametrize("command", ["games", "info --papers", "uci", "train --out OUT"])
@pytest.mark.parametrize("delay_s", [0.02, 0.05, 0.1, 0.2, 0.3])
def test_an_early_interrupt_is_one_word(command: str, delay_s: float, tmp_path: Path) -> None:
    arguments = command.replace("OUT", str(tmp_path / "out")).split()
    with subprocess.Popen(
        [sys.executable, "-c", START, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=tmp_path,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"up\n"
        time.sleep(delay_s)
        process.send_signal(2)
        _, err = process.communicate(timeout=60)
    if process.returncode == 0:
        return  # It was over before.
    assert process.returncode == 130
    assert err == b"interrupted\n"
