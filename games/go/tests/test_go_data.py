"""Go data: Leela Zero against a plain decoder and the games' SGF; ELF, Golois, SGF samples."""

import gzip
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from zerogames_go import _data
from zerogames_go.sgf import read_sgf

from zerogames.cli import main
from zerogames.data.record import GameRecord
from zerogames.data.sample import SampleBatch
from zerogames.data.sources import Source
from zerogames.data.stream import SampleStream, StreamOptions
from zerogames.errors import UserError
from zerogames.game import Game
from zerogames.registry import get_game

DATA = Path(__file__).parent / "data"
GO = get_game("go")
GO9 = get_game("go:size=9,komi=7")


def stream(source: Source, **options: object) -> SampleBatch:
    settings = StreamOptions(shuffle_buffer=0, batch_size=4096, **options)  # type: ignore[arg-type]
    with SampleStream(source, None, settings) as batches:
        return next(batches).copy()


def text_records(path: Path) -> list[list[str]]:
    lines = gzip.decompress(path.read_bytes()).decode().splitlines()
    return [lines[i : i + 19] for i in range(0, len(lines), 19)]


def plain_batch(rows: list[list[str]], size: int) -> SampleBatch:
    """A slow decoder from the format's description, planes as `leela-18`."""
    cells = size * size
    batch = SampleBatch.empty(len(rows), (18, size, size), cells + 1)
    for i, row in enumerate(rows):
        for plane in range(16):
            *digits, last = row[plane]
            bits = "".join(f"{int(digit, 16):04b}" for digit in digits) + last
            batch.planes[i, plane] = np.array(list(bits), np.float32).reshape(size, size)
        batch.planes[i, 16], batch.planes[i, 17] = row[16] == "0", row[16] == "1"
        batch.policy[i] = np.array(row[17].split(), np.float32)
        batch.result[i] = [row[18] == "1", 0, row[18] == "-1"]
    return batch


def compare(path: Path, game: Game, size: int) -> SampleBatch:
    whole = stream(Source([path], game, encoding="leela-18"))
    rows = text_records(path)
    assert len(whole) == len(rows)
    wanted = plain_batch(rows[-300:], size)
    batch = whole[-300:]
    for name in ("planes", "policy", "result"):
        assert np.allclose(getattr(batch, name), getattr(wanted, name), atol=1e-6), name
    taken = wanted.planes[:, [0, 8]].sum(1).reshape(len(wanted), -1)
    assert not (batch.legal[:, :-1] & (taken > 0)).any()
    assert not (whole.policy[~whole.legal] > 0).any()
    return whole


def test_text_is_read_as_the_plain_decoder_reads_it() -> None:
    batch = compare(DATA / "leela-selfplay.0.gz", GO, 19)
    assert batch.moves_left.tolist() == list(range(len(batch), 0, -1))
    assert batch.plies.tolist() == list(range(len(batch)))


def test_positions_are_those_of_the_game() -> None:
    [record] = read_sgf((DATA / "leela-selfplay.sgf").read_bytes())
    batch = stream(Source([DATA / "leela-selfplay.0.gz"], GO, encoding="leela-18"))
    state = record.start_state(get_game(record.game))
    for row, action in enumerate(record.actions.tolist()[: len(batch)]):
        assert (batch.planes[row] == state.observe("leela-18")).all()
        legal = np.flatnonzero(batch.legal[row]).tolist()
        # The file does not tell about superko beyond its eight boards.
        assert set(state.legal_actions().tolist()) <= set(legal)
        state = state.play(action)


def test_the_papers_planes_come_from_the_boards(tmp_path: Path) -> None:
    rows = text_records(DATA / "leela-selfplay.0.gz")[:80]
    path = tmp_path / "some.gz"
    path.write_bytes(
        gzip.compress(("\n".join(line for row in rows for line in row) + "\n").encode())
    )
    batch = stream(Source([path], GO, encoding="golois-21"))
    [record] = read_sgf((DATA / "leela-selfplay.sgf").read_bytes())
    state = record.start_state(get_game(record.game))
    for row, action in enumerate(record.actions.tolist()[: len(batch)]):
        assert (batch.planes[row] == state.observe("golois-21")).all()
        state = state.play(action)
    assert len(batch) == 80


def test_real_chunks(shared: Path) -> None:
    compare(shared / "go" / "leelaz-9x9-sample" / "traindata_180220_222949.0.gz", GO9, 9)
    folder = shared / "go" / "leelaz-19x19-chunks"
    batch = compare(folder / "supervised.0.gz", GO, 19)
    assert len(batch) == 2514
    source = Source([folder / "supervised.0.gz"], GO)
    games = list(source.games())
    records = list(read_sgf((folder / "supervised-source.sgf").read_bytes()))
    assert len(games) == len(records) == 12
    # The converter writes the games in an order of its own and may leave out a last pass.
    first = 0
    for game in games:
        played = batch.policy[first : first + game.num_positions].argmax(1).tolist()
        [record] = [r for r in records if r.actions[: len(played)].tolist() == played]
        assert 0 <= len(record.actions) - len(played) <= 2
        assert game.result == record.result
        state = record.start_state(get_game(record.game))
        for ply, action in enumerate(played):
            if ply % 20 == 0:
                assert (batch.planes[first + ply] == state.observe("leela-18")).all()
            state = state.play(action)
        first += len(played)


def binary(row: list[str]) -> bytes:
    bits = ""
    for plane in range(16):
        *digits, last = row[plane]
        bits += "".join(f"{int(digit, 16):04b}" for digit in digits) + last
    packed = np.packbits(np.array(list(bits), np.uint8)).tobytes()
    policy = np.array(row[17].split(), "<f4").tobytes()
    return b"\1\0\0\0" + policy + packed + bytes([row[16] == "1", row[18] == "1"])


def test_the_binary_form_holds_the_same(tmp_path: Path) -> None:
    rows = text_records(DATA / "leela-selfplay.0.gz")[:60]
    data = b"".join(binary(row) for row in rows)
    assert len(data) == 60 * 2176
    (tmp_path / "a.bin").write_bytes(data)
    source = Source([tmp_path / "a.bin"], GO, encoding="leela-18")
    assert source.found == {"Leela Zero binary": 1}
    batch, wanted = stream(source), plain_batch(rows, 19)
    for name in ("planes", "policy", "result"):
        assert np.allclose(getattr(batch, name), getattr(wanted, name), atol=1e-6), name
    with pytest.raises(UserError, match="multiple of 2176"):
        _data.LeelaChunk.from_binary(data[:-1])


def spoiled(change: dict[int, str]) -> bytes:
    row = list(text_records(DATA / "leela-selfplay.0.gz")[3])
    for line, text in change.items():
        row[line] = text
    return ("\n".join(row) + "\n").encode()


POLICY = " ".join(["0"] * 361)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({0: "0" * 90}, "90 characters"),
        ({3: "g" + "0" * 90}, "no hexadecimal digit"),
        ({3: "0" * 90 + "2"}, "neither 0 nor 1"),
        ({16: "2"}, "side to move"),
        ({17: POLICY}, "361 numbers"),
        ({17: POLICY + " 0.2"}, "sum to 1"),
        ({17: POLICY + " 1 0"}, "too many"),
        ({17: POLICY + " x"}, "no number"),
        ({17: POLICY + " -1"}, "outside 0 to 1"),
        ({18: "0"}, "result"),
        ({0: "f" * 90 + "1", 8: "f" * 90 + "1"}, "on one point"),
    ],
)
def test_wrong_records_are_refused(change: dict[int, str], reason: str) -> None:
    with pytest.raises(UserError, match=f"record 1: .*{reason}"):
        _data.LeelaChunk.from_text(spoiled(change), 19)


def test_records_with_nan_are_dropped_and_counted() -> None:
    good = spoiled({})
    chunk = _data.LeelaChunk.from_text(spoiled({17: POLICY + " nan"}) + good, 19)
    assert (chunk.num_dropped, chunk.num_positions(0)) == (1, 1)
    exponent = spoiled({17: POLICY.replace("0", "5e-07", 1) + " 1"})
    assert _data.LeelaChunk.from_text(exponent, 19).num_games == 1


def test_boards_that_are_no_game_are_refused() -> None:
    row = {1: "18" + "0" * 89}  # one ply ago there were other stones
    chunk = _data.LeelaChunk.from_text(spoiled(row), 19)
    with pytest.raises(UserError, match=r"not those of a game|no liberty"):
        chunk.samples(0, np.zeros(1, np.int32), "leela-18")


@given(st.binary(max_size=60), st.integers(0, 5000), st.integers(0, 60))
def test_no_text_harms_the_reader(noise: bytes, position: int, cut: int) -> None:
    rows = text_records(DATA / "leela-selfplay.0.gz")[:2]
    text = ("\n".join(line for row in rows for line in row) + "\n").encode()
    try:
        chunk = _data.LeelaChunk.from_text(text[:position] + noise + text[position + cut :], 19)
        for game in range(chunk.num_games):
            chunk.samples(game, np.arange(chunk.num_positions(game), dtype=np.int32), "leela-18")
    except UserError:
        pass


def elf_game(record: GameRecord) -> dict[str, object]:
    """A game as ELF's server would have written it."""
    content, policies = "(", []
    for ply, action in enumerate(record.actions.tolist()):
        point = "" if action == 361 else chr(97 + action % 19) + chr(97 + action // 19)
        content += f";{'BW'[ply % 2]}[{point}]"
        policy = [0] * 441
        policy[0 if action == 361 else (action // 19 + 1) * 21 + action % 19 + 1] = 255
        policy[0] += 85
        policies.append([min(number, 255) for number in policy])
    return {
        "request": {"vers": {}},
        "result": {
            "num_move": len(record.actions),
            "reward": record.result,
            "content": content + ")",
            "policies": policies,
            "values": [0.5] * len(record.actions),
        },
        "timestamp": 1,
    }


def test_elf_records(tmp_path: Path) -> None:
    [record] = read_sgf((DATA / "leela-selfplay.sgf").read_bytes())
    wrong = elf_game(record)
    wrong["result"] = {**wrong["result"], "num_move": 3}  # type: ignore[dict-item]
    path = tmp_path / "games.json"
    path.write_text(json.dumps([elf_game(record), wrong, {"result": 1}]))
    source = Source([path], GO, encoding="leela-18")
    assert source.found == {"ELF records": 1}
    batch = stream(source)
    assert len(batch) == len(record.actions)
    assert batch.policy.argmax(1).tolist() == record.actions.tolist()
    moves = record.actions < 361
    assert np.allclose(batch.policy[moves, 361], 0.25)
    assert np.allclose((batch.search[:, 0] - batch.search[:, 2])[:4], [0.5, -0.5, 0.5, -0.5])
    assert source.problems.count == 2


def test_golois_games(tmp_path: Path) -> None:
    [record] = read_sgf((DATA / "leela-selfplay.sgf").read_bytes())
    pairs = " ".join(f"{a} {(ply + 1) % 2}" for ply, a in enumerate(record.actions.tolist()))
    line = f"W {len(record.actions)} {pairs}"
    bad = ["B 2 3 1", "B 1 400 1", "B 2 3 1 4 1", "B 1 x 1", "W 2 60 1 60 0"]
    path = tmp_path / "games.data"
    path.write_text("\n".join(["7", line, *bad, line]) + "\n")
    source = Source([path], GO, encoding="leela-18")
    assert source.found == {"Golois games": 1}
    batch = stream(source)
    assert len(batch) == 2 * len(record.actions)
    assert batch.policy[: len(record.actions)].argmax(1).tolist() == record.actions.tolist()
    assert batch.result[0].tolist() == [0, 0, 1]
    names = [name.rpartition("game ")[2] for name, _ in source.problems.named]
    assert names == ["2", "3", "4", "5", "6"]


def test_every_real_sgf_is_read(shared: Path) -> None:
    source = Source([shared / "go" / "elf-ladder-suite", shared / "go" / "engine-games-9x9"], GO)
    assert sum(1 for _ in source.games()) == 116 + 29
    assert source.problems.count == 0


def test_collections_are_cut_between_games(shared: Path) -> None:
    source = Source([shared / "go" / "katago-9x9"], GO9, engine_values=True)
    plies = numbers = 0
    for game in source.games():
        numbers += 1
        assert game.name.endswith(f"game {numbers}")
        plies += game.num_positions
    assert (numbers, plies) == (2719, 182_885)
    assert source.problems.count == 0


def test_sgf_samples_with_symmetries_and_engine_values(shared: Path) -> None:
    data = gzip.decompress(next((shared / "go" / "katago-9x9").glob("*.gz")).read_bytes())
    [path] = [Path(__file__).parent / "data" / "leela-selfplay.sgf"]
    records = []
    for record in read_sgf(data[:40_000], on_error=lambda error: None):
        records.append(record)
    assert len(records) > 5
    source = Source([path], GO, engine_values=True)
    plain = stream(source)
    turned = stream(Source([path], GO), symmetries=True)
    found = set()
    for row in range(0, len(plain), 10):
        for symmetry in GO.symmetries:
            if (symmetry.planes(plain.planes[row]) == turned.planes[row]).all() and (
                symmetry.policy(plain.policy[row]) == turned.policy[row]
            ).all():
                assert (plain.legal[row][symmetry.actions] == turned.legal[row]).all()
                found.add(symmetry.name)
                break
        else:
            raise AssertionError(f"row {row} is no symmetry of itself")
    assert len(found) >= 6


def test_games_of_another_size_are_named(shared: Path) -> None:
    source = Source([shared / "go" / "engine-games-9x9" / "game000.sgf"], GO)
    with pytest.raises(UserError, match="does not fit go"), SampleStream(source) as batches:
        next(batches)


def test_a_folder_of_more_files_than_are_probed_is_recognised(
    shared: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["data", "stats", str(shared / "go" / "gnugo-regression-games"), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    # Games with moves out of turn or against the positional superko are named and left out.
    assert (found["games"], found["problems"]) == (1115, 15)
