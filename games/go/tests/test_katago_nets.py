import gzip
import io
import json
import time
import tracemalloc
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from gtp_client import Conversation, small_settings
from test_katago_features import KATAGO, reference, reference_planes
from zerogames_go import GoOptions
from zerogames_go.gtp.json_session import JsonSession
from zerogames_go.gtp.player import GoPlayer
from zerogames_go.katago.importing import import_katago
from zerogames_go.katago.layout import parse_layout

import zerogames
from zerogames import UserError
from zerogames.cli import main as run_command
from zerogames.data.sample import SampleBatch
from zerogames.evaluate import AnalysingEvaluator, evaluate_states, open_evaluator
from zerogames.evaluate.native_ import NativeEvaluator
from zerogames.export.positions import random_positions
from zerogames.game import Game, State
from zerogames.nets.file import load_net, save_net
from zerogames.nets.foreign import resolve_net
from zerogames.nets.model import build_model

NET = KATAGO / "g170-b6c96-s175395328-d26788732.bin.gz"
LAYOUT = "katago8_96x5_o96.3.3rr,o,g64.32.3.3.3rrr,o,g,o_t0r,p32.32.1.0rr,v32.64rr"


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> Iterator[None]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def net_file(name: str = NET.name) -> Path:
    """A file of the shared data."""
    path = KATAGO / name
    if not path.exists():
        pytest.skip("no ../shared/data/katago beside the repository")
    return path


@cache
def synthetic() -> list[tuple[str, dict[str, Any], dict[str, Any]]]:
    """Files of random nets, a position, and KataGo's answers."""
    path = net_file("synthetic/reference.json")
    positions = {case["id"]: case for case in reference()}
    cases = json.loads(path.read_text())["cases"]
    return [
        (f"synthetic/{case['net']}", positions[case["position"]], case)
        for case in cases
        if case["optimism"] == 0
    ]


def check_answers(
    found: dict[str, np.ndarray], case: dict[str, Any], answer: dict[str, Any]
) -> None:
    """Compare with KataGo's answer, which is White's and from the top row."""
    size, sign = case["size"], 1 if case["to_move"] == "W" else -1
    wanted = [np.nan if p is None else p for p in answer["policy"]]
    rows = np.array(wanted, np.float64).reshape(size, size)[::-1].ravel()
    rows = np.append(rows, answer["policyPass"])
    legal = np.isfinite(rows) & (rows >= 0)
    logits = np.where(legal, found["policy"].astype(np.float64), -np.inf)
    policy = np.exp(logits - logits.max())
    assert np.abs(policy / policy.sum() - rows)[legal].max() < 2e-5
    wdl = found["wdl"] if sign > 0 else found["wdl"][::-1]
    theirs = [answer["whiteWin"], answer["noResult"], answer["whiteLoss"]]
    assert np.abs(wdl - theirs).max() < 2e-5
    assert abs(sign * found["lead"] - answer["whiteLead"]) < 2e-3
    assert abs(sign * found["score"] - answer["whiteScoreMean"]) < 2e-3
    owners = np.array(answer["whiteOwnership"]).reshape(size, size)[::-1].ravel()
    assert np.abs(sign * found["ownership"] - owners).max() < 1e-4


read_katago = cache(import_katago)


def torch_answer(path: Path, case: dict[str, Any]) -> dict[str, np.ndarray]:
    """What the net says, computed by torch."""
    game = zerogames.get_game(f"go:size={case['size']}")
    model = read_katago(path)
    planes = torch.from_numpy(reference_planes(game, case)[None])
    with torch.inference_mode():
        logits, wdl, _ = model.evaluate(planes)
        found = {"policy": logits, "wdl": wdl, **model.analyse(planes)}
    return {name: tensor[0].numpy() for name, tensor in found.items()}


def test_a_net_says_what_katago_says() -> None:
    path = net_file()
    for case in reference():
        check_answers(torch_answer(path, case), case, case)


def test_every_version_says_what_katago_says() -> None:
    for name, case, answer in synthetic():
        check_answers(torch_answer(net_file(name), case), case, answer)


@pytest.mark.parametrize("kind", ["onnx", "native"])
def test_every_evaluator_says_what_katago_says(kind: str) -> None:
    for case in [case for case in reference() if case["id"] in ("d02", "d07", "d08", "d12")]:
        game = zerogames.get_game(f"go:size={case['size']}")
        evaluator = open_evaluator(game, kind=kind, net=net_file())
        planes = reference_planes(game, case)[None]
        logits, wdl, _ = evaluator.evaluate(planes)
        assert isinstance(evaluator, AnalysingEvaluator)
        found = {"policy": logits, "wdl": wdl, **evaluator.analyse(planes)}
        check_answers({name: array[0] for name, array in found.items()}, case, case)


@pytest.mark.parametrize("name", ["v14.bin.gz", "v15-text.txt.gz", "v17.bin.gz", "v17b.bin.gz"])
def test_every_block_runs_outside_torch(name: str) -> None:
    path = net_file(f"synthetic/synthetic-{name}")
    for wanted, case, answer in synthetic():
        if wanted.endswith(f"-{name}"):
            game = zerogames.get_game(f"go:size={case['size']}")
            evaluator = open_evaluator(game, net=path)
            planes = reference_planes(game, case)[None]
            logits, wdl, _ = evaluator.evaluate(planes)
            assert isinstance(evaluator, AnalysingEvaluator)
            found = {"policy": logits, "wdl": wdl, **evaluator.analyse(planes)}
            check_answers({name: array[0] for name, array in found.items()}, case, answer)


def test_a_net_is_one_of_ours() -> None:
    model, info = load_net(resolve_net(net_file()), game=zerogames.get_game("go:size=9"))
    assert (info.name, info.game, info.encoding) == (LAYOUT, "go", "katago-v7")
    assert parse_layout(info.name).name == info.name
    counted = sum(p.numel() for p in model.parameters())
    # The file holds mean and variance besides, but the first norm of a block no scale.
    assert counted == sum(layer.parameters for layer in model.program().layers)


def test_a_net_trains() -> None:
    model = import_katago(net_file("synthetic/synthetic-v17b.bin.gz")).train()
    case = next(case for case in reference() if case["id"] == "d02")
    planes = torch.from_numpy(reference_planes(zerogames.get_game("go:size=9"), case)[None])
    output = model(planes)
    assert output.ends is not None
    ends = sum(part.square().mean() for part in output.ends.values())
    heads = output.policy_logits[:, :5].square().mean() + output.value_logits[:, 0].sum()
    (heads + ends).backward()
    unused = {name for name, p in model.named_parameters() if p.grad is None}
    assert unused == set()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda data: data[:-2000], "truncated"),
        (lambda data: data + b"x", "more behind the net"),
        (lambda data: data.replace(b" 8\n", b" 7\n", 1).replace(b"\n8\n", b"\n7\n", 1), "V6"),
        (lambda data: data.replace(b"\n8\n", b"\n18\n", 1), "not known here"),
        (lambda data: data.replace(b"\n22\n", b"\n23\n", 1), "23 spatial inputs"),
        (lambda data: data.replace(b"gpool_block", b"what_block", 1), "block of KataGo's nets"),
        (lambda data: data.replace(b"@BIN@", b"@BIN@" + b"\xff\xff\xff\x7f", 1), "damaged"),
        (lambda data: data.replace(b"synthetic-v8", b"synthetic v8", 1), "version"),
    ],
)
def test_damage_is_named(tmp_path: Path, change: Callable[[bytes], bytes], message: str) -> None:
    data = gzip.decompress(net_file("synthetic/synthetic-v8.bin.gz").read_bytes())
    bad = tmp_path / "net.bin"
    bad.write_bytes(change(data))
    with pytest.raises(UserError, match=message) as caught:
        import_katago(bad)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "name",
    [
        "katago7_96x5_o96.3.3rr_t0r,p32.32.1.0rr,v32.48rr",
        "katago8_96x4_o96.3.3rr_t0r,p32.32.1.0rr,v32.48rr",
        "katago8_96x5_o_t0r,p32.32.1.0rr,v32.48rr",
        "katago8_96x5_o96.3rr_t0r,p32.32.1.0rr,v32.48rr",
        "katago8_96x5_n9.1.1rr(n9.1.1rr(o9.3.3rr)_t0r,p32.32.1.0rr,v32.48rr",
        "katago8_96x5_" + "n9.1.1rr(" * 2000 + "_t0r,p32.32.1.0rr,v32.48rr",
        "katago8_8192x9_o8192.9.9rr_t0r,p32.32.1.0rr,v32.48rr",
        "katago8_96x5_o96.3.3rr_t0r,p32.32.1.0rr",
        LAYOUT + "+leela-18",
    ],
)
def test_a_wrong_name_is_refused(name: str) -> None:
    with pytest.raises(UserError):
        zerogames.get_game("go").parse_net(name)


SMALL = "katago8_20x3_o12.3.3rr,g10.5.3.3.3rrr,o_t0r,p6.5.1.0rr,v4.7rr"
NESTED = (
    "katago15_20x5_n12.1.1mm(o12.3.3mm,g10.5.3.3.3mmm),a4.2.4.3.1,f9,a4.2.4.3.2,n,o9.1.5si_t2m,"
    "p6.5.2.3mmm,v4.7mm"
)


@pytest.mark.parametrize(("name", "is_native"), [(SMALL, True), (NESTED, False)])
@pytest.mark.parametrize("size", [5, 9])
def test_a_random_net_is_the_same_in_every_evaluator(
    tmp_path: Path, name: str, is_native: bool, size: int
) -> None:
    game = zerogames.get_game(f"go:size={size}")
    model = build_model(game.parse_net(name), game, seed=3)
    generator = torch.Generator().manual_seed(size)
    for part_name, tensor in model.state_dict().items():
        if ".running_" not in part_name and tensor.ndim in (1, 3):
            tensor += 0.3 * torch.randn(tensor.shape, generator=generator)
    save_net(tmp_path / "net.safetensors", model)
    planes = random_positions(game, "katago-v7", 12)
    found = {}
    for kind in ("torch", "onnx", "native"):
        evaluator = open_evaluator(game, kind=kind, net=tmp_path / "net.safetensors")
        assert isinstance(evaluator, AnalysingEvaluator)
        logits, wdl, _ = evaluator.evaluate(planes)
        found[kind] = {"policy": logits, "wdl": wdl, **evaluator.analyse(planes)}
    assert isinstance(evaluator, NativeEvaluator) == is_native
    for kind in ("onnx", "native"):
        for output, wanted in found["torch"].items():
            scale = 1 + np.abs(wanted).max()
            assert np.abs(found[kind][output] - wanted).max() < 2e-5 * scale, (kind, output)


@pytest.fixture
def small_net(tmp_path: Path) -> Path:
    game = zerogames.get_game("go:size=5")
    save_net(tmp_path / "net.safetensors", build_model(game.parse_net(SMALL), game))
    return tmp_path / "net.safetensors"


def test_analysis_shows_owners_and_points_of_the_net(small_net: Path) -> None:
    talk = Conversation(size=5, net=small_net, evaluator="native", nodes=30)
    talk.moves("bC3 wB2")
    talk.ask("kata-genmove_analyze b 1 ownership true rootInfo true")
    talk.session.answer("kata-analyze b 1 ownership true rootInfo true")
    time.sleep(0.4)
    talk.session.answer("")
    line = [one for one in talk.output.getvalue().splitlines() if "rootInfo" in one][-1]
    words = line.split()
    state = talk.table.played.state_for(0)
    planes = state.observe("katago-v7")[None]
    evaluator = open_evaluator(talk.table.played.game, net=small_net)
    assert isinstance(evaluator, AnalysingEvaluator)
    found = evaluator.analyse(planes)
    owned = [float(word) for word in words[words.index("ownership") + 1 :]]
    assert np.abs(owned - found["ownership"].reshape(5, 5)[::-1].ravel()).max() < 1e-3
    root = words[words.index("rootInfo") :]
    assert abs(float(root[root.index("scoreLead") + 1]) - found["lead"][0]) < 1e-3
    move = state.play(talk.table.played.game.parse_point(words[words.index("move") + 1]))
    found = evaluator.analyse(move.observe("katago-v7")[None])
    assert abs(float(words[words.index("scoreLead") + 1]) + found["lead"][0]) < 1e-3


def test_json_analysis_shows_points_of_the_net(small_net: Path) -> None:
    queries = [
        {"id": view, "moves": [["B", "C3"]], "boardXSize": 5, "boardYSize": 5, "rules": "chinese"}
        | {"maxVisits": 20, "includeOwnership": True, "komi": 7.5}
        | {"overrideSettings": {"reportAnalysisWinratesAs": view}}
        for view in ("BLACK", "WHITE")
    ]
    output = io.StringIO()
    player = GoPlayer(small_settings(evaluator="native", net=small_net))
    session = JsonSession(player, GoOptions(size=5), output=output)
    session.run(io.BytesIO("\n".join(map(json.dumps, queries)).encode()))
    black, white = (json.loads(line) for line in output.getvalue().splitlines())
    for name in ("scoreLead", "scoreSelfplay"):
        assert black["rootInfo"][name] == -white["rootInfo"][name]
        assert black["moveInfos"][0][name] == -white["moveInfos"][0][name]
    assert black["rootInfo"]["scoreLead"] != black["rootInfo"]["scoreSelfplay"]
    assert black["ownership"] == [-owner for owner in white["ownership"]]
    assert 0 < np.abs(black["ownership"]).max() < 1


def test_a_net_is_trained_further_and_saved(tmp_path: Path, small_net: Path) -> None:
    net = zerogames.load_net(small_net)
    records = list(zerogames.play_games(net, 3, seed=2))
    batch = zerogames.make_batch(net, records, 48)
    settings = zerogames.TrainerSettings(learning_rate=2e-3, warmup_steps=0)
    trainer = zerogames.Trainer(net.model, net.game, settings)
    losses = [trainer.train_step(batch)["loss"] for _ in range(12)]
    assert losses[-1] < 0.9 * losses[0]
    save_net(tmp_path / "trained.safetensors", net.model)
    trained = open_evaluator(net.game, net=tmp_path / "trained.safetensors")
    assert isinstance(trained, NativeEvaluator)
    with torch.inference_mode():
        wanted, wdl, _ = net.model.eval().evaluate(torch.from_numpy(batch.planes))
    answers = trained.evaluate(batch.planes)
    assert np.abs(answers.policy_logits - wanted.numpy()).max() < 1e-4
    assert np.abs(answers.wdl - wdl.numpy()).max() < 1e-5


def test_another_net_learns_from_its_answers(small_net: Path) -> None:
    game = zerogames.get_game("go:size=5")
    teacher = open_evaluator(game, net=small_net)
    states = [position_after(game, plies) for plies in range(8)]
    student = build_model(game.parse_net("mob_3x3_1x16"), game)
    batch = SampleBatch.empty(
        len(states), game.encodings[student.spec.encoding].shape, game.spec.action_size
    )
    for row, (state, found) in enumerate(
        zip(states, evaluate_states(teacher, states), strict=True)
    ):
        batch.planes[row] = state.observe(student.spec.encoding)
        batch.legal[row, state.legal_actions()] = True
        batch.policy[row, list(found.policy)] = list(found.policy.values())
        batch.result[row] = batch.search[row] = found.wdl
    batch.weights[:] = 1
    settings = zerogames.TrainerSettings(learning_rate=1e-2, warmup_steps=0)
    trainer = zerogames.Trainer(student, game, settings)
    losses = [trainer.train_step(batch)["value_loss"] for _ in range(15)]
    assert losses[-1] < losses[0]


def position_after(game: Game, plies: int) -> State:
    """Behind some moves at random."""
    rng = np.random.default_rng(plies)
    state = game.initial_state()
    for _ in range(plies):
        state = state.play(int(rng.choice(state.legal_actions()[:-1])))
    return state


def test_info_and_import_say_what_a_file_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = net_file("synthetic/synthetic-v15.bin.gz")
    assert run_command(["info", str(path)]) == 0
    assert "synthetic-v15, file version 15" in " ".join(capsys.readouterr().out.split())
    out = tmp_path / "net.safetensors"
    assert run_command(["import", str(path), "--out", str(out)]) == 0
    assert "KataGo's synthetic-v15, file version 15" in capsys.readouterr().out
    model, info = load_net(out)
    assert info.origin.startswith("KataGo's synthetic-v15")
    assert model.spec.encoding == "katago-v7:pass-alive=suicide"
    assert run_command(["import", str(path), "--out", str(tmp_path / "no" / "net")]) != 0


def test_a_file_that_promises_much_takes_little_memory(tmp_path: Path) -> None:
    head = b"huge\n8\n22\n19\ntrunk\n1\n2\n2\n2\n2\n2\nconv1\n9\n9\n22\n65536\n1\n1\n@BIN@"
    path = tmp_path / "net.bin"
    path.write_bytes(head + b"\0" * 1000)
    tracemalloc.start()
    try:
        with pytest.raises(UserError, match="truncated"):
            import_katago(path)
        assert tracemalloc.get_traced_memory()[1] < 20_000_000
    finally:
        tracemalloc.stop()
    packed = tmp_path / "bomb.bin.gz"
    packed.write_bytes(gzip.compress(head + b"\0" * 200_000_000))
    with pytest.raises(UserError, match="unpacks to more than"):
        import_katago(packed)
