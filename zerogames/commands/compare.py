"""Train several nets on the same games and compare them: `zerogames compare --preset NAME`."""

import dataclasses
import threading
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.markdown import Markdown

from zerogames.arguments import read_options
from zerogames.errors import UserError
from zerogames.identity import split_identity
from zerogames.presets import find_preset
from zerogames.pretrain.settings import PretrainSettings
from zerogames.registry import get_game


@dataclasses.dataclass(frozen=True, kw_only=True)
class CompareSettings:
    """Nets, games and seeds of a comparison. An existing folder is continued."""

    preset: tuple[str, ...] = ()
    """One or more presets of `zerogames pretrain`: files configs/<game>/NAME.toml, or paths."""
    data: tuple[Path, ...] = ()
    """Files and folders of games, the same for all nets; by default those of the presets."""
    nets: tuple[str, ...] = ()
    """The nets to train with each preset; by default those that the preset names."""
    seeds: tuple[int, ...] = (1, 2)
    """The seeds; each net is trained once with each of them."""
    game: str | None = None
    """The game with its options, e.g. `go:size=9`; by default the presets'."""
    steps: int | None = None
    """The number of steps of each training; by default the presets'."""
    threads: int = 0
    """The number of torch's threads; 0 takes the presets'."""
    out: Path | None = None
    """The folder of the runs and the report; by default `runs/<game>-compare`."""


def main(argv: Sequence[str]) -> int:
    """Run `zerogames compare`."""
    settings = read_options(
        CompareSettings,
        argv,
        "zerogames compare",
        description="Train several nets with several seeds on the same games: a table with means, "
        "deviations and t-tests, and curves.",
    )
    console = Console()
    runs = plan(settings)
    folder = settings.out or Path("runs") / f"{split_identity(runs[0].game)[0]}-compare"
    stop = threading.Event()
    done = _train_all(runs, folder, console, stop)
    if done:
        from zerogames.pretrain.comparison import collect, make_table, write_comparison

        compared, first = collect(done), runs[0]
        data = ", ".join(path.name for path in first.data)
        limit = f"{first.steps:,} steps" if first.steps else f"{first.minutes or 20:g} minutes"
        note = f"Data: {data}; {limit} with batches of {first.trainer.batch_size}."
        write_comparison(folder, compared, title=f"Nets for {first.game}", note=note)
        console.print(Markdown(make_table(compared)))
        console.print(f"report: {folder / 'comparison.md'}", highlight=False, soft_wrap=True)
    if stop.is_set():
        console.print("stopped; the same command continues from here")
    return 0


def plan(settings: CompareSettings) -> list[PretrainSettings]:
    """All trainings, seed by seed, so that a stopped comparison has whole rounds."""
    if not settings.preset:
        raise UserError("name a preset, e.g. zerogames compare --preset cg2024-laptop")
    if not settings.seeds or len(set(settings.seeds)) < len(settings.seeds):
        raise UserError("--seeds needs numbers that differ")
    nets = _nets(settings)
    if len({base.game for base in nets.values()}) > 1:
        raise UserError("the presets are of different games")
    runs = []
    for seed in settings.seeds:
        for name, base in nets.items():
            trainer = base.trainer
            if settings.threads:
                trainer = dataclasses.replace(trainer, threads=settings.threads)
            chosen = dataclasses.replace(
                base, net=name, seed=seed, data=settings.data or base.data, trainer=trainer
            )
            if settings.steps is not None:
                chosen = dataclasses.replace(chosen, steps=settings.steps, minutes=None)
            chosen.check()
            runs.append(chosen)
    return runs


def _nets(settings: CompareSettings) -> dict[str, PretrainSettings]:
    """The settings of every net, by its name."""
    found: dict[str, PretrainSettings] = {}
    for name in settings.preset:
        preset = find_preset(name, command="pretrain", game=settings.game)
        for net in settings.nets or preset.nets or (None,):
            base = preset.settings(
                PretrainSettings, command="pretrain", game=settings.game, net=net
            )
            game = get_game(base.game)
            spec = game.parse_net(base.net or game.default_net)
            if spec.name in found:
                raise UserError(f"{spec.name} is named twice; a comparison needs different nets")
            found[spec.name] = base
    return found


def _train_all(
    runs: Sequence[PretrainSettings], folder: Path, console: Console, stop: threading.Event
) -> dict[str, dict[int, Path]]:
    """Train what is not trained yet; the folders of finished runs by net and seed."""
    from zerogames.pretrain.run import train

    done: dict[str, dict[int, Path]] = {}
    for number, settings in enumerate(runs, 1):
        assert settings.net is not None
        out = folder / f"{settings.net}-seed{settings.seed}"
        console.rule(f"{number} of {len(runs)}: {settings.net}, seed {settings.seed}")
        train(dataclasses.replace(settings, out=out), console, stop)
        if stop.is_set():
            break
        done.setdefault(settings.net, {})[settings.seed] = out
    return done
