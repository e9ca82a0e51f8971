"""An engine in a process of its own, spoken to by lines with deadlines."""

import collections
import contextlib
import os
import queue
import shlex
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Sequence

from zerogames.arena.players import PlayerFault
from zerogames.errors import UserError

_LONGEST_LINE = 1 << 16
_LONGEST_INTRODUCTION = 20_000
"""Lines before the end of an introduction; engines with many options say some hundreds."""
_STARTS = 2
_failed_starts: collections.Counter[tuple[str, ...]] = collections.Counter()
_introduced: set[tuple[str, ...]] = set()
"""Engines by command that failed to start, and that started, in this process."""
_LINES_WAITING = 4096
"""A flooding engine waits for its reader instead of filling the memory."""


def split_command(text: str) -> list[str]:
    """Split a command line as a shell does; raise `UserError` when the program is not there."""
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise UserError(f"command '{text}': {error}") from None
    if not words:
        raise UserError("an engine needs a command, e.g. uci:/usr/games/stockfish")
    if shutil.which(words[0]) is None:
        raise UserError(f"there is no program '{words[0]}'; give its path or install it")
    return words


class EngineProcess:
    """A child process; all waiting ends at a deadline, on the scale of `time.monotonic`."""

    def __init__(self, command: Sequence[str]) -> None:
        self.name = os.path.basename(command[0])
        self._command = tuple(command)
        try:
            # An own session: Ctrl-C reaches us alone, and we end the engines.
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
        except OSError as error:
            raise UserError(f"cannot start '{command[0]}': {error.strerror}") from None
        self._lines: queue.Queue[str | None] = queue.Queue(_LINES_WAITING)
        self._complaints: collections.deque[str] = collections.deque(maxlen=3)
        self._closing = threading.Event()
        self._close_lock = threading.Lock()
        self._threads = [
            threading.Thread(target=self._read_output, daemon=True),
            threading.Thread(target=self._read_errors, daemon=True),
        ]
        for thread in self._threads:
            thread.start()

    def send(self, line: str) -> None:
        """Send one line."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(line.encode() + b"\n")
            self._process.stdin.flush()
        except (OSError, ValueError):
            raise self._gone() from None

    def read(self, deadline: float) -> str | None:
        """The next line, without its end; None when the deadline has come."""
        try:
            line = self._lines.get(timeout=max(0.0, deadline - time.monotonic()))
        except queue.Empty:
            return None
        if line is None:
            self._lines.put(None)  # for whoever reads again
            raise self._gone()
        return line

    def introduce(
        self, question: str, is_end: Callable[[str], bool], patience_s: float
    ) -> list[str]:
        """Ask the first question and return the lines up to the one that ends the answer.

        Raises `UserError`, which ends the match, for a program that is no engine: it ends, says
        nothing at all, repeats the question, or talks without end. One that says something else
        loses `_STARTS` games by `PlayerFault` first, one that answered before all of them.
        """
        deadline = time.monotonic() + patience_s
        lines: list[str] = []
        reason = ""
        try:
            self.send(question)
            while not reason and (line := self.read(deadline)) is not None:
                lines.append(line)
                if is_end(line):
                    _introduced.add(self._command)
                    return lines
                if line.strip() == question:
                    reason = "the question comes back"
                elif len(lines) > _LONGEST_INTRODUCTION:
                    reason = f"{_LONGEST_INTRODUCTION} lines without an answer"
        except PlayerFault as error:
            reason = error.detail
        _failed_starts[self._command] += 1
        late = f"no end of the answer within {patience_s:g} s"
        if self._command in _introduced or (
            lines and not reason and _failed_starts[self._command] <= _STARTS
        ):
            raise PlayerFault("no answer", f"to '{question}': {reason or late}")
        reason = reason or (late if lines else f"nothing was said within {patience_s:g} s")
        raise UserError(f"'{self.name}' does not speak this protocol; to '{question}': {reason}")

    def close(self, farewell: str = "quit") -> None:
        """Ask the engine to leave, then make it."""
        with self._close_lock:
            if self._closing.is_set():
                return
            self._closing.set()
            with contextlib.suppress(PlayerFault):
                self.send(farewell)
            for sent in (None, signal.SIGTERM, signal.SIGKILL):
                if sent is not None:
                    with contextlib.suppress(ProcessLookupError, PermissionError):
                        os.killpg(self._process.pid, sent)
                with contextlib.suppress(subprocess.TimeoutExpired):
                    self._process.wait(timeout=0.5)
                    break
            # Children of a wrapper script may outlive it.
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
            for thread in self._threads:
                thread.join(timeout=5)
            for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
                with contextlib.suppress(OSError, ValueError):
                    if pipe is not None:
                        pipe.close()

    def _gone(self) -> PlayerFault:
        if self._closing.is_set():
            return PlayerFault("crash", f"{self.name} was closed")
        # Its exit code and last words may be a moment behind the end of its output.
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=2)
            self._threads[1].join(timeout=2)
        code = self._process.poll()
        how = "closed its output" if code is None else f"ended with code {code}"
        said = f"; it said: {' / '.join(self._complaints)}" if self._complaints else ""
        return PlayerFault("crash", f"{self.name} {how}{said}")

    def _read_output(self) -> None:
        assert self._process.stdout is not None
        with contextlib.suppress(OSError, ValueError):
            while line := self._process.stdout.readline(_LONGEST_LINE):
                self._put(line.decode(errors="replace").rstrip("\r\n"))
                if self._closing.is_set():
                    break
        self._put(None)

    def _put(self, line: str | None) -> None:
        while not self._closing.is_set():
            try:
                self._lines.put(line, timeout=0.1)
                return
            except queue.Full:
                continue
        if line is None:
            # Someone may be waiting in `read` while another thread closes.
            with contextlib.suppress(queue.Full):
                self._lines.put_nowait(None)

    def _read_errors(self) -> None:
        assert self._process.stderr is not None
        with contextlib.suppress(OSError, ValueError):
            while line := self._process.stderr.readline(_LONGEST_LINE):
                if text := line.decode(errors="replace").strip():
                    self._complaints.append(text[:200])
