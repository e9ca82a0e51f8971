"""Scores from a UCI engine, and the unit they are in."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import chess

from zerogames.errors import UserError
from zerogames_chess.uci_client import EngineDied, UciClient, start_engine

MATE = 32_000
"""A mate's score in centipawns; no quiet score comes near."""

_STOCKFISH = re.compile(r"^Stockfish (\d+)(?:\.(\d+))?\b")
_NORMALIZED = {(15, 1): 361, (16, 0): 328, (16, 1): 356}
"""Internal units per 100 printed centipawns, by Stockfish version; before 15.1 nothing was
normalised and a printed centipawn was 208 / 100 units."""
_OLD_PAWN = 208


@dataclass(frozen=True)
class Label:
    """The label of a position; the score is the side to move's, in centipawns."""

    score: int
    move: chess.Move | None
    is_mate: bool


def internal_per_centipawn(engine_name: str) -> float | None:
    """How many internal units a printed centipawn is, if the engine is a known Stockfish.

    From version 15.1 on Stockfish prints normalised centipawns, where 100 means even chances to
    win, while the scalings of the losses are for internal units.
    """
    match = _STOCKFISH.match(engine_name)
    if match is None:
        return None
    version = int(match[1]), int(match[2] or 0)
    if version < (15, 1):
        return _OLD_PAWN / 100
    if version in _NORMALIZED:
        return _NORMALIZED[version] / 100
    return None


@dataclass(frozen=True)
class Labeller:
    """An engine that labels positions, its depth, and whether it clears its hash."""

    engine: Path
    depth: int = 9
    clear_hash: bool = False
    static: bool = False
    """The score is that of the position itself; the search only finds a move."""

    @contextmanager
    def open(self) -> Iterator["OpenLabeller"]:
        """Start the engine; it is stopped in the end."""
        with start_engine(self.engine) as client:
            client.set_option("Threads", 1)
            if self.static and not client.name.startswith("Stockfish"):
                raise UserError(f"--static needs Stockfish's `eval`, which '{client.name}' lacks")
            yield OpenLabeller(self, client)


@dataclass
class OpenLabeller:
    """A running engine."""

    settings: Labeller
    client: UciClient

    @property
    def name(self) -> str:
        """The engine's own name."""
        return self.client.name

    def label(self, board: chess.Board) -> Label:
        """Search one position.

        Raises:
            EngineDied: if the engine has.
        """
        if self.settings.clear_hash:
            self.client.new_game()
        words, best = self.client.go(board.fen(), f"depth {self.settings.depth}")
        place = words.index("score")
        try:
            kind, value = words[place + 1], int(words[place + 2])
            move = chess.Move.from_uci(best)
        except (ValueError, IndexError) as error:
            raise EngineDied(f"unexpected answer: {error}") from None
        if move not in board.legal_moves:
            raise EngineDied(f"{best} is not a legal move")
        if kind == "mate":
            return Label(MATE if value > 0 else -MATE, move, True)
        # In check there is only the search's score.
        if self.settings.static and (pawns := self.client.evaluate()) is not None:
            value = round(100 * (pawns if board.turn == chess.WHITE else -pawns))
        return Label(value, move, False)


_WORTH = {
    chess.PAWN: 1,
    chess.KNIGHT: 3,
    chess.BISHOP: 3,
    chess.ROOK: 5,
    chess.QUEEN: 9,
    chess.KING: 100,
}


def wins_a_piece(board: chess.Board) -> bool:
    """Whether a capture plainly wins: of something undefended, or of more than takes it.

    A cheap guess, made before a label is paid for, that the best move takes.
    """
    for move in board.generate_legal_captures():
        victim = board.piece_type_at(move.to_square)
        attacker = board.piece_type_at(move.from_square)
        if victim is None or attacker is None:  # En passant: pawn against pawn.
            continue
        if _WORTH[victim] > _WORTH[attacker]:
            return True
        if not board.is_attacked_by(not board.turn, move.to_square):
            return True
    return False


def is_quiet(board: chess.Board, label: Label) -> bool:
    """Whether nobody is in check, the best move neither takes nor promotes, and no mate is near."""
    return (
        label.move is not None
        and not label.is_mate
        and not board.is_check()
        and not board.is_capture(label.move)
        and label.move.promotion is None
    )
