"""Positions for tests: varied by hand, and random games."""

import random
from collections.abc import Iterator

import chess

VARIED = [
    chess.STARTING_FEN,
    "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1",  # castling, captures
    "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R b KQkq - 0 1",
    "8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - - 0 1",
    "r3k2r/Pppp1ppp/1b3nbN/nP6/BBP1P3/q4N2/Pp1P2PP/R2Q1RK1 w kq - 0 1",  # promotions
    "r2q1rk1/pP1p2pp/Q4n2/bbp1p3/Np6/1B3NBn/pPPP1PPP/R3K2R b KQ - 0 1",
    "rnbq1k1r/pp1Pbppp/2p5/8/2B5/8/PPP1NnPP/RNBQK2R w KQ - 1 8",  # promotion with capture
    "r4rk1/1pp1qppp/p1np1n2/2b1p1B1/2B1P1b1/P1NP1N2/1PP1QPPP/R4RK1 w - - 0 10",
    "rnbqkbnr/ppp1p1pp/8/3pPp2/8/8/PPPP1PPP/RNBQKBNR w KQkq f6 0 3",  # en passant
    "rnbqkbnr/pppp1ppp/8/8/3PpP2/8/PPP1P1PP/RNBQKBNR b KQkq d3 0 3",
    "8/8/8/2k5/3Pp3/8/8/4K3 b - d3 0 1",
    "4k3/8/8/8/8/8/3q4/4K3 w - - 0 1",  # the king takes
    "4k3/3R4/8/8/8/8/8/4K3 b - - 0 1",
    "n1n5/PPPk4/8/8/8/8/4Kppp/5N1N b - - 0 1",  # promotions everywhere
    "n1n5/PPPk4/8/8/8/8/4Kppp/5N1N w - - 0 1",
    "8/8/1k6/8/2R2R2/8/1K6/2R2R2 w - - 0 1",  # several pieces of a kind on one line
    "3qq3/1q2q3/7k/8/8/8/QQQ5/K7 w - - 0 1",
    "8/5k2/8/8/8/8/2K5/8 w - - 0 1",
    "r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1",
    "r3k2r/8/8/8/8/8/8/R3K2R b KQkq - 0 1",
    "2kr3r/1ppq1ppp/p1nbbn2/3pp3/3PP3/P1NBBN2/1PPQ1PPP/2KR3R b - - 4 10",
    "8/P6k/8/8/8/8/p6K/8 w - - 0 1",
]


def random_boards(number: int, seed: int) -> Iterator[chess.Board]:
    """Positions of random games in the order played."""
    generator = random.Random(seed)
    while True:
        board = chess.Board()
        while not board.is_game_over():
            board.push(generator.choice(list(board.legal_moves)))
            yield board.copy(stack=False)
            number -= 1
            if number == 0:
                return
