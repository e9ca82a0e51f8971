"""The folder of an event: every finished game is on disk before the next one counts.

`event.json` says what is played, `games.jsonl` holds one finished game per line (the truth),
`games.pgn` or `.sgf` the same for other programs, `report.{md,json,png}` what came out.
"""

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pydantic

from zerogames.arena.results import Outcome
from zerogames.atomic import append_durably, write_bytes_atomically
from zerogames.data.formats import get_game_data
from zerogames.data.header import GameHeader
from zerogames.data.record import GameRecord
from zerogames.errors import UserError
from zerogames.game import Game
from zerogames.runs.folder import read_table
from zerogames.runs.lock import LockedFolder

SCHEMA = 1


@dataclass(frozen=True, kw_only=True)
class StoredGame:
    """One line of `games.jsonl`."""

    key: str
    pair: str
    first: str
    second: str
    opening: str
    start: str
    actions: list[int]
    moves: list[str]
    comments: dict[int, str]
    result: float
    """The result in the first player's view."""
    reason: str
    fault: str | None
    """The kind of the loser's fault, such as a crash."""
    fault_detail: str | None
    seconds: float
    date: str

    @property
    def outcome(self) -> Outcome:
        """The outcome, from which ratings are computed."""
        return Outcome(self.first, self.second, self.result, self.pair)

    @property
    def loser(self) -> str | None:
        """The name of the loser, or None after a draw."""
        return self.second if self.result > 0 else self.first if self.result < 0 else None


_ADAPTER = pydantic.TypeAdapter(StoredGame)


class MatchFolder(LockedFolder):
    """The open folder of an event; it is locked until it is closed."""

    def __init__(self, path: Path, identity: Mapping[str, Any], game: Game, control: str) -> None:
        """Open a folder; one of another event is refused and left as it is."""
        super().__init__(path)
        self._game, self._control = game, control
        self._writer = next(iter(get_game_data(game).writers.values()))
        self._games_path = path / "games.jsonl"
        self._records_path = path / f"games{self._writer.suffix}"
        with self.released_on_error():
            self._check_identity(identity)
            data = self._games_path.read_bytes() if self._games_path.exists() else b""
            # What follows the last line end was being written when the process died.
            whole = data.rfind(b"\n") + 1
            self.games = list(_parse(data[:whole].splitlines(), self._games_path))
            self.accept("event.json", json.dumps(identity, indent=2) + "\n")
            if whole < len(data):
                os.truncate(self._games_path, whole)
            if self.games:
                records = [self._record(one, number) for number, one in enumerate(self.games, 1)]
                write_bytes_atomically(self._records_path, b"".join(records))

    def add(self, stored: StoredGame) -> None:
        """Keep a finished game: it is on disk when this returns."""
        line = json.dumps(asdict(stored) | {"schema": SCHEMA}) + "\n"
        append_durably(self._games_path, line.encode())
        self.games.append(stored)
        with self._records_path.open("ab") as file:
            file.write(self._record(stored, len(self.games)))

    def _check_identity(self, identity: Mapping[str, Any]) -> None:
        before = read_table(self.path / "event.json") or identity
        for key, value in identity.items():
            # Players may join later.
            known: Any = before.get(key)
            same = known.items() <= value.items() if key == "players" else known == value
            if not same:
                raise UserError(
                    f"'{self.path}' holds another event: {key} was {known}, not {value}; "
                    "give another --out"
                )

    def _record(self, stored: StoredGame, number: int) -> bytes:
        header = GameHeader(
            first=stored.first,
            second=stored.second,
            event=self.path.name,
            site="?",
            date=stored.date[:10],
            round=str(number),
            control=self._control,
            opening=stored.opening,
        )
        detail = f": {stored.fault_detail}" if stored.fault_detail else ""
        record = GameRecord(
            game=self._game.spec.identity,
            start=stored.start,
            actions=np.array(stored.actions, np.int32),
            result=stored.result,
            reason=f"{stored.reason}{detail}",
            tags=get_game_data(self._game).tags(header),
            comments=stored.comments,
        )
        return self._writer.write(record).rstrip(b"\n") + b"\n\n"


def _parse(lines: Iterable[bytes], path: Path) -> Iterable[StoredGame]:
    for number, line in enumerate(lines, start=1):
        try:
            values = json.loads(line)
            if values.pop("schema") != SCHEMA:
                raise UserError("written by another version")
            yield _ADAPTER.validate_python(values)
        except (ValueError, KeyError, AttributeError) as error:
            message = str(error).splitlines()[0]
            raise UserError(
                f"{path}, line {number} is damaged ({message}); remove that line to continue"
            ) from None
