"""What the page of runs asks: curves, a diagnosis, games, what the net thought at each step."""

import re
import threading
import time
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import Annotated

import numpy as np
from pydantic import Field

from zerogames.data.record import GameRecord
from zerogames.errors import UserError
from zerogames.evaluate import Evaluator, evaluate_states, open_evaluator
from zerogames.game import Game
from zerogames.report.diagnosis import diagnose
from zerogames.report.run_data import Line as Metrics
from zerogames.report.run_data import RunData, number, read_run_data
from zerogames.runs.folder import RUN_NAME, RunPaths, read_run
from zerogames.runs.game_files import game_files, read_games
from zerogames.web.asking import Asked, Routes
from zerogames.web.game_line import GameLines
from zerogames.web.play_routes import Line, Name

MOST_RUNS = 200
MOST_POINTS = 400
"""Reports that a curve shows, evenly chosen; the last one is among them."""
MOST_GAMES = 30
"""Newest games that are shown."""
KEPT_NETS = 8
"""Nets of checkpoints in memory."""
_NET_NAME = re.compile(r"step-(\d{8,})\.safetensors")
_CURVES = (
    "loss", "policy_loss", "value_loss", "validation_loss", "policy_accuracy",
    "validation_policy_accuracy", "value_mse", "games_per_h", "positions", "window",
    "learning_rate", "mean_plies", "selfplay_positions_per_s", "train_samples_per_s",
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class RunChoice:
    """One of the runs that the page was told of."""

    run: Name


@dataclass(frozen=True, kw_only=True)
class AtStep(Line):
    """What did the net of this run think of the position, after this step?"""

    run: Name
    step: Annotated[int, Field(ge=0)]


class RunRoutes:
    """Answers the page of runs. Runs are found in the folders of the command line, by their names
    there: no text of the page becomes a path.
    """  # noqa: D205

    def __init__(self, lines: GameLines, folder: Path, runs: Sequence[Path]) -> None:
        self._lines = lines
        self._folder = folder
        self._runs = runs
        self._nets: OrderedDict[Path, Evaluator] = OrderedDict()
        self._lock = threading.Lock()

    @property
    def routes(self) -> Routes:
        """By path."""
        return {
            "runs": Asked(None, self._list),
            "run": Asked(RunChoice, self._show),
            "checkpoint": Asked(AtStep, self._think),
        }

    def _known(self) -> dict[str, Path]:
        """The runs by their names, the one written last first."""
        found = {path.resolve().name: path for path in self._runs}
        if self._folder.is_dir():
            for path in self._folder.iterdir():
                if (path / RUN_NAME).is_file():
                    found.setdefault(path.name, path)
        newest_first = sorted(found.items(), key=lambda item: -_written_at(item[1]))
        return dict(newest_first[:MOST_RUNS])

    def _find(self, name: str) -> Path:
        path = self._known().get(name)
        if path is None:
            raise UserError(f"the run '{name}' is not there any more")
        return path

    def _list(self, question: None, stop: Event) -> dict[str, object]:
        runs = []
        for name, path in self._known().items():
            about = _about(path)
            runs.append(
                {"run": name, "game": str(about.get("game", "?")), "kind": about.get("kind", "?")}
            )
        return {"runs": runs, "folder": self._folder.name}

    def _show(self, question: RunChoice, stop: Event) -> dict[str, object]:
        path = self._find(question.run)
        run = read_run_data(path)
        problems = list(run.problems)
        records = _newest_games(path, run.game, problems)
        idle_s = max(0.0, time.time() - _written_at(path))
        return {
            "run": question.run,
            "game": run.game.spec.identity,
            "metrics": [
                {key: number(line, key) for key in ("time_s", "step", *_CURVES)}
                for line in _thinned(run.metrics)
            ],
            "ratings": [
                {key: number(line, key) for key in ("time_s", "step", "elo", "low", "high")}
                for line in _thinned(run.ratings)
            ],
            "steps": sorted(_nets(path)),
            "findings": [vars(one) for one in diagnose(run, idle_s=idle_s, records=records)],
            "games": [_shown_game(run, record) for record in records],
            "problems": problems[:20],
        }

    def _think(self, question: AtStep, stop: Event) -> dict[str, object]:
        line = self._lines.replay(question.game, question.start, question.actions)
        if line.state.result is not None:
            raise UserError("the game is over")
        net = _nets(self._find(question.run)).get(question.step)
        if net is None:
            raise UserError(f"the net of step {question.step} is not there any more")
        with self._lock:  # Evaluators are for one thread at a time, and small nets are quick.
            (found,) = evaluate_states(self._evaluator(line.game, net), [line.state])
        best = sorted(found.policy.items(), key=lambda item: -item[1])
        return {
            "step": question.step,
            "to_play": line.state.to_play,
            "wdl": found.wdl,
            "moves": [
                {
                    "action": action,
                    "text": line.game.notation(line.state, action),
                    "prior": share,
                }
                for action, share in best[:8]
            ],
        }

    def _evaluator(self, game: Game, net: Path) -> Evaluator:
        if net not in self._nets:
            self._nets[net] = open_evaluator(game, kind="native", net=net, threads=1)
        self._nets.move_to_end(net)
        while len(self._nets) > KEPT_NETS:
            self._nets.popitem(last=False)
        return self._nets[net]


def _about(path: Path) -> Metrics:
    try:
        return read_run(path) or {}
    except UserError:
        return {}


def _written_at(path: Path) -> float:
    """When a file of the run was written last."""
    paths = RunPaths(path)
    latest = 0.0
    for file in (path, paths.metrics, paths.ratings, paths.shards, paths.nets, path / RUN_NAME):
        try:
            latest = max(latest, file.stat().st_mtime)
        except OSError:
            continue
    return latest


def _nets(path: Path) -> dict[int, Path]:
    """The nets that played, by their training steps."""
    folder = RunPaths(path).nets
    if not folder.is_dir():
        return {}
    found = ((_NET_NAME.fullmatch(file.name), file) for file in folder.iterdir())
    return {int(match[1]): file for match, file in found if match}


def _thinned(lines: Sequence[Metrics]) -> list[Metrics]:
    if len(lines) <= MOST_POINTS:
        return list(lines)
    chosen = np.linspace(0, len(lines) - 1, MOST_POINTS).round().astype(int)
    return [lines[index] for index in chosen]


def _newest_games(path: Path, game: Game, problems: list[str]) -> list[GameRecord]:
    """Some of the games that were finished last."""
    files = sorted(game_files(path), key=_written_at_file, reverse=True)
    found: list[GameRecord] = []
    for file in files[:10]:
        try:
            records, problem = read_games(file)
        except (UserError, OSError) as error:
            problems.append(str(error))
            continue
        if problem:
            problems.append(problem)
        found += [one for one in reversed(records) if one.game == game.spec.identity]
        if len(found) >= MOST_GAMES:
            break
    return found[:MOST_GAMES]


def _written_at_file(file: Path) -> float:
    try:
        return file.stat().st_mtime
    except OSError:
        return 0.0


def _shown_game(run: RunData, record: GameRecord) -> dict[str, object]:
    """A game, with the value of each position in the view of the side to move."""
    values: list[float | None] = []
    if record.search is not None:
        root = record.search.values["root_q"]
        values = [float(value) if np.isfinite(value) else None for value in root]
    return {
        "start": record.start,
        "actions": record.actions.tolist(),
        "result": record.result,
        "reason": record.reason,
        "net": record.net[:40],
        "values": values,
    }
