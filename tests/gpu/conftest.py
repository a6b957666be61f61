"""Where these tests run: on a GPU, or on a processor when the machine's own people rehearse (`REHEARSE=1`)."""

import os
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from tests.conftest import forget_data

REHEARSAL = bool(os.environ.get("REHEARSE"))


@pytest.fixture(autouse=True)
def _sample_data(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """Built-in rows, full fp32 products, no setting of one test in another; what Lightning advises is no error."""
    forget_data(monkeypatch, tmp_path / "no-cache")
    torch.set_float32_matmul_precision("highest")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
    torch.use_deterministic_algorithms(False)


@pytest.fixture
def device() -> torch.device:
    """The GPU, or in a rehearsal the processor."""
    if REHEARSAL:
        return torch.device("cpu")
    if not torch.cuda.is_available():
        pytest.skip("torch sees no CUDA device")
    return torch.device("cuda")
