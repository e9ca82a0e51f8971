"""Long work in chunks that several processes do."""

import multiprocessing
import os
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from contextlib import contextmanager
from typing import TypeVar

from rich.console import Console

from zerogames.runs.display import Display, Frame

_Job = TypeVar("_Job")
_Result = TypeVar("_Result")


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
