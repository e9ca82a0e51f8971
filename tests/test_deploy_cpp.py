"""The C++ example: its answers with the net in onnxruntime, its TensorRT part compiled only."""

import os
import shutil
import subprocess
import threading
from pathlib import Path

import numpy as np
import pytest
from zerogames_kernels import cuda

import zerogames
from zerogames.evaluate.onnx_ import OnnxEvaluator
from zerogames.export.onnx_file import build_onnx
from zerogames.nets import build_model

ROOT = Path(__file__).resolve().parents[1]
EXAMPLE = ROOT / "examples" / "deploy_cpp"
INCLUDES = [ROOT / "games" / "chess" / "cpp", ROOT / "selfplay" / "core" / "include"]
DECLARATIONS = ROOT / "kernels" / "tests" / "tensorrt"
POSITIONS = [
    "startpos moves e2e4 e7e5 g1f3",
    "r3k2r/pp1bqppp/2nppn2/2p5/2P1P3/2NPBN2/PP1QBPPP/R3K2R w KQkq - 2 10",
    "8/P7/8/8/8/8/k7/2K5 w - - 0 1 moves a7a8q",
]


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if shutil.which("g++") is None:
        pytest.skip("g++ is not installed")
    folder = tmp_path_factory.mktemp("deploy")
    # Beside the source its own engine.hpp would be found first.
    shutil.copy(EXAMPLE / "main.cpp", folder)
    includes = [f"-I{path}" for path in (ROOT / "tests" / "deploy_cpp", *INCLUDES)]
    command = ["g++", "-std=c++20", "-O0", "-Wall", "-Wextra", "-Werror", *includes]
    output = folder / "deploy_chess"
    subprocess.run([*command, str(folder / "main.cpp"), "-o", str(output)], check=True)
    return output


def answer_pipes(folder: Path, evaluator: OnnxEvaluator, batches: int) -> None:
    for _ in range(batches):
        data = (folder / "planes").read_bytes()
        planes = np.frombuffer(data, np.float32).reshape(-1, 112, 8, 8)
        answer = evaluator.evaluate(planes)
        (folder / "answers").write_bytes(answer.policy_logits.tobytes() + answer.wdl.tobytes())


def test_it_answers_positions_like_the_net(program: Path, tmp_path: Path) -> None:
    game = zerogames.get_game("chess")
    model = build_model(game.parse_net("mob_krb_1x12+conv"), game, seed=4)
    proto = build_onnx(model, game).SerializeToString()
    evaluator = OnnxEvaluator(proto, version="", encoding="lc0-classic")
    os.mkfifo(tmp_path / "planes")
    os.mkfifo(tmp_path / "answers")
    server = threading.Thread(target=answer_pipes, args=(tmp_path, evaluator, 2), daemon=True)
    server.start()
    command = [str(program), str(tmp_path), *POSITIONS]
    result = subprocess.run(command, check=True, capture_output=True, text=True, timeout=120)
    server.join(timeout=60)
    assert not server.is_alive()

    lines = iter(result.stdout.splitlines())
    for text in POSITIONS:
        state = zerogames.parse_position(game, text)
        answer = evaluator.evaluate(state.observe("lc0-classic")[None])
        assert next(lines) == text
        words = next(lines).split()
        assert [float(word) for word in words[1::2]] == pytest.approx(answer.wdl[0], abs=1e-3)
        legal = state.legal_actions()
        logits = answer.policy_logits[0, legal]
        p = np.exp(logits - logits.max())
        p /= p.sum()
        right = {game.format_action(state, int(a)): float(q) for a, q in zip(legal, p, strict=True)}
        shown = [next(lines).split() for _ in range(min(5, len(legal)))]
        assert {move: float(q) for move, q in shown} == pytest.approx(
            {move: right[move] for move, _ in shown}, abs=1e-3
        )
        assert float(shown[0][1]) == pytest.approx(p.max(), abs=1e-3)
    assert next(lines, None) is None


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ([], 2, "usage: deploy_chess ENGINE"),
        (["x", "no position"], 1, "error: "),
        (["x", "startpos moves e2e5"], 1, "e2e5"),
    ],
)
def test_mistakes_are_told(program: Path, arguments: list[str], code: int, message: str) -> None:
    result = subprocess.run([program, *arguments], capture_output=True, text=True, check=False)
    assert result.returncode == code
    assert message in result.stderr


def test_the_tensorrt_part_compiles(tmp_path: Path) -> None:
    nvcc = cuda.find_nvcc()
    if nvcc is None:
        pytest.skip("nvcc is not installed")
    headers = os.environ.get("TENSORRT_INCLUDE", str(DECLARATIONS))
    includes = [f"-I{path}" for path in (*INCLUDES, headers)]
    command = [
        nvcc,
        "-std=c++20",
        "-Xcompiler",
        "-fsyntax-only,-Wall,-Wextra,-Werror",
        *includes,
        "-c",
    ]
    result = subprocess.run(
        [*command, str(EXAMPLE / "main.cpp"), "-o", str(tmp_path / "main.o")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr
