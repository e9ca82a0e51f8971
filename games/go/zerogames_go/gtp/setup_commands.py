"""Commands that put a game on the board: size, komi, rules, handicap, files."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from zerogames.atomic import write_text_atomically
from zerogames.errors import UserError
from zerogames_go.gtp.handicap import fixed_handicap, free_handicap
from zerogames_go.gtp.played_game import GtpGame
from zerogames_go.gtp.protocol import (
    SyntaxFault,
    format_vertices,
    parse_float,
    parse_vertex,
    parse_whole,
    take_arguments,
)
from zerogames_go.gtp.rule_names import parse_kgs_rules, parse_rules, rules_to_json, with_rule
from zerogames_go.gtp.table import Handler, Table
from zerogames_go.options import GoOptions

_LARGEST_FILE = 64 << 20
_LARGEST_KOMI = 1000


class SetupCommands:
    """The commands of the protocol's set-up group, and their extensions."""

    def __init__(self, table: Table) -> None:
        self._table = table

    def handlers(self) -> Mapping[str, Handler]:
        """The handlers by command."""
        return {
            "boardsize": self._boardsize,
            "rectangular_boardsize": self._rectangular_boardsize,
            "clear_board": self._clear_board,
            "komi": self._komi,
            "get_komi": lambda _: f"{self._table.played.options.komi:g}",
            "fixed_handicap": self._fixed_handicap,
            "place_free_handicap": self._place_free_handicap,
            "set_free_handicap": self._set_free_handicap,
            "kata-get-rules": lambda _: rules_to_json(self._table.played.options),
            "kata-set-rules": self._set_rules,
            "kata-set-rule": self._set_rule,
            "kgs-rules": self._kgs_rules,
            "loadsgf": self._loadsgf,
            "printsgf": self._printsgf,
        }

    def _boardsize(self, arguments: Sequence[str]) -> str:
        (text,) = take_arguments(arguments, 1, 1)
        try:
            size = parse_whole(text, low=2, high=25)
        except SyntaxFault:
            if not text.lstrip("+-").isdecimal():
                raise
            raise UserError("unacceptable size") from None
        self._table.begin(self._empty(size=size))
        return ""

    def _rectangular_boardsize(self, arguments: Sequence[str]) -> str:
        width, height = take_arguments(arguments, 2, 2)
        if width != height:
            raise UserError("unacceptable size: boards are square here")
        return self._boardsize([width])

    def _clear_board(self, _: Sequence[str]) -> str:
        self._table.begin(self._empty(size=self._table.played.size))
        self._table.set_time(self._table.time)
        return ""

    def _empty(self, *, size: int) -> GtpGame:
        options = self._table.played.options
        return GtpGame(
            GoOptions(
                size=size,
                komi=options.komi,
                rules=options.rules,
                ko=options.ko,
                suicide=options.suicide,
            )
        )

    def _komi(self, arguments: Sequence[str]) -> str:
        komi = parse_float(take_arguments(arguments, 1, 1)[0])
        if abs(komi) > _LARGEST_KOMI:
            raise UserError("unacceptable komi")
        self._table.change(komi=komi)
        return ""

    def _fixed_handicap(self, arguments: Sequence[str]) -> str:
        return self._handicap(arguments, free=False)

    def _place_free_handicap(self, arguments: Sequence[str]) -> str:
        return self._handicap(arguments, free=True)

    def _handicap(self, arguments: Sequence[str], *, free: bool) -> str:
        played = self._table.played
        count = parse_whole(take_arguments(arguments, 1, 1)[0], low=-(10**9), high=10**9)
        if not played.is_empty:
            raise UserError("board not empty")
        if not 2 <= count < played.pass_action:
            raise UserError("invalid number of stones")
        try:
            points = fixed_handicap(played.size, count)
        except UserError:
            if not free:
                raise
            points = free_handicap(played.size, count)
        return self._place(points)

    def _set_free_handicap(self, arguments: Sequence[str]) -> str:
        points = [parse_vertex(self._table.game, text) for text in take_arguments(arguments, 2)]
        self._place(points)
        return ""

    def _place(self, points: Sequence[int]) -> str:
        self._table.played.place_handicap(points)
        self._table.player.new_game()
        return format_vertices(self._table.game, self._table.played.state, points)

    def _set_rules(self, arguments: Sequence[str]) -> str:
        self._table.change(**parse_rules(" ".join(take_arguments(arguments, 1))))
        return ""

    def _set_rule(self, arguments: Sequence[str]) -> str:
        key, value = take_arguments(arguments, 2, 2)
        self._table.change(**with_rule(self._table.played.options, key, value))
        return ""

    def _kgs_rules(self, arguments: Sequence[str]) -> str:
        self._table.change(**parse_kgs_rules(take_arguments(arguments, 1, 1)[0]))
        return ""

    def _loadsgf(self, arguments: Sequence[str]) -> str:
        words = list(take_arguments(arguments, 1))
        before = None
        if len(words) > 1 and words[-1].isdecimal():
            before = parse_whole(words.pop(), low=0, high=10**9)
        path = Path(" ".join(words))
        data = _read_file(path)
        try:
            played = GtpGame.from_sgf(data, self._table.played.options, before_move=before)
        except UserError as error:
            raise UserError(f"cannot load file: {error}") from None
        self._table.begin(played)
        return ""

    def _printsgf(self, arguments: Sequence[str]) -> str:
        text = self._table.played.to_sgf(result=self._table.result)
        if not arguments:
            return text
        path = Path(" ".join(arguments))
        try:
            write_text_atomically(path, text)
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            raise UserError(f"cannot write {path}: {reason}") from None
        return ""


def _read_file(path: Path) -> bytes:
    """Read a regular file of a size that games have; nothing else is even opened."""
    try:
        if path.exists() and not path.is_file():
            raise UserError("cannot load file: it is no regular file")
        with path.open("rb") as file:
            data = file.read(_LARGEST_FILE + 1)
    except (OSError, ValueError) as error:
        if isinstance(error, UserError):
            raise
        raise UserError("cannot load file") from None
    if len(data) > _LARGEST_FILE:
        raise UserError("cannot load file: it is too large")
    return data
