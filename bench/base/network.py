"""Network: whether the model hub answers, and calls that may take only so long."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from typing import TypeVar

__all__ = ["hub_reachable", "within"]

ANSWER_S = 3.0
"""Seconds the hub has for a first answer."""
REMEMBERED_S = 60.0
"""Seconds before a hub that did not answer is tried again; else every task and model of a plan would wait for it."""

T = TypeVar("T")

_SILENT: dict[str, float] = {}  # endpoint -> monotonic time until which it is not asked


def hub_reachable() -> bool:
    """Return whether the hub answers at all, so that a closed network costs seconds, not minutes of retries.

    A connection is not enough: a proxy, or a server that hangs, accepts one and never answers.
    """
    if os.environ.get("HF_HUB_OFFLINE", "") not in ("", "0"):
        return False
    endpoint = os.environ.get("HF_ENDPOINT") or "https://huggingface.co"
    if time.monotonic() < _SILENT.get(endpoint, 0.0):
        return False
    try:
        return within(ANSWER_S, lambda: _answers(endpoint))
    except TimeoutError:
        _SILENT[endpoint] = time.monotonic() + REMEMBERED_S
        return False


def _answers(endpoint: str) -> bool:
    """Return whether a server answers a request for its first page, if only with an error status.

    Raises:
        TimeoutError: it is silent.
    """
    import ssl
    from http.client import HTTPException
    from urllib.error import HTTPError, URLError
    from urllib.request import Request, urlopen

    try:
        with urlopen(Request(endpoint, method="HEAD"), timeout=ANSWER_S):  # noqa: S310  the user's own endpoint
            return True
    except HTTPError:
        return True
    except URLError as error:
        if isinstance(error.reason, TimeoutError):
            raise error.reason from error
        return isinstance(error.reason, ssl.SSLCertVerificationError)  # the hub's client has certificates of its own
    except TimeoutError:
        raise
    except (OSError, ValueError, HTTPException):
        return False


def within(seconds: float, act: Callable[[], T]) -> T:
    """Return what a call returns, if it does in time. A call that hangs is left behind in its thread.

    Libraries limit each packet and each attempt, but not the look-up of a host name.

    Raises:
        TimeoutError: it has not ended.
    """
    outcome: list[T] = []
    failure: list[BaseException] = []

    def run() -> None:
        try:
            outcome.append(act())
        except BaseException as error:  # raised below, in the thread that asked
            failure.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(seconds)
    if failure:
        raise failure[0]
    if not outcome:
        raise TimeoutError(f"no answer within {seconds:g} s")
    return outcome[0]
