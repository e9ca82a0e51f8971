"""`zerogames nnue study`: feature sets and sizes compared on the same data.

Every step leaves a file behind and is not done again: a study that was stopped continues with the
same command, and one with more nets or seeds only does what is new.
"""

import json
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from rich.console import Console

from zerogames.atomic import write_text_atomically
from zerogames.errors import UserError
from zerogames.presets import find_preset
from zerogames.runs.disk import name_disk_errors
from zerogames.runs.lock import LockedFolder
from zerogames.runs.signals import interrupt_on_sigterm
from zerogames_chess.nnue.study_settings import NetPlan, StudySettings

Measures = dict[str, Any]


def study(
    *,
    preset: str = "nnue-study",
    data: Path | None = None,
    out: Path | None = None,
    puzzles: Path | None = None,
    humans: Path | None = None,
) -> int:
    """Train a list of networks on the same data and compare them: table, plots, games.

    Args:
        preset: A file configs/chess/NAME.toml, or the path of one.
        data: Folder that `zerogames nnue data` made.
        out: Folder of the study.
        puzzles: CSV of the Lichess puzzle database.
        humans: PGN file with games of humans.
    """
    chosen = find_preset(preset, command="nnue study", game="chess")
    settings = chosen.settings(StudySettings, command="nnue study")
    settings = replace(
        settings,
        data=data or settings.data,
        out=out or settings.out,
        puzzles=puzzles or settings.puzzles,
        humans=humans or settings.humans,
    )
    console = Console()
    try:
        with name_disk_errors(settings.out), interrupt_on_sigterm():
            run_study(settings, console)
    except KeyboardInterrupt:
        console.print("stopped: the same command continues")
        return 130
    return 0


def run_study(settings: StudySettings, console: Console) -> None:
    """Train, measure, play, report."""
    plans = settings.plans()
    if not (settings.data / "training.zgd").is_file():
        raise UserError(f"{settings.data}: no training.zgd; make one with `zerogames nnue data`")
    with LockedFolder(settings.out):
        _run(settings, plans, console)


def _run(settings: StudySettings, plans: list[NetPlan], console: Console) -> None:
    from zerogames_chess.nnue.study_report import write_report

    measured: dict[str, list[Measures]] = {}
    for plan in plans:
        costs = _once(settings.out / "features" / f"{plan.features}.json", _costs, settings, plan)
        measured[str(plan)] = []
        for seed in settings.seeds:
            _train(settings, plan, seed, console)
            file = _folder(settings, plan, seed) / "measures.json"
            console.print(f"measuring {plan}, seed {seed}", highlight=False)
            found = _once(file, _measure, settings, plan, seed)
            measured[str(plan)].append(costs | found)
    elo = {name: _play(settings, plans, name, console) for name in ("time", "nodes")}
    path = write_report(settings, measured, {name: one for name, one in elo.items() if one})
    console.print(f"table and plots: {path}", highlight=False)


def _folder(settings: StudySettings, plan: NetPlan, seed: int) -> Path:
    return settings.out / "nets" / f"{plan.slug}-s{seed}"


def _once(path: Path, make: Callable[..., Measures], *arguments: object) -> Measures:
    """Read the file, or make what it holds and write it."""
    if path.is_file():
        try:
            found = json.loads(path.read_text(encoding="utf-8"))
        except ValueError:
            raise UserError(f"{path}: damaged; delete it and run again") from None
        if isinstance(found, dict):
            return found
    made = make(*arguments)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text_atomically(path, json.dumps(made, indent=1) + "\n")
    return made


def _train(settings: StudySettings, plan: NetPlan, seed: int, console: Console) -> None:
    from zerogames_chess.nnue.trainer import run

    out = _folder(settings, plan, seed)
    if (out / "network.nnue").is_file():
        return
    console.print(f"[bold]{plan}[/bold], seed {seed}", highlight=False)
    rate = run(settings.training.options(plan, seed, settings.data, out))
    # By the last epoch's rate: a run that was stopped and continued has no other honest time.
    samples = settings.training.epochs * (settings.training.epoch_samples or _size(settings))
    seconds = {"training_s": round(samples / rate, 1)}
    write_text_atomically(out / "training.json", json.dumps(seconds) + "\n")


def _size(settings: StudySettings) -> int:
    from zerogames_chess.nnue.records import map_records

    return len(map_records(settings.data / "training.zgd"))


def _costs(settings: StudySettings, plan: NetPlan) -> Measures:
    from zerogames_chess.nnue.records import map_records
    from zerogames_chess.nnue.statistics import count_costs

    records = map_records(settings.data / "training.zgd")
    step = max(1, len(records) // settings.cost_positions)
    return asdict(count_costs(plan.features, records[::step][: settings.cost_positions]))


def _measure(settings: StudySettings, plan: NetPlan, seed: int) -> Measures:
    """Measure everything but games."""
    from zerogames_chess.nnue import _native
    from zerogames_chess.nnue.engine import bench, load_engine
    from zerogames_chess.nnue.human_moves import human_positions, match_share
    from zerogames_chess.nnue.inference import load_native
    from zerogames_chess.nnue.network import read_network
    from zerogames_chess.nnue.puzzles import read_puzzles, solve
    from zerogames_chess.nnue.records import map_records
    from zerogames_chess.nnue.statistics import count_dead
    from zerogames_chess.nnue.trainer import Trainer

    out = _folder(settings, plan, seed)
    path = out / "network.nnue"
    network = read_network(path)
    records = map_records(settings.data / "training.zgd")
    count, spent_s = _native.time_evaluations(load_native(network), 200_000, 1)
    engine = load_engine(path)
    nodes, bench_s = bench(engine, settings.bench_depth)
    trainer = Trainer(settings.training.options(plan, seed, settings.data, out))
    found: Measures = {
        "seed": seed,
        "validation_loss": trainer.validate(),
        "inferences_per_s": round(count / spent_s),
        "nodes_per_s": round(nodes / max(bench_s, 1e-3)),
        **asdict(count_dead(network, records[:: max(1, len(records) // 20_000)])),
    }
    if (out / "training.json").is_file():
        found |= json.loads((out / "training.json").read_text(encoding="utf-8"))
    if settings.puzzles is not None:
        puzzles = read_puzzles(settings.puzzles)
        if settings.puzzle_count:
            puzzles = puzzles[:: -(-len(puzzles) // settings.puzzle_count)]
        engines = [load_engine(path) for _ in range(settings.concurrency)]
        score = solve(engines, puzzles, move_time_ms=settings.puzzle_time_ms)
        found["puzzle_moves"] = score.asked
        found["puzzle_accuracy"] = score.accuracy
        found["puzzle_buckets"] = {
            str(rating): list(counts) for rating, counts in score.buckets.items()
        }
    if settings.humans is not None:
        positions = human_positions(settings.humans, settings.human_positions)
        found["human_match"] = match_share(engine, positions, move_time_ms=settings.move_time_ms)
    return found


def _play(
    settings: StudySettings, plans: list[NetPlan], limit: str, console: Console
) -> dict[str, tuple[float, float]]:
    """Elo and half the 95 % interval of every net against the baseline, at fixed time or nodes."""
    from zerogames.arena.bradley_terry import direct_ratings
    from zerogames.arena.console import run_and_report
    from zerogames.arena.event import Conditions, Event
    from zerogames.arena.match_folder import MatchFolder
    from zerogames.arena.results import tally

    wanted = {"time": settings.move_time_ms, "nodes": settings.nodes}[limit]
    seeds = settings.seeds[: settings.match_seeds]
    if not wanted or len(plans) * len(seeds) < 2:
        return {}
    entries = [(plan, seed) for seed in seeds for plan in plans]
    # A player's name has no colon; toppp:512 has.
    names = {f"{plan} s{seed}".replace(":", "-"): f"{plan} s{seed}" for plan, seed in entries}
    players = [
        f"{name}=nnue:{_folder(settings, plan, seed) / 'network.nnue'}"
        for name, (plan, seed) in zip(names, entries, strict=True)
    ]
    out = settings.out / "games" / limit
    conditions = Conditions(
        game="chess",
        games=settings.games,
        st=wanted / 1000 if limit == "time" else 0.0,
        nodes=wanted if limit == "nodes" else 0,
        draw="34/8/20",
        resign="3/900",
        concurrency=settings.concurrency,
        out=str(out),
    )
    event = Event(players, conditions, format="gauntlet")
    baseline = event.names[0]
    title = f"Against {baseline} at fixed {limit}"
    if run_and_report(event, console, title=title, elo_from=baseline):
        raise KeyboardInterrupt
    with MatchFolder(out, event.identity(), event.game, str(event.rules.control)) as folder:
        tallies = tally(stored.outcome for stored in folder.games)
    ratings = direct_ratings(tallies, baseline)
    return {names[rating.name]: (rating.elo, rating.error) for rating in ratings}
