"""All ranks issue the same collectives in the same order: else some day one waits for ever for another.

Ranks are simulated one after the other over torch's fake process group, which returns at once and sends nothing.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import pytest
import torch
from lightning.pytorch.strategies import DDPStrategy
from torch import distributed
from torch.testing._internal.distributed.fake_pg import FakeStore
from torch.utils._python_dispatch import TorchDispatchMode

from bench.cells.build import optimiser_of
from bench.config.config import TrainerConfig
from bench.config.resolve import find_method
from bench.models.core.run_context import RunContext
from bench.models.mle import MLE
from bench.training.execution import Execution
from bench.training.training import train
from tests.drawn import in_turn
from tests.e2e.tiny import SHORT, fed, small

STEPS, BATCH = 4, 11
"""Rows of a step: none of the worlds below divides them, so that ranks have rows and tokens of different number."""

Call = tuple[str, tuple[Any, ...]]


class Recording(TorchDispatchMode):
    """Writes down every collective that is issued inside, with the sizes of its tensors."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[Call] = []

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if function.namespace == "c10d":
            self.calls.append((function.name(), tuple(sizes(args))))
        return function(*args, **(kwargs or {}))


def summed(found, bucket):  # type: ignore[no-untyped-def]  # DDP reads annotations, and no texts
    """Write down the sum of a bucket of gradients that DDP asks for; return it as it is."""
    gradients = bucket.buffer()
    found.calls.append(("gradients", (bucket.index(), tuple(gradients.shape), str(gradients.dtype))))
    done: torch.futures.Future[torch.Tensor] = torch.futures.Future()
    done.set_result(gradients)
    return done


class Simulated(DDPStrategy):
    """DDP over the fake process group, which cannot sum gradients."""

    def __init__(self, found: Recording) -> None:
        super().__init__(process_group_backend="fake")
        self.found = found

    def configure_ddp(self) -> None:
        super().configure_ddp()
        self.model.register_comm_hook(self.found, summed)  # type: ignore[union-attr, operator]

    def broadcast(self, obj: Any, src: int = 0) -> Any:
        """Nothing arrives, and an object has to."""
        self.found.calls.append(("object", (src,)))
        return obj


def sizes(values: Any) -> Iterator[Any]:
    """Yield shape and type of every tensor in nested lists, and what a reduction does."""
    for value in values:
        if isinstance(value, torch.Tensor):
            yield tuple(value.shape), str(value.dtype)
        elif isinstance(value, (list, tuple)):
            yield from sizes(value)


@pytest.fixture(autouse=True)
def as_gloo(monkeypatch: pytest.MonkeyPatch) -> None:
    """A group on the CPU is at hand, as with gloo."""
    monkeypatch.setattr("bench.training.state_keeper.distributed.get_backend", lambda group=None: "gloo")


def recorded(name: str, rank: int, world: int, monkeypatch: pytest.MonkeyPatch, **options: Any) -> list[Call]:
    """Train as one rank; return its collectives."""
    place = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": world, "LOCAL_WORLD_SIZE": world}
    for variable, value in place.items():
        monkeypatch.setenv(variable, str(value))
    method = find_method(name)
    objective, task, codec = small(method.kind, **{**method.values("method"), **options})
    config = TrainerConfig(steps=STEPS, batch_size=BATCH, lr=1e-3, validate=1.0, **SHORT)  # type: ignore[arg-type]
    objective.setup_run(RunContext(optimiser=optimiser_of(config)))
    distributed.init_process_group("fake", store=FakeStore(), rank=rank, world_size=world)
    try:
        with Recording() as found:
            monkeypatch.setattr("bench.training.training.strategy_of", lambda name: Simulated(found))
            train(objective, fed(task, codec, config), config, Execution(world=world))
    finally:
        distributed.destroy_process_group()
    return found.calls


@pytest.mark.parametrize(("world", "method"), in_turn([2, 3, 8], ["mle", "face", "histalign"]))
def test_all_ranks_issue_the_same(method: str, world: int, monkeypatch: pytest.MonkeyPatch) -> None:
    ranks = [recorded(method, rank, world, monkeypatch) for rank in range(world)]
    assert len(ranks[0]) > STEPS
    for found in ranks[1:]:
        assert found == ranks[0]
    operations = {call for call, _ in ranks[0]}
    assert {"gradients", "c10d::allreduce_"} <= operations


class ReducesOnOneRank(MLE):
    """Its first rank alone asks for a sum."""

    name: ClassVar[str] = "reduces-on-one-rank"

    def end_of_step(self, reduce: Callable[[torch.Tensor], torch.Tensor]) -> None:
        if os.environ["RANK"] == "0":
            reduce(torch.zeros(7))


def test_one_that_differs_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = (recorded(f"{__name__}:ReducesOnOneRank", rank, 2, monkeypatch) for rank in range(2))
    extra = ("c10d::allreduce_", (((7,), "torch.float32"),))
    assert (first.count(extra), second.count(extra)) == (STEPS, 0)
    assert first != second
