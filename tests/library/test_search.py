"""One position searched by the names of the package root."""

import pytest

from zerogames import UserError, get_game, load_net, run_search, search_preset


def test_a_mate_is_found_and_proven() -> None:
    found = run_search(load_net("shipped", "chess"), "6k1/5ppp/8/8/8/8/5PPP/3R2K1 w - - 0 1")
    assert found.best_move == "d1d8"
    assert found.best.proven == 1
    assert found.principal_variation == ("d1d8",)


def test_visits_add_up_and_lines_are_legal() -> None:
    net = load_net("shipped", "connect4")
    found = run_search(net, "startpos moves 4 4 3", nodes=200, lines=7)
    assert found.nodes == 200
    assert sum(found.visits.values()) == 199
    assert set(found.visits) == {"1", "2", "3", "4", "5", "6", "7"}
    assert sum(move.prior for move in found.moves) == pytest.approx(1, abs=1e-5)
    for move in found.moves:
        state = net.state("startpos moves 4 4 3")
        assert move.principal_variation[0] == move.move
        for text in move.principal_variation:
            state = state.play(net.game.parse_action(state, text))
        assert sum(move.wdl) == pytest.approx(1)
        assert -1 <= move.value <= 1


def test_a_search_is_deterministic_and_obeys_its_settings() -> None:
    net = load_net("shipped", "connect4")
    first, again = (run_search(net, nodes=100) for _ in range(2))
    assert first.visits == again.visits
    curious = search_preset("engine", cpuct=20.0)
    spread = max(run_search(net, nodes=100, settings=curious).visits.values())
    assert spread < max(first.visits.values())


def test_moves_left_are_unknown_to_a_net_without_that_head() -> None:
    assert run_search(load_net("shipped", "chess"), nodes=20).best.moves_left is None


def test_go_nets_are_searched_over_their_sensible_moves() -> None:
    """A net that does not know passing is not offered the pass while other moves make sense."""
    game = get_game("go:size=9")
    found = run_search(load_net("shipped", game), nodes=100)
    state = game.initial_state()
    net = load_net("shipped", game)
    allowed = game.sensible_actions(state, net.spec)
    wanted = state.legal_actions() if allowed is None else allowed
    assert {move.action for move in found.moves} == {int(action) for action in wanted}


def test_mistakes_are_one_line() -> None:
    net = load_net("shipped", "connect4")
    with pytest.raises(UserError, match="1 or more"):
        run_search(net, nodes=0)
    with pytest.raises(UserError, match="the game is over"):
        run_search(net, "startpos moves 1 2 1 2 1 2 1")
