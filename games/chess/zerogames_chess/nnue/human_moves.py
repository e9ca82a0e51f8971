"""The share of a PGN file's moves that an engine also plays."""

import itertools
import zlib
from collections.abc import Iterator
from pathlib import Path

import chess

from zerogames.errors import UserError
from zerogames_chess.nnue import _native
from zerogames_chess.nnue.games import read_games

FIRST_PLY = 20
"""Earlier moves are known by heart."""


def human_positions(path: Path, number: int) -> list[tuple[str, str]]:
    """One position with the move that was played from each of the first `number` games."""
    found = list(itertools.islice(_positions(path), number))
    if not found:
        raise UserError(f"{path}: no game of more than {FIRST_PLY} half-moves")
    return found


def _positions(path: Path) -> Iterator[tuple[str, str]]:
    for game in read_games(path):
        plies = len(game.moves) - FIRST_PLY
        if plies <= 0:
            continue
        ply = FIRST_PLY + zlib.crc32(game.identity.encode()) % plies
        board: chess.Board = game.positions([ply])[0]
        if board.legal_moves.count() > 1:
            yield board.fen(), game.moves[ply].uci()


def match_share(
    engine: _native.Engine,
    positions: list[tuple[str, str]],
    *,
    move_time_ms: int = 0,
    nodes: int = 0,
) -> float:
    """The share of positions in which the engine's move is the one that was played."""
    same = 0
    for fen, played in positions:
        engine.new_game()
        engine.set_position(fen, [])
        same += engine.go(move_time_ms=move_time_ms, nodes=nodes)["line"][0] == played
    return same / len(positions)
