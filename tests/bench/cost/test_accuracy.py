"""Peak memory of GPT-2 small as it is planned and as it is; the whole table is `tools/benchmarks/cost.py`."""

import pytest

from tools.benchmarks.cost import FEW, GOAL, measure


@pytest.mark.slow
@pytest.mark.parametrize(("method", "length", "precision"), FEW)
def test_planned_memory_is_near_what_is_measured(method, length, precision):
    found = measure(method, length, precision)
    assert abs(found.off) < GOAL, found
