"""A hundred thousand lines of sense and nonsense: each command is answered once, in order."""

import random
from pathlib import Path

import pytest
from gtp_client import Conversation
from zerogames_go.gtp.protocol import parse_request

NUM_LINES = 100_000
_SILLY = (
    *("", "-1", "0", "1", "3", "7", "999999999999999999999", "1e400", "nan", "0.5", "-3.5", "x"),
    *("1e-300", "5e-324", "inf", "-inf", "-0.0", "1_0", "9" * 400, "1e308"),
    *("absolute", "canadian", "byoyomi", "fischer", "fischer-capped", "none", "minmoves"),
    *("b", "w", "BLACK", "white", "grey", "pass", "PASS", "resign", "A1", "b2", "C3", "i5", "Z99"),
    *(
        "A0",
        "alive",
        "dead",
        "seki",
        "interval",
        "maxmoves",
        "allow",
        "avoid",
        "A1,B2",
        "ownership",
    ),
    *("true", "japanese", "tromp-taylor", "{", '{"ko":"SIMPLE"}', "[]", "no.sgf", "\u0663", "é"),
)
_RARE = ("boardsize", "rectangular_boardsize", "quit", "lz-analyze", "analyze", "kata-analyze")


class Fuzzer:
    """Makes lines; most of them are nearly right."""

    def __init__(self, commands: list[str], seed: int) -> None:
        self._random = random.Random(seed)
        self._commands = [command for command in commands if command not in _RARE]

    def line(self) -> str:
        pick = self._random.random()
        if pick < 0.35:
            return self._id() + f"play {self._colour()} {self._vertex()}"
        if pick < 0.40:
            return self._id() + f"genmove {self._colour()}"
        if pick < 0.44:
            return self._id() + self._random.choice(("undo", "showboard", "final_score", "name"))
        if pick < 0.46:
            return self._id() + f"time_left {self._colour()} 0.01 {self._random.randrange(3)}"
        if pick < 0.47:
            return f"{self._random.choice(_RARE)} {self._random.randrange(2, 6)}"
        if pick < 0.48:
            return self._random.choice(("clear_board", "fixed_handicap 2", "place_free_handicap 3"))
        if pick < 0.85:
            words = self._random.choices(_SILLY, k=self._random.randrange(5))
            return self._id() + " ".join([self._random.choice(self._commands), *words])
        return self._garbage()

    def _id(self) -> str:
        return f"{self._random.randrange(10_000)} " if self._random.random() < 0.3 else ""

    def _colour(self) -> str:
        return self._random.choice(("b", "w", "Black", "WHITE"))

    def _vertex(self) -> str:
        point = self._random.choice("ABCDEabcde") + str(self._random.randrange(1, 6))
        return point if self._random.random() < 0.97 else "pass"

    def _garbage(self) -> str:
        kind = self._random.randrange(6)
        if kind == 0:
            return "".join(chr(self._random.randrange(256)) for _ in range(20)).replace("/", "")
        if kind == 1:
            return "# a comment\r"
        if kind == 2:
            return " \t "
        if kind == 3:
            return "x" * 5000
        if kind == 4:
            return "\x00play\x07 b\tA1\r # moved"
        return "".join(self._random.choices("0123456789 =?#{}[]();:.,\x1b", k=12))


@pytest.mark.parametrize("evaluator", ["constant", "random"])
def test_every_line_is_answered(
    evaluator: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)  # printsgf writes files
    talk = Conversation(size=3, evaluator=evaluator, nodes=2)
    fuzzer = Fuzzer(talk.session.commands, seed=len(evaluator))
    ids = []
    asked = []
    for _ in range(NUM_LINES // 2):
        line = fuzzer.line()
        request = parse_request(line)
        if request is not None:
            ids.append(request.id)
            asked.append(request.name)
        goes_on = talk.session.answer(line)
        assert goes_on == (request is None or request.name != "quit")
    talk.session.end_analysis()
    *answers, rest = talk.output.getvalue().split("\n\n")
    assert rest == ""
    assert len(answers) == len(ids)
    for given, name, answer in zip(ids, asked, answers, strict=True):
        assert answer.startswith((f"={given}", f"?{given}")), (given, name, answer)
        assert "internal error" not in answer
        # What the engine wants to play is never illegal.
        assert name != "genmove" or "illegal" not in answer
    assert capfd.readouterr().err == ""
    failed = sum(answer.startswith("?") for answer in answers)
    assert 0.2 < failed / len(answers) < 0.8
