"""A model card: what a person must know before using a net."""

import shlex
from collections.abc import Mapping

from zerogames.atomic import write_text_atomically
from zerogames.nets import Model
from zerogames.nets.summary import count_trainable
from zerogames.pretrain.settings import PretrainSettings
from zerogames.runs.folder import RunPaths
from zerogames.train import Trainer


def write_card(
    paths: RunPaths,
    settings: PretrainSettings,
    model: Model,
    trainer: Trainer,
    figures: Mapping[str, float],
    elapsed_s: float,
) -> None:
    """Write `MODEL_CARD.md` beside the net."""
    names = ", ".join(f"`{path.name}`" for path in settings.data)
    licence = settings.licence or "not stated; see the data's own notice"
    lines = [
        f"# {model.spec.name} for {model.spec.game}",
        "",
        f"- Parameters: {count_trainable(model):,}. Input: `{model.spec.encoding}`.",
        f"- Trained on: {names}; {trainer.samples:,} positions in {trainer.step:,} steps of "
        f"{settings.trainer.batch_size}, {elapsed_s / 60:.0f} minutes.",
        f"- Licence and credit of the data: {licence}.",
        f"- Command: `{command_line(settings)}`",
    ]
    if figures:
        lines.append(
            f"- On {figures['positions']:,.0f} positions of games that were not trained on: "
            f"accuracy {figures['policy_accuracy']:.2%}, value MSE {figures['value_mse']:.4f} "
            f"({figures['value_mse_quarter']:.4f} divided by 4)."
        )
    lines.append("- Learnt from games alone, without search or self-play of its own.")
    write_text_atomically(paths.card, "\n".join(lines) + "\n")


def command_line(settings: PretrainSettings) -> str:
    """Write the command that starts the run, without options that have their default."""
    parts = ["zerogames", "pretrain", "--game", settings.game, "--data"]
    parts += [path.name for path in settings.data]
    if settings.net is not None:
        parts += ["--net", settings.net]
    for name in ("minutes", "steps"):
        value = getattr(settings, name)
        if value is not None:
            parts += [f"--{name}", f"{value:g}"]
    parts += ["--seed", str(settings.seed)]
    standard = PretrainSettings()
    for group in ("reading", "validation", "trainer"):
        given, usual = getattr(settings, group), getattr(standard, group)
        for name, value in vars(given).items():
            if value != getattr(usual, name):
                parts += _option(f"{group}.{name.replace('_', '-')}", value)
    return shlex.join(parts)


def _option(name: str, value: object) -> list[str]:
    if isinstance(value, bool):
        group, _, last = name.partition(".")
        return [f"--{name}" if value else f"--{group}.no-{last}"]
    if isinstance(value, tuple):
        return [f"--{name}", *map(str, value)]
    return [f"--{name}", str(value)]
