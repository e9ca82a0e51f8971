"""The checkpoints of a run: which are kept, and the newest that is whole."""

import json
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import torch
from pydantic import JsonValue

from zerogames.atomic import temporary_path, write_text_atomically
from zerogames.errors import UserError
from zerogames.game import Game
from zerogames.train.checkpoint import DamagedCheckpoint
from zerogames.train.settings import TrainerSettings
from zerogames.train.trainer import Trainer

SCORE_NAME = "score.json"
_NAME = re.compile(r"step-(\d{8,})")


@dataclass(frozen=True, kw_only=True)
class Resumed:
    """The trainer to continue with."""

    trainer: Trainer
    extra: dict[str, JsonValue]
    path: Path
    refused: tuple[str, ...]
    """The faults of newer checkpoints, which were renamed to `damaged-...`."""


class CheckpointFolder:
    """Folders `step-00001000`: the newest ones and the best ones; one process writes at a time.

    Args:
        path: Where they are; made when the first is saved.
        keep_last: How many of the newest stay.
        keep_best: How many of those with the highest score stay beside them.
    """

    def __init__(self, path: str | Path, *, keep_last: int = 3, keep_best: int = 1) -> None:
        if keep_last < 1 or keep_best < 0:
            raise UserError("keep_last must be 1 or more, keep_best 0 or more")
        self.path = Path(path)
        self.keep_last = keep_last
        self.keep_best = keep_best
        self._clean()

    def _clean(self) -> None:
        """Finish or undo what a killed process left behind."""
        if not self.path.is_dir():
            return
        for left in self.path.glob(".step-*"):
            whole = self.path / left.name.removeprefix(".").removesuffix(".old")
            if left.suffix == ".old" and not whole.exists():
                left.rename(whole)  # killed between the two renames of a replacement
            else:
                shutil.rmtree(left, ignore_errors=True)

    @property
    def paths(self) -> list[Path]:
        """Oldest first."""
        if not self.path.is_dir():
            return []
        found = [path for path in self.path.iterdir() if _NAME.fullmatch(path.name)]
        return sorted(found, key=_step)

    def save(
        self,
        trainer: Trainer,
        extra: Mapping[str, JsonValue] | None = None,
        *,
        score: float | None = None,
    ) -> Path:
        """Save a trainer under its step and remove what need not be kept."""
        path = self.path / f"step-{trainer.step:08d}"
        trainer.save(path, extra)
        if score is not None:
            self.record_score(trainer.step, score)
        self._prune()
        return path

    def record_score(self, step: int, score: float) -> None:
        """Say how good a checkpoint is, the higher the better; nothing happens if it is gone."""
        path = self.path / f"step-{step:08d}"
        if path.is_dir():
            write_text_atomically(path / SCORE_NAME, json.dumps({"score": float(score)}))

    def scores(self) -> dict[Path, float]:
        """The score of each checkpoint that has one."""
        found = {}
        for path in self.paths:
            try:
                found[path] = float(json.loads((path / SCORE_NAME).read_text())["score"])
            except (OSError, ValueError, KeyError, TypeError, OverflowError, RecursionError):
                continue
        return found

    @property
    def best(self) -> Path | None:
        """The one with the highest score, the newest of equals."""
        return next(iter(self._best_first()), None)

    def _best_first(self) -> list[Path]:
        scores = self.scores()
        return sorted(scores, key=lambda path: (scores[path], _step(path)), reverse=True)

    def _prune(self) -> None:
        paths = self.paths
        kept = {*paths[-self.keep_last :], *self._best_first()[: self.keep_best]}
        for path in paths:
            if path not in kept:
                # A folder that is half deleted must not look like a checkpoint.
                doomed = temporary_path(path)
                path.rename(doomed)
                shutil.rmtree(doomed, ignore_errors=True)

    def resume(
        self,
        *,
        game: Game | None = None,
        settings: TrainerSettings | None = None,
        device: torch.device | str | None = None,
    ) -> Resumed | None:
        """Load the newest checkpoint that is whole; None if there is none at all.

        Damaged ones are renamed to `damaged-...` and named in the result. Raises `UserError` if
        all of them are, or if the newest whole one does not fit game and settings.
        """
        refused: list[str] = []
        for path in reversed(self.paths):
            try:
                trainer, extra = Trainer.load(path, game=game, settings=settings, device=device)
            except DamagedCheckpoint as error:
                refused.append(str(error))
                self._set_aside(path)
                continue
            return Resumed(trainer=trainer, extra=extra, path=path, refused=tuple(refused))
        if refused:
            raise UserError(f"no checkpoint is whole: {'; '.join(refused)}")
        return None

    def _set_aside(self, path: Path) -> None:
        aside = path.with_name(f"damaged-{path.name}")
        shutil.rmtree(aside, ignore_errors=True)
        path.rename(aside)


def _step(path: Path) -> int:
    return int(path.name.removeprefix("step-"))
