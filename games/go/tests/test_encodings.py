import gzip

import numpy as np
import pytest
from go_samples import middle_game, own_games, position, shared_data, shared_games
from plain_go import liberties
from zerogames_go import read_sgf

import zerogames
from zerogames import UserError
from zerogames.game import State


def plain_golois_without_ladders(states: list[State]) -> np.ndarray:
    """Planes 0 and 5-20 of the last state of a game from all its states."""
    now = states[-1]
    board = now.board()  # type: ignore[attr-defined]
    size = len(board)
    planes = np.zeros((21, size, size), np.float32)
    own = 1 if now.to_play == 0 else -1
    planes[0] = now.to_play == 0
    flat = board.ravel()
    stones = {p: int(flat[p] < 0) for p in np.flatnonzero(flat).tolist()}
    for point in stones:
        count = len(liberties(size, stones, point))
        planes[4 + min(count, 6), point // size, point % size] = 1
    for ago, state in enumerate(states[:-6:-1]):
        planes[11 + 2 * ago] = state.board() == own  # type: ignore[attr-defined]
        planes[12 + 2 * ago] = state.board() == -own  # type: ignore[attr-defined]
    return planes


def plain_leela(states: list[State]) -> np.ndarray:
    now = states[-1]
    size = len(now.board())  # type: ignore[attr-defined]
    planes = np.zeros((18, size, size), np.float32)
    own = 1 if now.to_play == 0 else -1
    for ago, state in enumerate(states[:-9:-1]):
        planes[ago] = state.board() == own  # type: ignore[attr-defined]
        planes[8 + ago] = state.board() == -own  # type: ignore[attr-defined]
    planes[16 + now.to_play] = 1
    return planes


def states_of(record: zerogames.data.GameRecord) -> list[State]:
    state = record.start_state(zerogames.get_game(record.game))
    states = [state]
    for action in record.actions.tolist():
        state = state.play(action)
        states.append(state)
    return states


def test_planes_are_what_a_plain_encoder_makes() -> None:
    for record in own_games()[:3]:
        states = states_of(record)
        for ply in range(0, len(states), 3):
            known = states[: ply + 1]
            golois = states[ply].observe("golois-21")
            expected = plain_golois_without_ladders(known)
            assert np.array_equal(golois[5:], expected[5:])
            assert np.array_equal(golois[0], expected[0])
            assert np.array_equal(states[ply].observe("leela-18"), plain_leela(known))


def test_ladder_planes_are_split_by_owner() -> None:
    seen = np.zeros(4)
    for record in own_games():
        for state in states_of(record)[10::7]:
            planes = state.observe("golois-21")
            ladders = state.ladders()  # type: ignore[attr-defined]
            assert np.array_equal(planes[1] + planes[2], ladders == -1)
            assert np.array_equal(planes[3] + planes[4], ladders == 1)
            assert np.array_equal(planes[1] + planes[3], (ladders != 0) * planes[11])
            assert np.array_equal(planes[2] + planes[4], (ladders != 0) * planes[12])
            seen += planes[1:5].sum(axis=(1, 2))
    assert seen.min() > 0


def test_planes_turn_with_the_board() -> None:
    check_symmetries([(record, 30) for record in own_games()])


def test_planes_of_19x19_games_turn_with_the_board() -> None:
    games = list(shared_games("elf-ladder-suite"))[:40:4]
    check_symmetries([(record, len(record.actions) * 3 // 4) for record in games])


def check_symmetries(samples: list[tuple[zerogames.data.GameRecord, int]]) -> None:
    for record, plies in samples:
        game = zerogames.get_game(record.game)
        state = position(record, plies)
        assert len(game.symmetries) == 8
        for symmetry in game.symmetries:
            to = np.argsort(symmetry.actions)  # old action to new action
            turned = game.initial_state()
            for action in record.actions[:plies].tolist():
                turned = turned.play(int(to[action]))
            for encoding in game.encodings:
                planes = symmetry.planes(state.observe(encoding))
                assert np.array_equal(turned.observe(encoding), planes), symmetry.name
            legal = np.isin(np.arange(game.spec.action_size), state.legal_actions())
            turned_legal = np.isin(np.arange(game.spec.action_size), turned.legal_actions())
            assert np.array_equal(turned_legal, legal[symmetry.actions])


def test_bare_positions_show_zeros_or_the_board_again() -> None:
    game = zerogames.get_game("go:size=5")
    state = game.parse_state("(;SZ[5]AB[aa]AW[bb]PL[B])")
    assert state.observe("golois-21")[13:].sum() == 0
    assert state.observe("golois-21:history=repeat")[13:].sum() == 8
    later = state.play(0)
    for name, boards in (("golois-21", 5), ("leela-18", 8)):
        zero, repeat = later.observe(name), later.observe(f"{name}:history=repeat")
        own, other = (12, 11) if name == "golois-21" else (8, 0)
        step = 2 if name == "golois-21" else 1
        assert repeat[own::step][:boards].sum() == 1 * boards + 1
        assert repeat[other::step][:boards].sum() == 1 * boards
        assert zero[own::step][:boards].sum() == 3
        assert zero[other::step][:boards].sum() == 2


def test_wrong_encodings_are_named() -> None:
    state = zerogames.get_game("go:size=5").initial_state()
    for text, message in (
        ("golois", "known: golois-21, leela-18"),
        ("golois-21:histori=zero", "known: history"),
        ("golois-21:history=none", "zero or repeat"),
        ("golois-21:ladder-nodes=0", "from 1 on"),
        ("golois-21:ladder-depth=1x", "from 1 on"),
        ("leela-18:ladder-nodes=5", "no option 'ladder-nodes'"),
    ):
        with pytest.raises(UserError, match=message):
            state.observe(text)


def test_leela_zero_chunk_planes_equal_a_replay() -> None:
    """2514 positions that Leela Zero wrote itself, from 12 real games."""
    folder = shared_data("leelaz-19x19-chunks")
    lines = gzip.decompress((folder / "supervised.0.gz").read_bytes()).decode().splitlines()
    records = list(read_sgf((folder / "supervised-source.sgf").read_bytes()))
    chunks = [lines[at : at + 19] for at in range(0, len(lines), 19)]
    assert (len(lines), len(chunks)) == (19 * 2514, 2514)
    # Leela Zero wrote the games in an order of its own: an empty board starts one.
    starts = [i for i, chunk in enumerate(chunks) if not any(map(any, map(bits, chunk[:16])))]
    games = [chunks[a:b] for a, b in zip(starts, [*starts[1:], len(chunks)], strict=True)]
    by_moves = {tuple(record.actions.tolist()): record for record in records}
    assert len(games) == len(by_moves) == 12
    for game in games:
        moves = [int(np.argmax([float(p) for p in chunk[17].split()])) for chunk in game]
        record = next(r for m, r in by_moves.items() if list(m[: len(moves)]) == moves)
        for chunk, state in zip(game, states_of(record), strict=False):
            planes = state.observe("leela-18")
            for plane in range(16):
                assert bits(chunk[plane]) == planes[plane].ravel().astype(int).tolist()
            assert planes[17, 0, 0] == float(chunk[16])
            assert float(chunk[18]) == (record.result or 0) * (1 if state.to_play == 0 else -1)


def bits(line: str) -> list[int]:
    """90 hexadecimal digits, then one bit."""
    packed = np.frombuffer(bytes.fromhex(line[:90]), np.uint8)
    return [*np.unpackbits(packed).tolist(), int(line[90])]


def test_middle_games_pack_and_unpack() -> None:
    rng = np.random.default_rng(1)
    for record in own_games():
        state = middle_game(record, rng)
        for name, encoding in zerogames.get_game(record.game).encodings.items():
            packed = state.pack(name)  # type: ignore[attr-defined]
            assert np.array_equal(encoding.unpack(packed), state.observe(name))
