"""Training by hand, and its checks: a checkpoint holds everything, and what is seen is learned."""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from pathlib import Path

import torch
from safetensors.torch import load
from torch import Tensor

from bench.base.seeds import seed_of, seed_torch
from bench.store.checkpoints import load_checkpoint, save_checkpoint
from bench.tasks.encode.codec import Encoded
from bench.testing.report import NotApplicable, near, need
from bench.testing.subject import Subject

STEPS = 200
SHARE = 0.3


class Trainee:
    """An objective that is trained by hand, as one process trains it."""

    def __init__(self, subject: Subject, rate: float = 1e-2) -> None:
        self.subject, self.taken = subject, 0
        self.objective = subject.objective(fresh=True)
        self.optimizer = torch.optim.Adam([p for p in self.objective.parameters() if p.requires_grad], lr=rate)

    def loss(self, rows: Sequence[Encoded]) -> Tensor:
        """Return the loss of the next step per target token, with its gradients left in `grad`."""
        seed_torch(seed_of(self.subject.seed, "step", 0, self.taken))
        self.optimizer.zero_grad()
        loss = self.objective.training_step(self.subject.batch(rows, self.taken), self.taken)
        loss.backward()
        return loss.detach()

    def step(self, rows: Sequence[Encoded]) -> float:
        """Take a step; return its loss."""
        loss = self.loss(rows)
        self.objective.end_of_step(lambda tensor: tensor)
        self.optimizer.step()
        self.taken += 1
        return float(loss)

    def nll(self, rows: Sequence[Encoded]) -> Tensor:
        """Return the negative log-likelihood of rows in nats a token."""
        return torch.cat([nll for _, nll in self.objective.nll(self.subject.states(self.objective, rows))]).mean()

    @torch.no_grad()
    def likelihood(self, rows: Sequence[Encoded]) -> float:
        """Return `nll` in evaluation mode."""
        self.objective.eval()
        nll = float(self.nll(rows))
        self.objective.train()
        return nll

    def vanishes(self, rows: Sequence[Encoded]) -> bool:
        """Return whether the next step has no gradient to speak of: Adam's divisor is at least 1e-8."""
        self.loss(rows)
        return all(p.grad is None or float(p.grad.abs().max()) < 1e-9 for p in self.objective.parameters())

    def learn(self, rows: Sequence[Encoded], steps: int = 200) -> None:
        """Take uncounted steps of plain likelihood, until rows are nearly known by heart."""
        optimizer = torch.optim.Adam([p for p in self.objective.parameters() if p.requires_grad], lr=1e-2)
        for _ in range(steps):
            loss = self.nll(rows)
            if float(loss.detach()) < 0.1:  # a probability of about 0.9: even p^10 has a gradient there
                break
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


def reload(subject: Subject) -> str:
    """Training goes on from a checkpoint with the losses it would have had without the break."""
    first, second = Trainee(subject), Trainee(subject)
    for _ in range(2):
        first.step(subject.rows)
    kept, optimizer = save_checkpoint(first.objective), copy.deepcopy(first.optimizer.state_dict())
    load_checkpoint(second.objective, load(kept), Path("checkpoint"))
    second.optimizer.load_state_dict(optimizer)
    second.taken = first.taken
    for step in range(2):
        went_on, began_again = first.step(subject.rows), second.step(subject.rows)
        if not math.isfinite(went_on):
            raise NotApplicable(f"its loss is {went_on} in step {first.taken}")
        near(
            abs(went_on - began_again) / max(1.0, abs(went_on)),
            f"a loss of {went_on:.9g} in step {step + 1} after loading",
            "keep what the loss depends on in parameters and buffers (register_buffer)",
            1e-9,
        )
    return f"{len(kept) // 1024} KiB"


def overfit(subject: Subject) -> str:
    """Two rows can be learned by heart: the loss comes down to a fraction, and their likelihood with it.

    A loss whose weights vanish, as FACE's do once all tokens are written equally often, comes down alone; then
    likelihood should not be worse than at the start. A loss that makes its own texts has no start to compare with.
    """
    trainee, rows = Trainee(subject), subject.rows[-2:]
    if subject.method.parent and Trainee(subject).vanishes(rows):
        raise NotApplicable(f"it starts from {subject.method.parent}, and has no gradient where that knows nothing")
    start = now = trainee.likelihood(rows), float(trainee.loss(rows))
    known = low = False
    while trainee.taken < STEPS and math.isfinite(now[1]) and not (known and low):
        for _ in range(10):
            loss = trainee.step(rows)
        now = trainee.likelihood(rows), loss
        known, low = now[0] < SHARE * start[0], subject.makes_texts or now[1] < SHARE * start[1]
    came = f"{start[0]:.3g} -> {now[0]:.3g} nats a token, loss {start[1]:.3g} -> {now[1]:.3g} in {trainee.taken} steps"
    need(
        low and (known or (not subject.makes_texts and now[0] < start[0])),
        f"loss and likelihood of two rows to fall below {SHARE:.0%} of their start",
        came,
        "look at the sign of each term and at what is detached",
    )
    return came
