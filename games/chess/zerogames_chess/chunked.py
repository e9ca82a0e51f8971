"""Long work in chunks that several processes do, in a folder that can be gone on with."""

import json
import multiprocessing
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from zerogames.atomic import write_text_atomically
from zerogames.errors import UserError

_Job = TypeVar("_Job")
_Result = TypeVar("_Result")


def make_folder(folder: Path) -> None:
    """Make a folder, unless it is there."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"{folder}: {error.strerror}; name a folder") from None


def begin_folder(folder: Path, settings: Mapping[str, object]) -> None:
    """Make a folder, or go on in one that was begun with the same settings.

    Args:
        folder: where the chunks will be.
        settings: everything that decides what they hold, not how fast they come.
    """
    make_folder(folder)
    path = folder / "settings.json"
    asked = {
        key: str(value) if isinstance(value, Path) else value for key, value in settings.items()
    }
    if path.exists():
        try:
            known = dict(json.loads(path.read_text()))
        except (OSError, ValueError, TypeError):
            raise UserError(f"{path} is damaged; use another folder") from None
        if known != asked:
            wrong = ", ".join(sorted(key for key in asked if known.get(key) != asked[key]))
            raise UserError(
                f"{folder} was begun with other settings ({wrong}); use them or another folder"
            )
    else:
        write_text_atomically(path, json.dumps(asked, indent=1, sort_keys=True))


@contextmanager
def chunk_bar(title: str, chunks: int, console: Console) -> Iterator[Callable[[int], None]]:
    """A bar; what it gives is called after each chunk with the positions made since the start."""
    began = time.monotonic()
    with Progress(
        TextColumn(title),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(),
        console=console,
    ) as progress:
        task = progress.add_task(title, total=chunks, rate="")

        def advance(made: int) -> None:
            rate = made / max(1e-9, time.monotonic() - began)
            progress.update(task, advance=1, rate=f"{rate:,.0f} positions/s")

        yield advance


def in_processes(
    work: Callable[[_Job], _Result], jobs: Iterable[_Job], processes: int
) -> Iterator[_Result]:
    """Results in the order in which they are done; few jobs are held at a time."""
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
