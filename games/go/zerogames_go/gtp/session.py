"""One GTP session: reads commands and answers each, whatever it was."""

import sys
import threading
import traceback
from collections.abc import Iterator, Sequence
from functools import cache
from typing import BinaryIO, TextIO

from zerogames.engine import ThinkLimits
from zerogames.engine.fallback import one_line
from zerogames.errors import UserError
from zerogames.runs.signals import hold_back_ctrl_c
from zerogames.version import __version__
from zerogames_go.gtp.analysis import AnalysisPrinter, AnalysisRequest, parse_analysis
from zerogames_go.gtp.play_commands import PlayCommands
from zerogames_go.gtp.player import MoveRequest, Watcher
from zerogames_go.gtp.protocol import (
    MAX_LINE,
    VERSION,
    Request,
    SyntaxFault,
    format_answer,
    parse_request,
)
from zerogames_go.gtp.setup_commands import SetupCommands
from zerogames_go.gtp.table import Table

_ANALYZE = {
    "lz-analyze": False,
    "analyze": False,
    "kata-analyze": True,
}
_GENMOVE_ANALYZE = {
    "lz-genmove_analyze": False,
    "genmove_analyze": False,
    "kata-genmove_analyze": True,
}
"""Whether the lines are KataGo's, by command."""


class GtpSession:
    """Answers line by line; only an analysis runs on its own until the next line comes."""

    def __init__(self, table: Table, *, output: TextIO, name: str = "zerogames") -> None:
        self._table = table
        self._output = output
        self._writing = threading.Lock()
        self._analysis: threading.Thread | None = None
        self._stop = threading.Event()
        self._play = PlayCommands(table)
        self._handlers = {
            "protocol_version": lambda _: VERSION,
            "name": lambda _: name,
            "version": lambda _: __version__,
            "known_command": self._known_command,
            "list_commands": lambda _: "\n".join(self.commands),
            "quit": lambda _: "",
            **SetupCommands(table).handlers(),
            **self._play.handlers(),
        }

    @property
    def commands(self) -> list[str]:
        """All that are known."""
        return sorted([*self._handlers, *_ANALYZE, *_GENMOVE_ANALYZE])

    def run(self, lines: BinaryIO) -> None:
        """Answer until `quit` or the end of the input."""
        try:
            for line in read_lines(lines):
                if not self.answer(line):
                    break
        finally:
            self.end_analysis()

    def answer(self, line: str) -> bool:
        """Answer one line; false after `quit`. Any line, also an empty one, ends an analysis."""
        self.end_analysis()
        request = parse_request(line)
        if request is None:
            return True
        try:
            self._answer(request)
        except SyntaxFault as error:
            self._fail(request, f"syntax error: {error}")
        except UserError as error:
            self._fail(request, str(error))
        except Exception as error:
            # A mistake of ours must not end the game of those who play.
            traceback.print_exc(file=sys.stderr)
            self._fail(request, f"internal error: {one_line(error)}")
        return request.name != "quit"

    def end_analysis(self) -> None:
        """Stop a running analysis and wait until its answer is complete."""
        if self._analysis is not None:
            self._stop.set()
            self._analysis.join()
            self._analysis = None

    def _answer(self, request: Request) -> None:
        if request.name in _ANALYZE:
            self._analyze(request, kata=_ANALYZE[request.name])
        elif request.name in _GENMOVE_ANALYZE:
            self._genmove_analyze(request, kata=_GENMOVE_ANALYZE[request.name])
        elif request.name in self._handlers:
            text = self._handlers[request.name](request.arguments)
            self._say(format_answer(request, text))
        else:
            raise UserError("unknown command")

    def _fail(self, request: Request, text: str) -> None:
        self._say(format_answer(request, " ".join(text.split()), failed=True))

    def _say(self, text: str) -> None:
        with self._writing:
            self._output.write(text)
            self._output.flush()

    def _known_command(self, arguments: Sequence[str]) -> str:
        return str(bool(arguments) and arguments[0] in self.commands).lower()

    def _watch(self, wanted: AnalysisRequest, *, kata: bool) -> Watcher:
        """One that prints what it is told."""
        played = self._table.played
        state = played.state_for(wanted.colour)
        # Asked where the search runs: an evaluator serves one thread.
        view = cache(lambda: self._table.player.view(played, wanted.colour))
        printer = AnalysisPrinter(played.game, state, wanted, kata=kata, view=view)
        return Watcher(
            tell=lambda thought: self._say(printer.line(thought) + "\n"),
            interval_s=wanted.interval_s,
            lines=max(1, wanted.max_moves),
        )

    def _wanted(self, request: Request) -> AnalysisRequest:
        played = self._table.played
        return parse_analysis(played.game, request.arguments, to_play=played.to_play)

    def _analyze(self, request: Request, *, kata: bool) -> None:
        wanted = self._wanted(request)
        watcher = self._watch(wanted, kata=kata)
        legal = self._table.played.state_for(wanted.colour).legal_actions().tolist()
        allowed = [action for action in legal if wanted.allowed is None or action in wanted.allowed]
        if not allowed:
            raise UserError("none of these moves is legal")
        self._say(f"={request.id}\n")
        self._stop.clear()

        def work() -> None:
            try:
                thought = self._table.player.think(
                    self._table.played,
                    wanted.colour,
                    ThinkLimits(infinite=True, allowed=tuple(allowed)),
                    stop=self._stop,
                    watcher=watcher,
                )
                # So that an analysis shorter than the interval says something, too.
                watcher.tell(thought)
            except Exception:
                traceback.print_exc(file=sys.stderr)
            self._say("\n")

        with hold_back_ctrl_c():
            self._analysis = threading.Thread(target=work, name="analysis")
            self._analysis.start()

    def _genmove_analyze(self, request: Request, *, kata: bool) -> None:
        wanted = self._wanted(request)
        watcher = self._watch(wanted, kata=kata)
        self._say(f"={request.id}\n")
        try:
            move = self._play.make_move(
                MoveRequest(
                    colour=wanted.colour,
                    budget=self._table.budget(wanted.colour),
                    watcher=watcher,
                    allowed=wanted.allowed,
                )
            )
        except Exception as error:
            # The answer has begun; a move must come.
            print(f"genmove: {one_line(error)}", file=sys.stderr)
            move = "resign"
        self._say(f"play {move}\n\n")


def read_lines(stream: BinaryIO) -> Iterator[str]:
    """Lines of any bytes; what is too long for a command is cut off."""
    while line := stream.readline(MAX_LINE):
        rest = line
        while rest and not rest.endswith(b"\n"):
            rest = stream.readline(MAX_LINE)
        yield line.decode("utf-8", errors="replace")
