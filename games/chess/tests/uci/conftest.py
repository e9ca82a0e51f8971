import sys
from pathlib import Path

import pytest
from zerogames_chess.nnue.network import write_network

sys.path.insert(0, str(Path(__file__).parents[1] / "nnue"))

from nnue_weights import random_network

from zerogames.nets import build_model, parse_net_name, save_net
from zerogames.registry import get_game


@pytest.fixture(scope="session")
def small_net(tmp_path_factory: pytest.TempPathFactory) -> Path:
    game = get_game("chess")
    path = tmp_path_factory.mktemp("nets") / "small.safetensors"
    save_net(path, build_model(parse_net_name("res_3x3_1x8", game), game, seed=3))
    return path


@pytest.fixture(scope="session")
def small_nnue(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("nnue") / "small.nnue"
    write_network(path, random_network("piece", 32, 16, 0, seed=21))
    return path


@pytest.fixture(params=["net", "nnue"])
def engine_command(request: pytest.FixtureRequest, small_net: Path, small_nnue: Path) -> list[str]:
    """Both engines as a user starts them."""
    start = [sys.executable, "-m", "zerogames", "uci"]
    if request.param == "net":
        return [*start, "--net", str(small_net), "--threads", "1"]
    return [*start, "--nnue", str(small_nnue)]
