"""Training: batches of records through the float network, with exact resume."""

import math
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from rich.console import Console
from torch import Tensor
from zerogames_kernels.memory import keep_freed_memory

from zerogames.errors import UserError, unknown_name
from zerogames.runs.disk import name_disk_errors
from zerogames.runs.display import Display, Frame
from zerogames.runs.folder import SettingsFolder
from zerogames.runs.metrics_log import Events
from zerogames.runs.signals import interrupt_on_sigterm
from zerogames_chess.nnue import _native
from zerogames_chess.nnue.checkpoint import load_checkpoint, save_checkpoint
from zerogames_chess.nnue.inference import record_bytes
from zerogames_chess.nnue.losses import PRESETS, WinModel, eval_loss, fit_win_model, pqr_loss
from zerogames_chess.nnue.model import FeatureBatch, NnueModel
from zerogames_chess.nnue.network import write_network
from zerogames_chess.nnue.quantize import quantize
from zerogames_chess.nnue.records import map_records, mirror_records, read_header
from zerogames_chess.nnue.train import TrainOptions

SAFE_INPUTS = 128
"""The largest number of inputs of a layer that takes the whole learning rate."""


class Trainer:
    """A model, its data and the state between epochs."""

    def __init__(self, options: TrainOptions) -> None:
        _check(options)
        torch.set_num_threads(options.threads)
        keep_freed_memory()
        torch.manual_seed(options.seed)
        self.options = options
        self.training = _load(options.data / "training.zgd")
        self.validation = _load(options.data / "validation.zgd", may_be_empty=True)
        self.model = NnueModel(options.features, options.m, options.o, options.p)
        self.optimizer = torch.optim.Adam(_parameter_groups(self.model), fused=True)
        self.win_model = self._win_model()
        self.epoch = 0
        if self.checkpoint.exists():
            self.epoch = load_checkpoint(self.checkpoint, self.model, self.optimizer)
        elif options.start is not None:
            load_checkpoint(options.start, self.model)

    @property
    def checkpoint(self) -> Path:
        """The state after the last whole epoch."""
        return self.options.out / "checkpoint.safetensors"

    def _win_model(self) -> WinModel:
        name = self.options.win_model
        if name == "fit":
            rows = self.training[:: max(1, len(self.training) // 1_000_000)]
            return fit_win_model(rows["score"], rows["result"])
        if name not in PRESETS:
            raise unknown_name("win model", name, [*PRESETS, "fit"])
        return PRESETS[name]

    def train_epoch(self) -> tuple[float, float]:
        """One pass; returns mean loss and samples per second."""
        for group in self.optimizer.param_groups:
            rate = self.options.learning_rate * self.options.decay**self.epoch
            group["lr"] = rate * group["share"]
        began, total, samples = time.perf_counter(), 0.0, 0
        for records in self._batches():
            self.optimizer.zero_grad(set_to_none=True)
            loss = self._loss(records)
            loss.backward()  # type: ignore[no-untyped-call]
            self.optimizer.step()
            self.model.clip_weights()
            total += float(loss.detach()) * len(records.rows)
            samples += len(records.rows)
        self.epoch += 1
        return total / max(1, samples), samples / (time.perf_counter() - began)

    @torch.no_grad()
    def validate(self) -> float:
        """Mean loss of the held-out games by `eval`, whatever the method of training."""
        total = 0.0
        for first in range(0, len(self.validation), 65_536):
            rows = self.validation[first : first + 65_536]
            batch = self.model.batch(record_bytes(rows))
            total += float(self._eval_loss(rows, batch)) * len(rows)
        return total / max(1, len(self.validation))

    def export(self, path: Path) -> None:
        """Write the integer network."""
        write_network(path, quantize(self.model.features, self.model.weights()))

    def _batches(self) -> Iterator["_Prepared"]:
        """This epoch's batches, each prepared while the one before is trained on."""
        number = self.options.epoch_samples or len(self.training)
        generator = np.random.default_rng([self.options.seed, self.epoch])
        order = generator.permutation(len(self.training))
        order = np.resize(order, number)  # Repeats if more are wanted than there are.
        starts = range(0, number, self.options.batch)
        with ThreadPoolExecutor(1) as ahead:
            following = ahead.submit(self._prepare, order[: self.options.batch], 0)
            for step, first in enumerate(starts):
                current = following.result()
                after = first + self.options.batch
                if after < number:
                    chosen = order[after : after + self.options.batch]
                    following = ahead.submit(self._prepare, chosen, step + 1)
                yield current

    def _prepare(self, chosen: NDArray[np.int64], step: int) -> "_Prepared":
        rows = self.training[np.sort(chosen)]
        if self.options.mirror:
            generator = np.random.default_rng([self.options.seed, self.epoch, step])
            turned = generator.random(len(rows)) < 0.5
            rows[turned] = mirror_records(rows[turned])
        data = record_bytes(rows)
        if self.options.method == "eval":
            return _Prepared(rows, [self.model.batch(data)])
        seed = (self.options.seed << 40) ^ (self.epoch << 20) ^ step
        usable, best, other = _native.successors(data, seed)
        rows, data = rows[usable != 0], data[usable != 0]
        parts = (data, best.reshape(-1, 40), other.reshape(-1, 40))
        return _Prepared(rows, [self.model.batch(np.ascontiguousarray(part)) for part in parts])

    def _loss(self, prepared: "_Prepared") -> Tensor:
        if self.options.method == "eval":
            return self._eval_loss(prepared.rows, prepared.batches[0])
        p, q, r = (self.model(batch) for batch in prepared.batches)
        return pqr_loss(p, q, r, equality=self.options.equality)

    def _eval_loss(self, rows: NDArray[np.void], batch: FeatureBatch) -> Tensor:
        score = torch.from_numpy(rows["score"].astype(np.float32))
        result = torch.from_numpy((rows["result"].astype(np.float32) + 1) / 2)
        weight = self.options.label_weight
        return eval_loss(self.win_model, self.model(batch), score, result, label_weight=weight)


def _parameter_groups(model: NnueModel) -> list[dict[str, object]]:
    """The parameters in groups, with the share of the learning rate that each gets.

    At first all inputs of the second layer are alike, about 0.5, and Adam moves all weights of a
    unit by the same step: a thousand inputs push it out of its range at once, where it learns
    no more.
    """
    wide = model.second.weight
    others = [parameter for parameter in model.parameters() if parameter is not wide]
    share = min(1.0, SAFE_INPUTS / wide.shape[1])
    return [{"params": others, "share": 1.0}, {"params": [wide], "share": share}]


@dataclass(frozen=True)
class _Prepared:
    rows: NDArray[np.void]
    batches: list[FeatureBatch]


def _check(options: TrainOptions) -> None:
    if min(options.batch, options.threads, options.epochs) < 1 or options.epoch_samples < 0:
        raise UserError("batch, threads and epochs must be at least 1")
    if not 0 <= options.label_weight <= 1:
        raise UserError(f"label weight {options.label_weight}: must be from 0 to 1")


def _load(path: Path, *, may_be_empty: bool = False) -> NDArray[np.void]:
    unit = read_header(path).get("unit")
    if unit != "internal":
        raise UserError(f"{path}: scores in unit {unit!r}; must be 'internal'")
    records = map_records(path)
    if not len(records) and not may_be_empty:
        raise UserError(f"{path} has no positions; label more games")
    return records


def run(options: TrainOptions) -> float:
    """Train until the wanted number of epochs, then write the integer network.

    Returns:
        Samples per second of the last epoch; infinite if none was left to do.
    """
    settings = asdict(options)
    for irrelevant in ("out", "epochs", "threads"):
        del settings[irrelevant]
    with (
        name_disk_errors(options.out),
        SettingsFolder(options.out, settings) as folder,
        interrupt_on_sigterm(),
        Display(Console()) as display,
    ):
        trainer = Trainer(options)
        folder.begin()
        display.line(
            f"{len(trainer.training):,} positions, {options.features} "
            f"{options.m}-{options.o}-{options.p}, {trainer.win_model}"
        )
        rate = _train_epochs(trainer, display)
        network = options.out / "network.nnue"
        trainer.export(network)
        display.line(f"{network}: `zerogames uci --nnue {network}` plays it")
    return rate


def _train_epochs(trainer: Trainer, display: Display) -> float:
    """Train the epochs that are left, each with a checkpoint; the last one's samples per second."""
    options, rate = trainer.options, math.inf
    events = Events(options.out / "tensorboard", step=trainer.epoch)
    while trainer.epoch < options.epochs:
        display.show(Frame(done=trainer.epoch / options.epochs, title="training"))
        loss, rate = trainer.train_epoch()
        validation = trainer.validate()
        save_checkpoint(trainer.checkpoint, trainer.model, trainer.optimizer, trainer.epoch)
        losses = {"training": loss, "validation": validation}
        events.add("loss", {"step": trainer.epoch, **losses})
        events.add("speed", {"step": trainer.epoch, "samples per second": rate})
        display.line(
            f"epoch {trainer.epoch}/{options.epochs}: loss {loss:.5f}, "
            f"validation {validation:.5f}, {rate:,.0f} samples/s"
        )
    return rate
