"""Reads and writes games as PGN with comments, through python-chess."""

import io
from collections.abc import Callable, Iterator

import chess
import chess.pgn
import numpy as np

from zerogames.data.record import GameRecord
from zerogames.errors import UserError
from zerogames.registry import get_game
from zerogames_chess import _native
from zerogames_chess.data.pgn import DERIVED_TAGS

RESULTS = {"1-0": 1.0, "0-1": -1.0, "1/2-1/2": 0.0}
"""The first player's result of each decided value of the PGN tag `Result`."""
_RESULT_TEXT = {1.0: "1-0", -1.0: "0-1", 0.0: "1/2-1/2", None: "*"}


class MainLine(chess.pgn.BaseVisitor["MainLine"]):
    """Collects headers, start, moves and comments of the main line; skips variations."""

    def __init__(self) -> None:
        self.headers = chess.pgn.Headers()
        self.start: chess.Board | None = None
        self.moves: list[chess.Move] = []
        self.comments: dict[int, str] = {}
        self.error: str = ""

    def begin_headers(self) -> chess.pgn.Headers:
        """Give python-chess the headers to fill in."""
        return self.headers

    def visit_header(self, tagname: str, tagvalue: str) -> None:
        """Keep a tag."""
        self.headers[tagname] = tagvalue

    def begin_variation(self) -> chess.pgn.SkipType:
        """Skip every variation."""
        return chess.pgn.SKIP

    def visit_board(self, board: chess.Board) -> None:
        """Keep the first position as the start."""
        if self.start is None:
            self.start = board.copy(stack=False)

    def visit_move(self, board: chess.Board, move: chess.Move) -> None:
        """Append a move of the main line."""
        self.moves.append(move)

    def visit_comment(self, comment: str) -> None:
        """Keep a comment under the ply before it; -1 is the start."""
        ply = len(self.moves) - 1
        self.comments[ply] = f"{self.comments.get(ply, '')} {comment.strip()}".strip()

    def handle_error(self, error: Exception) -> None:
        """Keep the first error instead of raising it."""
        self.error = self.error or str(error) or type(error).__name__

    def result(self) -> "MainLine":
        """Return the visitor itself, which holds what was read."""
        return self


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
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = data.decode("latin-1")
    stream = io.StringIO(text)
    number = 0
    while (game := chess.pgn.read_game(stream, Visitor=MainLine)) is not None:
        number += 1
        try:
            yield _to_record(game)
        except UserError as error:
            players = f"{game.headers.get('White', '?')} - {game.headers.get('Black', '?')}"
            named = UserError(f"PGN game {number} ({players[:80]}): {error}")
            if on_broken is None:
                raise named from None
            on_broken(named)


def _to_record(game: MainLine) -> GameRecord:
    if game.error:
        raise UserError(game.error)
    board = game.start or chess.Board()
    if board.uci_variant != "chess":
        raise UserError(f"variant '{board.uci_variant}' is not chess or Chess960")
    state = _native.State.from_fen(board.fen(en_passant="fen"), board.chess960)
    start = "" if not board.chess960 and state.fen == chess.STARTING_FEN else state.fen
    actions: list[int] = []
    for move in game.moves:
        if state.result is not None:
            break
        actions.append(state.parse_uci(move.uci()))
        state = state.play(actions[-1])
    ended = state.result is not None
    return GameRecord(
        game="chess:variant=960" if board.chess960 else "chess",
        start=start,
        actions=np.array(actions, np.int32),
        result=state.result if ended else RESULTS.get(game.headers.get("Result", "*")),
        reason=state.end_reason if ended else game.headers.get("Termination", ""),
        tags={name: value for name, value in game.headers.items() if name not in DERIVED_TAGS},
        comments={ply: text for ply, text in game.comments.items() if text and ply < len(actions)},
    )


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
