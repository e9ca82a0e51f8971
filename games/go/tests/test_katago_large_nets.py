"""Large nets of KataGo as KaTrain's wheels carry them; they are fetched by name and never kept."""

import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
import torch
from gtp_client import Conversation
from test_katago_features import KATAGO, reference, reference_planes
from zerogames_go.katago.importing import import_katago

import zerogames
from zerogames.evaluate import AnalysingEvaluator, open_evaluator

WHEELS = {
    "1.13.0": ("katago8_192x5_o192.3.3rr,", "NativeEvaluator"),
    "1.14.0": ("katago14_384x3_n192.1.1mm(o192.3.3mm,o)", "OnnxEvaluator"),
    "1.20.0": ("katago15_384x3_n192.1.1ss(a6.6.32.32.2,f512,a,f)", "OnnxEvaluator"),
}


def net_of_wheel(version: str, folder: Path) -> Path:
    """The net in a wheel of KaTrain."""
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
    found = subprocess.run(
        [*command, "--dest", str(folder), f"katrain=={version}"],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    wheels = list(folder.glob("*.whl"))
    if found.returncode or not wheels:
        pytest.skip("no wheel of KaTrain can be had")
    with zipfile.ZipFile(wheels[0]) as wheel:
        name = next(name for name in wheel.namelist() if name.endswith(".bin.gz"))
        return Path(wheel.extract(name, folder))


@pytest.mark.slow
@pytest.mark.parametrize("version", WHEELS)
def test_a_large_net_runs_and_plays(
    tmp_path: Path, version: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    if not KATAGO.exists():
        pytest.skip("no ../shared/data/katago beside the repository")
    path = net_of_wheel(version, tmp_path)
    name, kind = WHEELS[version]
    model = import_katago(path)
    assert model.spec.name.startswith(name)
    game = zerogames.get_game("go:size=9")
    evaluator = open_evaluator(game, net=path)
    assert type(evaluator).__name__ == kind
    assert isinstance(evaluator, AnalysingEvaluator)
    cases = [case for case in reference() if case["size"] == 9]
    planes = np.stack([reference_planes(game, case) for case in cases])
    logits, wdl, _ = evaluator.evaluate(planes)
    with torch.inference_mode():
        wanted_logits, wanted_wdl, _ = model.evaluate(torch.from_numpy(planes))
        wanted = model.analyse(torch.from_numpy(planes))
    assert np.abs(logits - wanted_logits.numpy()).max() < 1e-3
    assert np.abs(wdl - wanted_wdl.numpy()).max() < 1e-4
    found = evaluator.analyse(planes)
    for output, tensor in wanted.items():
        assert np.abs(found[output] - tensor.numpy()).max() < 1e-2, output
    # A strong net agrees with the small one where a game is decided.
    for row, case in enumerate(cases):
        if not 0.05 < case["whiteWin"] < 0.95:
            white = wdl[row, 0 if case["to_move"] == "W" else 2]
            assert abs(white - case["whiteWin"]) < 0.1, case["id"]
            sign = 1 if case["to_move"] == "W" else -1
            assert abs(sign * found["lead"][row] - case["whiteLead"]) < 12, case["id"]
    talk = Conversation(size=9, net=path, evaluator="native", nodes=30)
    moves = [talk.ask(f"genmove {colour}") for colour in "bwb"]
    assert moves[0][0] in "CDEFG"
    assert moves[0][1] in "34567"
    assert len(set(moves)) == 3
