"""Signals end a run in good order; Ctrl-C leaves no step half done."""

import signal
import threading
from collections.abc import Iterator

import pytest

from zerogames.runs.signals import hold_back_ctrl_c, interrupt_on_sigterm, stop_on_signals


@pytest.fixture(autouse=True)
def usual_ctrl_c() -> Iterator[None]:
    """Tests that run in the background may have been started to ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_ctrl_c_waits_for_the_end_of_a_step() -> None:
    done = []

    def step() -> None:
        with hold_back_ctrl_c():
            signal.raise_signal(signal.SIGINT)
            done.append("the rest of the step")

    with pytest.raises(KeyboardInterrupt):
        step()
    assert done
    with pytest.raises(KeyboardInterrupt):  # as before
        signal.raise_signal(signal.SIGINT)


def test_without_ctrl_c_and_in_other_threads_nothing_happens() -> None:
    before = signal.getsignal(signal.SIGINT)
    with hold_back_ctrl_c():
        pass
    assert signal.getsignal(signal.SIGINT) is before
    ends = []

    def work() -> None:
        with hold_back_ctrl_c():  # a handler cannot be set from here
            ends.append(True)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert ends


def test_signals_ask_a_run_to_stop_and_a_second_ctrl_c_ends_it() -> None:
    stop = threading.Event()
    before = signal.getsignal(signal.SIGTERM)
    with stop_on_signals(stop):
        for number in (signal.SIGTERM, signal.SIGTERM):
            signal.raise_signal(number)
            assert stop.is_set()
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGTERM) is before
    stop.clear()
    with stop_on_signals(stop):
        signal.raise_signal(signal.SIGINT)
    assert stop.is_set()


def test_sigterm_interrupts_as_ctrl_c_does() -> None:
    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(KeyboardInterrupt), interrupt_on_sigterm():
        signal.raise_signal(signal.SIGTERM)
    assert signal.getsignal(signal.SIGTERM) is before
