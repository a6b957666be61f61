"""bench/config/arguments.py: a run that is asked for in Python is refused as one on the command line."""

from __future__ import annotations

from typing import Any

import pytest

from bench.config.arguments import RunArguments
from bench.errors import UsageError


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"strategy": "fsd"}, "strategy is one of ddp, fsdp, not 'fsd'; did you mean 'fsdp'?"),
        ({"strategy": ""}, "strategy is one of ddp, fsdp, not ''"),
        ({"keep_checkpoints": "bets"}, "keep_checkpoints is one of all, best, none, not 'bets'; did you mean 'best'?"),
        ({"micro_batch": "0"}, "--micro-batch takes a whole number of at least 1, or auto, not '0'"),
        ({"micro_batch": "many"}, "--micro-batch takes a whole number of at least 1, or auto, not 'many'"),
        ({"micro_batch": 8}, "--micro-batch takes a whole number of at least 1, or auto, not 8"),
        ({"micro_batch": "auto", "accumulate": 2}, "--micro-batch auto decides how many micro-batches a step has"),
    ],
)
def test_what_is_refused(given: dict[str, Any], says: str) -> None:
    with pytest.raises(UsageError) as refused:
        RunArguments(("text",), ("mle",), **given)
    assert str(refused.value).startswith(says)


def test_what_is_not() -> None:
    RunArguments(("text",), ("mle",), micro_batch="8", strategy="fsdp", keep_checkpoints="none")
    RunArguments(("text",), ("mle",), micro_batch="auto")
    RunArguments(("text",), ("mle",), accumulate=2)
