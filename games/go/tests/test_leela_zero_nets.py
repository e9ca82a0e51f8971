import gzip
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
import torch
from go_samples import own_games, position
from numpy.typing import NDArray
from zerogames_go.leela_zero.importing import import_leela_zero

import zerogames
from zerogames import UserError
from zerogames.evaluate import evaluate_states, open_evaluator
from zerogames.nets.file import load_net
from zerogames.nets.foreign import resolve_net

Lines = list[NDArray[np.float64]]
EPSILON = 1e-5


def make_lines(
    board: int = 9, blocks: int = 2, channels: int = 8, *, version: int = 1, hidden: int = 256
) -> Lines:
    """The arrays of a random net, as their lines have them."""
    rng = np.random.default_rng(4)

    def draw(*shape: int, scale: float = 1.0) -> NDArray[np.float64]:
        fan = np.prod(shape[1:]) if len(shape) > 1 else 1.0
        return np.round(rng.normal(size=shape) * scale / np.sqrt(fan), 6)

    def conv(outputs: int, inputs: int, size: int) -> Lines:
        return [
            draw(outputs, inputs, size, size, scale=1.6),
            draw(outputs, scale=0.2),
            draw(outputs, scale=0.3),
            np.round(rng.uniform(0.5, 2, outputs), 6),
        ]

    def dense(outputs: int, inputs: int) -> Lines:
        return [draw(outputs, inputs, scale=1.5), draw(outputs, scale=0.2)]

    lines = [np.array([float(version)]), *conv(channels, 18, 3)]
    for _ in range(2 * blocks):
        lines += conv(channels, channels, 3)
    lines += [*conv(2, channels, 1), *dense(board**2 + 1, 2 * board**2)]
    lines += [*conv(1, channels, 1), *dense(hidden, board**2), *dense(1, hidden)]
    return lines


def write_net(path: Path, lines: Lines) -> Path:
    text = "".join(" ".join(f"{x:g}" for x in line.ravel()) + "\n" for line in lines).encode()
    path.write_bytes(gzip.compress(text) if path.suffix == ".gz" else text)
    return path


def plain_evaluate(lines: Lines, planes: NDArray[np.float32]) -> tuple[NDArray[np.float64], float]:
    """Policy logits and the raw value of planes `[18, n, n]`, layer by layer."""
    rest = iter(lines[1:])
    size = planes.shape[1]

    def conv(x: NDArray[np.float64]) -> NDArray[np.float64]:
        weights, biases, means, variances = (next(rest) for _ in range(4))
        reach = weights.shape[2] // 2
        padded = np.pad(x, ((0, 0), (reach, reach), (reach, reach)))
        out = np.zeros((len(weights), size, size))
        for row in range(weights.shape[2]):
            for column in range(weights.shape[3]):
                part = padded[:, row : row + size, column : column + size]
                out += np.einsum("oi,ihw->ohw", weights[:, :, row, column], part)
        shift, factor = biases - means, 1 / np.sqrt(variances + EPSILON)
        return (out + shift[:, None, None]) * factor[:, None, None]

    def dense(x: NDArray[np.float64]) -> NDArray[np.float64]:
        weights, biases = next(rest), next(rest)
        return weights @ x + biases

    x = np.maximum(conv(planes.astype(np.float64)), 0)
    for _ in range((len(lines) - 19) // 8):
        x = np.maximum(x + conv(np.maximum(conv(x), 0)), 0)
    policy = dense(np.maximum(conv(x), 0).ravel())
    hidden = np.maximum(dense(np.maximum(conv(x), 0).ravel()), 0)
    return policy, float(dense(hidden)[0])


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("name", ["net.gz", "net.txt"])
def test_a_net_says_what_a_plain_reading_of_its_file_says(
    tmp_path: Path, version: int, name: str
) -> None:
    lines = make_lines(version=version)
    path = write_net(tmp_path / name, lines)
    for ply in (0, 17, 30):
        state = position(own_games()[0], ply)
        planes = state.observe("leela-18")
        logits, raw = plain_evaluate(lines, planes)
        if version == 2 and state.to_play == 1:
            raw = -raw  # it was Black's
        for kind in ("torch", "onnx", "native"):
            evaluator = open_evaluator(zerogames.get_game("go:size=9"), kind=kind, net=path)
            found = evaluator.evaluate(planes[None])
            assert evaluator.encoding == "leela-18"
            assert np.abs(found.policy_logits[0] - logits).max() < 1e-4
            assert abs(found.wdl[0, 0] - (1 + np.tanh(raw)) / 2) < 1e-5


def test_a_net_is_one_of_ours(tmp_path: Path) -> None:
    path = write_net(tmp_path / "net.txt.gz", make_lines(version=2))
    model, info = load_net(resolve_net(path))
    assert (info.name, info.game, info.encoding) == ("leelaz2_2x8", "go:size=9", "leela-18")
    assert model.spec.pass_logit
    # It trains: the loss of a wrong move has a gradient everywhere.
    model.train()
    planes = np.stack([position(own_games()[0], ply).observe("leela-18") for ply in (3, 8)])
    output = model(torch.from_numpy(planes))
    (output.policy_logits.square().mean() + output.value_logits.square().mean()).backward()
    assert all(p.grad is not None and p.grad.abs().sum() > 0 for p in model.parameters())


def test_a_net_plays(tmp_path: Path) -> None:
    path = write_net(tmp_path / "net.gz", make_lines())
    found = zerogames.run_search(zerogames.load_net(path), nodes=20)
    assert sum(move.visits for move in found.moves) > 0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda lines: lines[:-1], "lines are not those of a whole net"),
        (lambda lines: [np.array([3.0]), *lines[1:]], "not a net|no net"),
        (lambda lines: [*lines[:3], lines[3][:-1], *lines[4:]], "line 4 has 7 numbers, not 8"),
        (lambda lines: [*lines[:4], -lines[4], *lines[5:]], "variance below 0"),
        (lambda lines: [*lines[:1], lines[1] * 1e300, *lines[2:]], "not finite"),
    ],
)
def test_damage_is_named(tmp_path: Path, change: object, message: str) -> None:
    path = write_net(tmp_path / "net.txt", change(make_lines()))  # type: ignore[operator]
    with pytest.raises(UserError, match=message):
        resolve_net(path)


def test_words_and_cut_files_are_refused(tmp_path: Path) -> None:
    whole = write_net(tmp_path / "net.txt", make_lines()).read_bytes()
    bad = tmp_path / "bad.txt"
    bad.write_bytes(whole.replace(b"0.1", b"0,1", 1))
    with pytest.raises(UserError, match="not a number"):
        import_leela_zero(bad)
    packed = tmp_path / "bad.gz"
    packed.write_bytes(gzip.compress(whole)[:-2000])
    with pytest.raises(UserError, match="truncated"):
        import_leela_zero(packed)
    packed.write_bytes(gzip.compress(b"1\n" + b"1 " * 40_000_000))
    with pytest.raises(UserError, match=r"unpacks to more than|longer than"):
        import_leela_zero(packed)


@pytest.mark.slow
def test_leela_zero_itself_says_the_same(tmp_path: Path) -> None:
    program = shutil.which("leelaz") or shutil.which("leelaz", path="/usr/games")
    if program is None:
        pytest.skip("leelaz is not installed")
    lines = make_lines(19, 1, 8)
    path = write_net(tmp_path / "net.txt", lines)
    game = zerogames.get_game("go")
    moves = ["Q16", "D4", "C16", "Q3", "R6"]
    state = game.initial_state()
    for move in moves:
        state = state.play(game.parse_action(state, move))
    commands = [f"play {'bw'[i % 2]} {move}" for i, move in enumerate(moves)]
    answer = subprocess.run(
        [program, "-w", str(path), "--gtp", "--cpu-only"],
        input="\n".join([*commands, "heatmap 0", "quit"]) + "\n",
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    text = answer.stdout + answer.stderr
    found = evaluate_states(open_evaluator(game, kind="torch", net=path), [state])[0]
    shown = [line for line in text.splitlines() if line.startswith(("winrate:", "pass:"))]
    assert shown, text[-2000:]
    winrate = float(next(line for line in shown if line.startswith("winrate")).split(":")[1])
    assert abs(winrate - found.wdl[0]) < 2e-3
    rows = [
        [int(word) for word in line.split()]
        for line in text.splitlines()
        if len(line.split()) == 19 and all(word.isdecimal() for word in line.split())
    ]
    assert len(rows) == 19
    for action, p in found.policy.items():
        if action < 361:
            row, column = divmod(action, 19)
            assert abs(rows[18 - row][column] / 1000 - p) < 2e-3
