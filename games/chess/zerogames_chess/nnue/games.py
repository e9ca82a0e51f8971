"""Reads the main lines of standard chess games from PGN files, one game at a time."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import chess

from zerogames.data.files import DataFile
from zerogames.errors import UserError
from zerogames.game import Game
from zerogames.registry import get_game
from zerogames_chess import _data
from zerogames_chess.data.pgn import PgnFormat, decode

MAX_PLIES = 2_000
"""Longer games are cut after this many plies."""


@dataclass(frozen=True)
class PlayedGame:
    """The main line of a game."""

    identity: str
    """Tags and moves as one text, which does not depend on the file the game is in."""
    start: chess.Board
    moves: list[chess.Move]
    result: int
    """1, 0 or -1 in White's view."""

    def positions(self, plies: Sequence[int]) -> list[chess.Board]:
        """Return the positions after the given numbers of plies, ascending, without history."""
        wanted = set(plies)
        board = self.start.copy(stack=False)
        found = []
        for ply, move in enumerate([None, *self.moves]):
            if move is not None:
                board.push(move)
            if ply in wanted:
                found.append(board.copy(stack=False))
        return found


def read_games(path: Path) -> Iterator[PlayedGame]:
    """Yield the usable games of a PGN file; broken games and other variants are skipped."""
    if not path.is_file():
        raise UserError(f"there is no PGN file {path}")
    chess_game = get_game("chess")
    for block in PgnFormat().blocks(DataFile.of_path(path)):
        for game in _data.read_pgn(block.load()):
            if not game.error and not game.chess960 and game.result is not None:
                tags = {name: decode(value) for name, value in game.tags.items()}
                if "abandon" not in tags.get("Termination", "").lower():
                    yield _played_game(chess_game, game, tags)


def _played_game(chess_game: Game, game: _data.PgnGame, tags: Mapping[str, str]) -> PlayedGame:
    assert game.result is not None
    board = chess.Board(game.start or chess.STARTING_FEN)
    state = chess_game.parse_state(board.fen(en_passant="fen"))
    moves = []
    for action in game.actions[:MAX_PLIES].tolist():
        moves.append(chess.Move.from_uci(chess_game.format_action(state, action)))
        state = state.play(action)
    names = ("Event", "Date", "Round", "White", "Black", "Result")
    identity = "|".join(tags.get(name, "") for name in names)
    return PlayedGame(
        identity=f"{identity}|{' '.join(move.uci() for move in moves)}",
        start=board,
        moves=moves,
        result=int(game.result),
    )
