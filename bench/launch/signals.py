"""Signals: one handler for the whole program, and one flag that work in steps looks at between two steps.

Outside such work a signal raises `Stopped` where it comes, as Ctrl-C does. Inside `between_steps()` it only sets the
flag; the work calls `raise_pending_signal` when a step is whole and its state can be kept. A second signal raises at
once. A signal that comes together with the first does not count as a second one, because a command passes signals on.
SIGUSR1 and SIGUSR2 never count as a second one: a scheduler announces the end of a job with them, sometimes twice.
"""

import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import Any

EXIT_CODES = {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGUSR1: 75, signal.SIGUSR2: 75}
"""How a program ends after each signal: 75 asks for another start."""

TOGETHER_S = 1.0
"""Signals that come within so many seconds are one."""


class Stopped(KeyboardInterrupt):
    """A signal came. It is a KeyboardInterrupt, so whatever lets Ctrl-C through lets it through too."""

    def __init__(self, number: int = signal.SIGTERM) -> None:
        self.signal = signal.Signals(number)
        super().__init__(self.signal.name)

    @property
    def exit_code(self) -> int:
        """What the program ends with."""
        return EXIT_CODES[self.signal]


@dataclass
class _Asked:
    """What signals have asked of this process; plain values, since a handler may run between any two instructions."""

    number: int = 0  # of the first signal, 0 for none
    at: float = 0.0  # when it came, in seconds
    in_steps: int = 0  # how many `between_steps()` we are inside


_ASKED = _Asked()


@contextmanager
def handled() -> Iterator[None]:
    """Handle SIGINT, SIGTERM, SIGUSR1 and SIGUSR2 as this module says; afterwards handlers are those of before.

    A handler that somebody else has set stays, and outside the main thread nothing is done.
    """
    owner = os.getpid()

    def handle(number: int, frame: FrameType | None) -> None:
        if os.getpid() != owner:  # a forked child inherits the handler: it just ends
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)
            return
        now = time.monotonic()
        is_first = _ASKED.number == 0
        is_second = not is_first and now - _ASKED.at > TOGETHER_S and number in (signal.SIGINT, signal.SIGTERM)
        if is_first:
            _ASKED.at = now
        _ASKED.number = number
        if is_second or not _ASKED.in_steps:
            raise Stopped(number)

    before = {}
    if in_main_thread():
        defaults = (signal.SIG_DFL, signal.default_int_handler)
        before = {number: handler for number, handler in signal_handlers().items() if handler in defaults}
    for number in before:
        signal.signal(number, handle)
    try:
        yield
    finally:
        restore_handlers(before)
        if before:
            _ASKED.number = 0


@contextmanager
def between_steps() -> Iterator[None]:
    """Let a first signal wait until the work inside calls `raise_pending_signal`, or ends.

    Work in steps may hold other such work, as a training holds an evaluation: the outer one decides then.

    Raises:
        Stopped: at the end of the outermost, when a signal came that the work has not looked at.
    """
    _ASKED.in_steps += 1
    try:
        yield
    finally:
        _ASKED.in_steps -= 1
    if not _ASKED.in_steps:
        raise_pending_signal()


def pending_signal() -> int:
    """Return the number of the signal that came, 0 if none did."""
    return _ASKED.number


def raise_pending_signal() -> None:
    """Raise `Stopped` if a signal came."""
    if _ASKED.number:
        raise Stopped(_ASKED.number)


def forget() -> None:
    """Begin as a new program: no signal has come, and handlers are the system's. For a process that was forked."""
    _ASKED.number = _ASKED.in_steps = 0
    for number in EXIT_CODES:
        signal.signal(number, signal.SIG_DFL)


@contextmanager
def interrupts_get_out() -> Iterator[None]:
    """Raise the KeyboardInterrupt that the code inside has turned into another exception, and restore the handlers.

    Lightning's trainer turns it into `SystemExit(1)` and may leave SIGINT ignored.
    """
    handlers = signal_handlers()
    try:
        yield
    except BaseException as error:
        found: BaseException | None = error
        while found is not None and not isinstance(found, KeyboardInterrupt):
            found = found.__context__
        if found is None or found is error:
            raise
        raise found from None
    finally:
        restore_handlers(handlers)


def signal_handlers() -> dict[signal.Signals, Any]:
    """Return the handlers of the signals that the program handles, for `restore_handlers`."""
    return {number: signal.getsignal(number) for number in EXIT_CODES}


def restore_handlers(handlers: dict[signal.Signals, Any]) -> None:
    """Set handlers again; one that Python did not set (None) and those of other threads cannot be set."""
    for number, handler in handlers.items():
        if in_main_thread() and handler is not None and signal.getsignal(number) != handler:
            signal.signal(number, handler)


def in_main_thread() -> bool:
    """Return whether this is the main thread: Python sets and runs handlers there only."""
    return threading.current_thread() is threading.main_thread()
