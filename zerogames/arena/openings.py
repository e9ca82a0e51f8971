"""Where games begin: each opening is played with both colours."""

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from zerogames.data.formats import RecordReader, get_game_data
from zerogames.errors import UserError
from zerogames.game import Game, State, parse_actions
from zerogames.registry import plugin_of

_LARGEST_FILE = 512 << 20
_RANDOM_PLIES = 4


@dataclass(frozen=True, kw_only=True)
class Opening:
    """A position with the moves that lead there."""

    name: str
    start: str = ""
    """The position as `Game.format_state` writes it; empty for the initial position."""
    actions: tuple[int, ...] = ()

    def state(self, game: Game) -> State:
        """The position before the moves."""
        return game.parse_state(self.start) if self.start else game.initial_state()


class Openings(Protocol):
    """A supply of openings."""

    def __getitem__(self, number: int) -> Opening:
        """The opening of a pair of games; any number from 0."""


@dataclass(frozen=True)
class OpeningList:
    """A list that begins again after its end."""

    openings: Sequence[Opening]

    def __getitem__(self, number: int) -> Opening:
        return self.openings[number % len(self.openings)]


@dataclass(frozen=True)
class RandomOpenings:
    """Random legal moves from the initial position, never into the end of the game."""

    game: Game
    plies: int
    seed: int

    def __getitem__(self, number: int) -> Opening:
        rng = random.Random(f"{self.seed} {number}")
        for _ in range(1000):
            state = self.game.initial_state()
            actions: list[int] = []
            while state.result is None and len(actions) < self.plies:
                actions.append(int(rng.choice(state.legal_actions())))
                state = state.play(actions[-1])
            if state.result is None:
                name = f"{self.plies} random plies, {number}"
                return Opening(name=name, actions=tuple(actions))
        raise UserError(f"random:{self.plies} plays {self.game.spec.identity} to its end")


def load_openings(text: str, game: Game, *, plies: int = 0, seed: int = 0) -> Openings:
    """Find the openings that a user named.

    Args:
        text: `builtin` (the plugin's book, or random plies for games that have none), `none`,
            `random:N`, or a file: .epd or .fen (a position per line), or whatever the game reads.
        game: The game they are for.
        plies: Cut lines there; 0 leaves them whole.
        seed: For random openings.
    """
    if text == "none":
        return OpeningList([Opening(name="start")])
    if text == "builtin":
        if book := read_book(game):
            return OpeningList(_cut(book, plies))
        return RandomOpenings(game, plies or _RANDOM_PLIES, seed)
    if text.startswith("random:"):
        number = text.removeprefix("random:")
        if not number.isdecimal() or int(number) > game.spec.max_plies:
            raise UserError(f"'{text}': write the number of random plies, e.g. random:4")
        return RandomOpenings(game, int(number), seed)
    return OpeningList(_read_file(Path(text), game, plies))


def read_book(game: Game) -> list[Opening]:
    """Read the lines of the plugin's book; there are none without a book."""
    plugin = plugin_of(game)
    if plugin is None or plugin.openings is None:
        return []
    openings = []
    text = plugin.openings(game)
    for number, line in enumerate(text.splitlines(), start=1):
        moves, _, name = (part.strip() for part in line.partition("#"))
        if not moves:
            continue
        try:
            actions = parse_actions(game, game.initial_state(), moves.split())
        except UserError as error:
            raise UserError(f"line {number} of the book: {error}") from None
        openings.append(Opening(name=name or f"line {number}", actions=tuple(actions)))
    return openings


def _read_file(path: Path, game: Game, plies: int) -> list[Opening]:
    if not path.is_file():
        raise UserError(
            f"there is no file '{path}'; openings are a file, builtin, none or random:N"
        )
    if path.stat().st_size > _LARGEST_FILE:
        raise UserError(f"'{path}' is larger than {_LARGEST_FILE >> 20} MB; cut it")
    suffix = path.suffix.removeprefix(".").lower()
    if suffix in ("epd", "fen"):
        openings = _read_positions(path, game)
    elif suffix in (readers := get_game_data(game).readers):
        openings = _read_games(path, game, readers[suffix])
    else:
        known = ", ".join(["epd", "fen", *readers])
        raise UserError(f"openings of {game.spec.name} are files of type {known}, not '{path}'")
    if not openings:
        raise UserError(f"'{path}' holds no opening")
    return _cut(openings, plies)


def _read_positions(path: Path, game: Game) -> list[Opening]:
    openings = []
    for number, line in enumerate(path.read_text(errors="replace").splitlines(), start=1):
        if not line.strip() or line.startswith("#"):
            continue
        # EPD has the first four fields of a FEN, then operations such as `bm Nf3;`.
        fields = line.split()
        has_counters = len(fields) >= 6 and fields[4].isdecimal() and fields[5].isdecimal()
        text = " ".join(fields[:6] if has_counters else [*fields[:4], "0", "1"])
        try:
            state = game.parse_state(text)
        except UserError as error:
            raise UserError(f"{path}, line {number}: {error}") from None
        if state.result is None:
            openings.append(Opening(name=f"{path.name}:{number}", start=game.format_state(state)))
    return openings


def _read_games(path: Path, game: Game, reader: RecordReader) -> list[Opening]:
    openings = []
    for number, record in enumerate(reader(path.read_bytes()), start=1):
        if record.game != game.spec.identity:
            raise UserError(
                f"{path}: game {number} is '{record.game}', the match is '{game.spec.identity}'"
            )
        state = record.start_state(game)
        kept: list[int] = []
        for action in record.actions.tolist():
            state = state.play(action)
            if state.result is not None:
                break
            kept.append(action)
        name = record.tags.get("Opening") or record.tags.get("ECO") or f"{path.name}:{number}"
        openings.append(Opening(name=name, start=record.start, actions=tuple(kept)))
    return openings


def _cut(openings: Sequence[Opening], plies: int) -> list[Opening]:
    return [replace(one, actions=one.actions[: plies or None]) for one in openings]
