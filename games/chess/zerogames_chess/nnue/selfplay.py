"""Games from random openings, for labelling where there is no PGN."""

import random
from collections.abc import Iterator
from pathlib import Path

import chess

from zerogames_chess.nnue.games import PlayedGame
from zerogames_chess.nnue.labels import Labeller
from zerogames_chess.uci_client import UciClient

MAX_PLIES = 200
_RESULTS = {"1-0": 1, "0-1": -1, "1/2-1/2": 0}


def random_games(engine: Path, seed: int, *, nodes: int = 400) -> Iterator[PlayedGame]:
    """Play an engine against itself without end: 4 to 8 random plies, then its moves."""
    number = 0
    while True:
        with Labeller(engine).open() as opened:
            # Engines are started anew from time to time, so that none grows without limit.
            for _ in range(200):
                yield _play(opened.client, f"{seed}:{number}", nodes)
                number += 1


def _play(client: UciClient, name: str, nodes: int) -> PlayedGame:
    generator = random.Random(name)
    client.new_game()
    board = chess.Board()
    for _ in range(generator.randint(4, 8)):
        if board.is_game_over():
            break
        board.push(generator.choice(list(board.legal_moves)))
    while not board.is_game_over(claim_draw=True) and board.ply() < MAX_PLIES:
        board.push_uci(client.go(board.fen(), f"nodes {nodes}")[1])
    outcome = board.outcome(claim_draw=True)
    moves = " ".join(move.uci() for move in board.move_stack)
    return PlayedGame(
        identity=f"engine game {name}|{moves}",
        start=chess.Board(),
        moves=list(board.move_stack),
        result=0 if outcome is None else _RESULTS[outcome.result()],
    )
