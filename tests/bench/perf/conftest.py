"""What is measured searches for garbage first; that of the tests before is none of its business."""

from __future__ import annotations

import gc

import pytest


@pytest.fixture(autouse=True, scope="module")
def little_garbage() -> None:
    """Leave everything there is out of later searches."""
    gc.collect()
    gc.freeze()
