"""Engines that speak UCI.

`uci:COMMAND[?Option=value&...]`; the lower-case keys `nodes`, `depth` and `movetime` (seconds) are
no options of the engine but limits of its own, in place of the match's.
"""

import math
import os
import time
from dataclasses import dataclass

from zerogames.arena.engine_process import EngineProcess, split_command
from zerogames.arena.players import Choice, MoveLimits, PlayerFault, PlayerKind, Position
from zerogames.errors import UserError, unknown_name
from zerogames.game import Game

PATIENCE_S = 20.0
"""Seconds to wait for an answer, except for a move."""
_LIMITS = ("nodes", "depth", "movetime")
_QUIET_OPTIONS = ("threads", "hash", "uci_limitstrength", "move overhead")
"""They need not stand in a player's name."""


@dataclass(frozen=True)
class UciCommand:
    """What the text of a UCI player says."""

    command: tuple[str, ...]
    options: dict[str, str]
    limits: dict[str, float]

    @classmethod
    def parse(cls, text: str) -> "UciCommand":
        """Read `COMMAND[?Option=value&...]`."""
        command, _, query = text.partition("?")
        options: dict[str, str] = {}
        limits: dict[str, float] = {}
        for part in query.split("&") if query else []:
            key, equals, value = (piece.strip() for piece in part.partition("="))
            if not (key and equals):
                raise UserError(f"'{part}' in 'uci:{text}' is not Option=value")
            if key in _LIMITS:
                limits[key] = _positive(key, value)
            else:
                options[key] = value
        return cls(tuple(split_command(command)), options, limits)

    def title(self) -> str:
        """The program with the options that make a difference."""
        shown = [
            f"{key}={value}"
            for key, value in self.options.items()
            if key.lower() not in _QUIET_OPTIONS
        ]
        shown += [f"{key}={value:g}" for key, value in self.limits.items()]
        return " ".join([os.path.basename(self.command[0]), *shown])


class UciPlayer:
    """One engine process."""

    def __init__(self, uci: UciCommand, game: Game) -> None:
        self._limits = uci.limits
        self._engine = EngineProcess(uci.command)
        try:
            self._introduce(uci.options, game)
        except BaseException:
            self._engine.close()
            raise

    def _introduce(self, wanted: dict[str, str], game: Game) -> None:
        said = self._engine.introduce("uci", lambda line: line.strip() == "uciok", PATIENCE_S)
        known: dict[str, str] = {}
        for line in map(str.strip, said):
            if line.startswith("option name "):
                name = line.removeprefix("option name ").partition(" type ")[0].strip()
                known[name.lower()] = name
        if "variant=960" in game.spec.identity:
            wanted = {"UCI_Chess960": "true"} | wanted
        for key, value in wanted.items():
            if key.lower() not in known:
                raise unknown_name(f"option of {self._engine.name}", key, known.values())
            self._engine.send(f"setoption name {known[key.lower()]} value {value}")
        self._wait_until_ready()

    def new_game(self, position: Position, seed: int) -> None:
        """Tell the engine; its own random numbers are its own."""
        self._engine.send("ucinewgame")
        self._wait_until_ready()

    def choose(self, position: Position, limits: MoveLimits) -> Choice:
        """Ask for a move and wait for it until the deadline."""
        start = _start(position)
        moves = f" moves {' '.join(position.moves)}" if position.moves else ""
        go = self._go(limits)
        self._engine.send(f"position {start}{moves}")
        self._engine.send(go)
        deadline = time.monotonic() + limits.deadline_s
        info = _Info()
        while True:
            line = self._engine.read(deadline)
            if line is None:
                raise PlayerFault("time forfeit", f"no bestmove within {limits.deadline_s:.2f} s")
            words = line.split()
            if words[:1] == ["info"]:
                info.read(words)
            elif words[:1] == ["bestmove"]:
                text = words[1] if len(words) > 1 else ""
                return info.choice(_legal(position, text))

    def close(self) -> None:
        """End the process."""
        self._engine.close()

    def _go(self, limits: MoveLimits) -> str:
        own = self._limits
        words = ["go"]
        if own:
            if "nodes" in own:
                words += ["nodes", f"{own['nodes']:.0f}"]
            if "depth" in own:
                words += ["depth", f"{own['depth']:.0f}"]
            if "movetime" in own:
                words += ["movetime", f"{own['movetime'] * 1000:.0f}"]
            return " ".join(words)
        if limits.is_timed:
            for colour, remaining in zip("wb", limits.remaining_s, strict=True):
                words += [f"{colour}time", str(max(1, math.floor(remaining * 1000)))]
            if limits.control.increment_s:
                for colour in "wb":
                    words += [f"{colour}inc", f"{limits.control.increment_s * 1000:.0f}"]
            if limits.moves_to_go:
                words += ["movestogo", str(limits.moves_to_go)]
        if limits.move_time_s is not None:
            words += ["movetime", f"{limits.move_time_s * 1000:.0f}"]
        if limits.nodes is not None:
            words += ["nodes", str(limits.nodes)]
        if limits.depth is not None:
            words += ["depth", str(limits.depth)]
        if len(words) == 1:
            raise UserError("a UCI engine needs a limit: give --tc, --st, --nodes or --depth")
        return " ".join(words)

    def _wait_until_ready(self) -> None:
        self._engine.send("isready")
        deadline = time.monotonic() + PATIENCE_S
        while self._read(deadline, "isready") != "readyok":
            pass

    def _read(self, deadline: float, question: str) -> str:
        line = self._engine.read(deadline)
        if line is None:
            raise PlayerFault("no answer", f"to '{question}' within {PATIENCE_S:g} s")
        return line.strip()


class _Info:
    """The last complete evaluation among `info` lines; what cannot be read is passed over."""

    def __init__(self) -> None:
        self.values: dict[str, int] = {}
        self.score: tuple[str, int] | None = None

    def read(self, words: list[str]) -> None:
        found: dict[str, int] = {}
        score: tuple[str, int] | None = None
        for index, word in enumerate(words[:-1]):
            if word in ("string", "pv"):
                break
            if word in ("depth", "nodes", "multipv"):
                number = _integer(words[index + 1])
                if number is not None:
                    found[word] = number
            elif word in ("cp", "mate"):
                number = _integer(words[index + 1])
                if number is not None:
                    score = (word, number)
        if found.pop("multipv", 1) == 1:
            self.values |= found
            self.score = score or self.score

    def choice(self, action: int) -> Choice:
        name, number = self.score or ("", 0)
        return Choice(
            action=action,
            centipawns=float(number) if name == "cp" else None,
            mate=number if name == "mate" else None,
            depth=self.values.get("depth"),
            nodes=self.values.get("nodes"),
        )


def _start(position: Position) -> str:
    game = position.game
    if position.start:
        return f"fen {position.start}"
    # `startpos` is the start of the plain game only, not that of a Chess960 set-up.
    if game.spec.identity == game.spec.name:
        return "startpos"
    return f"fen {game.format_state(game.initial_state())}"


def _legal(position: Position, text: str) -> int:
    try:
        return position.game.parse_action(position.state, text)
    except ValueError as error:
        raise PlayerFault("illegal move", f"'{text[:40]}': {error}") from None


def _integer(text: str) -> int | None:
    try:
        return int(text[:20])
    except ValueError:
        return None


def _positive(key: str, text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number < 1e12:
        raise UserError(f"{key}={text} is not a positive number")
    return number


def _make(argument: str, game: Game) -> UciPlayer:
    return UciPlayer(UciCommand.parse(argument), game)


kind = PlayerKind(title=lambda argument: UciCommand.parse(argument).title(), make=_make)
