"""The network that comes with the program."""

from pathlib import Path

import chess
import pytest
from zerogames_chess.nnue.engine import load_engine
from zerogames_chess.nnue.network import SHIPPED, find_network
from zerogames_chess.uci.settings import UciSettings
from zerogames_chess.uci_command import open_engine

from zerogames.arena.players import parse_player
from zerogames.errors import UserError
from zerogames.registry import get_game


def score(fen: str) -> int:
    engine = load_engine(SHIPPED)
    engine.set_position(fen, [])
    return engine.go(nodes=20_000)["score"]


def test_it_is_small_and_found_by_its_word() -> None:
    assert 100_000 < find_network(SHIPPED).stat().st_size < 1_000_000
    assert open_engine(UciSettings(nnue=SHIPPED)).name == "zerogames nnue"
    player = parse_player("nnue:shipped")
    assert player.name == "chess"
    player.make(get_game("chess")).close()


def test_a_file_of_that_name_goes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "shipped").write_bytes(b"mine")
    with pytest.raises(UserError, match="not a network file"):
        load_engine(SHIPPED)


def test_it_knows_what_pieces_are_worth() -> None:
    level = score(chess.STARTING_FEN)
    assert abs(level) < 300
    without = {
        name: -score(f"rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/{rank} w {rights} - 0 1")
        for name, rank, rights in (
            ("knight", "R1BQKBNR", "KQkq"),
            ("rook", "1NBQKBNR", "Kkq"),
            ("queen", "RNB1KBNR", "KQkq"),
        )
    }
    assert 300 < without["knight"] < without["queen"]
    assert 300 < without["rook"] < without["queen"]
