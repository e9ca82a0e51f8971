"""What fastchess and cutechess warn of, looked for in whole games; neither is a Debian package."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import chess
import pytest

STARTS = [
    (chess.STARTING_FEN, 40),
    ("8/8/4k3/8/8/3RK3/8/8 w - - 88 80", 14),  # fifty moves are near
    ("6k1/5ppp/8/8/8/7q/5P2/6K1 w - - 0 1", 20),  # a mate, or repetition
    ("8/P7/8/8/8/1k6/8/1K6 w - - 0 1", 16),
]


class Engine:
    """One process, spoken to line by line."""

    def __init__(self, command: list[str]) -> None:
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
        )

    def ask(self, text: str, last: str) -> list[str]:
        """The lines up to the one that starts with `last`."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        print(text, file=self.process.stdin, flush=True)
        lines = []
        for line in self.process.stdout:
            lines.append(line.rstrip("\n"))
            if line.startswith(last):
                return lines
        raise AssertionError(f"the engine ended after {lines[-3:]}")


@pytest.fixture(params=["net", "net, two threads", "nnue"])
def engine(request: pytest.FixtureRequest, small_net: Path) -> Iterator[Engine]:
    command = [sys.executable, "-m", "zerogames", "uci"]
    if request.param == "nnue":
        command += ["--nnue", "shipped"]
    else:
        threads = "2" if "two" in request.param else "1"
        command += ["--net", str(small_net), "--threads", threads]
    opened = Engine(command)
    yield opened
    opened.process.communicate("quit\n", timeout=60)


def continues_after_the_end(board: chess.Board) -> bool:
    """Whether fastchess calls the game over."""
    return (
        board.is_checkmate()
        or board.is_stalemate()
        or board.is_repetition(3)
        or board.halfmove_clock >= 100
    )


def check_search(board: chess.Board, lines: list[str]) -> tuple[chess.Move, int | None]:
    """The move and the moves to mate of the last score, if it was one."""
    scored = [line.split() for line in lines if line.startswith("info ") and " score " in line]
    assert scored, "no line with a score"
    for words in scored:
        kind, value = words[words.index("score") + 1 :][:2]
        assert kind in ("cp", "mate")
        int(value)
        after = board.copy()
        for text in words[words.index("pv") + 1 :]:
            assert not continues_after_the_end(after), (board.fen(), words)
            move = chess.Move.from_uci(text)
            assert move in after.legal_moves, (board.fen(), words)
            after.push(move)
    last = scored[-1]
    best = lines[-1].split()
    assert best[1] == last[last.index("pv") + 1]
    if len(best) > 2:
        assert best[2] == "ponder"
        board_after = board.copy()
        board_after.push_uci(best[1])
        assert chess.Move.from_uci(best[3]) in board_after.legal_moves
    place = last.index("score")
    return chess.Move.from_uci(best[1]), int(last[place + 2]) if last[place + 1] == "mate" else None


def test_whole_games_give_no_reason_to_warn(engine: Engine) -> None:
    options = [line for line in engine.ask("uci", "uciok") if line.startswith("option name ")]
    names = {line[12:].partition(" type ")[0] for line in options}
    assert {"Hash", "Threads", "UCI_Chess960"} <= names
    for fen, plies in STARTS:
        engine.ask("ucinewgame\nisready", "readyok")
        board = chess.Board(fen)
        mates: list[int | None] = []
        while len(board.move_stack) < plies and not continues_after_the_end(board):
            moves = " ".join(move.uci() for move in board.move_stack)
            position = f"position fen {fen}" + (f" moves {moves}" if moves else "")
            clock = "go wtime 800 btime 800 winc 10 binc 10"
            move, mate = check_search(board, engine.ask(f"{position}\n{clock}", "bestmove"))
            # The two sides never both see themselves mating.
            if mates and mate is not None and mates[-1] is not None:
                assert (mate > 0) != (mates[-1] > 0)
            mates.append(mate)
            board.push(move)
