"""A row that is longer than a model has positions is refused in words, on every architecture."""

from __future__ import annotations

import pytest

from bench.errors import UsageError
from bench.models.backbones.backbone import refuse_longer
from bench.models.mle import MLE
from tests.bench.generation import tiny_decoders as tiny
from tests.models import still


@pytest.mark.parametrize(("kind", "what"), [("gpt2", "rows"), ("bart", "sources")])
def test_a_long_row_is_refused(kind: str, what: str) -> None:
    objective = MLE(tiny.backbone(kind, 0))
    batch = still.batch(kind)
    length = batch["input_ids"].shape[1]
    assert objective.backbone.max_positions is not None
    assert objective.backbone.max_positions >= length
    objective.step_loss(batch)
    objective.backbone.__dict__["max_positions"] = length - 1
    with pytest.raises(UsageError, match=f"a batch has {what} of {length} tokens, and the backbone has positions for"):
        objective.step_loss(batch)


def test_positions_that_are_computed_have_no_end() -> None:
    assert tiny.backbone("llama", 0).max_positions is None
    refuse_longer(None, 10**6, "rows")
