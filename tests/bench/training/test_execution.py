"""bench/training/execution.py: what decides speed and place, what is recorded of it, and deterministic mode."""

from pathlib import Path

import pytest
import torch

from bench.cells import work
from bench.store.store import Store
from bench.training.execution import Execution
from tests.conftest import TINY, Bench


def test_what_is_recorded() -> None:
    assert Execution(accumulate=4).recorded() == {"world": 1, "accumulate": 4}
    asked = Execution(activation_checkpointing=True, deterministic=True, out_of_memory=True)
    assert [name for name, value in asked.recorded().items() if value is True] == [
        "activation_checkpointing", "deterministic", "out_of_memory",
    ]  # fmt: skip


def test_deterministic_mode_is_on_for_the_work_only(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In training and in evaluation, and off afterwards; the record says so, and the numbers are the same here."""
    monkeypatch.delenv("CUBLAS_WORKSPACE_CONFIG", raising=False)
    seen = []
    for name in ("train", "evaluate"):
        original = getattr(work, name)

        def noting(*given, original=original, **named):
            seen.append(torch.are_deterministic_algorithms_enabled())
            return original(*given, **named)

        monkeypatch.setattr(work, name, noting)
    for folder, more in ((tmp_path / "plain", ()), (tmp_path / "mode", ("--set", "execution.deterministic=true"))):
        assert bench(*TINY, *more, "--results", str(folder)).code == 0
    half = len(seen) // 2
    assert seen == [False] * half + [True] * half
    assert not torch.are_deterministic_algorithms_enabled()
    plain, mode = (next(iter(Store(tmp_path / name).cells())) for name in ("plain", "mode"))
    assert mode.trained() == plain.trained()
    assert '"deterministic": true' in (mode.path / "trained.json").read_text()
