"""The lines of CSA's format that hold the position a game starts from."""

import re
from dataclasses import dataclass, field

from zerogames.errors import UserError
from zerogames_shogi import _native
from zerogames_shogi.pieces import CSA_NAMES, HAND_ORDER, KING, LETTERS, pieces_of
from zerogames_shogi.shogi_game import start_sfen

_START_RANKS = start_sfen("none").split()[0]
_SET = (18, 4, 4, 4, 4, 2, 2)
"""Pieces of each kind that can be in hand, both sides together."""
_PLACED = re.compile(r"(\d)(\d)([A-Z]{2})")


@dataclass
class CsaPosition:
    """Squares and hands, filled line by line; without a line it is the usual array."""

    squares: list[str] = field(default_factory=lambda: [""] * 81)
    """Letters as in SFEN, empty for nothing."""
    hands: list[list[int]] = field(default_factory=lambda: [[0] * 7, [0] * 7])
    is_given: bool = False

    def read(self, line: str) -> None:
        """Read a line that begins with P."""
        self.is_given = True
        if line.startswith("PI"):
            self._set_up()
            for file, rank, name in _pieces(line[2:]):
                square = _index(file, rank)
                if self.squares[square].upper() != LETTERS[_kind(name)]:
                    raise UserError(f"no {name} stands on {file}{rank} at the start")
                self.squares[square] = ""
        elif line[1:2].isdecimal() and line[1] != "0":
            self._read_rank(int(line[1]) - 1, line[2:])
        elif line[1:2] in ("+", "-"):
            self._read_pieces("+-".index(line[1]), line[2:])
        else:
            raise UserError(f"'{line[:40]}' is no line of a position")

    def _set_up(self) -> None:
        letters = re.sub(r"\d", lambda match: " " * int(match[0]), _START_RANKS)
        self.squares = [letter.strip() for letter in letters.replace("/", "")]

    def _read_rank(self, row: int, text: str) -> None:
        text = text.ljust(27)
        for column in range(9):
            cell = text[3 * column : 3 * column + 3]
            if cell[0] in "+-":
                self._put(9 * row + column, "+-".index(cell[0]), cell[1:])

    def _read_pieces(self, side: int, text: str) -> None:
        if text.startswith("00AL"):
            self._give_rest(side)
            return
        for file, rank, name in _pieces(text):
            if (file, rank) != ("0", "0"):
                self._put(_index(file, rank), side, name)
                continue
            kind = _kind(name)
            if kind >= KING:
                raise UserError(f"{name} is never in hand")
            self.hands[side][kind] += 1

    def _put(self, square: int, side: int, name: str) -> None:
        letters = LETTERS[_kind(name)]
        self.squares[square] = letters if side == 0 else letters.lower()

    def _give_rest(self, side: int) -> None:
        """All pieces that are nowhere yet; not the kings."""
        placed = [letters.upper().lstrip("+") for letters in self.squares]
        for kind, number in enumerate(_SET):
            used = placed.count(LETTERS[kind]) + sum(hand[kind] for hand in self.hands)
            self.hands[side][kind] += max(0, number - used)

    def sfen(self, *, white_begins: bool) -> str:
        """The position as an SFEN."""
        if not self.is_given:
            self._set_up()
        ranks = []
        for row in range(9):
            text = "".join(letters or " " for letters in self.squares[9 * row : 9 * row + 9])
            ranks.append(re.sub(" +", lambda blanks: str(len(blanks[0])), text))
        hands = ""
        for side in (0, 1):
            for kind in HAND_ORDER:
                if number := self.hands[side][kind]:
                    letter = LETTERS[kind] if side == 0 else LETTERS[kind].lower()
                    hands += (str(number) if number > 1 else "") + letter
        return f"{'/'.join(ranks)} {'w' if white_begins else 'b'} {hands or '-'} 1"


def format_position(state: _native.State) -> list[str]:
    """Write a position and who begins."""
    ranks, side, hands = state.sfen.split()[:3]
    turn = "+" if side == "b" else "-"
    if (ranks, hands) == (_START_RANKS, "-"):
        return ["PI", turn]
    pieces = pieces_of(state)
    lines = []
    for row in range(9):
        cells = [
            f"{'+-'[piece.side]}{CSA_NAMES[piece.kind]}" if piece else " * "
            for piece in pieces[9 * row : 9 * row + 9]
        ]
        lines.append(f"P{row + 1}{''.join(cells)}")
    for owner, hand in enumerate(state.hands):
        held = [f"00{CSA_NAMES[kind]}" * hand[kind] for kind in HAND_ORDER]
        if any(held):
            lines.append(f"P{'+-'[owner]}{''.join(held)}")
    return [*lines, turn]


def _pieces(text: str) -> list[tuple[str, str, str]]:
    """File, rank and name of each piece."""
    text = text.strip()
    found = _PLACED.findall(text)
    if len(text) != 4 * len(found):
        raise UserError(f"'{text[:40]}' are no pieces on squares; write e.g. 82HI22KA")
    return found


def _kind(name: str) -> int:
    if name not in CSA_NAMES:
        raise UserError(f"'{name[:10]}' is not a piece")
    return CSA_NAMES.index(name)


def _index(file: str, rank: str) -> int:
    if "0" in (file, rank):
        raise UserError(f"{file}{rank} is not a square")
    return 9 * (int(rank) - 1) + 9 - int(file)
