"""Entity precision as a class: by hand, sources that are missing, levels that are not there."""

import pytest
import torch

from bench.metrics.faithfulness.entity_precision_metric import EntityPrecision


def test_by_hand():
    for level, shares, found in ((0, 0.5, 1), (1, 1.5, 2), (2, 2.0, 3)):
        metric = EntityPrecision(level, {"the"})
        metric.update([["Aldra", "Bank of Sorn"], []], ["the Aldra and a sorn", "x"])
        metric.update([["SORN"], ["the Vale", "US"]], ["a sorn", "the sea"])
        values = {name: value.item() for name, value in metric.compute().items()}
        assert values == {"mean": pytest.approx(100 * shares / 3), "pooled": 100 * found / 5}
        assert metric.counts.dtype == torch.int64
        assert metric.shares.dtype == torch.float64


def test_nothing_and_what_is_refused():
    metric = EntityPrecision()
    metric.update([], [])
    metric.update([[]], ["x"])
    assert all(value.isnan() for value in metric.compute().values())
    with pytest.raises(ValueError, match="expected a source per summary, got 1 summaries and 2 sources"):
        metric.update([["Aldra"]], ["x", "y"])
    with pytest.raises(ValueError, match="level 3 is unknown; there are: 0, 1, 2"):
        EntityPrecision(3)
