"""Signals that end a run as Ctrl-C does, never in the middle of a write."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

# Sent when a terminal closes; Windows has no such signal.
HANGUP = tuple(getattr(signal, name) for name in ("SIGHUP",) if hasattr(signal, name))
STOPS = (signal.SIGTERM, *HANGUP)
FIRST_OF_SIGNALS = 128  # a command ended by signal N has the exit code 128 + N


class Stopped(KeyboardInterrupt):
    """A run was ended by the signal `number`."""

    def __init__(self, number: int, rest: str = "start the command again to repeat it") -> None:
        self.number = number
        how = (
            "interrupted" if number == signal.SIGINT else f"ended by {signal.Signals(number).name}"
        )
        super().__init__(f"{how}; {rest}")


def exit_code(stop: BaseException) -> int:
    """Return the exit code of a command that was stopped: 130 after Ctrl-C, 143 after SIGTERM."""
    return FIRST_OF_SIGNALS + int(getattr(stop, "number", signal.SIGINT))


def stop_on_signals() -> None:
    """Let the signals of STOPS raise Stopped from now on, unless they are ignored or handled.

    Only the first one counts: signals that arrive while the run ends are ignored.
    """
    for number in STOPS:
        if signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, _stop)


def _stop(number: int, _frame: FrameType | None) -> None:
    for other in STOPS:
        if signal.getsignal(other) is _stop:
            signal.signal(other, signal.SIG_IGN)
    raise Stopped(number)


@contextmanager
def stops_deferred() -> Iterator[None]:
    """Defer Ctrl-C and the signals of STOPS to the end of the block."""
    if threading.current_thread() is not threading.main_thread():
        yield  # signals reach the main thread alone
        return
    arrived: list[tuple[int, FrameType | None]] = []
    handlers = {n: signal.getsignal(n) for n in (signal.SIGINT, *STOPS)}
    handled = {n: handler for n, handler in handlers.items() if callable(handler)}
    for number in handled:
        signal.signal(number, lambda n, frame: arrived.append((n, frame)))
    try:
        yield
    finally:
        for number, handler in handled.items():
            signal.signal(number, handler)
        if arrived:
            number, frame = arrived[0]
            handled[signal.Signals(number)](number, frame)


@contextmanager
def interrupts_ignored(*numbers: int) -> Iterator[None]:
    """Let processes that start inside the block ignore Ctrl-C, which the driver handles.

    The same holds for other signals, given by number. A signal that arrives inside the block is
    lost, so the block should be short.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {n: signal.signal(n, signal.SIG_IGN) for n in (signal.SIGINT, *numbers)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
