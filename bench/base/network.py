"""Network: whether the model hub answers, what is in its cache, and calls that may take only so long."""

import os
import re
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, wait
from pathlib import Path
from typing import TypeVar

ANSWER_S = 3.0
"""Seconds the hub has for a first answer."""
REMEMBERED_S = 60.0
"""Seconds before a hub that did not answer is tried again; else every task and model of a plan would wait for it."""

T = TypeVar("T")

_SILENT: dict[str, float] = {}  # endpoint -> monotonic time until which it is not asked


def is_offline() -> bool:
    """Return whether the user has switched the network off, by the variables and values of `huggingface_hub`."""
    given = os.environ.get("HF_HUB_OFFLINE") or os.environ.get("TRANSFORMERS_OFFLINE") or ""
    return given.upper() in ("1", "ON", "YES", "TRUE")


def hub_reachable() -> bool:
    """Return whether the hub answers at all, if only with an error status.

    So a closed network costs seconds, not minutes of retries. A connection is not enough: a proxy, or a server that
    hangs, accepts one and never answers.
    """
    if is_offline():
        return False
    endpoint = os.environ.get("HF_ENDPOINT") or "https://huggingface.co"
    if time.monotonic() < _SILENT.get(endpoint, 0.0):
        return False
    from huggingface_hub import get_session

    try:
        within(ANSWER_S, lambda: get_session().head(endpoint, timeout=2 * ANSWER_S))
        return True
    except TimeoutError:
        _SILENT[endpoint] = time.monotonic() + REMEMBERED_S
        return False
    except Exception:  # the connection is refused, or the endpoint is no address
        return False


def is_commit(revision: str) -> bool:
    """Return whether a revision of a repository is a whole commit, which always means the same files.

    >>> is_commit("0" * 40), is_commit("refs/convert/parquet"), is_commit("")
    (True, False, False)
    """
    return re.fullmatch(r"[0-9a-f]{40}", revision) is not None


def cached_folder(repository: str, revision: str = "main") -> Path | None:
    """Return the folder of a model in the hub's cache, or None; its name is the commit of the revision."""
    from huggingface_hub import try_to_load_from_cache
    from huggingface_hub.errors import HFValidationError

    try:
        config = try_to_load_from_cache(repository, "config.json", revision=revision)
    except HFValidationError:
        return None
    return Path(config).parent if isinstance(config, str) else None


def within(seconds: float, act: Callable[[], T]) -> T:
    """Return what a call returns, if it does in time. A call that hangs is left behind in its thread.

    Libraries limit each packet and each attempt, but not the look-up of a host name.

    Raises:
        TimeoutError: it has not ended.
    """
    future: Future[T] = Future()

    def run() -> None:
        try:
            future.set_result(act())
        except BaseException as error:  # raised below, in the thread that asked
            future.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    if not wait([future], seconds).done:
        raise TimeoutError(f"no answer within {seconds:g} s")
    return future.result()
