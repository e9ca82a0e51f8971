"""Engines that speak GTP, the Go Text Protocol: `gtp:COMMAND`.

The referee's rules decide, not the engine's claims: a game ends by two passes and is scored as the
board stands, so engines should be told to capture dead stones first
(`gnugo --mode gtp --chinese-rules --capture-all-dead`).
"""

import json
import os
import re
import time

from zerogames.arena.engine_process import EngineProcess, split_command
from zerogames.arena.players import Choice, MoveLimits, PlayerFault, PlayerKind, Position
from zerogames.errors import UserError
from zerogames.game import Game

PATIENCE_S = 20.0
"""Seconds to wait for an answer, except for a move."""
_COLOURS = ("B", "W")
_QUIET_WORDS = ("--mode", "gtp", "--chinese-rules", "--capture-all-dead")
"""They need not stand in a player's name."""


class GtpPlayer:
    """One engine process."""

    def __init__(self, command: list[str], game: Game) -> None:
        self._engine = EngineProcess(command)
        self._synced: list[int] | None = None
        self._timed = ""
        try:
            self._engine.introduce("protocol_version", _is_answer, PATIENCE_S)
            self._commands = set(self._ask("list_commands").split())
        except BaseException:
            self._engine.close()
            raise

    def new_game(self, position: Position, seed: int) -> None:
        """Set board and komi."""
        game = position.game
        self._ask(f"boardsize {game.spec.observation_shape[1]}")
        self._ask("clear_board")
        options = getattr(game, "options", None)
        komi, handicap = getattr(options, "komi", None), getattr(options, "handicap", 0)
        if komi is not None:
            self._ask(f"komi {komi:g}")
        self._set_rules(options)
        if position.start:
            self._set_up(game, position.start)
        elif handicap:
            self._ask(f"fixed_handicap {handicap}")
        self._synced = []
        self._timed = ""

    def _set_up(self, game: Game, start: str) -> None:
        """Play the stones of a position one by one; the protocol has no other way."""
        state = game.parse_state(start)
        board = getattr(state, "board", None)
        if board is None:
            raise UserError(f"GTP engines start {game.spec.name} from its initial position only")
        stones = board().ravel()
        for sign, colour in ((1, "B"), (-1, "W")):
            for point in (stones == sign).nonzero()[0].tolist():
                self._ask(f"play {colour} {game.format_action(state, point)}")

    def _set_rules(self, options: object) -> None:
        """Tell the rules to engines that can be told, in KataGo's form."""
        rules = getattr(options, "rule_set", None)
        if rules is None or "kata-set-rules" not in self._commands:
            return
        wanted = {
            "ko": rules.ko.upper(),
            "suicide": rules.suicide,
            "scoring": "AREA",
            "tax": "NONE",
            "hasButton": False,
            "whiteHandicapBonus": "0",
        }
        self._ask(f"kata-set-rules {json.dumps(wanted, separators=(',', ':'))}")

    def choose(self, position: Position, limits: MoveLimits) -> Choice:
        """Tell the moves since the last time, then ask for one."""
        self._catch_up(position)
        mover = position.state.to_play
        self._set_time(limits, mover)
        answer = self._ask(f"genmove {_COLOURS[mover]}", limits.deadline_s, "time forfeit")
        text = answer.strip().lower()
        if text == "resign":
            return Choice(action=None)
        try:
            action = position.game.parse_action(position.state, text)
        except ValueError as error:
            raise PlayerFault("illegal move", f"'{text[:40]}': {error}") from None
        assert self._synced is not None
        self._synced.append(action)
        return Choice(action=action)

    def close(self) -> None:
        """End the process."""
        self._engine.close()

    def _catch_up(self, position: Position) -> None:
        synced = self._synced
        if synced is None or list(position.actions[: len(synced)]) != synced:
            self.new_game(position, 0)
            synced = self._synced = []
        for ply in range(len(synced), len(position.actions)):
            self._ask(f"play {_COLOURS[position.movers[ply]]} {position.moves[ply]}")
            synced.append(position.actions[ply])

    def _set_time(self, limits: MoveLimits, mover: int) -> None:
        """GTP knows no increments: with them, the time left is told before each move."""
        control = limits.control
        stones = 0
        if limits.move_time_s is not None:
            settings = f"time_settings 0 {max(1, int(limits.move_time_s))} 1"
            if "kata-time_settings" in self._commands:  # takes fractions of a second, too
                settings = f"kata-time_settings canadian 0 {limits.move_time_s:g} 1"
        elif not limits.is_timed:
            return
        elif control.moves:
            settings = f"time_settings 0 {control.time_s:.0f} {control.moves}"
            stones = limits.moves_to_go
        elif control.increment_s and "kata-time_settings" in self._commands:
            settings = f"kata-time_settings fischer {control.time_s:g} {control.increment_s:g}"
        else:
            settings = f"time_settings {control.time_s:.0f} 0 0"
        if settings.split()[0] not in self._commands:
            return
        if settings != self._timed:
            self._ask(settings)
            self._timed = settings
        if limits.is_timed and "time_left" in self._commands:
            remaining = int(limits.remaining_s[mover])
            self._ask(f"time_left {_COLOURS[mover]} {remaining} {stones}")

    def _ask(self, command: str, patience_s: float = PATIENCE_S, late: str = "no answer") -> str:
        """Send a command and return its answer; lines that are no answer are passed over."""
        self._engine.send(command)
        deadline = time.monotonic() + patience_s
        answer: list[str] | None = None
        while True:
            line = self._engine.read(deadline)
            if line is None:
                raise PlayerFault(late, f"to '{command}' within {patience_s:.2f} s")
            if answer is None:
                if line[:1] in ("=", "?"):
                    answer = [line]
            elif line.strip():
                answer.append(line)
            else:
                break
        if answer[0].startswith("?"):
            reply = answer[0][1:].strip()
            hint = "; do its rules differ from the game's?" if command.startswith("play") else ""
            raise PlayerFault("refusal", f"'{command}' was answered '{reply}'{hint}")
        return "\n".join([answer[0][1:].lstrip(), *answer[1:]])


def _is_answer(line: str) -> bool:
    """Whether an engine says this about its version: a number, or that it does not know."""
    return re.fullmatch(r"=\s*[0-9]+\s*|\?[\x20-\x7e]{3,}\s*", line) is not None


def _title(argument: str) -> str:
    program, *arguments = split_command(argument)
    shown = [word for word in arguments if word not in _QUIET_WORDS]
    return " ".join([os.path.basename(program), *shown])


def _make(argument: str, game: Game) -> GtpPlayer:
    return GtpPlayer(split_command(argument), game)


kind = PlayerKind(title=_title, make=_make)
