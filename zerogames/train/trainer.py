"""The trainer: a model, an optimizer and an average of weights, moved batch by batch."""

import copy
import math
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, Self

import torch
from pydantic import JsonValue
from torch import Tensor, nn
from torch.distributed import all_reduce, get_world_size, is_available, is_initialized
from torch.nn.parallel import DistributedDataParallel
from zerogames_kernels.memory import keep_freed_memory

from zerogames.data.sample import SampleBatch
from zerogames.data.split import mix
from zerogames.errors import UserError
from zerogames.game import Game
from zerogames.nets import LossSettings, Model, NetSpec, Output, compute_losses, compute_metrics
from zerogames.nets.layers import NORM_MOMENTUM, BatchNorm
from zerogames.nets.losses import decayed_parameters, end_losses
from zerogames.nets.spec import KernelStage
from zerogames.train.averaging import WeightAverage
from zerogames.train.checkpoint import TrainerState, read_checkpoint, write_checkpoint
from zerogames.train.schedule import learning_rate_at
from zerogames.train.settings import TrainerSettings
from zerogames.train.targets import make_targets


class Trainer:
    """Changes a model by batches.

    On a CPU it lets the whole process keep freed memory, which makes a step faster, and it sets
    torch's number of threads if the settings name one.

    Inside an initialised process group of torch (Ray Train makes one) the steps of all its members
    are one: each takes its own batch, gradients are averaged.

    The model is trained in place, moved to the device (by default a GPU if there is one) and to the
    memory format of the settings.
    """

    def __init__(
        self,
        model: Model,
        game: Game,
        settings: TrainerSettings | None = None,
        device: torch.device | str | None = None,
    ) -> None:
        self.settings = settings = settings or TrainerSettings()
        settings.check()
        self.game = game
        self.device = torch.device(device or ("cuda" if torch.cuda.is_available() else "cpu"))
        if settings.threads:
            torch.set_num_threads(settings.threads)
        if self.device.type == "cpu":
            keep_freed_memory()
        self._format = (
            torch.contiguous_format
            if settings.memory_format == "contiguous"
            else torch.channels_last
        )
        self._devices = [self.device] if self.device.type == "cuda" else []
        self._autocast = _autocast_type(settings, self.device, model.spec)
        self.model = model.to(self.device, memory_format=self._format)  # type: ignore[call-overload]
        self.step = 0
        """Steps made."""
        self.samples = 0
        """Positions learned from, counting repeats, by all members of a process group."""
        self._world = get_world_size() if is_available() and is_initialized() else 1
        self._forward: nn.Module = (
            DistributedDataParallel(self.model) if self._world > 1 else self.model
        )
        self._parameters = list(self.model.parameters())
        self._loss_settings = LossSettings(
            policy_weight=settings.policy_weight,
            value_weight=settings.value_weight,
            moves_left_weight=settings.moves_left_weight,
            moves_left_loss=settings.moves_left_loss,
        )
        self._end_weights = {end.name: end.weight for end in game.heads.ends}
        self._decayed = decayed_parameters(self.model)
        self.optimizer = _make_optimizer(self._decayed, self._parameters, settings)
        self.average = WeightAverage(self.model, settings)
        self._scaler = torch.amp.GradScaler(
            self.device.type, enabled=self._autocast is torch.float16
        )
        self._norms = [part for part in self.model.modules() if isinstance(part, BatchNorm)]
        self._norm_batches = 0 if all(map(_is_untouched, self._norms)) else round(1 / NORM_MOMENTUM)
        """Batches that the running statistics stand for."""
        self.model.train()
        if settings.freeze_norms:
            for norm in self._norms:
                norm.eval()

    def _set_norm_momentum(self) -> None:
        """Let running statistics of a new net be plain means at first; keep those it came with."""
        momentum = max(NORM_MOMENTUM, 1 / (self._norm_batches + 1))
        for norm in self._norms:
            norm.momentum = momentum

    def train_step(self, batch: SampleBatch, *, progress: float | None = None) -> dict[str, float]:
        """Learn from a batch; its memory may be used again afterwards.

        Args:
            batch: Positions and targets, of any number.
            progress: Share of the run that is over, for a cosine that ends by the clock.

        Returns:
            Losses and metrics of the batch before the step (`loss`, `policy_loss`, `value_loss`,
            `moves_left_loss`, `policy_accuracy`, `value_mse`), `learning_rate` and, where gradients
            are clipped, `gradient_norm`. L2 is no part of `loss`.
        """
        settings = self.settings
        self._set_norm_momentum()
        rate = learning_rate_at(settings, self.step, progress=progress)
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        self.optimizer.zero_grad(set_to_none=True)
        with torch.random.fork_rng(self._devices):  # the caller's random numbers stay as they are
            torch.manual_seed(mix(settings.seed << 32 | self.step) >> 1)  # for layers that draw
            figures = self._backward(batch)
        norm = self._apply(rate)
        self.step += 1
        self._norm_batches += 1
        self.samples += len(batch) * self._world
        if settings.averaging != "none":
            self.average.update(self.step)
        if norm is not None:
            figures["gradient_norm"] = norm
        # One transfer for all figures: on a GPU each would wait for the step to end.
        values = torch.stack(list(figures.values()))
        if self._world > 1:
            all_reduce(values)
            values /= self._world
        report = dict(zip(figures, values.tolist(), strict=True))
        if not math.isfinite(report["loss"]):
            raise UserError(
                f"step {self.step}: the loss is not finite; lower the learning rate or set "
                "clip_norm, and continue from the last checkpoint"
            )
        return report | {"learning_rate": rate}

    def _backward(self, batch: SampleBatch) -> dict[str, Tensor]:
        """Gradients of the batch, part by part; the parts' mean figures."""
        splits = self.settings.splits
        size = math.ceil(len(batch) / splits)
        parts = [batch[first : first + size] for first in range(0, len(batch), size)]
        totals: dict[str, Tensor] = {}
        for number, part in enumerate(parts):
            share = len(part) / len(batch)
            with self._syncing(last=number == len(parts) - 1):
                loss, figures = self._losses(part)
                self._scaler.scale(loss * share).backward()  # type: ignore[no-untyped-call]
            for name, value in figures.items():
                value = value.detach().float() * share
                totals[name] = totals[name] + value if name in totals else value
        return totals

    def _syncing(self, *, last: bool) -> AbstractContextManager[None]:
        """Gradients travel between processes with the last part only."""
        if last or not isinstance(self._forward, DistributedDataParallel):
            return nullcontext()
        return self._forward.no_sync()

    def _losses(self, batch: SampleBatch) -> tuple[Tensor, dict[str, Tensor]]:
        settings, spec = self.settings, self.model.spec
        planes = torch.from_numpy(batch.planes).to(self.device)
        game = self.game if spec.ends else None
        targets = make_targets(batch, settings.search_value_share, self.device, game=game)
        with torch.autocast(self.device.type, self._autocast, enabled=self._autocast is not None):
            raw: Output = self._forward(planes.contiguous(memory_format=self._format))
        output = _float_output(raw)
        losses = compute_losses(output, targets, spec, self._loss_settings)
        metrics = compute_metrics(output, targets, spec)
        figures = {
            "loss": losses.total,
            "policy_loss": losses.policy,
            "value_loss": losses.value,
            "policy_accuracy": metrics.policy_accuracy,
            "value_mse": metrics.value_mse,
        }
        if losses.moves_left is not None:
            figures["moves_left_loss"] = losses.moves_left
        total = losses.total
        for name, loss in end_losses(output, targets, self.game.heads.ends).items():
            figures[f"{name}_loss"] = loss
            total = total + settings.ends_weight * self._end_weights[name] * loss
        figures["loss"] = total
        return total, figures

    @torch.no_grad()
    def _apply(self, rate: float) -> Tensor | None:
        """L2, clipping, decay and the optimizer's step; the gradient's length if it was taken."""
        settings = self.settings
        self._scaler.unscale_(self.optimizer)
        if settings.l2:
            pairs = [(weight.grad, weight) for weight in self._decayed if weight.grad is not None]
            gradients, weights = [pair[0] for pair in pairs], [pair[1].data for pair in pairs]
            torch._foreach_add_(gradients, weights, alpha=2 * settings.l2)
        norm = None
        if settings.clip_norm:
            norm = nn.utils.clip_grad_norm_(self._parameters, settings.clip_norm)
        if settings.weight_decay and settings.optimizer == "sgd":
            weights = [weight.data for weight in self._decayed]
            torch._foreach_mul_(weights, 1 - rate * settings.weight_decay)
        self._scaler.step(self.optimizer)
        self._scaler.update()
        return norm

    def playing_model(self, batches: Iterable[SampleBatch] = ()) -> Model:
        """A new model with the averaged weights, on the CPU, for evaluation.

        Its batch norms have what the averaged weights make of the positions in `batches`, a few
        of the newest; without any the average of the running statistics, which follow fast
        changing weights too slowly.
        """
        playing = copy.deepcopy(self.model)
        if self.settings.averaging != "none":
            playing.load_state_dict(self.average.tensors)
        settle_norms(playing, batches, self.device)
        return playing.to("cpu", memory_format=torch.contiguous_format).eval()  # type: ignore[no-any-return]

    def save(self, folder: str | Path, extra: Mapping[str, JsonValue] | None = None) -> None:
        """Write everything to a new folder, aside first; an older folder of that name gives way.

        `extra` is what the caller wants back from `load`.
        """
        tensors = {f"average.{name}": tensor for name, tensor in self.average.tensors.items()}
        for number, parameter in enumerate(self._optimized()):
            for name, value in self.optimizer.state[parameter].items():
                tensors[f"optimizer.{number}.{name}"] = torch.as_tensor(value)
        state = TrainerState(
            step=self.step,
            samples=self.samples,
            settings=self.settings,
            average_updates=self.average.updates,
            norm_batches=self._norm_batches,
            loss_scale=dict(self._scaler.state_dict()),
            extra=dict(extra or {}),
        )
        write_checkpoint(Path(folder), self.model, state, tensors)

    @classmethod
    def load(
        cls,
        folder: str | Path,
        *,
        game: Game | None = None,
        settings: TrainerSettings | None = None,
        device: torch.device | str | None = None,
    ) -> tuple[Self, dict[str, JsonValue]]:
        """Continue from what `save` wrote: the trainer and the caller's `extra`.

        The game is by default the one the net names, the settings those of the saved trainer; the
        optimizer must be the same. Raises `DamagedCheckpoint` for a damaged folder.
        """
        folder = Path(folder)
        model, state, tensors = read_checkpoint(folder, game)
        settings = settings or state.settings
        if settings.optimizer != state.settings.optimizer:
            raise UserError(
                f"{folder} was made by {state.settings.optimizer}, not by {settings.optimizer}"
            )
        from zerogames.registry import get_game

        trainer = cls(model, game or get_game(model.spec.game), settings, device)
        trainer.step, trainer.samples = state.step, state.samples
        trainer._norm_batches = state.norm_batches
        trainer._restore(folder, state, tensors)
        return trainer, state.extra

    def _restore(self, folder: Path, state: TrainerState, tensors: Mapping[str, Tensor]) -> None:
        def below(prefix: str) -> dict[str, Tensor]:
            names = [name for name in tensors if name.startswith(prefix)]
            return {name.removeprefix(prefix): tensors[name] for name in names}

        try:
            self.average.load(below("average."), state.average_updates)
            for number, parameter in enumerate(self._optimized()):
                for name, value in below(f"optimizer.{number}.").items():
                    self.optimizer.state[parameter][name] = _like(value, parameter)
        except (KeyError, RuntimeError) as error:
            raise UserError(f"{folder}: its state does not fit its net ({error})") from None
        if self._scaler.is_enabled() and state.loss_scale:
            self._scaler.load_state_dict(dict(state.loss_scale))

    def _optimized(self) -> list[Tensor]:
        """The parameters in the optimizer's order."""
        return [part for group in self.optimizer.param_groups for part in group["params"]]


@torch.no_grad()
def settle_norms(
    model: Model, batches: Iterable[SampleBatch], device: torch.device | str = "cpu"
) -> None:
    """Set batch-norm statistics to their mean over `batches`; without any they stay."""
    norms = [part for part in model.modules() if isinstance(part, BatchNorm)]
    momenta = [norm.momentum for norm in norms]
    was_training = model.training
    model.train()
    for number, batch in enumerate(batches, 1):
        for norm in norms:
            norm.momentum = 1 / number
        model(torch.from_numpy(batch.planes).to(device))
    for norm, momentum in zip(norms, momenta, strict=True):
        norm.momentum = momentum
    model.train(was_training)


def _float_output(output: Output) -> Output:
    moves_left = output.moves_left
    return Output(
        output.policy_logits.float(),
        output.value_logits.float(),
        None if moves_left is None else moves_left.float(),
        {name: raw.float() for name, raw in (output.ends or {}).items()},
    )


def _is_untouched(norm: BatchNorm) -> bool:
    """Whether its running statistics are still those of a new net."""
    mean, variance = norm.running_mean, norm.running_var
    assert mean is not None
    assert variance is not None
    return not mean.any() and bool((variance == 1).all())


def _like(value: Tensor, parameter: Tensor) -> Tensor:
    """An optimizer's tensor in the memory order of its parameter, as fused steps need it."""
    if value.shape != parameter.shape:
        return value.to(parameter.device)
    return torch.empty_like(parameter).copy_(value)


def _autocast_type(
    settings: TrainerSettings, device: torch.device, net: NetSpec
) -> torch.dtype | None:
    precision = settings.precision
    on_gpu = device.type == "cuda"
    if precision == "fp16" and not on_gpu:
        raise UserError("precision fp16 needs a GPU; a CPU trains in fp32 or bf16")
    if precision == "auto" and on_gpu:
        precision = "bf16" if torch.cuda.is_bf16_supported() else "fp16"
    elif precision == "auto":
        # Measured on AVX-512 BF16: nets are 1.3 to 1.7 times as fast, with torch's own depthwise
        # convolutions 0.7 times.
        fast = torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported()
        dense = any(isinstance(one, KernelStage) and one.form == "dense" for one in net.stages)
        precision = "bf16" if fast and not dense else "fp32"
    return {"fp32": None, "bf16": torch.bfloat16, "fp16": torch.float16}[precision]


def _make_optimizer(
    decayed: list[nn.Parameter], everything: list[nn.Parameter], settings: TrainerSettings
) -> torch.optim.Optimizer:
    ids = {id(parameter) for parameter in decayed}
    free = [parameter for parameter in everything if id(parameter) not in ids]
    groups: list[dict[str, Any]] = [{"params": decayed}, {"params": free, "weight_decay": 0.0}]
    rate = settings.learning_rate
    if settings.optimizer == "sgd":
        momentum, nesterov = settings.momentum, settings.nesterov
        return torch.optim.SGD(groups, rate, momentum, nesterov=nesterov, fused=True)
    return torch.optim.AdamW(groups, rate, weight_decay=settings.weight_decay, fused=True)
