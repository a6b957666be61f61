"""A training that is stopped after any step and taken up again ends as one that was never stopped, bit for bit."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.resume import Case, differing


@pytest.mark.parametrize(
    "case",
    [
        Case("mle", accumulate=2),
        Case("histalign", validate=0.6),
        Case("face", workers=2),
        Case("ul_token_seq", precision="bf16-mixed"),
        Case("f2softmax", accumulate=2, validate=0.4),
    ],
    ids=lambda case: case.method,
)
def test_from_any_of_three_steps(case: Case, tmp_path: Path) -> None:
    """Within an epoch, at its end (30 rows are 5 steps), and at the last step."""
    assert differing(case, tmp_path, (3, 5, 8)) == []
