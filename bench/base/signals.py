"""Signals: SIGTERM interrupts a command as Ctrl-C does, and no library keeps that from it."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

__all__ = ["Terminated", "interrupts_get_out", "restore_handlers", "signal_handlers", "terminable"]

HANDLED = (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1)
"""Signals whose handlers Lightning replaces."""


class Terminated(KeyboardInterrupt):
    """SIGTERM came. It is a KeyboardInterrupt, so whatever lets Ctrl-C through lets it through too."""


@contextmanager
def terminable() -> Iterator[None]:
    """Raise `Terminated` in the main thread when SIGTERM comes; afterwards its default action is back.

    A handler that somebody else has set stays, and outside the main thread nothing is done.
    """
    owner = os.getpid()

    def terminate(number: int, frame: FrameType | None) -> None:
        if os.getpid() == owner:
            raise Terminated
        signal.signal(number, signal.SIG_DFL)  # a forked child inherits the handler: it just ends
        os.kill(os.getpid(), number)

    if not in_main_thread() or signal.getsignal(signal.SIGTERM) != signal.SIG_DFL:
        yield
        return
    signal.signal(signal.SIGTERM, terminate)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


@contextmanager
def interrupts_get_out() -> Iterator[None]:
    """Raise the KeyboardInterrupt that the code inside has turned into another exception, and restore the handlers.

    Lightning's trainer turns it into `SystemExit(1)` and may leave SIGINT ignored.
    """
    handlers = signal_handlers()
    try:
        yield
    except BaseException as error:
        interrupt = interrupt_behind(error)
        if interrupt is None or interrupt is error:
            raise
        raise interrupt from None
    finally:
        restore_handlers(handlers)


def interrupt_behind(error: BaseException) -> KeyboardInterrupt | None:
    """Return the KeyboardInterrupt that an exception is, or was raised in the handling of."""
    found: BaseException | None = error
    while found is not None and not isinstance(found, KeyboardInterrupt):
        found = found.__context__
    return found


def signal_handlers() -> dict[signal.Signals, Any]:
    """Return the handlers of the signals that Lightning handles, for `restore_handlers`."""
    return {number: signal.getsignal(number) for number in HANDLED}


def restore_handlers(handlers: dict[signal.Signals, Any]) -> None:
    """Set handlers again; one that Python did not set (None) and those of other threads cannot be set."""
    if not in_main_thread():
        return
    for number, handler in handlers.items():
        if handler is not None and signal.getsignal(number) != handler:
            signal.signal(number, handler)


def in_main_thread() -> bool:
    """Return whether this is the main thread: Python sets and runs handlers there only."""
    return threading.current_thread() is threading.main_thread()
