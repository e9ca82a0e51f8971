"""What the board games share: names of cells, positions as rows of letters, encodings."""

import re

from zerogames.errors import UserError
from zerogames.game import Encoding, State


def cell_name(row: int, column: int) -> str:
    """A letter for the column and a number from 1 for the row, such as `c2`."""
    return f"{chr(ord('a') + column)}{row + 1}"


def read_cell(text: str, rows: int, columns: int) -> tuple[int, int]:
    """The inverse of `cell_name`: row and column."""
    match = re.fullmatch(r"([a-z])([1-9]\d?)", text.strip().lower())
    if match is not None:
        row, column = int(match[2]) - 1, ord(match[1]) - ord("a")
        if row < rows and column < columns:
            return row, column
    raise UserError(f"'{text}' is not a cell; write a1 to {cell_name(rows - 1, columns - 1)}")


def require_legal(state: State, action: int, text: str) -> int:
    """Return the action; raise `UserError` where it is not legal."""
    if not state.is_legal(action):
        reason = "is not legal here" if state.result is None else "comes after the end of the game"
        raise UserError(f"'{text}' {reason}")
    return action


def letter_rows(state: State) -> list[list[str]]:
    """The board of a native state from the top row, a letter for each cell, empty ones empty."""
    rows = str(state).partition(" ")[0].split("/")
    cells = [re.findall(r"\d+|\D", row) for row in rows]
    return [
        [letter for cell in row for letter in ([""] * int(cell) if cell.isdigit() else [cell])]
        for row in cells
    ]


def one_encoding(
    name: str, planes: tuple[str, ...], rows: int, columns: int, *, num_constants: int
) -> dict[str, Encoding]:
    """The encodings of a game that has one; its last planes are constant."""
    encoding = Encoding(
        name=name, planes=planes, height=rows, width=columns, num_constant_planes=num_constants
    )
    return {name: encoding}
