"""Signals that end a long run in good order."""

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from types import FrameType


@contextlib.contextmanager
def _handled_by(
    handler: Callable[[int, FrameType | None], object], *signals: int
) -> Iterator[None]:
    """Only the main thread is ever interrupted: elsewhere this has no effect."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    old = {number: signal.signal(number, handler) for number in signals}
    try:
        yield
    finally:
        for number, before in old.items():
            signal.signal(number, before)


def stop_on_signals(stop: threading.Event) -> AbstractContextManager[None]:
    """Ctrl-C and SIGTERM set `stop`; a second Ctrl-C raises `KeyboardInterrupt` at once."""

    def handle(number: int, frame: FrameType | None) -> None:
        if stop.is_set() and number == signal.SIGINT:
            raise KeyboardInterrupt
        stop.set()

    return _handled_by(handle, signal.SIGINT, signal.SIGTERM)


def interrupt_on_sigterm() -> AbstractContextManager[None]:
    """SIGTERM raises `KeyboardInterrupt` as Ctrl-C does, for work that may be left at any point."""
    return _handled_by(signal.default_int_handler, signal.SIGTERM)


@contextlib.contextmanager
def hold_back_ctrl_c() -> Iterator[None]:
    """Let Ctrl-C wait until a step is done that must not be left half done."""
    held: list[int] = []
    with _handled_by(lambda number, frame: held.append(number), signal.SIGINT):
        yield
    if held:
        signal.raise_signal(signal.SIGINT)
