import io
import threading
from pathlib import Path

import chess
import pytest
from nnue_positions import VARIED, random_boards
from nnue_weights import random_network
from zerogames_chess.nnue import _native
from zerogames_chess.nnue.engine import MATE_SCORE, bench, format_score
from zerogames_chess.nnue.inference import load_native
from zerogames_chess.nnue.network import read_network, write_network
from zerogames_chess.nnue.uci import NnueEngine
from zerogames_chess.uci import Session

from zerogames.errors import UserError

VALUES = {1: 200, 2: 700, 3: 740, 4: 1150, 5: 2200, 6: 0}


@pytest.fixture(scope="module")
def network() -> _native.Network:
    return load_native(random_network("piece", 32, 16, 0, seed=21))


@pytest.fixture
def engine(network: _native.Network) -> _native.Engine:
    return _native.Engine(network, 4)


@pytest.fixture(scope="module")
def net_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("net") / "random.nnue"
    write_network(path, random_network("piece", 32, 16, 0, seed=21))
    return path


@pytest.mark.parametrize(
    ("fen", "moves"),
    [
        ("6k1/5ppp/8/8/8/8/8/R5K1 w - - 0 1", 1),
        ("kbK5/pp6/1P6/8/8/8/8/R7 w - - 0 1", 2),
        ("r5rk/5p1p/5R2/4B3/8/8/7P/7K w - - 0 1", 3),
        ("8/8/8/8/8/2k5/3q4/K7 b - - 0 1", 1),
    ],
)
def test_mates_are_found_and_counted(engine: _native.Engine, fen: str, moves: int) -> None:
    engine.set_position(fen, [])
    found = engine.go(depth=2 * moves + 3)
    assert found["score"] == MATE_SCORE - (2 * moves - 1)
    board = chess.Board(fen)
    for move in found["line"]:
        board.push_uci(move)
    assert board.is_checkmate()
    assert format_score(found["score"]) == f"mate {moves}"


def test_best_moves_are_legal_everywhere(engine: _native.Engine) -> None:
    boards = [chess.Board(fen) for fen in VARIED] + list(random_boards(60, seed=31))
    for board in boards:
        if not any(board.legal_moves):
            continue
        engine.set_position(board.fen(), [])
        line = engine.go(depth=4)["line"]
        for move in line:
            board.push(board.parse_uci(move))  # Raises for an illegal move.


def test_a_game_against_itself_ends_by_the_rules(engine: _native.Engine) -> None:
    board = chess.Board()
    while not board.is_game_over(claim_draw=True) and board.ply() < 80:
        engine.set_position(chess.STARTING_FEN, [move.uci() for move in board.move_stack])
        assert engine.fen.split()[:4] == board.fen(en_passant="xfen").split()[:4]
        board.push_uci(engine.go(nodes=300)["line"][0])


def test_search_is_deterministic(network: _native.Network) -> None:
    first, second = (bench(_native.Engine(network, 4), 5)[0] for _ in range(2))
    assert first == second > 1000


def test_node_limit_holds(engine: _native.Engine) -> None:
    assert engine.go(nodes=5_000)["nodes"] == 5_000


def test_even_one_node_gives_a_legal_move(engine: _native.Engine) -> None:
    assert chess.Move.from_uci(engine.go(nodes=1)["line"][0]) in chess.Board().legal_moves


def test_stop_from_another_thread_ends_an_endless_search(engine: _native.Engine) -> None:
    engine.allow()
    timer = threading.Timer(0.2, engine.stop)
    timer.start()
    found = engine.go()
    timer.join()
    assert found["line"]
    assert found["depth"] < 127


def test_infos_come_during_the_search_with_growing_depth(engine: _native.Engine) -> None:
    depths: list[int] = []
    engine.go(depth=6, on_info=lambda info: depths.append(info["depth"]))
    assert depths == [1, 2, 3, 4, 5, 6]


def test_two_kings_are_a_draw(engine: _native.Engine) -> None:
    engine.set_position("6k1/8/8/8/8/8/8/7K b - - 0 1", [])
    assert engine.go(depth=6)["score"] == 0


def test_a_position_that_was_there_before_counts_as_a_draw(engine: _native.Engine) -> None:
    # Black's only move is into the corner, where White mates; but that position was there before.
    engine.set_position("8/5K1k/R7/8/8/8/8/8 b - - 4 3", [])
    assert engine.go(depth=4)["score"] == -(MATE_SCORE - 2)
    engine.new_game()
    engine.set_position("7k/5K2/R7/8/8/8/8/8 w - - 0 1", ["a6b6", "h8h7", "b6a6"])
    found = engine.go(depth=4)
    assert found["line"] == ["h7h8"]
    assert found["score"] == 0


def test_fifty_moves_are_a_draw_unless_mate_comes_first(engine: _native.Engine) -> None:
    engine.set_position("7k/8/8/8/8/8/R7/1R4K1 w - - 99 80", [])
    assert engine.go(depth=5)["score"] == 0
    engine.set_position("7k/R7/8/8/8/8/8/1R4K1 w - - 99 80", [])
    assert engine.go(depth=5)["score"] == MATE_SCORE - 1


def test_illegal_positions_and_moves_keep_the_old_position(engine: _native.Engine) -> None:
    engine.set_position(chess.STARTING_FEN, ["e2e4"])
    before = engine.fen
    for fen, moves in [("nonsense", []), (chess.STARTING_FEN, ["e2e5"]), (before, ["e7e5", "xx"])]:
        with pytest.raises(UserError):
            engine.set_position(fen, moves)
    assert engine.fen == before
    engine.set_position("7k/5Q2/6K1/8/8/8/8/8 b - - 0 1", [])
    with pytest.raises(UserError, match="no legal move"):
        engine.go(depth=1)
    with pytest.raises(UserError, match="hash"):
        engine.set_hash(0)


def exchange(board: chess.Board, square: int, occupied: int, side: bool, standing: int) -> int:
    """The best gain of `side` on a square by the plain recursion; pins left aside."""
    attackers = chess.SquareSet(board.attackers_mask(side, square, occupied) & occupied)
    if not attackers:
        return 0
    kind, least = min((board.piece_type_at(attacker) or 0, attacker) for attacker in attackers)
    rest = occupied & ~chess.BB_SQUARES[least]
    if kind == chess.KING and board.attackers_mask(not side, square, rest) & rest:
        return 0
    return max(0, standing - exchange(board, square, rest, not side, VALUES[kind]))


def test_static_exchange_equals_the_plain_recursion() -> None:
    checked = 0
    for board in random_boards(1500, seed=41):
        for move in board.legal_moves:
            if not board.is_capture(move) or move.promotion or board.is_en_passant(move):
                continue
            victim = board.piece_type_at(move.to_square) or 0
            mover = board.piece_type_at(move.from_square) or 0
            occupied = board.occupied & ~chess.BB_SQUARES[move.from_square]
            value = VALUES[victim] - exchange(
                board, move.to_square, occupied, not board.turn, VALUES[mover]
            )
            fen, text = board.fen(), move.uci()
            assert _native.exchange_reaches(fen, text, value)
            assert not _native.exchange_reaches(fen, text, value + 1)
            checked += 1
    assert checked > 1000


def converse(net_file: Path, *lines: str) -> list[str]:
    output = io.StringIO()
    Session(NnueEngine(net_file), output).run(io.BytesIO("\n".join(lines).encode() + b"\n"))
    return output.getvalue().splitlines()


def test_the_lines_of_several_moves_begin_with_different_ones(engine: _native.Engine) -> None:
    board = chess.Board(VARIED[1])
    engine.set_position(board.fen(), [])
    told: dict[tuple[int, int], list[str]] = {}
    scores: dict[tuple[int, int], int] = {}
    found = engine.go(
        depth=4,
        lines=5,
        on_info=lambda info: (
            told.__setitem__((info["depth"], info["rank"]), info["line"]),
            scores.__setitem__((info["depth"], info["rank"]), info["score"]),
        )[0],
    )
    for depth in range(1, 5):
        firsts = {told[depth, rank][0] for rank in range(1, 6)}
        assert len(firsts) == 5
        assert firsts <= {move.uci() for move in board.legal_moves}
        of_depth = [scores[depth, rank] for rank in range(1, 6)]
        assert of_depth == sorted(of_depth, reverse=True)
    assert found["line"][0] == told[4, 1][0]


def test_only_the_given_moves_are_searched(engine: _native.Engine) -> None:
    engine.set_position("6k1/5ppp/8/8/8/8/8/R5K1 w - - 0 1", [])
    assert engine.go(depth=4, moves=["a1a2", "g1f1"])["line"][0] in ("a1a2", "g1f1")
    assert engine.go(depth=4)["line"][0] == "a1a8"  # What was forbidden is not remembered as bad.
    with pytest.raises(UserError):
        engine.go(depth=1, moves=["a1b2"])


def test_bench_is_the_signature_of_search_and_network(net_file: Path) -> None:
    said = [converse(net_file, "bench 4")[-1].split()[1] for _ in range(2)]
    assert said[0] == said[1]
    assert int(said[0]) == bench(_native.Engine(load_native(read_network(net_file)), 16), 4)[0]
    assert "error" in converse(net_file, "bench x")[-1]


def test_another_network_is_loaded_by_option(net_file: Path) -> None:
    said = converse(
        net_file,
        "setoption name EvalFile value /nowhere/net",
        f"setoption name EvalFile value {net_file}",
        "setoption name Hash value 2",
        "eval",
        "isready",
    )
    assert [line.startswith("info string error") for line in said] == [True, False, False]
    assert said[-2].startswith("info string evaluation")
