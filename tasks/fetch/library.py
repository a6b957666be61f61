"""Library: `datasets`, imported where it is first needed, without bars, messages and counts of its own.

It takes a second to import, which a plan over other data should not cost.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["library", "said"]


@contextmanager
def library() -> Iterator[Any]:
    """Give the module `datasets`, silent as long as the block lasts.

    Its progress bars are off. What it logs is an exception too, and is said by whoever catches that. The hub is not
    told how often a data set is read.
    """
    import datasets
    from huggingface_hub import utils

    hub: Any = utils
    config, loggers = datasets.config, (datasets.logging, hub.logging)
    counts, levels = config.HF_UPDATE_DOWNLOAD_COUNTS, [logging.get_verbosity() for logging in loggers]
    switches = [
        (datasets.are_progress_bars_disabled, datasets.disable_progress_bars, datasets.enable_progress_bars),
        (hub.are_progress_bars_disabled, hub.disable_progress_bars, hub.enable_progress_bars),
    ]
    were_on = [(off, on) for is_off, off, on in switches if not is_off()]
    config.HF_UPDATE_DOWNLOAD_COUNTS = False
    for logging in loggers:
        logging.set_verbosity(logging.CRITICAL)
    for off, _ in were_on:
        off()
    try:
        yield datasets
    finally:
        config.HF_UPDATE_DOWNLOAD_COUNTS = counts
        for logging, level in zip(loggers, levels, strict=True):
            logging.set_verbosity(level)
        for _, on in were_on:
            on()


def said(error: BaseException) -> str:
    """Return what an error of the library says, in one line; the cause, where it only says that something failed."""
    if type(error).__name__ == "DatasetGenerationError" and error.__cause__ is not None:
        error = error.__cause__
    text = " ".join(str(error).split())[:200]
    return text or type(error).__name__
