"""The commands whose writes are made to fail, and what must be true of their folders."""

import json
import random
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import chess
import chess.pgn
from safetensors import safe_open
from zerogames_chess.nnue.network import read_network
from zerogames_chess.nnue.records import map_records

from zerogames.data.shard import read_shard
from zerogames.nets.net_info import read_net_info
from zerogames.runs.game_files import game_files, read_games
from zerogames.train.checkpoint import read_checkpoint

ENGINE = '''#!{python}
"""A UCI engine that counts material."""
import sys
import chess
for line in sys.stdin:
    words = line.split()
    if words == ["uci"]:
        print("id name counter 1.0\\nuciok", flush=True)
    elif words == ["isready"]:
        print("readyok", flush=True)
    elif words[:2] == ["position", "fen"]:
        board = chess.Board(" ".join(words[2:]))
    elif words[:1] == ["go"]:
        score = sum(p.piece_type * (100 if p.color == board.turn else -100)
                    for p in board.piece_map().values())
        move = next(iter(board.legal_moves)).uci()
        print(f"info depth 1 score cp {{score}} pv {{move}}\\nbestmove {{move}}", flush=True)
    elif words == ["quit"]:
        break
'''


@dataclass(frozen=True, kw_only=True)
class FaultyCommand:
    """A command that writes into a folder."""

    name: str
    arguments: Callable[[Path], Sequence[str]]
    """The whole command, given its folder."""
    counted: Callable[[Path], set[str]]
    """What the folder promises to keep, read from its files; it may only grow."""
    finished: Callable[[Path], object]
    """What must be the same as without a fault when the command has ended."""


def selfplay(_: Path) -> FaultyCommand:
    """Self-play with a journal entry for almost every game, and shards of a few games."""
    words = ["selfplay", "--game", "connect4", "--net", "res_3x3_1x8", "--games", "10"]
    words += ["--lanes", "1", "--simulations", "4", "--shard-positions", "130", "--sync-s", "0"]
    words += ["--pool.parallel-games", "4", "--search.cache-mebibytes", "1"]
    return FaultyCommand(
        name="selfplay",
        arguments=lambda out: [*words, "--out", str(out)],
        counted=lambda out: _games(out) | _files_of("net.safetensors")(out),
        finished=lambda out: (
            (out / "net.safetensors").is_file(),
            not list(out.glob("shards/*.journal")),
            _sums_add_up(out),
        ),
    )


def train(_: Path) -> FaultyCommand:
    """Two generations of training with ratings."""
    words = ["train", "--game", "connect4", "--preset", "quick", "--net", "res_3x3_1x8"]
    words += ["--generations", "2", "--lanes", "1", "--simulations", "4", "--generation-positions"]
    words += ["64", "--first-positions", "64", "--pool.parallel-games", "8", "--trainer.threads"]
    words += ["1", "--trainer.batch-size", "32", "--window.min-positions", "100", "--rating.share"]
    words += ["0.5", "--rating.visits", "2", "--rating.pairs", "1", "--rating.anchors", "random"]
    words += ["--rating.no-perfect", "--reuse", "0.5", "--search.cache-mebibytes", "1"]
    return FaultyCommand(
        name="train",
        arguments=lambda out: [*words, "--out", str(out)],
        counted=lambda out: _games(out) | _training_lines(out),
        finished=lambda out: (
            _newest_state(out)["extra"]["ledger"]["generation"],
            _newest_state(out)["step"] == read_net_info(out / "net.safetensors").step,
        ),
    )


def train_in_parts(inputs: Path) -> FaultyCommand:
    """Training that makes a checkpoint after every portion of a round."""
    whole = train(inputs)
    return replace(
        whole,
        name="train, checkpoints inside a round",
        arguments=lambda out: [*whole.arguments(out), "--checkpoint-s", "0.001"],
    )


def match(_: Path) -> FaultyCommand:
    """A match of four games."""
    words = ["match", "--game", "connect4", "random", "mcts:4", "--games", "4"]
    return FaultyCommand(
        name="match",
        arguments=lambda out: [*words, "--out", str(out)],
        counted=lambda out: set(_whole_lines(out / "games.jsonl")),
        finished=lambda out: (
            sorted(json.loads(line)["key"] for line in _whole_lines(out / "games.jsonl")),
            (out / "games.txt").read_text().count("[game "),
            (out / "report.json").stat().st_size > 0,
        ),
    )


def nnue_data(inputs: Path) -> FaultyCommand:
    """Labels in three chunks."""
    engine = inputs / "engine"
    engine.write_text(ENGINE.format(python=sys.executable))
    engine.chmod(0o755)
    words = ["nnue", "data", "--pgn", str(_pgn(inputs)), "--engine", str(engine), "--chunk", "4"]
    words += ["--units-per-centipawn", "2", "--samples-per-game", "2", "--depth", "1"]
    return FaultyCommand(
        name="nnue data",
        arguments=lambda out: [*words[:2], str(out), *words[2:]],
        counted=_files_of("chunks/*.zgd", "*.zgd"),
        finished=_files_of("*.zgd"),
    )


def nnue_train(inputs: Path) -> FaultyCommand:
    """Two epochs on the labels of `nnue_data`."""
    words = ["--m", "8", "--o", "8", "--p", "0", "--epochs", "2", "--batch", "16"]
    words += ["--threads", "1", "--win-model", "official"]
    return FaultyCommand(
        name="nnue train",
        arguments=lambda out: ["nnue", "train", str(inputs / "labels"), str(out), *words],
        counted=_epochs,
        finished=_files_of("network.nnue"),
    )


def pretrain(inputs: Path) -> FaultyCommand:
    """Four steps with a validation after every second."""
    words = ["pretrain", "--game", "chess", "--net", "res_3x3_1x8", "--data", str(_pgn(inputs))]
    words += ["--steps", "4", "--validation.every", "2", "--report-every", "1", "--reading.workers"]
    words += ["1", "--trainer.batch-size", "8", "--trainer.threads", "1", "--reading.keep", "1"]
    words += ["--reading.shuffle-buffer", "16", "--validation.share", "0.3"]
    return FaultyCommand(
        name="pretrain",
        arguments=lambda out: [*words, "--out", str(out)],
        counted=_training_lines,
        finished=lambda out: (
            _newest_state(out)["step"],
            (out / "MODEL_CARD.md").is_file(),
            read_net_info(out / "net.safetensors").step,
        ),
    )


COMMANDS = (selfplay, train, train_in_parts, match, nnue_data, nnue_train, pretrain)


def check_readable(out: Path) -> None:
    """Every file that is not temporary is whole; only the last line of a log may be cut off."""
    for path in out.rglob("*"):
        parts = path.relative_to(out).parts
        if path.is_dir() or any(part.startswith(".") for part in parts):
            continue
        if parts[0] == "checkpoints":
            if path.name == "trainer.json":
                read_checkpoint(path.parent)
        elif path.suffix == ".parquet":
            assert read_shard(path), path
        elif path.suffix == ".journal":
            assert not read_games(path)[1], path
        elif path.suffix == ".safetensors":
            with safe_open(path, "np") as file:
                assert all(file.get_tensor(name).size for name in file.keys())  # noqa: SIM118
        elif path.suffix == ".zgd":
            map_records(path)
        elif path.suffix == ".nnue":
            read_network(path)
        elif path.suffix == ".json":
            json.loads(path.read_text())
        elif path.suffix == ".jsonl":
            assert all(isinstance(json.loads(line), dict) for line in _whole_lines(path)), path


def left_behind(out: Path) -> list[str]:
    """Temporary files and folders, and locks."""
    return [str(path.relative_to(out)) for path in out.rglob(".*")]


def _games(out: Path) -> set[str]:
    """Every game in a shard or a journal; none may be there twice."""
    seeds = [str(game.seed) for path in game_files(out) for game in read_games(path)[0]]
    assert len(set(seeds)) == len(seeds), "a game is there twice"
    return set(seeds)


def _sums_add_up(out: Path) -> bool:
    """Whether the sums of sessions that ended are those of their games on disk."""
    for path in out.glob("session-*.json"):
        prefix = path.stem.removeprefix("session-")
        games = sum(len(read_shard(shard)) for shard in out.glob(f"shards/{prefix}-*.parquet"))
        if json.loads(path.read_text())["games"] != games:
            return False
    return True


def _files_of(*patterns: str) -> Callable[[Path], set[str]]:
    def read(out: Path) -> set[str]:
        paths = (path for pattern in patterns for path in out.glob(pattern))
        return {
            f"{path.relative_to(out)} {hash(path.read_bytes())}"
            for path in paths
            if not path.name.startswith(".")
        }

    return read


def _whole_lines(path: Path) -> list[str]:
    text = path.read_text() if path.exists() else ""
    return text[: text.rfind("\n") + 1].splitlines()


def _newest_state(out: Path) -> dict[str, dict[str, dict[str, object]]]:
    newest = max(_checkpoints(out))
    return json.loads((newest / "trainer.json").read_text())["state"]  # type: ignore[no-any-return]


def _checkpoints(out: Path) -> list[Path]:
    return [path.parent for path in out.glob("checkpoints/step-*/trainer.json")]


def _training_lines(out: Path) -> set[str]:
    """Lines of the logs up to the newest checkpoint; later steps are made again."""
    if not _checkpoints(out):
        return set()
    step = int(max(_checkpoints(out)).name.removeprefix("step-"))
    names = ("metrics.jsonl", "ratings.jsonl")
    lines = {f"{name} {line}" for name in names for line in _whole_lines(out / name)}
    made = {f"step {number}" for number in range(1, step + 1)}
    return made | {line for line in lines if json.loads(line.partition(" ")[2])["step"] <= step}


def _epochs(out: Path) -> set[str]:
    path = out / "checkpoint.safetensors"
    if not path.exists():
        return set()
    with safe_open(path, "np") as file:
        epoch = json.loads(file.metadata()["nnue"])["epoch"]
    return {f"epoch {number}" for number in range(1, epoch + 1)}


def _pgn(folder: Path) -> Path:
    path = folder / "games.pgn"
    if path.exists():
        return path
    generator = random.Random(3)
    with path.open("w") as file:
        for number in range(12):
            game = chess.pgn.Game()
            game.headers["Round"] = str(number)
            node: chess.pgn.GameNode = game
            board = chess.Board()
            while not board.is_game_over() and board.ply() < 50:
                board.push(generator.choice(list(board.legal_moves)))
                node = node.add_variation(board.peek())
            game.headers["Result"] = ("1-0", "0-1", "1/2-1/2")[number % 3]
            print(game, end="\n\n", file=file)
    return path
