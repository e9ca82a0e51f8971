"""The thinker and its clock, on small games and with evaluators that cost nothing."""

import dataclasses
import math
import random
import threading
import time
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from zerogames.engine import (
    EngineSettings,
    MoveThought,
    NetEngine,
    ThinkLimits,
    Thought,
    TimeLeft,
    TimeManager,
    centipawns,
    move_time_budget,
)
from zerogames.engine.clock import estimated_moves_to_go
from zerogames.engine.score import mate_in
from zerogames.engine.stopping import Leaders, cannot_change, patience
from zerogames.errors import UserError
from zerogames.evaluate import ConstantEvaluator, Evaluation, RandomEvaluator
from zerogames.game import Game, State
from zerogames.registry import get_game
from zerogames.search.settings import search_preset

GAME = get_game("connect4")
CALM = Leaders(
    first_visits=100, second_visits=50, best_by_value=True, settled_share=0.8, value_drop=0.0
)


class CountingEvaluator(RandomEvaluator):
    rows = 0
    delay_s = 0.0

    def evaluate(self, planes: NDArray[np.float32]) -> Evaluation:
        self.rows += len(planes)
        time.sleep(self.delay_s)
        return super().evaluate(planes)


def thinker(evaluator: RandomEvaluator | None = None, *, batch: int = 8) -> NetEngine:
    settings = EngineSettings(search=search_preset("engine"), batch=batch)
    return NetEngine(GAME, evaluator or CountingEvaluator(GAME), settings)


def actions_of(moves: str) -> list[int]:
    state, actions = GAME.initial_state(), []
    for move in moves.split():
        actions.append(GAME.parse_action(state, move))
        state = state.play(actions[-1])
    return actions


def state_after(moves: str) -> State:
    state = GAME.initial_state()
    for action in actions_of(moves):
        state = state.play(action)
    return state


def by_action(thought: Thought) -> dict[int, MoveThought]:
    return {move.action: move for move in thought.moves}


def test_nodes_are_visits_of_the_root() -> None:
    one = thinker()
    one.settings = EngineSettings(search=search_preset("engine", early_stop=False))
    thought = one.think(ThinkLimits(nodes=300))
    assert thought.nodes == 300
    assert sum(move.visits for move in thought.moves) == 299
    assert thought.best == thought.moves[0].action
    assert thought.seldepth >= thought.depth > 1
    assert thought.evaluations <= 300
    assert 0 < thought.hashfull <= 1000 or thought.evaluations < 300
    assert sum(thought.wdl) == pytest.approx(1)


def test_one_node_plays_the_favourite_of_the_net() -> None:
    evaluator = CountingEvaluator(GAME)
    thought = thinker(evaluator).think(ThinkLimits(nodes=1))
    assert evaluator.rows == 1
    priors = [move.prior for move in thought.moves]
    assert thought.best == thought.moves[int(np.argmax(priors))].action


def test_tree_is_kept_along_the_game_and_dropped_beside_it() -> None:
    evaluator = CountingEvaluator(GAME)
    one = thinker(evaluator)
    one.set_position(GAME.initial_state(), [])
    first = one.think(ThinkLimits(nodes=400))
    line = list(first.moves[0].line[:2])
    one.set_position(GAME.initial_state(), line)
    assert one.search.simulations > 10
    kept = one.think(ThinkLimits(nodes=one.search.simulations + 50))
    assert kept.nodes > kept.new_nodes
    one.set_position(GAME.initial_state(), [line[0], (line[1] + 1) % 7])
    assert one.search.simulations == 0
    one.set_position(state_after("1 2 3"), [])
    assert one.search.simulations == 0


def test_an_illegal_action_leaves_the_old_position() -> None:
    one = thinker()
    one.set_position(GAME.initial_state(), [3])
    one.think(ThinkLimits(nodes=50))
    before = one.search.simulations
    for actions in ([3, 99], [0, 99], [3, 3, -1]):
        with pytest.raises(UserError):
            one.set_position(GAME.initial_state(), actions)
    assert one.search.simulations == before
    assert one.state.plies == 1


@pytest.mark.parametrize("preset", ["engine", "gumbel", "katago"])
def test_only_allowed_moves_are_searched_and_chosen(preset: str) -> None:
    one = NetEngine(GAME, CountingEvaluator(GAME), EngineSettings(search=search_preset(preset)))
    one.set_position(GAME.initial_state(), actions_of("4 1 4 1 4 2"))  # 4 wins at once
    free = one.think(ThinkLimits(nodes=100))
    assert free.best == 3
    assert free.moves[0].mate == 1
    for allowed in [(0,), (1, 5), (6, 0, 2)]:
        thought = one.think(ThinkLimits(nodes=150, allowed=allowed, lines=2))
        assert thought.best in allowed
        assert {move.action for move in thought.moves} == set(allowed)
    new = NetEngine(GAME, CountingEvaluator(GAME), EngineSettings(search=search_preset(preset)))
    new.set_position(GAME.initial_state(), actions_of("4 1"))
    new.think(ThinkLimits(nodes=150, allowed=(1, 5)))
    visits = dict(zip(new.search.actions, new.search.visits, strict=True))
    assert sum(visits.values()) == visits[1] + visits[5] > 0


def test_a_restriction_to_lost_moves_ends_proven() -> None:
    one = thinker()
    one.set_position(GAME.initial_state(), actions_of("1 4 1 4 2 4"))  # only 4 stops the win
    thought = one.think(ThinkLimits(nodes=5000, allowed=(5, 6), lines=2))
    assert [move.mate for move in thought.moves] == [-1, -1]
    assert thought.nodes < 5000


def test_a_forbidden_restriction_is_refused() -> None:
    one = thinker()
    with pytest.raises(UserError, match="not legal"):
        one.think(ThinkLimits(nodes=10, allowed=(77,)))
    assert one.think(ThinkLimits(nodes=10)).best is not None


def test_a_game_that_is_over_has_no_best_move() -> None:
    one = thinker()
    one.set_position(GAME.initial_state(), actions_of("1 2 1 2 1 2 1"))
    thought = one.think(ThinkLimits(nodes=10))
    assert thought.best is None
    assert thought.moves == ()


def test_lines_begin_with_their_moves_and_are_legal() -> None:
    thought = thinker().think(ThinkLimits(nodes=500, lines=7))
    assert len(thought.moves) == 7
    for move in thought.moves:
        assert move.line[0] == move.action
        state = GAME.initial_state()
        for action in move.line:
            state = state.play(action)
    assert max(len(move.line) for move in thought.moves) > 2


def test_endless_thinking_ends_within_a_batch_of_stop() -> None:
    evaluator = CountingEvaluator(GAME)
    evaluator.delay_s = 0.01
    stop = threading.Event()
    infos: list[Thought] = []
    timer = threading.Timer(0.15, stop.set)
    timer.start()
    began = time.monotonic()
    thought = thinker(evaluator).think(
        ThinkLimits(infinite=True), stop=stop, on_info=infos.append, info_interval_s=0.03
    )
    assert 0.1 < time.monotonic() - began < 5
    assert thought.best is not None
    assert len(infos) >= 2
    assert [info.nodes for info in infos] == sorted(info.nodes for info in infos)


def test_a_stop_before_the_start_still_gives_a_move() -> None:
    stop = threading.Event()
    stop.set()
    evaluator = CountingEvaluator(GAME)
    assert thinker(evaluator).think(ThinkLimits(), stop=stop).best is not None
    assert evaluator.rows == 1


def test_endless_thinking_waits_even_when_all_is_known() -> None:
    one = thinker()
    one.set_position(GAME.initial_state(), actions_of("4 1 4 1 4 2"))
    stop = threading.Event()
    threading.Timer(0.1, stop.set).start()
    began = time.monotonic()
    thought = one.think(ThinkLimits(infinite=True), stop=stop)
    assert time.monotonic() - began > 0.09
    assert thought.best == 3


def test_pondering_ends_by_its_limits_only_after_the_hit() -> None:
    one = thinker()
    hit = threading.Event()
    threading.Timer(0.2, hit.set).start()
    began = time.monotonic()
    thought = one.think(ThinkLimits(ponder=True, soft_s=0.05, hard_s=0.1), ponder_hit=hit)
    took = time.monotonic() - began
    assert 0.19 < took < 5
    assert thought.best is not None
    quick = thinker()
    stop = threading.Event()

    def watch(thought: Thought) -> None:
        if thought.nodes > 5:
            stop.set()

    limits = ThinkLimits(ponder=True, nodes=5)
    assert quick.think(limits, stop=stop, on_info=watch, info_interval_s=0).nodes > 5


def test_time_limits_hold_and_calm_searches_stop_early() -> None:
    evaluator = CountingEvaluator(GAME)
    evaluator.delay_s = 0.002
    began = time.monotonic()
    thinker(evaluator).think(ThinkLimits(soft_s=0.05, hard_s=0.1))
    assert time.monotonic() - began < 3  # far above 0.1 only because machines may be busy
    one = thinker()
    one.set_position(GAME.initial_state(), actions_of("1 4 1 4 2 4"))  # one move does not lose
    thought = one.think(ThinkLimits(soft_s=40.0, hard_s=60.0))
    assert thought.elapsed_s < 30
    assert thought.best == 3


def test_depth_limit_is_the_mean_length() -> None:
    thought = thinker().think(ThinkLimits(depth=4))
    assert thought.depth >= 4
    assert thought.nodes < 100_000


def test_an_evaluator_that_fails_once_leaves_a_working_thinker() -> None:
    class Failing(ConstantEvaluator):
        failed = False

        def evaluate(self, planes: NDArray[np.float32]) -> Evaluation:
            if not self.failed:
                self.failed = True
                raise RuntimeError("no memory")
            return super().evaluate(planes)

    one = NetEngine(GAME, Failing(GAME), EngineSettings(search=search_preset("engine")))
    one.set_position(GAME.initial_state(), [3])
    with pytest.raises(RuntimeError):
        one.think(ThinkLimits(nodes=20))
    assert one.think(ThinkLimits(nodes=20)).best is not None
    assert one.state.plies == 1


class OverlappingRandom(RandomEvaluator):
    """Two batches under way, and a failure at one of them."""

    most = 0
    under_way = 0
    calls = 0
    fails_at = -1

    def __init__(self, game: Game) -> None:
        super().__init__(game)
        self.capabilities = dataclasses.replace(self.capabilities, threads=2)

    def start(self, planes: NDArray[np.float32]) -> Callable[[], Evaluation]:
        self.under_way += 1
        self.calls += 1
        self.most = max(self.most, self.under_way)
        number, before = self.calls, planes.copy()

        def finish() -> Evaluation:
            self.under_way -= 1
            if number == self.fails_at:
                raise RuntimeError("no memory")
            assert np.array_equal(planes, before)  # the room is not used again too early
            return self.evaluate(planes)

        return finish


def test_two_batches_are_under_way_and_all_are_taken() -> None:
    evaluator = OverlappingRandom(GAME)
    settings = search_preset("engine", early_stop=False)
    one = NetEngine(GAME, evaluator, EngineSettings(search=settings, batch=9))
    thought = one.think(ThinkLimits(nodes=300))
    assert thought.nodes == 300
    assert (evaluator.most, evaluator.under_way) == (2, 0)
    again = NetEngine(GAME, OverlappingRandom(GAME), EngineSettings(search=settings, batch=9))
    assert again.think(ThinkLimits(nodes=300)).moves == thought.moves
    stopped = threading.Event()
    stopped.set()
    one.think(ThinkLimits(nodes=600), stop=stopped)
    assert evaluator.under_way == 0


def test_a_ponder_hit_finds_batches_under_way() -> None:
    evaluator = OverlappingRandom(GAME)
    one = NetEngine(
        GAME, evaluator, EngineSettings(search=search_preset("engine", early_stop=False))
    )
    hit = threading.Event()

    def follow(thought: Thought) -> None:
        if thought.nodes > 50:
            hit.set()

    thought = one.think(
        ThinkLimits(nodes=200, ponder=True), ponder_hit=hit, on_info=follow, info_interval_s=0.0
    )
    assert thought.nodes >= 200
    assert (evaluator.most, evaluator.under_way) == (2, 0)


def test_a_batch_under_way_that_fails_leaves_a_working_thinker() -> None:
    evaluator = OverlappingRandom(GAME)
    evaluator.fails_at = 20
    one = NetEngine(
        GAME, evaluator, EngineSettings(search=search_preset("engine", early_stop=False))
    )
    one.set_position(GAME.initial_state(), [3])
    with pytest.raises(RuntimeError):
        one.think(ThinkLimits(nodes=500))
    assert one.think(ThinkLimits(nodes=500)).best is not None
    assert one.state.plies == 1


def test_an_engine_is_opened_by_the_names_of_game_and_net() -> None:
    engine = NetEngine.open("connect4", "shipped", EngineSettings(threads=2))
    engine.set_position(GAME.initial_state(), actions_of("4 1 4 1 4 2"))
    thought = engine.think(ThinkLimits(nodes=50))
    assert thought.best == thought.moves[0].line[0] == 3
    assert engine.net is not None
    with pytest.raises(UserError, match="no net file"):
        NetEngine.open("connect4", "nowhere.safetensors")


def test_an_engine_chooses_from_sensible_actions_unless_told() -> None:
    go = get_game("go:size=5")
    one = NetEngine(go, RandomEvaluator(go))
    sensible = one.sensible_actions
    assert sensible is not None
    assert 25 not in sensible
    moves = one.think(ThinkLimits(nodes=60)).moves
    assert {move.action for move in moves} == set(sensible)
    moves = one.think(ThinkLimits(nodes=60, allowed=(0, 25))).moves
    assert {move.action for move in moves} == {0, 25}


def test_an_engine_shares_out_its_clock() -> None:
    evaluator = CountingEvaluator(GAME)
    evaluator.delay_s = 0.002
    one = thinker(evaluator)
    thought = one.think(ThinkLimits(clock=TimeLeft(time_s=2.0)))
    assert thought.best is not None
    assert thought.elapsed_s < 2


def test_lc0s_curve() -> None:
    assert estimated_moves_to_go(0) == 51.5
    times = TimeManager(0.2)
    left = TimeLeft(time_s=60, increment_s=0.6)
    assert times.budget(left, ply=0).soft_s == pytest.approx(4.9, abs=0.05)
    for ply, soft in [(0, 1.75), (20, 2.03), (60, 3.31), (100, 7.09)]:
        assert times.budget(left, ply=ply).soft_s == pytest.approx(soft, abs=0.005)


def test_saved_time_goes_to_the_next_move() -> None:
    times = TimeManager(0.0)
    left = TimeLeft(time_s=100)
    times.budget(left, ply=2)
    plain = times.budget(left, ply=2).soft_s
    times.moved(plain - 0.5)
    richer = times.budget(left, ply=2).soft_s
    assert richer == pytest.approx(plain + 0.5 - 0.5 / estimated_moves_to_go(2))
    times.moved(richer + 1)
    assert times.budget(left, ply=2).soft_s == pytest.approx(plain)


def test_budgets_stay_inside_the_clock() -> None:
    rng = random.Random(1)
    for _ in range(20_000):
        time_s = rng.choice([-1.0, 0.0, rng.random() * 0.3, rng.random() * 10, rng.random() * 9999])
        left = TimeLeft(
            time_s=time_s,
            increment_s=rng.choice([0.0, 0.01, rng.random() * 30, -1.0]),
            moves_to_go=rng.choice([None, 0, -3, 1, 2, rng.randrange(1, 200)]),
        )
        overhead = rng.choice([0.0, 0.1, rng.random() * 5])
        times = TimeManager(overhead)
        for _ in range(2):
            budget = times.budget(left, ply=rng.randrange(600))
            assert 0.001 <= budget.soft_s <= budget.hard_s
            assert budget.hard_s <= max(0.001, time_s - overhead)
            times.moved(rng.random() * budget.hard_s)


def test_the_last_move_of_a_period_may_use_most_of_the_clock() -> None:
    times = TimeManager(0.1)
    assert times.budget(TimeLeft(time_s=10, moves_to_go=1), ply=78).hard_s == pytest.approx(9)
    assert times.budget(TimeLeft(time_s=10, moves_to_go=40), ply=0).hard_s == pytest.approx(2.5)
    assert times.budget(TimeLeft(time_s=10), ply=0).hard_s == pytest.approx(2.5)


def test_no_simulated_game_is_lost_on_time() -> None:
    """10,000 games at 1+0.01 with batches of up to 20 ms and a lag of up to 8 ms."""
    rng = np.random.default_rng(5)
    shortest = 10.0
    for _ in range(10_000):
        times = TimeManager(0.1)
        remaining = 1.01
        batch = float(rng.uniform(0.0002, 0.02))
        plies = int(rng.integers(20, 160))
        draws = rng.random((plies, 3))
        for ply in range(0, plies, 2):
            budget = times.budget(TimeLeft(time_s=remaining, increment_s=0.01), ply=ply)
            # The root is always evaluated, then whole batches while 1.5 of them fit.
            wanted = min(budget.hard_s, budget.soft_s * (0.5 + 2 * draws[ply, 0]))
            spent = batch * (0.2 + 0.3 * draws[ply, 1])
            step = batch * (0.7 + 0.6 * draws[ply, 1])
            fitting = math.floor((budget.hard_s - 1.5 * batch - spent) / step) + 1
            spent += step * max(0, min(fitting, math.ceil((wanted - spent) / step)))
            times.moved(spent)
            remaining -= spent + 0.008 * draws[ply, 2] ** 2
            shortest = min(shortest, remaining)
            assert remaining > 0, f"lost at ply {ply} with batches of {batch:.4f} s"
            remaining += 0.01
    assert shortest < 0.2  # The clock was used.


def test_doubt_extends_and_calm_shortens() -> None:
    assert patience(CALM) == 1
    doubts = [
        {"best_by_value": False},
        {"settled_share": 0.1},
        {"value_drop": 0.1},
    ]
    for doubt in doubts:
        assert patience(Leaders(**{**vars(CALM), **doubt})) > 1.3  # type: ignore[arg-type]
    assert patience(Leaders(**{**vars(CALM), "settled_share": 1.0})) < 1
    assert patience(Leaders(**{**vars(CALM), "value_drop": 5.0})) <= 2.5


def test_smart_pruning_compares_what_is_left() -> None:
    assert cannot_change(CALM, left_s=0.01, nodes=700, elapsed_s=1.0)
    assert not cannot_change(CALM, left_s=0.1, nodes=700, elapsed_s=1.0)


def test_move_times_leave_room_for_the_overhead() -> None:
    assert move_time_budget(1.0, 0.1).hard_s == pytest.approx(0.9)
    assert move_time_budget(0.05, 0.1).hard_s == pytest.approx(0.04)
    assert move_time_budget(-1.0).hard_s == 0.001


def test_scores_read_as_players_do() -> None:
    assert centipawns(0) == 0
    assert centipawns(0.5) == pytest.approx(-centipawns(-0.5))
    assert 80 < centipawns(0.5) < 100
    assert [mate_in(1, 1), mate_in(1, 3), mate_in(-1, 2), mate_in(-1, 0)] == [1, 2, -1, 0]
    assert mate_in(0, 4) is None
