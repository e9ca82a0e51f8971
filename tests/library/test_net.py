"""Nets and their evaluations by the names of the package root."""

from pathlib import Path

import numpy as np
import pytest

import zerogames
from zerogames import UserError, evaluate_position, evaluate_positions, get_game, load_net
from zerogames.search import new_search


def test_a_net_is_found_by_name_file_and_word(tmp_path: Path) -> None:
    net = load_net("shipped", "connect4")
    assert net.game is get_game("connect4")
    copy = tmp_path / "copy.safetensors"
    copy.write_bytes(net.path.read_bytes())
    for text in (copy, str(copy)):
        assert load_net(text).name == net.name
    assert load_net("res_3x3_1x8", "connect4").name == "res_3x3_1x8"


def test_mistakes_are_one_line(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="there is no net file"):
        load_net(tmp_path / "none.safetensors")
    with pytest.raises(UserError, match="which game"):
        load_net("shipped")
    with pytest.raises(UserError, match="unknown evaluator"):
        load_net("shipped", "connect4", evaluator="gpu")
    net = load_net("res_3x3_1x8", "connect4")
    with pytest.raises(UserError, match="the game is over: four in a row"):
        evaluate_position(net, "startpos moves 1 2 1 2 1 2 1")
    with pytest.raises(UserError):
        evaluate_position(net, "startpos moves 8")


@pytest.mark.parametrize("identity", ["chess", "connect4", "go:size=9"])
def test_an_evaluation_is_what_the_search_sees(identity: str) -> None:
    """Policy over legal moves and value are those that the native search takes from the net."""
    game = get_game(identity)
    net = load_net("shipped", game)
    state = game.initial_state()
    for _ in range(3):
        state = state.play(int(state.legal_actions()[0]))
    found = evaluate_position(net, state)
    search = new_search(game, zerogames.search_preset("alphazero", simulations=1), state=state)
    planes = search.collect(1)
    search.apply(*net.evaluator.evaluate(planes))
    priors = dict(zip(search.actions.tolist(), search.raw_priors.tolist(), strict=True))
    assert len(found.policy) == len(priors)
    for move, probability in found.policy.items():
        assert probability == pytest.approx(priors[game.parse_action(state, move)], abs=1e-5)
    assert list(found.policy.values()) == sorted(found.policy.values(), reverse=True)
    assert sum(found.policy.values()) == pytest.approx(1)
    assert sum(found.wdl) == pytest.approx(1, abs=1e-5)
    assert found.value == pytest.approx(search.net_value, abs=1e-5)


def test_a_batch_gives_what_single_positions_give() -> None:
    net = load_net("shipped", "chess")
    texts = [None, "startpos moves e2e4", "8/8/8/4k3/8/8/4P3/4K3 w - - 0 1"]
    together = evaluate_positions(net, texts)
    for text, one in zip(texts, together, strict=True):
        alone = evaluate_position(net, text)
        assert alone.best_move == one.best_move
        np.testing.assert_allclose(alone.wdl, one.wdl, atol=1e-5)
    assert evaluate_positions(net, []) == []


def test_the_side_to_move_is_the_view() -> None:
    net = load_net("shipped", "chess")
    white_up = "4k3/8/8/8/8/8/8/QQ2K3 w - - 0 1"
    black_to_move = "4k3/8/8/8/8/8/8/QQ2K3 b - - 0 1"
    assert evaluate_position(net, white_up).value > 0.5
    assert evaluate_position(net, black_to_move).value < -0.5


def test_a_net_stands_for_its_file(tmp_path: Path) -> None:
    net = load_net("res_3x3_1x8", "connect4")
    report = zerogames.export_net(net, str(tmp_path / "net.onnx"))
    assert (tmp_path / "net.onnx").stat().st_size > 1000
    assert report is not None
