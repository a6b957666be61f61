"""Checks of training: finite gradients reach everything, a checkpoint holds all, what is seen is learned."""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import torch
from safetensors.torch import load

from bench.models.core.states import slices
from bench.store.checkpoints import load_checkpoint, save_checkpoint
from bench.tasks.encode.codec import Encoded
from bench.testing.report import Failed, NotApplicable
from bench.testing.subject import Subject, Trainee

FEW = 3
"""Steps in which every parameter should have had a gradient: some start behind a weight of zero."""

MANY = 200
"""Steps in which two rows should be known by heart."""

VANISHING = 1e-9
"""A gradient that Adam, whose divisor is at least 1e-8, makes no step of."""
KNOWN = 0.1
"""Nats a token at which a target has a probability of about 0.9: even p^10 has a gradient there."""

CERTAIN = 30.0
"""Times its weights, a head finds in float32 that most tokens have a probability of 0 and one has 1."""

RATE = 1e-2
SAME = 1e-9
SHARE = 0.3
AGAIN = 1e-9


def gradients(subject: Subject) -> str:
    """Loss and gradients are finite, and within a few steps every trainable parameter has had one."""
    trainee = started(subject, RATE / 10, subject.rows)
    named = {name: p for name, p in trainee.objective.named_parameters() if p.requires_grad}
    reached: set[str] = set()
    for _ in range(FEW):
        loss = trainee.step(subject.rows)
        given = {name: p.grad for name, p in named.items() if p.grad is not None}
        bad = [name for name, gradient in given.items() if not gradient.isfinite().all()]
        if not math.isfinite(loss) or bad:
            came = "finite gradients"
            if bad:
                came = f"NaN or inf at {some(bad)}"
            raise Failed(
                "a finite loss and finite gradients",
                f"a loss of {loss} and {came}",
                "look for log(0), 0 * inf and division by a count that may be 0",
            )
        reached |= {name for name, gradient in given.items() if gradient.any()}
    if missed := [name for name in named if name not in reached]:
        raise Failed(
            f"every trainable parameter to have a gradient within {FEW} steps",
            f"none at {some(missed)}",
            "use it in the loss, or set requires_grad=False",
        )
    if is_likelihood(subject):
        return f"{len(named)} parameters; in the first step likelihood alone is trained"
    return f"{len(named)} parameters"


def is_likelihood(subject: Subject) -> bool:
    """Whether a first step has the gradients of the method's own likelihood, so that it trains nothing else.

    Of a loss that is likelihood and more this says that the rest is 0, such as what needs a dropout that is off.
    """
    plain, own = subject.objective(), subject.objective()
    likelihood_loss = torch.cat([nll for _, nll in plain.nll(subject.states(plain))]).sum()
    if not likelihood_loss.requires_grad:  # evaluation has a likelihood of its own
        return False
    likelihood_loss.backward()
    own.step_loss(subject.batch(subject.rows)).total.backward()
    for one, other in zip(plain.parameters(), own.parameters(), strict=True):
        if one.grad is None or other.grad is None:
            if one.grad is not other.grad:
                return False
        elif not torch.allclose(one.grad, other.grad, rtol=SAME, atol=SAME):
            return False
    return True


def certain(subject: Subject) -> str:
    """Where a model is certain, rightly at every other position, loss and gradients are finite in float32."""
    if subject.method.trained_name != subject.method.name or subject.config.trainer.steps == 0:
        raise NotApplicable("it trains nothing")
    objective = subject.objective(torch.float32)
    with torch.no_grad():
        for parameter in objective.head_parameters():
            parameter.mul_(CERTAIN)
    states = subject.states(objective)
    targets = states.targets.clone()
    for rows in slices(states):
        likeliest = objective.log_probs(rows).detach().argmax(1)
        every_other = rows.position % 2 == 0
        targets[(rows.start + rows.group)[every_other], rows.position[every_other]] = likeliest[every_other]
    loss = objective.loss(replace(states, targets=targets)).total
    loss.backward()
    named = {name: p.grad for name, p in objective.named_parameters() if p.grad is not None}
    bad = [name for name, gradient in named.items() if not gradient.isfinite().all()]
    if bad or not loss.isfinite():
        raise Failed(
            "a finite loss and finite gradients where probabilities are 0 and 1",
            f"a loss of {float(loss.detach())} and NaN or inf at {some(bad) if bad else 'no gradient'}",
            "bound (clamp_min) what is divided by, raised to a power below 1 or taken a logarithm of",
        )
    return f"loss {float(loss.detach()):.3g}"


def started(subject: Subject, rate: float, rows: Sequence[Encoded]) -> Trainee:
    """Return what is trained.

    A method that starts from another's weights may have no gradient to speak of at a fresh model, such as p^10 where p
    is 1/300. As a cell of it starts from a trained model, it is taught these rows by likelihood first.
    """
    trainee = Trainee(subject, rate)
    if subject.method.parent and vanishes(Trainee(subject, rate), rows):
        trainee.learn(rows, KNOWN, MANY)
    return trainee


def vanishes(trainee: Trainee, rows: Sequence[Encoded]) -> bool:
    """Whether no gradient of a first step is above `VANISHING`."""
    trainee.loss(rows)
    given = [p.grad for p in trainee.objective.parameters() if p.grad is not None]
    return all(float(gradient.abs().max()) < VANISHING for gradient in given)


def some(names: Sequence[str]) -> str:
    """Name a few.

    >>> some(["a", "b", "c", "d"])
    "'a', 'b', 'c' and 1 more"
    """
    shown = ", ".join(f"'{name}'" for name in names[:3])
    if len(names) > 3:
        shown += f" and {len(names) - 3} more"
    return shown


def reload(subject: Subject) -> str:
    """Saved, loaded into a new objective and trained on, it loses what it would have lost without the break."""
    first, second = Trainee(subject, RATE), Trainee(subject, RATE)
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
        if not abs(went_on - began_again) <= AGAIN * max(1.0, abs(went_on)):
            raise Failed(
                f"a loss of {went_on:.9g} in step {step + 1} after loading",
                f"{began_again:.9g}",
                "keep what the loss depends on in parameters and buffers (register_buffer)",
            )
    return f"{len(kept) // 1024} KiB"


def overfit(subject: Subject) -> str:
    """Trained on two rows alone, the loss comes down to a fraction, and their likelihood with it.

    A loss whose weights vanish, as FACE's do once all tokens are said equally often, comes down alone; then likelihood
    should not be worse than at the start.
    """
    trainee, rows = Trainee(subject, RATE), subject.rows[-2:]
    if subject.method.parent and vanishes(Trainee(subject, RATE), rows):
        raise NotApplicable(f"it starts from {subject.method.parent}, and has no gradient where that knows nothing")
    start = likelihood(trainee, rows), float(trainee.loss(rows))
    now = start
    while trainee.taken < MANY and math.isfinite(now[1]) and not all(fell(subject, start, now)):
        for _ in range(10):
            loss = trainee.step(rows)
        now = likelihood(trainee, rows), loss
    known, low = fell(subject, start, now)
    what = "likelihood"
    losses = ""
    if not subject.makes_texts:
        what = "loss, and likelihood with it,"
        losses = f", loss {start[1]:.3g} -> {now[1]:.3g}"
    told = f"{start[0]:.3g} -> {now[0]:.3g} nats a token{losses} in {trainee.taken} steps"
    if not low or not (known or (not subject.makes_texts and now[0] < start[0])):
        raise Failed(
            f"{what} of two rows to fall below {SHARE:.0%} of its start",
            told,
            "look at the sign of each term and at what is detached",
        )
    return told


def fell(subject: Subject, start: tuple[float, float], now: tuple[float, float]) -> tuple[bool, bool]:
    """Whether likelihood and loss are low; a loss that makes its own texts has no start to compare with."""
    return now[0] < SHARE * start[0], subject.makes_texts or now[1] < SHARE * start[1]


def likelihood(trainee: Trainee, rows: Sequence[Encoded]) -> float:
    """Negative log-likelihood of rows in nats a token."""
    objective = trainee.objective.eval()
    with torch.no_grad():
        nll = torch.cat([nll for _, nll in objective.nll(trainee.subject.states(objective, rows))])
    objective.train()
    return float(nll.mean())
