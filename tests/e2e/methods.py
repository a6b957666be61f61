"""Objectives that go wrong, as a user's own classes: `--method tests.e2e.methods:Raises`."""

import os
import signal
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import torch
from torch import Tensor

from bench.models.backbones.backbone import Batch
from bench.models.core.objective import Objective
from bench.models.core.sliced_loss import LossSum
from bench.models.core.states import States


class Counted(Objective):
    """Counts its steps: `at_step` is called in each."""

    name: ClassVar[str] = "counted"
    paper: ClassVar[str] = "for tests"
    step = 0

    def loss(self, states: States) -> LossSum:
        self.step += 1
        self.at_step(self.step)
        return super().loss(states)

    def at_step(self, step: int) -> None:
        """Do nothing; others do."""


class Raises(Counted):
    """Raises in its second step, until `healed`."""

    name: ClassVar[str] = "raises"
    healed: ClassVar[bool] = False

    def at_step(self, step: int) -> None:
        if step == 2 and not self.healed:
            raise RuntimeError("the second step went wrong")


class FromRaises(Counted):
    """Fine-tuned from what raises."""

    name: ClassVar[str] = "from-raises"
    parent: ClassVar[str] = "tests.e2e.methods:Raises"


class RaisesOnSecondRank(Raises):
    """Only one of several processes raises."""

    name: ClassVar[str] = "raises-on-second-rank"

    def at_step(self, step: int) -> None:
        if os.environ.get("RANK") == "1":
            super().at_step(step)


class Exits(Counted):
    """Leaves the program in its second step, as a library may that calls `sys.exit`."""

    name: ClassVar[str] = "exits"

    def __init__(self, backbone: Any, *, code: int = 7) -> None:
        super().__init__(backbone)
        self.code = code

    def at_step(self, step: int) -> None:
        if step == 2:
            raise SystemExit(self.code)


class Sleeps(Counted):
    """Where `SLEEPS` lists its rank (0 of one process) it stays in its second step, until it may go on."""

    name: ClassVar[str] = "sleeps"

    def at_step(self, step: int) -> None:
        if step == 2:
            sleep(os.environ.get("SLEEPS", ""))


class Paced(Counted):
    """Takes its time for each step until there is a file `go` in the folder `BED`, and notes the steps it takes."""

    name: ClassVar[str] = "paced"

    def at_step(self, step: int) -> None:
        bed = Path(os.environ["BED"])
        if self.training:
            with (bed / "steps").open("a") as steps:
                print(f"{os.getpid()} {self.trainer.global_step + 1}", file=steps)
            if not (bed / "go").exists():
                time.sleep(0.3)


def sleep(ranks: str) -> None:
    """If this is one of these ranks, leave its process id in the folder `BED`, and wait there for a file `go`."""
    rank = os.environ.get("RANK", "0")
    if rank not in ranks:
        return
    bed = Path(os.environ["BED"])
    Path(bed, f"asleep.{rank}").write_text(str(os.getpid()))
    while not Path(bed, "go").exists():
        time.sleep(0.02)


class ReadsSlowly(Counted):
    """Takes its time with each batch after the training, on the one rank that reads them, or stops at the second."""

    name: ClassVar[str] = "reads-slowly"

    def after_training(self, train: Sequence[Batch], valid: Sequence[Batch]) -> dict[str, float]:
        for number, _ in enumerate(train):
            if number == 1:
                sleep(os.environ.get("SLEEPS", ""))
            time.sleep(float(os.environ["EACH"]))
        return {"read": len(train)}


class Large(Counted):
    """Runs out of memory with micro-batches of more rows than `FITS` says, on the ranks that `LARGE` lists, or all."""

    name: ClassVar[str] = "large"

    def step_loss(self, batch: Any) -> LossSum:
        rows = len(batch["labels"])
        is_large = os.environ.get("RANK", "0") in os.environ.get("LARGE", "01")
        if self.training and is_large and rows > int(os.environ.get("FITS", "99")):
            raise torch.OutOfMemoryError(f"no memory for {rows} rows")
        return super().step_loss(batch)


class Nan(Counted):
    """Its loss is not a number in one step; gradients and later losses are as ever."""

    name: ClassVar[str] = "nan"

    def __init__(self, backbone: Any, *, at: int = 2, value: str = "nan") -> None:
        super().__init__(backbone)
        self.at, self.value = at, float(value)

    def loss(self, states: States) -> LossSum:
        found = super().loss(states)
        return LossSum(found.total + self.value, found.n_target_tokens) if self.step == self.at else found


class FromNan(Counted):
    """Fine-tuned from what diverges."""

    name: ClassVar[str] = "from-nan"
    parent: ClassVar[str] = "tests.e2e.methods:Nan"


class NanGradient(Counted):
    """Its loss is fine, and one step's gradient of one weight is not."""

    name: ClassVar[str] = "nan-gradient"

    def __init__(self, backbone: Any, *, at: int = 2, value: str = "nan") -> None:
        super().__init__(backbone)
        self.at, self.value = at, float(value)

    def at_step(self, step: int) -> None:
        if step == self.at:
            weight = next(p for p in self.parameters() if p.requires_grad)
            self.hooks = [weight.register_hook(self.spoilt)]
        elif step == self.at + 1:
            self.hooks[0].remove()

    def spoilt(self, gradient: Tensor) -> Tensor:
        return torch.full_like(gradient, self.value)


class NanOnSecondRank(Nan):
    """Only one of several processes sees it."""

    name: ClassVar[str] = "nan-on-second-rank"

    def loss(self, states: States) -> LossSum:
        return super().loss(states) if os.environ.get("RANK") == "1" else Objective.loss(self, states)


class DiesOnSecondRank(Counted):
    """Its second process is killed in the step that `DIES` says; those that `SLEEPS` lists wait."""

    name: ClassVar[str] = "dies-on-second-rank"

    def at_step(self, step: int) -> None:
        sleep(os.environ.get("SLEEPS", "-"))
        dies = {"at once": 1, "in step 2": 2}.get(os.environ.get("DIES", ""))
        if step == dies and os.environ.get("RANK") == "1":
            os.kill(os.getpid(), signal.SIGKILL)
