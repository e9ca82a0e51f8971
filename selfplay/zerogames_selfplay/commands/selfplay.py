"""Play games against itself and keep the records: `zerogames selfplay --game chess`."""

import contextlib
import errno
import json
import signal
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import FrameType
from typing import Protocol

from rich.console import Console

from zerogames.atomic import write_text_atomically
from zerogames.command_line import Command, read_arguments
from zerogames.errors import UserError
from zerogames.registry import get_game
from zerogames.search.settings import search_preset
from zerogames_selfplay.players.counts import Counts
from zerogames_selfplay.players.display import Panel, print_summary
from zerogames_selfplay.players.lane import Share
from zerogames_selfplay.players.run_folder import RunFolder, open_run, provide_net
from zerogames_selfplay.players.seeds import derive_seed
from zerogames_selfplay.players.settings import SelfplaySettings
from zerogames_selfplay.players.worker import Worker


class Players(Protocol):
    """Those who play: a `Worker` in this process, or Ray's."""

    @property
    def running(self) -> bool:
        """False once all have ended."""

    @property
    def shards(self) -> Sequence[Path]:
        """What is on disk."""

    def poll(self, timeout_s: float = 0.2) -> None:
        """Let some time pass."""

    def counts(self) -> Counts:
        """What was done."""

    def close(self) -> None:
        """Stop and write."""


def main(argv: Sequence[str]) -> int:
    """Run `zerogames selfplay`."""
    return run_selfplay(read_arguments(COMMAND, argv), Console())


COMMAND = Command(
    name="selfplay",
    settings=SelfplaySettings,
    description="Play games against itself and keep the records.",
    default_presets=("selfplay",),
    search_preset=search_preset,
)


def run_selfplay(settings: SelfplaySettings, console: Console) -> int:
    """Play until a limit, Ctrl-C or an error; every finished game is on disk afterwards."""
    settings.check()
    game = get_game(settings.game)
    run = open_run(settings, game)
    net, about_net = provide_net(run, settings, game)
    search = settings.search
    console.print(
        f"{game.spec.identity}: {search.algorithm}, {search.simulations} simulations a move, "
        f"{about_net}",
        highlight=False,
        soft_wrap=True,
    )
    interrupted = False
    players = _start(settings, run, net)
    with _stop_signals() as stopped, Panel(settings, console) as panel:
        try:
            while players.running and not stopped and not _reached(settings, panel, players):
                players.poll()
                panel.show(players.counts(), note=f"records in {run.shards}")
        except KeyboardInterrupt:
            interrupted = True
        except OSError as error:
            raise _disk_error(error, run) from None
        finally:
            with _ignore_interrupts():
                _close(players, run)
        interrupted = interrupted or bool(stopped)
        elapsed_s = panel.elapsed_s
    counts = players.counts()
    _note_counts(run, counts, elapsed_s)
    print_summary(console, counts, elapsed_s)
    console.print(f"{len(players.shards)} record files in {run.shards}", highlight=False)
    if interrupted:
        console.print("stopped; the same command goes on from here", highlight=False)
    console.print(f"next: zerogames info {run.path}", highlight=False, soft_wrap=True)
    return 0


def _start(settings: SelfplaySettings, run: RunFolder, net: Path | None) -> Players:
    seed = derive_seed(settings.seed, run.session)
    prefix = f"{run.session:04d}"
    if settings.workers or settings.ray_address:
        from zerogames_selfplay.ray.players import RayWorkers

        return RayWorkers(settings, net=net, folder=run.shards, prefix=prefix, seed=seed)
    share = Share(first=0, step=1, games=settings.games, seed=seed)
    return Worker(settings, net=net, folder=run.shards, prefix=prefix, share=share)


def _reached(settings: SelfplaySettings, panel: Panel, players: Players) -> bool:
    if settings.limit_s is not None and panel.elapsed_s >= settings.limit_s:
        return True
    return settings.positions is not None and players.counts().positions >= settings.positions


def _close(players: Players, run: RunFolder) -> None:
    try:
        players.close()
    except OSError as error:
        raise _disk_error(error, run) from None


def _disk_error(error: OSError, run: RunFolder) -> UserError:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return UserError(
            f"the disk of {run.path} is full; what was written is whole. "
            "Make space, and the same command goes on"
        )
    return UserError(f"{run.path}: {error.strerror or error}")


def _note_counts(run: RunFolder, counts: Counts, elapsed_s: float) -> None:
    """Keep the session's sums beside its shards."""
    table = {"elapsed_s": round(elapsed_s, 3), **counts.table()}
    path = run.path / f"session-{run.session:04d}.json"
    write_text_atomically(path, json.dumps(table, indent=2) + "\n")


@contextlib.contextmanager
def _stop_signals() -> Iterator[list[int]]:
    """SIGTERM ends a run as Ctrl-C does: what it names fills the list."""
    received: list[int] = []

    def remember(number: int, frame: FrameType | None) -> None:
        received.append(number)

    old = signal.signal(signal.SIGTERM, remember)
    try:
        yield received
    finally:
        signal.signal(signal.SIGTERM, old)


@contextlib.contextmanager
def _ignore_interrupts() -> Iterator[None]:
    """A second Ctrl-C must not cut the last shard off."""
    old = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, old)
