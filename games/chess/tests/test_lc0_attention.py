"""Lc0's attention nets: its own answers for four small nets, round trips, what is refused."""

import contextlib
import gzip
import json
import random
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from zerogames_chess.lc0 import import_lc0
from zerogames_chess.lc0.attention_net import ChosenHeads
from zerogames_chess.lc0.transfer import export_lc0, message_to_model
from zerogames_chess.lc0.wire import (
    Message,
    bytes_field,
    fixed32_field,
    integer_field,
)

from zerogames.cli import main
from zerogames.errors import UserError
from zerogames.evaluate.opening import open_evaluator
from zerogames.export.parity import torch_answers
from zerogames.export.positions import random_positions
from zerogames.game import State, play_actions
from zerogames.nets import build_model, load_net
from zerogames.nets.evaluation import Evaluation
from zerogames.nets.model import Model
from zerogames.registry import get_game

CHESS = get_game("chess")
KINDS = ("kind1", "kind2", "kind3", "kind4")
Case = Mapping[str, Any]


@pytest.fixture
def nets(shared: Path) -> Path:
    return shared / "lc0-attention"


def reference(nets: Path, kind: str) -> Case:
    loaded: Case = json.loads((nets / f"{kind}_reference.json").read_text())
    return loaded


def state_of(case: Case) -> State:
    state = CHESS.initial_state() if case["fen"] is None else CHESS.parse_state(case["fen"])
    moves = case["moves"]
    for move in moves.split() if isinstance(moves, str) else moves:
        state = play_actions(state, [CHESS.parse_action(state, move)])
    return state


def planes_of(cases: list[Case]) -> NDArray[np.float32]:
    return np.stack([state_of(case).observe("lc0-classic") for case in cases])


def check(answers: Evaluation, cases: list[Case], tolerance: Mapping[str, float]) -> None:
    """Compare with the engine's exact numbers and with what it prints."""
    for row, case in enumerate(cases):
        exact, actions = case["exact"], case.get("policy_index") or cases[row]["policy_index"]
        logits = np.array([answers.policy_logits[row, actions[move]] for move in exact["logits"]])
        right = np.array(list(exact["logits"].values()))
        np.testing.assert_allclose(logits, right, atol=tolerance["exact_logit_abs"])
        np.testing.assert_allclose(answers.wdl[row], exact["wdl"], atol=tolerance["exact_wdl_abs"])
        priors = np.exp(logits - logits.max())
        printed = [case["priors_percent"][move] for move in exact["logits"]]
        np.testing.assert_allclose(
            100 * priors / priors.sum(), printed, atol=tolerance["prior_percent_abs"]
        )
        value = answers.wdl[row, 0] - answers.wdl[row, 2]
        assert abs(value - case["Q"]) < tolerance["q_abs"]
        if "m" in exact and answers.moves_left is not None:
            assert abs(answers.moves_left[row] - exact["m"]) < tolerance["exact_m_abs"]


@pytest.mark.parametrize("kind", KINDS)
def test_answers_are_lc0s_in_torch_and_onnx(kind: str, nets: Path) -> None:
    known = reference(nets, kind)
    cases, path = known["cases"], nets / f"{kind}.pb.gz"
    planes = planes_of(cases)
    for row, case in enumerate(cases):
        state = state_of(case)
        for move, action in case["policy_index"].items():
            if state.result is not None:
                break  # the engine evaluates a third repetition like any position
            assert CHESS.parse_action(state, move) == action, (row, move)
    check(torch_answers(import_lc0(path), planes), cases, known["tolerance"])
    for evaluator in ("native", "onnx"):
        answers = open_evaluator(CHESS, kind=evaluator, net=path).evaluate(planes)
        check(answers, cases, known["tolerance"])


@pytest.mark.parametrize(
    ("policy", "value"), [("optimistic", "q"), ("soft", "st"), ("opponent", "winner")]
)
def test_other_heads_play_if_they_are_chosen(policy: str, value: str, nets: Path) -> None:
    known = reference(nets, "kind3")
    cases = [
        {**case, **case["other_heads"][f"{policy}/{value}"]}
        for case in known["cases"]
        if f"{policy}/{value}" in case.get("other_heads", {})
    ]
    assert cases
    model = import_lc0(nets / "kind3.pb.gz", ChosenHeads(policy=policy, value=value))
    check(torch_answers(model, planes_of(cases)), cases, known["tolerance"])


@pytest.mark.parametrize("kind", KINDS)
def test_the_stages_are_lc0s(kind: str, nets: Path) -> None:
    known = reference(nets, kind)
    model, case = import_lc0(nets / f"{kind}.pb.gz"), known["cases"][0]
    tolerance, stages = known["tolerance"]["stage_abs"], case["stages"]
    relative = known["tolerance"]["stage_sum_rel"]
    found: dict[str, torch.Tensor] = {}
    planes = torch.from_numpy(planes_of([case]))
    with torch.no_grad():
        x = model.stem(planes if model.input_scale is None else planes * model.input_scale)
        if kind != "kind4":
            found["gated" if kind == "kind2" else "embedding_ffn" if kind == "kind3" else ""] = x
        for number, block in enumerate(model.blocks):
            x = block(x)
            found[f"encoder{number}" if kind != "kind4" else "resnet"] = x
    tokens = {name: t.flatten(2).transpose(1, 2)[0] for name, t in found.items() if name}
    assert len(tokens) >= 1
    for name, one in tokens.items():
        right = stages[name]
        np.testing.assert_allclose(one.flatten()[:4], right["first"], atol=tolerance)
        np.testing.assert_allclose(one.flatten()[-4:], right["last"], atol=tolerance)
        assert abs(float(one.abs().sum()) / right["sum_abs"] - 1) < relative


def layers_of(weights: Message) -> dict[tuple[int, ...], bytes]:
    """Every layer's message by the path of its fields; those without numbers left out."""
    found: dict[tuple[int, ...], bytes] = {}

    def walk(message: Message, path: tuple[int, ...]) -> None:
        for number in message.numbers():
            if path == () and number in (24, 28):
                continue
            for index, raw in enumerate(message._all_raw(number)):
                inside = Message(raw)
                if 3 in inside and inside.numbers() in ([1, 2, 3], [2, 3], [1, 3], [3]):
                    found[(*path, number, index)] = bytes(raw)
                else:
                    walk(inside, (*path, number, index))

    walk(weights, ())
    return found


@pytest.mark.parametrize("kind", ["kind1", "kind2"])
def test_layers_come_back_byte_for_byte(kind: str, nets: Path, tmp_path: Path) -> None:
    path, out = nets / f"{kind}.pb.gz", tmp_path / "again.pb.gz"
    model = import_lc0(path)
    export_lc0(model, out)
    first, again = (Message(gzip.decompress(one.read_bytes())) for one in (path, out))
    before, after = layers_of(first.message(10)), layers_of(again.message(10))
    assert before.keys() == after.keys()
    different = [key for key in before if before[key] != after[key]]
    assert different in ([], [(25, 0)])  # the column of the rule-50 counter is scaled
    planes = random_positions(CHESS, "lc0-classic", 4)
    mine, theirs = torch_answers(import_lc0(out), planes), torch_answers(model, planes)
    np.testing.assert_allclose(mine.policy_logits, theirs.policy_logits, atol=1e-3)


@pytest.mark.parametrize("kind", ["kind3", "kind4"])
def test_other_forms_come_back_with_the_same_answers(kind: str, nets: Path, tmp_path: Path) -> None:
    path, out = nets / f"{kind}.pb.gz", tmp_path / "again.pb.gz"
    assert main(["export", str(path), "--format", "lc0", "--out", str(out)]) == 0
    planes = random_positions(CHESS, "lc0-classic", 4)
    mine, theirs = (torch_answers(import_lc0(one), planes) for one in (out, path))
    assert import_lc0(out).spec.name == import_lc0(path).spec.name
    np.testing.assert_allclose(mine.policy_logits, theirs.policy_logits, atol=5e-3)
    np.testing.assert_allclose(mine.wdl, theirs.wdl, atol=1e-3)


@pytest.mark.parametrize(
    "name",
    [
        "enc_none_map_1x16h2+attention+tokens4.8+mlh4.8",
        "enc_smolgen2.8.4_dense2.8_gates_gelu_1x16h2+attention8.4+tokens4.8+scalar+mish",
        "res_3x3_1x16+attention8.4e1h2d8f8selu",
    ],
)
def test_our_own_nets_become_weights(name: str, tmp_path: Path) -> None:
    model = build_model(CHESS.parse_net(name), CHESS, seed=2).eval()
    if "gelu" in name:
        with pytest.raises(UserError, match="gelu"):
            export_lc0(model, tmp_path / "a.pb.gz")
        return
    export_lc0(model, tmp_path / "a.pb.gz", encoding="float32")
    again = import_lc0(tmp_path / "a.pb.gz")
    planes = random_positions(CHESS, "lc0-classic", 4)
    mine, theirs = torch_answers(again, planes), torch_answers(model, planes)
    np.testing.assert_allclose(mine.policy_logits, theirs.policy_logits, atol=1e-4)
    np.testing.assert_allclose(mine.wdl, theirs.wdl, atol=1e-5)


def changed(path: Path, network: Mapping[int, int | None], drop: tuple[int, ...] = ()) -> Message:
    """The file with other fields in its header, and without some of its weights."""
    net = Message(gzip.decompress(path.read_bytes()))
    old = net.message(4).message(2)
    fields: dict[int, int | None] = {n: old.integer(n) for n in old.numbers()}
    fields |= network
    header = b"".join(integer_field(n, v) for n, v in sorted(fields.items()) if v is not None)
    weights = net.message(10)
    content = b"".join(
        integer_field(n, weights.integer(n))
        if n in (24, 28)
        else b"".join(bytes_field(n, bytes(raw)) for raw in weights._all_raw(n))
        for n in weights.numbers()
        if n not in drop
    )
    return Message(
        fixed32_field(1, 0x1C0)
        + bytes_field(4, integer_field(1, 1) + bytes_field(2, header))
        + bytes_field(10, content)
    )


def answers_of(model: Model) -> Evaluation:
    return torch_answers(model, random_positions(CHESS, "lc0-classic", 3))


@pytest.mark.parametrize(
    ("kind", "network"),
    [
        ("kind2", {3: 4, 8: None, 9: None, 10: None}),
        ("kind3", {3: 134}),
        ("kind3", {3: 6, 10: 1}),
    ],
)
def test_old_headers_mean_the_same(
    kind: str, network: Mapping[int, int | None], nets: Path
) -> None:
    path = nets / f"{kind}.pb.gz"
    ours, right = answers_of(message_to_model(changed(path, network))), answers_of(import_lc0(path))
    np.testing.assert_array_equal(ours.policy_logits, right.policy_logits)


def test_a_header_of_residual_nets_changes_the_activations_of_kind3(nets: Path) -> None:
    model = message_to_model(changed(nets / "kind3.pb.gz", {3: 4}))
    planes = planes_of([reference(nets, "kind3")["cases"][0]])
    wdl = torch_answers(model, planes).wdl[0]
    assert abs(wdl[0] - wdl[2] - -0.2883) < 2e-4


@pytest.mark.parametrize(
    ("kind", "network", "drop", "reason"),
    [
        ("kind1", {4: 1}, (), "policy format 1"),
        ("kind1", {5: 3}, (), "value format 3"),
        ("kind1", {1: 2}, (), "input format 2"),
        ("kind1", {7: 9}, (), "activation 9"),
        ("kind1", {10: 5}, (), "input embedding 5"),
        ("kind1", {10: 0}, (), "without an input embedding"),
        ("kind1", {9: 9}, (), "activation 'softmax'"),
        ("kind1", {3: 9}, (), "architecture 9"),
        ("kind2", {}, (33,), "one of its two gates"),
        ("kind1", {}, (17,), "weights field 17 has 0 numbers"),
        ("kind1", {}, (26,), "channels must be 1"),
        ("kind1", {}, (28,), "0 heads"),
        ("kind2", {}, (35,), "weights field 35 has 0 numbers"),
        ("kind1", {}, (27,), "blocks must be 1"),
    ],
)
def test_other_nets_are_refused_by_name(
    kind: str,
    network: Mapping[int, int | None],
    drop: tuple[int, ...],
    reason: str,
    nets: Path,
) -> None:
    with pytest.raises(UserError, match=reason):
        message_to_model(changed(nets / f"{kind}.pb.gz", network, drop))


def test_import_says_what_a_net_is(
    nets: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "soft.safetensors"
    arguments = ["import", str(nets / "kind3.pb.gz"), "--out", str(out)]
    assert main([*arguments, "--policy-head", "soft", "--value-head", "st"]) == 0
    told = capsys.readouterr().out
    for text in ("405,324 parameters", "CC0-1.0", "MFLOP per position", "positions/s in batches"):
        assert text in told
    model = import_lc0(nets / "kind3.pb.gz", ChosenHeads(policy="soft", value="st"))
    assert load_net(out)[0].spec.name == model.spec.name
    ours, right = answers_of(load_net(out)[0]), answers_of(model)
    np.testing.assert_array_equal(ours.policy_logits, right.policy_logits)
    assert load_net(out)[1].origin == model.origin
    assert main(["info", str(nets / "kind1.pb.gz")]) == 0
    assert "smolgen" not in capsys.readouterr().out


def test_damaged_files_are_one_line(nets: Path, tmp_path: Path) -> None:
    whole, rng = gzip.decompress((nets / "kind3.pb.gz").read_bytes()), random.Random(1)
    path = tmp_path / "net.pb"
    for _ in range(60):
        changed = bytearray(whole)
        for _ in range(rng.randint(1, 4)):
            changed[rng.randrange(rng.choice([len(changed), 400]))] = rng.randrange(256)
        path.write_bytes(changed[: rng.choice([len(changed), rng.randrange(len(changed))])])
        with contextlib.suppress(UserError):
            import_lc0(path)


@pytest.mark.slow
def test_a_net_of_the_largest_kind_fits_in_memory(tmp_path: Path) -> None:
    """BT4's shape: at most three times the unpacked file and 300 MB."""
    name = "enc_smolgen32.256.256_dense512.1536_gates_15x1024h32f1536+mish"
    name += "+attention1024.1024+tokens128.128+mlh32.128"
    path = tmp_path / "large.pb"
    export_lc0(build_model(CHESS.parse_net(name), CHESS), path)
    script = (
        "import re, sys; from zerogames_chess.lc0 import import_lc0; "
        "model = import_lc0(sys.argv[1]); "
        "print(sum(p.numel() for p in model.parameters())); "
        "status = open('/proc/self/status').read(); "
        "print(1024 * int(re.search(r'VmHWM:\\s*(\\d+)', status)[1]))"
    )
    command = [sys.executable, "-c", script, str(path)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    parameters, peak = map(int, done.stdout.split())
    assert parameters > 185_000_000
    assert peak < 3 * path.stat().st_size + 300_000_000


def test_absent_heads_are_refused(nets: Path) -> None:
    for kind in ("kind1", "kind4"):
        with pytest.raises(UserError, match="head"):
            import_lc0(nets / f"{kind}.pb.gz", ChosenHeads(policy="soft"))
    with pytest.raises(UserError, match="did you mean 'vanilla'"):
        ChosenHeads(policy="vanila")
