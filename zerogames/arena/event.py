"""The settings of a match or tournament, as commands and TOML files give them."""

import dataclasses
import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from zerogames.arena.adjudication import DrawRule, ResignRule
from zerogames.arena.game_loop import Rules
from zerogames.arena.openings import Openings, load_openings
from zerogames.arena.players import PlayerSpec, parse_players
from zerogames.arena.schedule import Appointment, Format, schedule
from zerogames.arena.sprt import Sprt
from zerogames.arena.time_control import TimeControl
from zerogames.errors import UserError, unknown_name
from zerogames.game import Game
from zerogames.registry import get_game
from zerogames.runs.net_source import find_net

NET_PLACE = "{net}"
"""The place in a player's text where the net of `--net` is put."""


@dataclass(frozen=True, kw_only=True)
class Conditions:
    """The conditions of every game of an event."""

    game: str = "chess"
    """The game with its options, e.g. go:size=9,komi=7."""
    games: Annotated[int, Field(ge=1, le=1_000_000)] = 100
    """The number of games for each pairing; two games from one opening are a pair."""
    tc: str = ""
    """The time control: 60+0.6, 40/60+0.6, 1:30+1 (minutes and seconds) or inf; empty for no
    clock."""
    st: Annotated[float, Field(ge=0, le=1e6)] = 0.0
    """The seconds for each move; 0 for no such limit."""
    nodes: Annotated[int, Field(ge=0)] = 0
    """The nodes for each move; 0 for no such limit."""
    depth: Annotated[int, Field(ge=0)] = 0
    """The depth of each search in plies; 0 for no such limit."""
    openings: str = "builtin"
    """The openings: builtin, none, random:N (plies), or a file: EPD, FEN, PGN, SGF."""
    opening_plies: Annotated[int, Field(ge=0)] = 0
    """The number of plies to which opening lines are cut; 0 leaves them whole."""
    resign: str = ""
    """When a player resigns, as MOVES/CENTIPAWNS[/two]: 3/600 after 3 own moves in a row at -600 or
    worse; `two`: the opponent must agree."""
    draw: str = ""
    """When a game is a draw, as NUMBER/MOVES/CENTIPAWNS: 34/8/20 from move 34 on after 8 moves in a
    row within 20 centipawns."""
    max_plies: Annotated[int, Field(ge=0)] = 0
    """The number of plies after which a game is scored as it stands (Go) or drawn; 0 takes the
    game's limit."""
    margin: Annotated[float, Field(ge=0, le=60)] = 0.1
    """The seconds by which a clock may be overrun."""
    patience: Annotated[float, Field(gt=0, le=1e6)] = 120.0
    """The longest wait for a move, in seconds, where no clock runs."""
    seed: int = 0
    """The seed of random openings and players."""
    concurrency: Annotated[int, Field(ge=1, le=1024)] = 1
    """The number of games played at the same time."""
    out: str = ""
    """The folder of the games and the report; the same command continues there."""

    def rules(self) -> Rules:
        """The limits and the adjudication."""
        return Rules(
            control=TimeControl.parse(self.tc),
            move_time_s=self.st or None,
            nodes=self.nodes or None,
            depth=self.depth or None,
            margin_s=self.margin,
            patience_s=self.patience,
            resign=ResignRule.parse(self.resign),
            draw=DrawRule.parse(self.draw),
            max_plies=self.max_plies or None,
        )

    def describe(self) -> dict[str, str]:
        """Describe the conditions for the report: ratings only compare under equal ones."""
        found = {"game": self.game}
        shown = ("tc", "st", "nodes", "depth", "openings", "opening_plies", "resign", "draw")
        for name in (*shown, "max_plies"):
            value = getattr(self, name)
            if value:
                found[name] = f"{value:g}" if isinstance(value, float) else str(value)
        return found | {"games per pairing": str(self.games), "concurrency": str(self.concurrency)}


_NOT_PART_OF_IDENTITY = ("games", "concurrency", "out", "patience")
"""The conditions that may change when an event is continued."""


class Event:
    """Players and conditions, checked."""

    def __init__(
        self,
        players: Sequence[str],
        conditions: Conditions,
        *,
        format: Format = "round-robin",
        sprt: Sprt | None = None,
    ) -> None:
        if len(players) < 2:
            raise UserError("a match needs two players, e.g. zerogames match random mcts:100")
        self.conditions = conditions
        self.game: Game = get_game(conditions.game)
        self.rules = conditions.rules()
        self.players: list[PlayerSpec] = parse_players(
            [_with_newest_net(text, self.game) for text in players]
        )
        self.format = format
        self.sprt = sprt
        plies, seed = conditions.opening_plies, conditions.seed
        self.openings: Openings = load_openings(
            conditions.openings, self.game, plies=plies, seed=seed
        )

    @property
    def names(self) -> list[str]:
        """The players' names, in order."""
        return [player.name for player in self.players]

    def player(self, name: str) -> PlayerSpec:
        """The player called `name`."""
        return next(player for player in self.players if player.name == name)

    def appointments(self) -> list[Appointment]:
        """All games."""
        return list(schedule(self.names, self.conditions.games, self.format))

    def identity(self) -> dict[str, Any]:
        """What must be the same when the event is continued."""
        same = {
            field.name: getattr(self.conditions, field.name)
            for field in dataclasses.fields(Conditions)
            if field.name not in _NOT_PART_OF_IDENTITY
        }
        players = {player.name: player.text for player in self.players}
        return {**same, "game": self.game.spec.identity, "format": self.format, "players": players}

    def folder(self) -> Path:
        """The folder: as the user said, else one that the same command finds again."""
        if self.conditions.out:
            return Path(self.conditions.out)
        digest = hashlib.sha256(json.dumps(self.identity(), sort_keys=True).encode()).hexdigest()
        words = "-vs-".join(self.names[:2]) if len(self.players) == 2 else "tournament"
        slug = re.sub(r"[^\w.@=+-]+", "-", words)[:60].strip("-")
        return Path("matches") / f"{slug}-{digest[:8]}"


def parse_anchors(texts: Sequence[str], names: Sequence[str]) -> dict[str, float]:
    """Read `PLAYER=ELO`, or a player with `UCI_Elo=...` in its name.

    The beginning of a name serves, too, if only one player's name begins so.
    """
    anchors = {}
    for text in texts:
        start, elo = text.strip(), ""
        if own := re.search(r"UCI_Elo=(\d+)", _find_name(start, names) or ""):
            elo = own[1]
        else:
            start, _, elo = (part.strip() for part in text.rpartition("="))
        name = _find_name(start, names)
        if name is None:
            raise unknown_name("player to anchor", start or text, names)
        try:
            anchors[name] = float(elo)
        except ValueError:
            raise UserError(f"--anchor '{text}': write PLAYER=ELO") from None
    return anchors


def _find_name(text: str, names: Sequence[str]) -> str | None:
    """The player of this name, or the only one whose name begins with it."""
    if text in names:
        return text
    longer = [name for name in names if name.startswith(f"{text} ")]
    return longer[0] if len(longer) == 1 else None


def _with_newest_net(text: str, game: Game) -> str:
    """The player with the newest net's file in place of `net:newest`: it must not change later."""
    found = re.fullmatch(r"((?:.*=)?)net:newest((?:[@?].*)?)", text.strip())
    return f"{found[1]}net:{find_net('newest', game).path}{found[2]}" if found else text


def fill_in_net(players: Sequence[str], net: str) -> tuple[str, ...]:
    """Players with the file's name in place of `{net}`."""
    has_place = any(NET_PLACE in player for player in players)
    if net and not has_place:
        raise UserError(f"--net: no player has {NET_PLACE} in it")
    if has_place and not net:
        raise UserError("these players need a net; give its file with --net FILE.safetensors")
    return tuple(player.replace(NET_PLACE, net) for player in players)
