"""Long work with engines, in chunks that several processes do."""

import multiprocessing
import os
import threading
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from rich.console import Console

from zerogames.errors import UserError
from zerogames.runs.disk import name_disk_errors
from zerogames.runs.display import Display, Frame
from zerogames.runs.folder import SettingsFolder
from zerogames.runs.signals import interrupt_on_sigterm
from zerogames_chess.uci_client import EngineDied

_Job = TypeVar("_Job")
_Result = TypeVar("_Result")
_Engine = TypeVar("_Engine")
_MOST_RESTARTS = 20


@dataclass(kw_only=True)
class ChunkCounts:
    """What was left out of a chunk, and why."""

    dropped: Counter[str] = field(default_factory=Counter)
    restarts: int = 0
    """How often the engine was started again."""


def run_in_folder(
    out: Path, settings: Mapping[str, Any], work: Callable[[], None], console: Console
) -> int:
    """Do the work in its folder, which is continued with the same settings only; the exit code.

    How many games are used, where and by how many processes may change.
    """
    same = {key: settings[key] for key in settings if key not in ("out", "processes", "games")}
    try:
        with name_disk_errors(out), SettingsFolder(out, same) as folder, interrupt_on_sigterm():
            folder.begin()
            work()
    except KeyboardInterrupt:
        console.print("stopped: the same command continues, with --games N it ends sooner")
        return 130
    return 0


def ask_engine(
    engine: Path,
    pending: deque[_Job],
    start: Callable[[], AbstractContextManager[_Engine]],
    work: Callable[[_Engine, _Job], _Job | None],
    counts: ChunkCounts,
) -> None:
    """Do all jobs in their order, with an engine that is started again when it dies.

    What was done is kept. A job that kills the engine twice is left out.

    Args:
        engine: Named where it dies too often.
        pending: The jobs; none is left.
        start: Starts the engine.
        work: Does a job; what it returns is the next one.
        counts: Are moved.
    """
    deaths = 0
    while pending:
        try:
            with start() as running:
                while pending:
                    following = work(running, pending[0])
                    pending.popleft()
                    if following is not None:
                        pending.appendleft(following)
                    deaths = 0
        except EngineDied as error:
            counts.restarts += 1
            if counts.restarts > _MOST_RESTARTS:
                raise UserError(f"{engine} dies again and again: {error}") from None
            deaths += 1
            if deaths == 2 and pending:
                pending.popleft()
                counts.dropped["engine died"] += 1
                deaths = 0


@contextmanager
def chunk_display(title: str, chunks: int, console: Console) -> Iterator[Callable[[int], None]]:
    """A display; what it gives is called after each chunk with the positions made so far."""
    done = 0
    with Display(console) as display:

        def advance(made: int) -> None:
            nonlocal done
            done += 1
            rate = made / max(1e-9, display.elapsed_s)
            line = f"{title}: {done}/{chunks} chunks, {rate:,.0f} positions/s"
            display.show(Frame(done=done / chunks, title=line, line=line))

        yield advance


def in_processes(
    work: Callable[[_Job], _Result], jobs: Iterable[_Job], processes: int
) -> Iterator[_Result]:
    """Results in the order in which they are done; few jobs are in memory at a time."""
    if processes == 1:
        yield from map(work, jobs)
        return
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(processes, mp_context=context, initializer=_end_with_parent) as pool:
        running: set[Future[_Result]] = set()
        try:
            for job in jobs:
                running.add(pool.submit(work, job))
                # A few chunks in flight keep every process busy and the memory small.
                if len(running) >= 2 * processes:
                    done, running = wait(running, return_when=FIRST_COMPLETED)
                    yield from (future.result() for future in done)
            yield from (future.result() for future in running)
        finally:
            # After Ctrl-C or an error nothing that waits is begun.
            pool.shutdown(wait=False, cancel_futures=True)


def _end_with_parent() -> None:
    """Let this process end when the one that started it was killed; its engine then ends too."""
    parent = multiprocessing.parent_process()
    assert parent is not None

    def watch() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
