"""Data sets of shards: splitting, shuffling, symmetries, errors and memory."""

import random
import time
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest

from zerogames.data import record_game
from zerogames.data.record import SEARCH_KINDS, VALUE_COLUMNS, GameRecord, SearchColumns
from zerogames.data.record_game import record_key
from zerogames.data.record_samples import replay_in_python
from zerogames.data.sample import SampleBatch
from zerogames.data.shard import write_shard
from zerogames.data.sources import Source
from zerogames.data.split import Selection, is_validation, mix
from zerogames.data.stream import SampleStream, StreamOptions
from zerogames.errors import UserError
from zerogames.game import Game
from zerogames.registry import get_game


def random_record(game: Game, seed: int, *, with_search: bool = False) -> GameRecord:
    rng = random.Random(seed)
    state, actions, policies = game.initial_state(), [], []
    while state.result is None:
        legal = state.legal_actions()
        actions.append(int(rng.choice(legal)))
        policies.append(legal)
        state = state.play(actions[-1])
    search = None
    if with_search:
        plies = len(actions)
        sizes = [len(legal) for legal in policies]
        search = SearchColumns(
            policy_offsets=np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
            policy_actions=np.concatenate(policies).astype(np.int32),
            policy_visits=np.ones(sum(sizes), np.int32),
            policy_targets=np.concatenate([np.full(n, 1 / n) for n in sizes]).astype(np.float32),
            values={name: np.full(plies, 0.25, np.float32) for name in VALUE_COLUMNS},
            surprise=np.zeros(plies, np.float32),
            kinds=np.array([ply % 2 for ply in range(plies)], np.uint8),
        )
    return GameRecord(
        game=game.spec.identity,
        actions=np.array(actions, np.int32),
        result=state.result,
        search=search,
    )


@pytest.fixture(scope="module")
def game() -> Game:
    return get_game("connect4")


@pytest.fixture(scope="module")
def folder(game: Game, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("shards")
    for shard in range(4):
        records = [random_record(game, 10 * shard + number) for number in range(10)]
        write_shard(folder / f"{shard}.parquet", records)
    return folder


def read_all(source: Source, selection: Selection | None = None, **options: object) -> SampleBatch:
    with SampleStream(source, selection, StreamOptions(**options)) as stream:  # type: ignore[arg-type]
        batches = [batch.copy() for batch in stream]
    return SampleBatch(
        **{
            field.name: np.concatenate([getattr(batch, field.name) for batch in batches])
            for field in fields(SampleBatch)
        }
    )


def test_samples_are_the_positions_of_the_games(game: Game, folder: Path) -> None:
    batch = read_all(Source([folder], game), shuffle_buffer=0, batch_size=7)
    row = 0
    for seed in range(40):
        record = random_record(game, seed)
        state = game.initial_state()
        for ply, action in enumerate(record.actions.tolist()):
            assert (batch.planes[row] == state.observe("stones")).all()
            assert batch.policy[row, action] == 1
            assert batch.policy[row].sum() == 1
            assert np.flatnonzero(batch.legal[row]).tolist() == state.legal_actions().tolist()
            sign = 1 - 2 * state.to_play
            assert record.result is not None
            assert batch.result[row, 0] - batch.result[row, 2] == sign * record.result
            assert batch.moves_left[row] == len(record.actions) - ply
            state = state.play(action)
            row += 1
    assert row == len(batch)
    assert (batch.result.sum(1) == 1).all()


def test_batches_do_not_depend_on_the_number_of_workers(game: Game, folder: Path) -> None:
    def planes(workers: int, seed: int) -> np.ndarray:
        source = Source([folder], game)
        return read_all(
            source, shuffle_buffer=100, workers=workers, seed=seed, symmetries=True
        ).planes

    assert (planes(1, 5) == planes(3, 5)).all()
    assert not (planes(1, 5) == planes(1, 6)).all()


def test_shuffling_keeps_every_sample(game: Game, folder: Path) -> None:
    plain = read_all(Source([folder], game), shuffle_buffer=0)
    for size in (1, 64, 10_000):
        mixed = read_all(Source([folder], game), shuffle_buffer=size, seed=1)
        rows = [sorted(map(bytes, b.planes.reshape(len(b), -1))) for b in (plain, mixed)]
        assert rows[0] == rows[1]


def test_parts_share_no_game_and_together_are_everything(game: Game, folder: Path) -> None:
    keys: dict[str, set[int]] = {}
    for part in ("train", "validation"):
        selection = Selection(part=part, validation_share=0.3)  # type: ignore[arg-type]
        keys[part] = {g.key for g in Source([folder], game).games() if selection.wants(g.key)}
    assert not keys["train"] & keys["validation"]
    assert len(keys["train"] | keys["validation"]) == 40
    assert 4 <= len(keys["validation"]) <= 20


def test_the_split_is_fixed_for_good() -> None:
    # These values must never change: validation games would leak into training.
    assert mix(0) == 0xE220A8397B1DCDAF
    assert [key for key in range(40) if is_validation(key, 0.2)] == [3, 10, 18, 21, 33]
    record = GameRecord(game="connect4", actions=np.array([3, 3, 2], np.int32), result=0.0)
    assert record_key(record) == 10068250608238605369
    shares = [is_validation(mix(key + 1), 0.2) for key in range(20_000)]
    assert abs(np.mean(shares) - 0.2) < 0.01


def test_positions_are_drawn_per_game(game: Game, folder: Path) -> None:
    source = Source([folder], game)
    assert len(read_all(source, Selection(per_game=1, seed=3))) == 40
    everything = len(read_all(source))
    kept = len(read_all(source, Selection(keep=0.25)))
    assert 0.15 < kept / everything < 0.35


def test_a_folder_named_twice_gives_other_positions_each_time(game: Game, folder: Path) -> None:
    source, twice = Source([folder], game), Source([folder, folder], game)
    assert len(read_all(twice)) == 2 * len(read_all(source))
    once, both = (read_all(data, Selection(keep=0.25)) for data in (source, twice))
    assert len(both) > 1.5 * len(once)
    unique = {planes.tobytes() for planes in both.planes}
    assert len(unique) > 1.3 * len({planes.tobytes() for planes in once.planes})


def test_search_targets_come_from_searched_moves_only(game: Game, tmp_path: Path) -> None:
    record = random_record(game, 1, with_search=True)
    write_shard(tmp_path / "a.parquet", [record])
    batch = read_all(Source([tmp_path], game), shuffle_buffer=0)
    full = SEARCH_KINDS.index("full")
    assert record.search is not None
    assert len(batch) == int((record.search.kinds == full).sum())
    # Uniform over the legal moves, as the record says.
    assert np.allclose(batch.policy, batch.legal / batch.legal.sum(1, keepdims=True))
    assert np.allclose(batch.search, [[0.5, 0.25, 0.25]])


def test_symmetries_move_planes_policy_and_legal_moves_together(game: Game, tmp_path: Path) -> None:
    write_shard(tmp_path / "a.parquet", [random_record(game, seed) for seed in range(5)])
    plain = read_all(Source([tmp_path], game), shuffle_buffer=0)
    turned = read_all(Source([tmp_path], game), shuffle_buffer=0, symmetries=True)
    mirror = game.symmetries[1]
    seen = set()
    for row in range(len(plain)):
        same = (plain.planes[row] == turned.planes[row]).all()
        if same and (plain.policy[row] == turned.policy[row]).all():
            seen.add("identity")
            continue
        seen.add("mirror")
        assert (mirror.planes(plain.planes[row]) == turned.planes[row]).all()
        assert (mirror.policy(plain.policy[row]) == turned.policy[row]).all()
        assert (plain.legal[row][mirror.actions] == turned.legal[row]).all()
    assert seen == {"identity", "mirror"}


def test_a_damaged_shard_is_skipped_by_name_or_stops(game: Game, folder: Path) -> None:
    broken = folder / "broken.parquet"
    broken.write_bytes((folder / "0.parquet").read_bytes()[:-100])
    try:
        source = Source([folder], game)
        assert sum(game.num_positions for game in source.games()) > 0
        assert [Path(name).name for name, _ in source.problems.named] == ["broken.parquet"]
        with (
            pytest.raises(UserError, match=r"broken\.parquet"),
            SampleStream(Source([folder], game, on_problem="stop")) as stream,
        ):
            list(stream)
    finally:
        broken.unlink()


def test_what_is_no_data_is_named(game: Game, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no such file"):
        Source([tmp_path / "nothing"], game)
    (tmp_path / "README").write_text("hello")
    with pytest.raises(UserError, match="no connect4 data here; readable are: shards"):
        Source([tmp_path], game)


def test_a_part_without_games_is_an_error_and_not_an_endless_loop(game: Game, folder: Path) -> None:
    selection = Selection(part="validation", validation_share=0)
    with (
        pytest.raises(UserError, match="no validation positions"),
        SampleStream(Source([folder], game), selection, StreamOptions(epochs=None)) as stream,
    ):
        next(stream)


def test_endless_streams_go_on_and_reuse_memory(game: Game, folder: Path) -> None:
    options = StreamOptions(epochs=None, batch_size=64, prefetch=2)
    with SampleStream(Source([folder], game), None, options) as stream:
        addresses = {next(stream).planes.ctypes.data for _ in range(60)}
    assert len(addresses) <= 3


def test_games_written_in_python_give_samples_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    othello = get_game("othello:size=4")
    record = random_record(othello, 3, with_search=True)
    write_shard(tmp_path / "a.parquet", [record])
    source = Source([tmp_path], othello)
    native = read_all(source, shuffle_buffer=0)
    monkeypatch.setattr(record_game, "replay_samples", replay_in_python)
    batch = read_all(source, shuffle_buffer=0)
    assert np.allclose(batch.policy.sum(1), 1)
    assert not (batch.policy[~batch.legal] > 0).any()
    for field in fields(SampleBatch):
        assert np.array_equal(getattr(batch, field.name), getattr(native, field.name)), field.name


def test_closing_does_not_wait_for_the_rest_of_a_block(game: Game, folder: Path) -> None:
    options = StreamOptions(batch_size=1, epochs=None, workers=1)
    stream = SampleStream(Source([folder], game), Selection(part="train"), options)
    next(stream)
    begin = time.monotonic()
    stream.close()
    assert time.monotonic() - begin < 2
