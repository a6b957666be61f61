"""The library `datasets`, imported where it is first needed and kept silent.

Its import takes a second, which a plan over other data should not cost.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["library", "message_of"]


@contextmanager
def library() -> Iterator[Any]:
    """Give the module `datasets` without progress bars, log lines and download counts while the block lasts.

    What it logs is an exception too, which the caller reports.
    """
    import datasets
    from huggingface_hub import utils

    modules: list[Any] = [datasets, utils]
    counts, levels = datasets.config.HF_UPDATE_DOWNLOAD_COUNTS, [module.logging.get_verbosity() for module in modules]
    with_bars = [module for module in modules if not module.are_progress_bars_disabled()]
    datasets.config.HF_UPDATE_DOWNLOAD_COUNTS = False
    for module in modules:
        module.logging.set_verbosity(module.logging.CRITICAL)
        module.disable_progress_bars()
    try:
        yield datasets
    finally:
        datasets.config.HF_UPDATE_DOWNLOAD_COUNTS = counts
        for module, level in zip(modules, levels, strict=True):
            module.logging.set_verbosity(level)
        for module in with_bars:
            module.enable_progress_bars()


def message_of(error: BaseException) -> str:
    """Return the message of a library's error in one line, or of its cause where it only says that something failed."""
    if type(error).__name__ == "DatasetGenerationError" and error.__cause__ is not None:
        error = error.__cause__
    return " ".join(str(error).split())[:200] or type(error).__name__
