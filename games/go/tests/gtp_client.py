"""A conversation with the engine in this process."""

import io
from pathlib import Path

from zerogames_go import GoOptions
from zerogames_go.gtp.player import GoPlayer
from zerogames_go.gtp.session import GtpSession
from zerogames_go.gtp.settings import GtpSettings
from zerogames_go.gtp.table import Table


def small_settings(**changes: object) -> GtpSettings:
    """Few nodes with an evaluator that needs no net."""
    given = {"evaluator": "random", "nodes": 16, "threads": 1, "lag": 0.01, **changes}
    return GtpSettings(**given)  # type: ignore[arg-type]


class Conversation:
    """Sends commands and reads answers."""

    def __init__(self, *, size: int = 5, net: Path | None = None, **settings: object) -> None:
        self.output = io.StringIO()
        self.table = Table(GoPlayer(small_settings(net=net, **settings)), GoOptions(size=size))
        self.session = GtpSession(self.table, output=self.output)

    def raw(self, line: str) -> str:
        """Everything that is said to a line."""
        self.output.seek(0)
        self.output.truncate()
        self.session.answer(line)
        return self.output.getvalue()

    def ask(self, command: str) -> str:
        """The text of a success."""
        answer = self.raw(command)
        assert answer.startswith("="), f"{command}: {answer}"
        assert answer.endswith("\n\n"), answer
        return answer[1:].strip()

    def fails(self, command: str) -> str:
        """The text of a failure."""
        answer = self.raw(command)
        assert answer.startswith("?"), f"{command}: {answer}"
        assert answer.endswith("\n\n"), answer
        return answer[1:].strip()

    def moves(self, text: str) -> None:
        """Play words such as `bD4`."""
        for word in text.split():
            self.ask(f"play {word[0]} {word[1:]}")
