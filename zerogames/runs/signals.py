"""Signals that end a long run in good order."""

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType


@contextlib.contextmanager
def stop_on_signals(stop: threading.Event) -> Iterator[None]:
    """Ctrl-C and SIGTERM set `stop`; a second Ctrl-C raises `KeyboardInterrupt` at once.

    Use it in the main thread only.
    """

    def handle(number: int, frame: FrameType | None) -> None:
        if stop.is_set() and number == signal.SIGINT:
            raise KeyboardInterrupt
        stop.set()

    old = {number: signal.signal(number, handle) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in old.items():
            signal.signal(number, handler)


@contextlib.contextmanager
def interrupt_on_sigterm() -> Iterator[None]:
    """SIGTERM raises `KeyboardInterrupt` as Ctrl-C does, for work that may be left at any point.

    Use it in the main thread only; elsewhere it has no effect.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    old = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, old)


@contextlib.contextmanager
def hold_back_ctrl_c() -> Iterator[None]:
    """Let Ctrl-C wait until a step is done that must not be left half done."""
    if threading.current_thread() is not threading.main_thread():
        yield  # Only the main thread is ever interrupted.
        return
    held: list[int] = []
    old = signal.signal(signal.SIGINT, lambda number, frame: held.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, old)
    if held:
        signal.raise_signal(signal.SIGINT)
