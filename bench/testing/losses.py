"""Checks of losses: gradients, padding, neighbours, order, micro-batches, the fast form and bf16."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import Tensor

from bench.base.seeds import seed_torch
from bench.models.core.objective import Objective
from bench.models.core.states import IGNORED, States, slices
from bench.tasks.encode.codec import Encoded
from bench.testing.distributions import difference
from bench.testing.report import TOLERANCE, NotApplicable, near, need
from bench.testing.subject import SLICE, Subject
from bench.testing.training import Trainee

SHIFTS = {"decoder-only": ((0, 5), (5, 0), (3, 4)), "encoder-decoder": ((0, 5),)}
"""Padding columns on the left and right; rows of an encoder-decoder are padded on the right only."""


def gradients(subject: Subject) -> str:
    """Loss and gradients are finite, and within a few steps every trainable parameter has had one."""
    trainee, reached = Trainee(subject, 1e-3), set[str]()
    if subject.method.parent and Trainee(subject).vanishes(subject.rows):  # it starts from a model that knows more
        trainee.learn(subject.rows)
    for _ in range(3):  # some parameters start behind a weight of zero
        loss = trainee.step(subject.rows)
        finite(loss, trainee.objective, "look for log(0), 0 * inf and division by a count that may be 0")
        reached |= {name for name, gradient in gradients_of(trainee.objective).items() if gradient.any()}
    named = [name for name, parameter in trainee.objective.named_parameters() if parameter.requires_grad]
    missed = ", ".join(name for name in named if name not in reached)
    remedy = "use it in the loss, or set requires_grad=False"
    need(not missed, "every trainable parameter to have a gradient within 3 steps", f"none at {missed}", remedy)
    note = "; in the first step likelihood alone is trained" * is_likelihood(subject)
    return f"{len(named)} parameters{note}"


def is_likelihood(subject: Subject) -> bool:
    """Return whether a first step has the gradients of likelihood, so that whatever else is in the loss is 0."""
    plain, own = subject.objective(), subject.objective()
    likelihood = torch.cat([nll for _, nll in plain.nll(subject.states(plain))]).sum()
    if not likelihood.requires_grad:  # evaluation has a likelihood of its own
        return False
    likelihood.backward()
    own.step_loss(subject.batch(subject.rows)).total.backward()
    first, second = gradients_of(plain), gradients_of(own)
    return first.keys() == second.keys() and all(
        torch.allclose(first[name], second[name], rtol=1e-9, atol=1e-9) for name in first
    )


def certain(subject: Subject) -> str:
    """Loss and gradients are finite in float32 where the model is certain, rightly at every other position."""
    objective = subject.objective(torch.float32)
    with torch.no_grad():
        for parameter in objective.head_parameters():
            parameter.mul_(30)  # most tokens then have a probability of 0 and one has 1
    states = subject.states(objective)
    targets = states.targets.clone()
    for rows in slices(states):
        likeliest, even = objective.log_probs(rows).detach().argmax(1), rows.position % 2 == 0
        targets[(rows.start + rows.group)[even], rows.position[even]] = likeliest[even]
    total = objective.loss(replace(states, targets=targets)).total
    total.backward()
    finite(float(total.detach()), objective, "bound (clamp_min) what is divided by, rooted or taken a logarithm of")
    return f"loss {float(total.detach()):.3g}"


def no_target(subject: Subject) -> str:
    """Rows without targets cost nothing, and leave gradients finite: a process may have no others in a step."""
    objective, batch = subject.comparable(), subject.batch(subject.rows)
    batch["labels"] = torch.full_like(batch["labels"], IGNORED)
    total = objective.step_loss(batch).total
    if total.requires_grad:
        total.backward()
    finite(float(total.detach()), objective, "divide by no count that may be 0")
    free = subject.makes_texts or float(total.detach()) == 0  # the texts that a model makes cost something
    need(free, "a loss of 0 of rows without targets", float(total.detach()), "sum over targets")
    return f"{len(subject.rows)} rows"


def finite(loss: float, objective: Objective, remedy: str) -> None:
    """Fail the check unless the loss and all gradients are finite."""
    bad = [name for name, gradient in gradients_of(objective).items() if not gradient.isfinite().all()]
    came = f"a loss of {loss:.4g} and NaN or inf in the gradient of {', '.join(bad) or 'nothing'}"
    need(abs(loss) < torch.inf and not bad, "a finite loss and finite gradients", came, remedy)


def padding(subject: Subject) -> str:
    """Padding and neighbours change nothing in the likelihood and in the loss of a row."""
    objective, row = subject.objective().eval(), subject.rows[-1]
    together = torch.zeros(len(subject.rows), dtype=torch.float64)  # [B] nats
    for part, nll in objective.nll(subject.states(objective)):
        together.index_add_(0, part.start + part.group, nll.detach().double())

    def alone(states: States) -> Tensor:
        return torch.cat([nll.detach() for _, nll in objective.nll(states)]).sum()

    remedy = "mask padding (`readable`, IGNORED targets) and count positions from the first real token"
    for one, expected in zip(subject.rows, together, strict=True):
        apart = difference(alone(subject.states(objective, [one])), expected)
        near(apart, "a row to have alone the likelihood it has in a batch", remedy)
    bare = subject.comparable().step_loss(subject.batch([row])).total.detach()
    for left, right in SHIFTS[objective.backbone.architecture]:
        batch = subject.padded(row, left, right)
        where = f"with {left} padding columns on the left and {right} on the right"
        apart = difference(alone(objective.states(batch)), together[-1])
        near(apart, f"a row to keep its likelihood {where}", remedy)
        if objective.batch_invariant:
            loss = subject.comparable().step_loss(batch).total.detach()
            near(relative(loss, bare), f"a row to keep its loss {where}", "let no term depend on padding")
    return "likelihood and loss" if objective.batch_invariant else "likelihood; it says batch_invariant = False"


def batches(subject: Subject) -> str:
    """Order and micro-batches change nothing: each term of the loss is a sum over rows."""
    if not subject.objective().batch_invariant:
        raise NotApplicable("it says batch_invariant = False")
    rows = subject.rows[::2]
    ways: dict[str, Sequence[Sequence[Encoded]]] = {
        "in two micro-batches": [rows[:1], rows[1:]],
        "in another order": [rows[::-1]],
        "one by one": [[row] for row in rows],
    }
    for step in range(4 if subject.makes_texts else 1):  # a coin of a loss on its own texts should fall both ways
        whole = terms_of(subject, [rows], step)
        for way in list(ways)[: 1 if step else None]:
            found = terms_of(subject, ways[way], step)
            for term, value in whole.items():
                part = found.get(term, torch.tensor(torch.nan))
                expected = f"`{term}` of {len(rows)} rows {way} to be {float(value):.6g}"
                remedy = "make it a sum over positions or rows, or say batch_invariant = False"
                need(relative(part, value) <= TOLERANCE, expected, f"{float(part):.6g}", remedy)
    return f"{', '.join(ways)}"


def terms_of(subject: Subject, parts: Sequence[Sequence[Encoded]], step: int) -> dict[str, Tensor]:
    """Sum the loss, its count and its named terms over the micro-batches of one step."""
    objective, every_row = subject.comparable(), [row for part in parts for row in part]
    sums: dict[str, Tensor] = {}
    seed_torch(subject.seed)
    for part in parts:
        loss = objective.step_loss(subject.batch(part, step, every_row))
        named = {"loss": loss.total.detach(), "n_target_tokens": loss.n_target_tokens, **loss.terms}
        sums = {name: value + sums.get(name, 0) for name, value in named.items()}
    return sums


def fast_form(subject: Subject) -> str:
    """The loss that is trained, by slices or by head_loss, has the value and gradients of its plain form."""
    hooks = ("row_loss", "head_loss", "position_loss", "loss")
    own = [name for name in hooks if getattr(subject.plugin, name) is not getattr(Objective, name)]
    fast, plain = subject.comparable(), subject.comparable()
    if own == ["loss"]:
        raise NotApplicable("its `loss` is its only form")
    if "loss" in own and not fast.batch_invariant:
        raise NotApplicable("its `loss` adds what is no sum over positions")
    trained, expected = fast.loss(subject.states(fast)).total, plain_loss(plain, subject)
    trained.backward()
    expected.backward()
    near(relative(trained, expected), "the loss to be the sum of position_loss", "make both the same number")
    first, second, none = gradients_of(fast), gradients_of(plain), torch.zeros(())
    scale = max(1.0, *(float(gradient.abs().max()) for gradient in second.values()))
    for name in {**first, **second}:
        apart = difference(first.get(name, none), second.get(name, none)) / scale
        remedy = "reach the head through `head` alone, and list every parameter in own_parameters"
        near(apart, f"the loss to give '{name}' the gradient that its plain form does", remedy)
    if not plain.has_fast_form:
        return "slice by slice"
    for rows in subject.slices(plain) if "row_loss" in own else ():
        apart = difference(plain.position_loss(rows)[0], plain.row_loss(plain.log_probs(rows), rows, rows.targets))
        remedy = "make them one loss, or remove row_loss, which is not trained"
        near(apart, "head_loss to have the value of row_loss at each position", remedy)
    return "head_loss"


def plain_loss(objective: Objective, subject: Subject) -> Tensor:
    """Return the loss of a batch over logits in the graph; one that looks at whole rows first does so here too."""
    states = subject.states(objective)
    if objective.two_passes:
        objective.fused_head = lambda states: None  # type: ignore[method-assign]
        return objective.loss(states).total
    parts = [objective.position_loss(rows)[0].sum() for rows in slices(states, SLICE)]
    return torch.stack([*parts, *objective.batch_terms(states).values()]).sum()


@torch.no_grad()
def bf16(subject: Subject) -> str:
    """Under bf16 autocast, loss and likelihood stay within a hundredth of those in float32."""
    values = []
    for mixed in (False, True):
        objective = subject.objective(torch.float32).train(not subject.draws)
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=mixed):
            states = subject.states(objective)
            nll = torch.cat([nll for _, nll in objective.nll(states)]).double().sum()
            values.append((nll, objective.loss(states).total))
    shares = [relative(mixed, exact) for exact, mixed in zip(*values, strict=True)]
    for name, share in zip(("likelihood", "loss"), shares, strict=True):
        remedy = "keep sums, exponentials and differences of near numbers in float32"
        near(share, f"the {name} of float32", remedy, 0.01)
    return f"off by {max(shares):.1e} at most"


def gradients_of(objective: Objective) -> dict[str, Tensor]:
    """Return the gradient of each parameter that has one."""
    return {name: parameter.grad for name, parameter in objective.named_parameters() if parameter.grad is not None}


def relative(first: Tensor, second: Tensor) -> float:
    """Return the difference as a share of the second.

    >>> round(relative(torch.tensor(1.5), torch.tensor(1.0)), 3)
    0.5
    """
    first, second = first.detach().double(), second.detach().double()
    return float((first - second).abs() / second.abs().clamp_min(1e-3))
