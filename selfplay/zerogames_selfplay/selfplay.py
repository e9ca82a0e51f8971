"""Self-play into a run's folder, as the library offers it."""

import dataclasses
import json
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from zerogames.atomic import write_text_atomically
from zerogames.config import to_table
from zerogames.game import Game
from zerogames.registry import get_game
from zerogames.runs.disk import name_disk_errors
from zerogames.runs.display import Display
from zerogames.runs.folder import RunFolder, RunPaths
from zerogames.runs.game_files import compact_journals
from zerogames.runs.net_source import find_net
from zerogames.runs.signals import hold_back_ctrl_c
from zerogames.runs.worker_health import health_line
from zerogames_selfplay.players.counts import Counts
from zerogames_selfplay.players.display import selfplay_frame
from zerogames_selfplay.players.players import Players, PlayersJob
from zerogames_selfplay.players.seeds import derive_seed
from zerogames_selfplay.players.settings import KIND, SelfplaySettings
from zerogames_selfplay.players.worker import Worker, check_players


@dataclass(frozen=True, kw_only=True)
class SelfplayResult:
    """What a session of self-play has made."""

    paths: RunPaths
    counts: Counts
    shards: Sequence[Path]
    """The shards that this session has written."""
    elapsed_s: float


def run_selfplay(
    settings: SelfplaySettings,
    *,
    display: Display | None = None,
    stop: threading.Event | None = None,
) -> SelfplayResult:
    """Play games into a run's folder until a limit is reached; every finished game is on disk then.

    Args:
        settings: A refused setting raises `UserError` and leaves the folder as it was.
        display: Shows the progress; by default nothing does.
        stop: Set it, from another thread or a signal handler, to end the run early.
    """
    settings.check()
    game = get_game(settings.game)
    display = display or Display(Console(quiet=True))
    table = to_table(settings)
    with (
        name_disk_errors(settings.folder),
        RunFolder(settings.folder, kind=KIND, game=game.spec.identity, settings=table) as run,
    ):
        check_players(settings)
        net, about_net = _provide_net(run.paths, settings, game)
        run.begin()
        for note in compact_journals(run.paths.shards, set_aside=run.paths.set_aside):
            display.line(note)
        search = settings.search
        display.line(
            f"{game.spec.identity}: {search.algorithm}, {search.simulations} simulations per move, "
            f"{about_net}"
        )
        return _play(settings, run, net, display, stop or threading.Event())


def _play(
    settings: SelfplaySettings,
    run: RunFolder,
    net: Path | None,
    display: Display,
    stop: threading.Event,
) -> SelfplayResult:
    players = _start_players(settings, run, net, display)
    start = time.monotonic()
    try:
        while players.running and not stop.is_set():
            counts, elapsed_s = players.counts(), time.monotonic() - start
            done = settings.progress(
                elapsed_s=elapsed_s, games=counts.games, positions=counts.positions
            )
            if done is not None and done >= 1:
                break
            title = f"records in {run.paths.shards}"
            frame = selfplay_frame(counts, done=done, elapsed_s=elapsed_s, title=title)
            if workers := players.health():
                row = ("workers", health_line(workers))
                frame = dataclasses.replace(frame, rows=(*frame.rows, row))
            display.show(frame)
            players.poll()
    finally:
        with hold_back_ctrl_c():
            players.close()
            elapsed_s = time.monotonic() - start
            _write_counts(run, players.counts(), elapsed_s)
    return SelfplayResult(
        paths=run.paths,
        counts=players.counts(),
        shards=players.shards,
        elapsed_s=elapsed_s,
    )


def _provide_net(
    paths: RunPaths, settings: SelfplaySettings, game: Game
) -> tuple[Path | None, str]:
    """Put the net to play with into the run's folder; its path and a phrase about it."""
    if settings.evaluator in ("constant", "random"):
        return None, f"the {settings.evaluator} evaluator (no net)"
    if settings.net is None and paths.net.exists():
        find_net(paths.net, game)  # Refuses a damaged file.
        return paths.net, f"net {paths.net}"
    source = find_net(settings.net or game.default_net, game)
    source.write(paths.net, seed=settings.seed)
    if source.path is not None:
        return paths.net, f"net {source.title}"
    return paths.net, f"a {source.origin}, saved as {paths.net}"


def _start_players(
    settings: SelfplaySettings, run: RunFolder, net: Path | None, display: Display
) -> Players:
    job = PlayersJob(
        settings=settings,
        net=net,
        folder=run.paths.shards,
        prefix=f"{run.session:04d}",
        seed=derive_seed(settings.seed, run.session),
    )
    if settings.workers or settings.ray_address:
        from zerogames_selfplay.ray.connection import logs_folder
        from zerogames_selfplay.ray.players import RayPlayers

        players = RayPlayers(job)
        display.line(f"Ray's logs are in {logs_folder()}")
        return players
    return Worker(job)


def _write_counts(run: RunFolder, counts: Counts, elapsed_s: float) -> None:
    """Keep the session's sums beside its shards."""
    table = {"elapsed_s": round(elapsed_s, 3), **counts.table()}
    path = run.path / f"session-{run.session:04d}.json"
    write_text_atomically(path, json.dumps(table, indent=2) + "\n")
