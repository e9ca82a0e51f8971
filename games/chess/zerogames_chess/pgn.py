"""Reads and writes games as PGN with comments."""

from collections.abc import Callable, Iterator

import chess
import chess.pgn

from zerogames.data.record import GameRecord
from zerogames.errors import UserError
from zerogames.registry import get_game
from zerogames_chess import _data
from zerogames_chess.data.pgn import DERIVED_TAGS, decode, players_of, to_record

_RESULT_TEXT = {1.0: "1-0", -1.0: "0-1", 0.0: "1/2-1/2", None: "*"}


def read_pgn(
    data: bytes, *, on_broken: Callable[[UserError], None] | None = None
) -> Iterator[GameRecord]:
    """Read the main line of every game.

    A game that continues after our rules have ended it (an unclaimed repetition) is cut there and
    has the result of the rules.

    Args:
        data: the file, UTF-8 or Latin-1.
        on_broken: called with the error of each broken game, which is then left out; without it the
            error is raised.
    """
    for number, game in enumerate(_data.read_pgn(data, comments=True), start=1):
        if not game.error:
            yield to_record(game)
            continue
        error = UserError(f"PGN game {number}{players_of(game)}: {decode(game.error)}")
        if on_broken is None:
            raise error
        on_broken(error)


def write_pgn(record: GameRecord) -> str:
    """Write one game with its tags, comments and result."""
    chess_game = get_game(record.game)
    state = record.start_state(chess_game)
    board = chess.Board(str(state), chess960="variant=960" in record.game)
    game = chess.pgn.Game()
    game.setup(board)
    if "FEN" in game.headers:
        game.headers["FEN"] = str(state)  # with the en-passant square as it was given
    for name, value in record.tags.items():
        if name not in DERIVED_TAGS:
            try:
                game.headers[name] = _one_line(value)
            except ValueError:
                raise UserError(f"'{name[:40]}' is not the name of a PGN tag") from None
    game.headers["Result"] = _RESULT_TEXT[record.result]
    if record.reason:
        game.headers["Termination"] = _one_line(record.reason)
    game.comment = record.comments.get(-1, "")
    node: chess.pgn.GameNode = game
    for ply, action in enumerate(record.actions):
        move = board.parse_uci(chess_game.format_action(state, int(action)))
        node = node.add_variation(move, comment=record.comments.get(ply, ""))
        board.push(move)
        state = state.play(int(action))
    return f"{game}\n\n"


def _one_line(value: str) -> str:
    return " ".join(value.split()).replace('"', "'")
