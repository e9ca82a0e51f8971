"""The start positions of an openings file."""

from pathlib import Path

from zerogames.errors import UserError
from zerogames.game import Game, State, parse_position


def read_openings(file: Path | None, game: Game) -> list[State]:
    """Read one position a line; the line of a bad one is named. No file: no positions."""
    if file is None:
        return []
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{file}: {error}") from None
    starts = []
    for number, line in enumerate(lines, start=1):
        if not line.strip() or line.startswith("#"):
            continue
        try:
            state = parse_position(game, line)
        except UserError as error:
            raise UserError(f"{file}:{number}: {error}") from None
        if state.result is not None:
            raise UserError(f"{file}:{number}: the game is over in this position")
        starts.append(state)
    if not starts:
        raise UserError(f"{file}: no positions")
    return starts
