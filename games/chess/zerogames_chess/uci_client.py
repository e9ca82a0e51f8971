"""A bare UCI client, where a call must cost little beside a short search."""

import os
import select
import subprocess
import time
from pathlib import Path

from zerogames.errors import UserError

MAX_LINE = 1 << 20


class EngineDied(Exception):
    """The engine ended, fell silent or spoke nonsense."""


class UciClient:
    """One engine process; use as a context."""

    def __init__(self, command: Path, *, timeout_s: float = 60.0) -> None:
        self._timeout_s = timeout_s
        self._buffer = b""
        self._lines: list[str] = []
        self.name = "unknown"
        self.options: set[str] = set()
        try:
            self._process = subprocess.Popen(
                [str(command)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                bufsize=0,
            )
        except OSError as error:
            raise EngineDied(str(error)) from None
        try:
            self._send("uci")
            for line in self._read_until("uciok"):
                if line.startswith("id name "):
                    self.name = line[8:].strip()
                elif line.startswith("option name "):
                    self.options.add(line[12:].partition(" type ")[0])
        except EngineDied:
            self.close()
            raise

    def __enter__(self) -> "UciClient":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the process."""
        try:
            self._send("quit")
            self._process.wait(2)
        except (EngineDied, subprocess.TimeoutExpired):
            self._process.kill()
            self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()

    def set_option(self, name: str, value: object) -> None:
        """Set an option if the engine has it."""
        if name in self.options:
            self._send(f"setoption name {name} value {value}")

    def new_game(self) -> None:
        """Let the engine forget."""
        self._send("ucinewgame")
        self._send("isready")
        self._read_until("readyok")

    def go(self, fen: str, limit: str) -> tuple[list[str], str]:
        """Search a position.

        Returns:
            The last line with a score, split into words, and the best move in UCI.
        """
        self._send(f"position fen {fen}\ngo {limit}")
        scored: list[str] = []
        for line in self._read_until("bestmove"):
            if " score " in line and " pv " in line and "bound" not in line:
                scored = line.split()
        words = self._last.split()
        if len(words) < 2 or not scored:
            raise EngineDied(f"unexpected answer {self._last[:80]!r}")
        return scored, words[1]

    def evaluate(self) -> float | None:
        """The evaluation of the position last searched, without a search, by Stockfish's `eval`.

        Returns:
            White's advantage in pawns as printed; None in check.
        """
        self._send("eval\nisready")
        for line in self._read_until("readyok"):
            words = line.split()
            if words[:1] == ["Final"] and len(words) > 2:
                try:
                    return None if "none" in words else float(words[2])
                except ValueError:
                    break
        raise EngineDied("no answer to `eval`")

    def _send(self, text: str) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(text.encode() + b"\n")
        except OSError as error:
            raise EngineDied(str(error)) from None

    def _read_until(self, word: str) -> list[str]:
        """All lines before the one that starts with `word`, which is kept as the last."""
        deadline = time.monotonic() + self._timeout_s
        before: list[str] = []
        while True:
            while self._lines:
                line = self._lines.pop(0)
                if line.startswith(word):
                    self._last = line
                    return before
                before.append(line)
            self._read_more(deadline)

    def _read_more(self, deadline: float) -> None:
        assert self._process.stdout is not None
        pipe = self._process.stdout.fileno()
        ready, _, _ = select.select([pipe], [], [], max(0.0, deadline - time.monotonic()))
        data = os.read(pipe, 1 << 16) if ready else b""
        if not ready:
            raise EngineDied(f"no answer in {self._timeout_s:g} s")
        if not data:
            raise EngineDied("the engine ended")
        *whole, self._buffer = (self._buffer + data).split(b"\n")
        if len(self._buffer) > MAX_LINE:
            raise EngineDied("a line without an end")
        self._lines += [line.decode("utf-8", "replace").strip() for line in whole]


def start_engine(command: Path) -> UciClient:
    """Start what a user named as an engine."""
    try:
        return UciClient(command)
    except EngineDied as error:
        raise UserError(f"{command} does not start as a UCI engine: {error}") from None
