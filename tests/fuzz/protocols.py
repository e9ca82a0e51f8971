"""Sends random lines to a real engine process and checks every answer; `make fuzz-engines`.

    python tests/fuzz/protocols.py uci|uci-nnue|usi|gtp|gtp-analysis [--lines N] [--seconds S]

Fails at a death, an internal error, a traceback, an answer too many or too few, and an illegal
move. Moves of chess are checked by python-chess and by our rules, moves of shogi and Go by our
rules on the position or game that the engine prints. One JSON line gives the figures.
"""

import argparse
import collections
import contextlib
import dataclasses
import json
import random
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from queue import Empty, Queue
from typing import Any, Protocol

import chess
from zerogames_chess._native import State
from zerogames_go import GoOptions
from zerogames_go.gtp.json_query import parse_query
from zerogames_go.gtp.played_game import GtpGame
from zerogames_go.gtp.protocol import is_colour, parse_colour, parse_request
from zerogames_go.gtp.rule_names import parse_rules
from zerogames_shogi.usi import UsiPosition

from zerogames.errors import UserError
from zerogames.nets import build_model, parse_net_name, save_net
from zerogames.registry import get_game

ROOT = Path(__file__).parents[2]
sys.path += [
    str(ROOT / folder)
    for folder in ("games/chess/tests/uci", "games/go/tests", "games/shogi/tests/usi")
]

import test_fuzz as uci_fuzz  # noqa: E402
import test_gtp_fuzz as gtp_fuzz  # noqa: E402
import test_usi_fuzz as usi_fuzz  # noqa: E402

BLOCK = 500
"""Lines between two waits for all answers."""
PATIENCE_S = 120.0
SAMPLES = 40
OUR_MISTAKE = re.compile(r"internal error|Traceback|[A-Z][A-Za-z]+Error\b|playing by the shipped")


def figures(pid: int) -> tuple[int, int, int]:
    """Private resident mebibytes, threads and open files of a process."""
    folder = Path(f"/proc/{pid}")
    status = (folder / "status").read_text()
    numbers = dict(re.findall(r"^(RssAnon|Threads):\s+(\d+)", status, re.MULTILINE))
    return (
        int(numbers["RssAnon"]) >> 10,
        int(numbers["Threads"]),
        len(list((folder / "fd").iterdir())),
    )


class Process:
    """The engine, its lines and its memory."""

    def __init__(self, arguments: list[str], folder: Path) -> None:
        self.errors = folder / "stderr"
        with self.errors.open("wb") as errors:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "zerogames", *arguments],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                cwd=folder,
            )
        self._lines: Queue[str | None] = Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._lines.put(line.decode("utf-8", "replace").rstrip("\n"))
        self._lines.put(None)

    def send(self, lines: list[str]) -> None:
        """Send lines; what UTF-8 cannot say is sent as other bytes."""
        assert self._process.stdin is not None
        text = "".join(re.sub(r"[\r\n]", " ", line) + "\n" for line in lines)
        self._process.stdin.write(text.encode("utf-8", "surrogatepass"))
        self._process.stdin.flush()

    def line(self) -> str:
        """The next line that the engine says."""
        try:
            line = self._lines.get(timeout=PATIENCE_S)
        except Empty:
            raise SystemExit(f"no answer within {PATIENCE_S:g} s") from None
        if line is None:
            raise SystemExit(f"the engine died with code {self._process.wait()}")
        return line

    @property
    def pid(self) -> int:
        """The process's number."""
        return self._process.pid

    def close(self) -> int:
        """End the input and return the exit code."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        return self._process.wait(PATIENCE_S)


@dataclasses.dataclass
class Count:
    """What was seen."""

    lines: int = 0
    moves: int = 0
    """Moves that were checked."""
    mistakes: list[str] = dataclasses.field(default_factory=list)


class Talk(Protocol):
    """One protocol: makes lines and checks the answers to a block of them."""

    def block(self) -> list[str]:
        """Make lines, the last of which tells when all are answered."""

    def check(self, process: Process, count: Count) -> None:
        """Read all answers to the block."""


class UciTalk:
    """Each `go` follows a `d`, which tells the position that `bestmove` belongs to."""

    COMMANDS = (
        *("uci", "isready", "ucinewgame", "setoption", "position", "go", "stop", "ponderhit"),
        *("debug", "register", "bench", "eval", "d", "quit"),
    )
    NO_SEARCH: tuple[str, ...] = ("perft",)
    """Words with which `go` does not end in a move."""
    POSITION = "info string fen "

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._asked: collections.deque[bool] = collections.deque()
        """For each `d`, whether a search follows."""
        self._searches: collections.deque[str] = collections.deque()
        self._ready = 0

    def block(self) -> list[str]:
        lines: list[str] = []
        for _ in range(BLOCK):
            line = self.random_line()
            words = re.sub(r"[\r\n]", " ", line).encode("utf-8", "surrogatepass")
            split = words.decode("utf-8", "replace").split()
            while split and split[0] not in self.COMMANDS:
                split = split[1:]
            command = split[0] if split else ""
            if command in ("quit", "bench"):
                continue
            if command == "go" and not set(self.NO_SEARCH) & set(split[1:]):
                lines.append("d")
                self._asked.append(True)
            elif command == "d":
                self._asked.append(False)
            self._ready += command == "isready"
            lines.append(line)
        self._ready += 1
        return [*lines, "stop", "isready"]

    def check(self, process: Process, count: Count) -> None:
        while self._ready or self._asked or self._searches:
            line = process.line()
            if OUR_MISTAKE.search(line) or not (self.is_answer(line) or not line.strip()):
                count.mistakes.append(line)
            self._ready -= line == "readyok"
            if line.startswith(self.POSITION):
                if self._asked.popleft():
                    self._searches.append(line.removeprefix(self.POSITION))
            elif line.startswith("bestmove"):
                fen, move = self._searches.popleft(), line.split()[1]
                count.moves += 1
                if not self.is_legal(fen, move):
                    count.mistakes.append(f"{line} in {fen}")

    def random_line(self) -> str:
        return uci_fuzz.random_line(self._random)

    def is_answer(self, line: str) -> bool:
        return uci_fuzz.ANSWERS.match(line) is not None

    def is_legal(self, position: str, move: str) -> bool:
        return is_legal_chess(position, move)


class UsiTalk(UciTalk):
    """The same for shogi."""

    COMMANDS = (
        *("usi", "isready", "usinewgame", "setoption", "position", "go", "stop", "ponderhit"),
        *("debug", "register", "bench", "eval", "d", "gameover", "quit"),
    )
    NO_SEARCH = ("perft", "mate")
    POSITION = "info string sfen "

    def random_line(self) -> str:
        return usi_fuzz.random_line(self._random)

    def is_answer(self, line: str) -> bool:
        return usi_fuzz.ANSWERS.match(line) is not None

    def is_legal(self, position: str, move: str) -> bool:
        found = UsiPosition.of(position, (), declares=True)
        if move == "win":
            return found.state.may_declare
        return move in (found.legal_moves or ["resign"])


def is_legal_chess(fen: str, move: str) -> bool:
    """Whether python-chess and our own rules allow the move, castling in either notation."""
    boards = [chess.Board(fen, chess960=chess960) for chess960 in (False, True)]
    if move == "(none)":
        return not any(boards[0].legal_moves)
    own: set[str] = set()
    for chess960 in (False, True):
        with contextlib.suppress(UserError):  # Castling rights of Chess960 are refused elsewhere.
            own |= {text for text, _ in State.from_fen(fen, chess960).divide(1)}
    theirs = any(chess.Move.from_uci(move) in board.legal_moves for board in boards)
    return theirs and move in own


class GtpTalk:
    """Each request for a move follows `printsgf` and the rules: the game that it belongs to."""

    GENERATES = ("genmove", "reg_genmove", "kgs-genmove_cleanup")

    def __init__(self, seed: int, commands: list[str]) -> None:
        self._fuzzer = gtp_fuzz.Fuzzer(commands, seed)
        self._asked: collections.deque[tuple[str, str, tuple[str, ...]]] = collections.deque()

    def block(self) -> list[str]:
        lines: list[str] = []
        while len(lines) < BLOCK:
            line = self._fuzzer.line()
            request = parse_request(re.sub(r"[\r\n]", " ", line))
            if request is not None and request.name == "quit":
                continue
            if request is not None:
                name = request.name
                if name in self.GENERATES or name.endswith("genmove_analyze"):
                    lines += ["printsgf", "kata-get-rules"]
                    self._asked += [("", "printsgf", ()), ("", "kata-get-rules", ())]
                self._asked.append((request.id, name, tuple(request.arguments)))
            lines.append(line)
        self._asked.append(("", "protocol_version", ()))
        return [*lines, "protocol_version"]

    def check(self, process: Process, count: Count) -> None:
        sgf = rules = ""
        while self._asked:
            given, name, arguments = self._asked.popleft()
            said = list(iter(process.line, ""))
            answer = "\n".join(said)
            if OUR_MISTAKE.search(answer) or not answer.startswith((f"={given}", f"?{given}")):
                count.mistakes.append(f"{name} {arguments}: {answer[:300]}")
            text = answer[1 + len(given) :].strip()
            if name == "printsgf" and not arguments:
                sgf = text
            elif name == "kata-get-rules":
                rules = text
            elif answer.startswith("=") and (name in self.GENERATES or said[-1][:5] == "play "):
                count.moves += 1
                move = said[-1].removeprefix("play ") if name not in self.GENERATES else text
                if not is_legal_go(sgf, rules, arguments, move):
                    count.mistakes.append(f"{name} {arguments}: {move} in {sgf} by {rules}")


def is_legal_go(sgf: str, rules: str, arguments: tuple[str, ...], move: str) -> bool:
    """Whether our rules allow the move of the colour that the command names."""
    if move == "resign":
        return True
    options = GoOptions(**parse_rules(rules))  # type: ignore[arg-type]
    text = re.sub(r"RU\[[^\]]*\]", "", sgf)
    played = GtpGame.from_sgf(text.encode(), options)
    given = arguments and is_colour(arguments[0])
    colour = parse_colour(arguments[0]) if given else played.to_play
    try:
        played.play(colour, played.game.parse_point(move))
    except UserError:
        return False
    return True


class JsonTalk:
    """Queries that are nearly right, on small boards.

    None asks for 10^9 visits: that is allowed, and takes as long as it says.
    """

    SILLY: tuple[Any, ...] = (
        *(None, True, -1, 0, 1, 2, 2e9, 1e300, -0.5, 10**400, "", "x", "B", "pass", "\ud800"),
        *([], [[]], [["B", "A1"]], {}, {"ko": "SIMPLE"}, ["A1"], [0], [99], [[[[]]]]),
    )

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._number = 0
        self._open: dict[str, dict[str, Any]] = {}
        self._last = ""

    def block(self) -> list[str]:
        lines = [self._line() for _ in range(BLOCK)]
        self._number += 1
        self._last = f"sync{self._number}"
        sizes = {"boardXSize": 3, "boardYSize": 3}
        last = {"id": self._last, "moves": [], "maxVisits": 1, "priority": -(2**31), **sizes}
        return [*lines, json.dumps(last)]

    def _line(self) -> str:
        pick = self._random.random()
        if pick < 0.15:
            return "".join(self._random.choices('{}[]":,0123456789eE.-naN \\u', k=40))
        query, number = self._query(), self._number
        if pick < 0.25:
            query["action"] = self._random.choice(
                ["query_version", "clear_cache", "terminate", "terminate_all", "x", 3]
            )
            query["terminateId"] = str(self._number - self._random.randrange(5))
        for _ in range(self._random.choice([0, 0, 1, 1, 2])):
            query[self._random.choice(list(query))] = self._random.choice(self.SILLY)
        text = json.dumps(query)
        if pick > 0.9:
            cut = self._random.randrange(len(text))
            text = text[:cut] + self._random.choice(["", "NaN", "Infinity", "[" * 9]) + text[cut:]
        elif query["id"] == str(number):
            self._open[query["id"]] = query
        return text

    def _query(self) -> dict[str, Any]:
        rng = self._random
        self._number += 1
        size = rng.randrange(2, 6)
        points = ["pass", *(f"{x}{y}" for x in "ABCDE"[:size] for y in range(1, size + 1))]
        moves = [["BW"[ply % 2], rng.choice(points)] for ply in range(rng.randrange(4))]
        return {
            "id": str(self._number),
            "moves": moves,
            "rules": rng.choice(["tromp-taylor", "japanese", "chinese", "aga", "x"]),
            "komi": rng.choice([7.5, 0, -3]),
            "boardXSize": size,
            "boardYSize": size,
            "maxVisits": rng.choice([1, 1, 2, 5]),
            "analyzeTurns": [rng.randrange(len(moves) + 1)],
            "includeOwnership": rng.random() < 0.1,
            "includePolicy": rng.random() < 0.2,
            "initialStones": [["B", rng.choice(points[1:])]] if rng.random() < 0.2 else [],
            "overrideSettings": {"maxTime": 1},
        }

    def check(self, process: Process, count: Count) -> None:
        while True:
            line = process.line()
            answer = json.loads(line)
            if OUR_MISTAKE.search(line):
                count.mistakes.append(line[:300])
            if answer.get("id") == self._last:
                self._open.clear()
                return
            given = self._open.get(str(answer.get("id")))
            if given is not None and "moveInfos" in answer:
                # What was asked, after its way through JSON.
                played = parse_query(json.loads(json.dumps(given)), GoOptions(size=5)).games
                game = played[answer["turnNumber"]]
                for info in answer["moveInfos"]:
                    count.moves += 1
                    state = game.state_for(game.to_play)
                    if not state.is_legal(game.game.parse_point(info["move"])):
                        count.mistakes.append(f"{info['move']} for {given}")


def make_net(game: str, folder: Path, name: str = "res_3x3_1x8") -> Path:
    """Save a small net with random weights."""
    path = folder / "net.safetensors"
    save_net(path, build_model(parse_net_name(name, get_game(game)), get_game(game), seed=3))
    return path


def start(kind: str, seed: int, folder: Path) -> tuple[Process, Talk]:
    """Start an engine; nets are small, as the lines are what is tried."""
    few = ["--threads", "1", "--nodes", "4"]
    match kind:
        case "uci":
            net = make_net("chess", folder)
            return Process(["uci", "--net", str(net), "--hash", "16", *few], folder), UciTalk(seed)
        case "uci-nnue":
            # The time bounds searches whose 4 nodes grow to a whole first iteration.
            return Process(["uci", "--nnue", "shipped", "--nodes", "4"], folder), UciTalk(seed)
        case "usi":
            net = make_net("shogi", folder)
            return Process(["usi", "--net", str(net), "--hash", "16", *few], folder), UsiTalk(seed)
        case "gtp":
            net = make_net("go:size=5", folder, "res_3x3_1x8+gap")
            command = ["gtp", "--net", str(net), "--game", "go:size=5", "--lag", "0.01", *few]
            process = Process(command, folder)
            process.send(["list_commands"])
            commands = [line.lstrip("= ") for line in iter(process.line, "")]
            return process, GtpTalk(seed, commands)
        case _:
            net = make_net("go:size=5", folder, "res_3x3_1x8+gap")
            command = ["gtp", "--net", str(net), "--game", "go:size=5", "--analysis", *few]
            return Process(command, folder), JsonTalk(seed)


def fuzz(kind: str, lines: int, seconds: float, seed: int, folder: Path) -> dict[str, object]:
    """Talk until the lines are sent or the time is over."""
    process, talk = start(kind, seed, folder)
    count = Count()
    began = time.monotonic()
    samples: list[tuple[int, int, int]] = []
    for due in _shares(lines):
        while count.lines < due and time.monotonic() - began < seconds and not count.mistakes:
            block = talk.block()
            sender = threading.Thread(target=process.send, args=(block,))
            sender.start()  # Both pipes may be full.
            talk.check(process, count)
            sender.join()
            count.lines += len(block)
            if len(samples) < SAMPLES * (time.monotonic() - began) / seconds:
                samples.append(figures(process.pid))
        samples.append(figures(process.pid))
    code = process.close()
    said = process.errors.read_text(errors="replace")
    errors = [line for line in said.splitlines() if OUR_MISTAKE.search(line)]
    samples = samples[:-1] or samples
    memory = [sample[0] for sample in samples]
    return {
        "engine": kind,
        "lines": count.lines,
        "seconds": round(time.monotonic() - began),
        "moves_checked": count.moves,
        "exit_code": code,
        "mistakes": count.mistakes[:5] + errors[:5],
        "mib_after_a_tenth": memory[len(memory) // 10],
        "mib_half": memory[len(memory) // 2],
        "mib_end": memory[-1],
        "mib_most": max(memory),
        "threads_most": max(sample[1] for sample in samples),
        "files_most": max(sample[2] for sample in samples),
    }


def _shares(lines: int) -> Iterator[int]:
    yield from (lines * number // SAMPLES for number in range(1, SAMPLES + 1))


def main() -> int:
    """Run one engine and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("engine", choices=["uci", "uci-nnue", "usi", "gtp", "gtp-analysis"])
    parser.add_argument("--lines", type=int, default=1_000_000)
    parser.add_argument("--seconds", type=float, default=3600.0)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = fuzz(given.engine, given.lines, given.seconds, given.seed, Path(folder))
    print(json.dumps(found), flush=True)
    return 1 if found["mistakes"] or found["exit_code"] else 0


if __name__ == "__main__":
    sys.exit(main())
