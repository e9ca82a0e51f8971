"""The window over self-play: its size, its draws, its state and shards that are broken."""

import random
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest
import torch

from zerogames.data.record import VALUE_COLUMNS, GameRecord, SearchColumns
from zerogames.data.sample import SampleBatch
from zerogames.data.shard import write_shard
from zerogames.errors import UserError
from zerogames.game import Game, State
from zerogames.nets import build_model
from zerogames.registry import get_game
from zerogames.train import (
    Draws,
    ReplayWindow,
    Trainer,
    TrainerSettings,
    WindowSettings,
    window_size,
)
from zerogames.train.surprise import surprise_weights

FIELDS = tuple(field.name for field in fields(SampleBatch))


def searched_record(game: Game, seed: int, *, fast: bool = False) -> GameRecord:
    """A random game with random policies; with `fast` every second move is a cheap one."""
    rng, numbers = random.Random(seed), np.random.default_rng(seed)
    state, actions, policies = game.initial_state(), [], []
    while state.result is None:
        legal = state.legal_actions()
        actions.append(int(rng.choice(legal)))
        policies.append(legal)
        state = state.play(actions[-1])
    plies, sizes = len(actions), [len(legal) for legal in policies]
    targets = [numbers.dirichlet(np.ones(size)) for size in sizes]
    return GameRecord(
        game=game.spec.identity,
        actions=np.array(actions, np.int32),
        result=state.result,
        search=SearchColumns(
            policy_offsets=np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
            policy_actions=np.concatenate(policies).astype(np.int32),
            policy_visits=np.ones(sum(sizes), np.int32),
            policy_targets=np.concatenate(targets).astype(np.float32),
            values={name: numbers.uniform(0, 0.5, plies).astype("f4") for name in VALUE_COLUMNS},
            surprise=numbers.exponential(0.3, plies).astype(np.float32),
            kinds=np.array([ply % 2 if fast else 0 for ply in range(plies)], np.uint8),
        ),
    )


def write_shards(folder: Path, game: Game, count: int, *, games: int = 8) -> list[Path]:
    paths = []
    for shard in range(count):
        path = folder / f"{shard:03d}.parquet"
        write_shard(path, [searched_record(game, 100 * shard + n) for n in range(games)])
        paths.append(path)
    return paths


@pytest.fixture(scope="module")
def game() -> Game:
    return get_game("connect4")


@pytest.fixture(scope="module")
def shards(game: Game, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return write_shards(tmp_path_factory.mktemp("shards"), game, 6)


def positions(game: Game, records: list[GameRecord]) -> Iterator[State]:
    for record in records:
        state = record.start_state(game)
        for action in record.actions.tolist():
            yield state
            state = state.play(action)


def settings(**changes: object) -> WindowSettings:
    return WindowSettings(**({"batch_size": 16, "min_positions": 300} | changes))  # type: ignore[arg-type]


def draw(window: ReplayWindow, count: int) -> list[SampleBatch]:
    return [window.draw().copy() for _ in range(count)]


def assert_equal(ours: list[SampleBatch], theirs: list[SampleBatch]) -> None:
    for one, other in zip(ours, theirs, strict=True):
        for name in FIELDS:
            assert np.array_equal(getattr(one, name), getattr(other, name)), name


@pytest.mark.parametrize(
    ("least", "scale", "sizes"),
    [
        (
            250_000,
            0,
            {
                250_000: 250_000,
                1_000_000: 474_967,
                5_000_000: 1_174_494,
                10_000_000: 1_788_252,
                100_000_000: 7_654_480,
            },
        ),
        (
            100_000,
            50_000,
            {200_000: 132_072, 500_000: 197_574, 1_000_000: 277_827, 2_000_000: 402_126},
        ),
        (
            20_000,
            20_000,
            {
                50_000: 30_019,
                100_000: 42_727,
                200_000: 62_668,
                500_000: 107_425,
                1_000_000: 164_189,
            },
        ),
    ],
)
def test_window_grows_by_katagos_rule(least: int, scale: int, sizes: dict[int, int]) -> None:
    rule = WindowSettings(min_positions=least, scale=scale)
    assert {total: window_size(rule, total) for total in sizes} == sizes
    assert window_size(rule, least // 3) == least // 3


def test_window_respects_its_limit() -> None:
    rule = WindowSettings(min_positions=1000, max_positions=1500)
    assert window_size(rule, 1200) == window_size(WindowSettings(min_positions=1000), 1200)
    assert window_size(rule, 10**6) == 1500


def test_surprise_weights_are_the_published_ones() -> None:
    weights = surprise_weights(np.array([1.0, 1, 0, 1]), np.array([0.1, 0.6, 1.2, 0.2]))
    assert weights == pytest.approx([0.590909, 1.045455, 0.681818, 0.681818], abs=1e-4)
    assert weights.sum() == pytest.approx(3)


def test_draws_are_positions_of_the_games(game: Game, shards: list[Path]) -> None:
    known = {}
    for seed in range(8):
        record = searched_record(game, seed)
        state = game.initial_state()
        for ply, action in enumerate(record.actions.tolist()):
            assert record.search is not None
            known.setdefault(state.observe("stones").tobytes(), []).append(
                (record.search.policy(ply)[2].tolist(), len(record.actions) - ply)
            )
            state = state.play(action)
    with ReplayWindow(game, "stones", settings(symmetries=False), Draws(seed=3)) as window:
        assert window.add(shards[0])
        assert window.num_positions == sum(len(found) for found in known.values())
        seen = set()
        for batch in draw(window, 60):
            for row in range(len(batch)):
                planes = batch.planes[row].tobytes()
                targets = batch.policy[row][batch.legal[row]].tolist()
                assert (targets, int(batch.moves_left[row])) in known[planes]
                seen.add(planes)
    assert len(seen) > 0.9 * len(known)


def test_draws_depend_on_seed_and_shards_only(game: Game, shards: list[Path]) -> None:
    def run(seed: int, **changes: object) -> list[SampleBatch]:
        with ReplayWindow(game, "stones", settings(**changes), Draws(seed=seed)) as window:
            window.add(shards[0])
            found = draw(window, 5)
            window.add(shards[1])  # batches already made ahead must be made again
            return found + draw(window, 5)

    first = run(1)
    assert_equal(first, run(1, workers=3, prefetch=7))
    assert not np.array_equal(first[0].planes, run(2)[0].planes)


def test_window_holds_exactly_the_newest_positions(game: Game, shards: list[Path]) -> None:
    with ReplayWindow(game, "stones", settings(growth=0.1, symmetries=False)) as window:
        for path in shards:
            window.add(path)
        assert window.num_positions == window_size(window.settings, window.total_positions)
        assert window.num_positions < window.total_positions
        assert window.paths == shards[-len(window.paths) :]
        newest = [
            searched_record(game, 100 * shard + number)
            for shard in range(len(shards) - len(window.paths), len(shards))
            for number in range(8)
        ]
        rows = [state.observe("stones").tobytes() for state in positions(game, newest)]
        drawn = {planes.tobytes() for batch in draw(window, 150) for planes in batch.planes}
    inside = set(rows[-window.num_positions :])
    assert drawn <= inside
    assert len(drawn) > 0.9 * len(inside)
    assert rows[-window.num_positions - 1] not in inside  # the next older one was left out


def test_restored_window_goes_on_with_the_same_draws(game: Game, shards: list[Path]) -> None:
    with ReplayWindow(game, "stones", settings(growth=0.1), Draws(seed=5)) as window:
        for path in shards[:4]:
            window.add(path)
        draw(window, 7)
        state = window.state()
        wanted = draw(window, 3)
        window.add(shards[4])
        wanted += draw(window, 3)
    with ReplayWindow(game, "stones", settings(growth=0.1)) as again:
        again.restore(state)
        found = draw(again, 3)
        again.add(shards[4])
        assert_equal(found + draw(again, 3), wanted)
        assert again.total_positions == window.total_positions


def test_corrupt_shard_is_named_set_aside_and_never_used(
    game: Game, shards: list[Path], tmp_path: Path
) -> None:
    broken = tmp_path / "broken.parquet"
    data = bytearray(shards[1].read_bytes())
    broken.write_bytes(data[: len(data) // 2])
    illegal = tmp_path / "illegal.parquet"
    record = searched_record(game, 1)
    record.actions[:] = 0  # a column holds six stones
    write_shard(illegal, [searched_record(game, 2), record])
    aside = tmp_path / "set-aside"
    with ReplayWindow(game, "stones", settings(), set_aside=aside) as window:
        window.add(shards[0])
        held = window.num_positions
        assert not window.add(broken)
        assert not window.add(illegal)
        assert window.num_positions == window.total_positions == held
        names = [name for name, _ in window.problems.named]
        assert names == [str(broken), str(illegal)]
    assert sorted(path.name for path in aside.iterdir()) == ["broken.parquet", "illegal.parquet"]


def test_peeking_is_no_draw(game: Game, shards: list[Path]) -> None:
    with ReplayWindow(game, "stones", settings(), Draws(seed=1)) as window:
        window.add(shards[0])
        wanted = draw(window, 3)
    with ReplayWindow(game, "stones", settings(), Draws(seed=1)) as window:
        window.add(shards[0])
        found, peeked = [], []
        for _ in range(3):
            peeked += [window.peek(number) for number in range(2)]
            found += draw(window, 1)
        assert_equal(found, wanted)
        assert len({batch.planes.tobytes() for batch in found + peeked}) == 9


def test_empty_window_says_so(game: Game) -> None:
    with (
        ReplayWindow(game, "stones", settings()) as window,
        pytest.raises(UserError, match="window is empty"),
    ):
        window.draw()


def test_surprise_draws_surprising_positions_more_often(game: Game, tmp_path: Path) -> None:
    record = searched_record(game, 4, fast=True)
    write_shard(tmp_path / "one.parquet", [record])
    assert record.search is not None
    full = (record.search.kinds == 0).astype(np.float64)
    wanted = surprise_weights(full, record.search.surprise.astype(np.float64))
    with ReplayWindow(
        game, "stones", settings(sampling="surprise", symmetries=False, batch_size=1024)
    ) as window:
        window.add(tmp_path / "one.parquet")
        assert window.num_positions == full.sum()
        left = np.concatenate([batch.moves_left for batch in draw(window, 40)])
    plies = len(record.actions) - left.astype(int)
    found = np.bincount(plies, minlength=len(full)) / len(plies)
    assert found == pytest.approx(wanted / wanted.sum(), abs=0.01)
    assert found[full == 0].sum() > 0


def test_duplicates_get_the_mean_of_their_targets(game: Game, tmp_path: Path) -> None:
    records = [searched_record(game, seed) for seed in range(30)]
    write_shard(tmp_path / "a.parquet", records[:15])
    write_shard(tmp_path / "b.parquet", records[15:])
    firsts = np.stack([record.search.policy(0)[2] for record in records if record.search])
    results = np.array([record.result for record in records])
    changes = {"average_duplicates": True, "min_positions": 10_000, "batch_size": 512}
    with ReplayWindow(game, "stones", settings(**changes), Draws(seed=2)) as window:
        window.add(tmp_path / "a.parquet")
        window.add(tmp_path / "b.parquet")
        mirrored, drawn = set(), 0
        for batch in draw(window, 20):
            for row in np.flatnonzero(batch.plies == 0):
                straight = batch.policy[row] == pytest.approx(firsts.mean(0), abs=1e-5)
                mirror = batch.policy[row] == pytest.approx(firsts.mean(0)[::-1], abs=1e-5)
                assert straight or mirror
                mirrored.add(mirror)
                value = batch.result[row, 0] - batch.result[row, 2]
                assert value == pytest.approx(results.mean(), abs=1e-5)
                drawn += 1
        assert mirrored == {False, True}
        assert drawn / (20 * 512) == pytest.approx(30 / window.num_positions, rel=0.3)
    with ReplayWindow(
        game, "stones", settings(**changes, duplicate_weight="constant"), Draws(seed=2)
    ) as window:
        window.add(tmp_path / "a.parquet")
        window.add(tmp_path / "b.parquet")
        first = sum((batch.plies == 0).sum() for batch in draw(window, 20))
        assert first / (20 * 512) < 4 / window.num_positions


def test_averaging_duplicates_needs_few_actions() -> None:
    with pytest.raises(UserError, match="at most 512 actions; chess has 1858"):
        ReplayWindow(get_game("chess"), "lc0-classic", settings(average_duplicates=True))


def test_learners_share_every_batch(game: Game, shards: list[Path]) -> None:
    def run(share: tuple[int, int]) -> list[SampleBatch]:
        draws = Draws(seed=4, learner=share[0], learners=share[1])
        with ReplayWindow(game, "stones", settings(), draws) as window:
            window.add(shards[0])
            return draw(window, 5)

    parts = [run((rank, 2)) for rank in range(2)]
    for number, whole in enumerate(run((0, 1))):
        assert_equal([whole[:8]], [parts[0][number]])
        assert_equal([whole[8:]], [parts[1][number]])
    with pytest.raises(UserError, match="does not divide among 3 learners"):
        run((0, 3))


def test_training_on_shards_resumes_bit_for_bit(
    game: Game, shards: list[Path], tmp_path: Path
) -> None:
    """Trainer and window together, saved in the middle and taken up again."""
    drawing = settings(sampling="surprise", average_duplicates=True, growth=0.1)

    def make() -> Trainer:
        model = build_model(game.parse_net("res_3x3_1x8"), game, seed=1)
        return Trainer(model, game, TrainerSettings(batch_size=16, warmup_steps=3, threads=1))

    def steps(trainer: Trainer, window: ReplayWindow, paths: list[Path]) -> list[object]:
        reports: list[object] = []
        for path in paths:
            window.add(path)
            reports += [trainer.train_step(window.draw()) for _ in range(4)]
        return reports

    whole = make()
    with ReplayWindow(game, "stones", drawing, Draws(seed=6)) as window:
        curve = steps(whole, window, shards)
    half = make()
    with ReplayWindow(game, "stones", drawing, Draws(seed=6)) as window:
        assert steps(half, window, shards[:4]) == curve[:16]
        half.save(tmp_path / "half", {"window": dict(window.state())})
    resumed, extra = Trainer.load(tmp_path / "half")
    with ReplayWindow(game, "stones", drawing) as window:
        window.restore(extra["window"])  # type: ignore[arg-type]
        assert steps(resumed, window, shards[4:]) == curve[16:]
    for name, tensor in whole.playing_model().state_dict().items():
        assert torch.equal(tensor, resumed.playing_model().state_dict()[name]), name


def test_window_stays_within_its_memory(game: Game, tmp_path: Path) -> None:
    paths = write_shards(tmp_path, game, 3, games=150)
    limits = settings(min_positions=100_000, max_megabytes=1)
    with ReplayWindow(game, "stones", limits) as window:
        for path in paths:
            window.add(path)
        assert window.paths == paths[-len(window.paths) :]
        assert len(window.paths) < 3
        assert window.num_bytes <= 1 << 20
        assert window.num_positions < window.total_positions
        assert len(window.draw()) == 16
