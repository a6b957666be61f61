"""Checks of sums: padding, neighbours, order and micro-batches change nothing; a fast form is the plain form."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from bench.base.seeds import seed_torch
from bench.models.core.objective import Objective
from bench.models.core.states import Rows, slices
from bench.tasks.encode.codec import Encoded
from bench.testing.distributions import TOLERANCE, difference
from bench.testing.report import Failed, NotApplicable
from bench.testing.subject import LIMIT, Subject

SHIFTS = {"decoder-only": ((0, 5), (5, 0), (3, 4)), "encoder-decoder": ((0, 5),)}
"""Padding columns at the left and right; an encoder-decoder's rows are padded at the right only."""

STEPS = 4
"""Steps at which a loss that makes its own texts is compared; a coin should fall both ways."""

BF16 = 1e-2


def padding(subject: Subject) -> str:
    """A row has one likelihood and one loss, whatever pads it and whichever rows are beside it."""
    objective = subject.objective().eval()
    together = row_nll(subject, objective, subject.rows)
    alone = [row_nll(subject, objective, [row]) for row in subject.rows]
    if not (worst := difference(together, torch.cat(alone))) <= TOLERANCE:
        raise Failed(
            "a row to have alone the likelihood it has in a batch",
            f"{worst:.1e} nats beside it",
            "mask padding: `readable`, and targets that are not IGNORED",
        )
    row = subject.rows[-1]
    for left, right in SHIFTS[objective.backbone.architecture]:
        states = objective.states(subject.padded(row, left, right))
        nll = torch.cat([nll.detach() for _, nll in objective.nll(states)]).sum()
        if not (worst := difference(nll, together[-1])) <= TOLERANCE:
            raise Failed(
                f"a row to keep its likelihood with {left} padding columns at the left and {right} at the right",
                f"{worst:.1e} nats beside it",
                "mask padding and count positions from the first real token",
            )
    if not objective.batch_invariant:
        return "likelihood only, as it says batch_invariant = False"
    return padded_loss(subject, row)


def padded_loss(subject: Subject, row: Encoded) -> str:
    """Compare the loss of one row with and without padding."""
    bare = subject.comparable().step_loss(subject.batch([row])).total.detach()
    architecture = subject.codec.architecture
    for left, right in SHIFTS[architecture]:
        padded = subject.comparable().step_loss(subject.padded(row, left, right)).total.detach()
        if not relative(padded, bare) <= TOLERANCE:
            raise Failed(
                f"the loss of a row with {left} padding columns at the left and {right} at the right to be "
                f"{float(bare):.6g}",
                f"{float(padded):.6g}",
                "let no term depend on padding or on absolute positions",
            )
    if architecture == "decoder-only":
        return "alone, in a batch, padded at the right and left"
    return "alone, in a batch, padded at the right"


def row_nll(subject: Subject, objective: Objective, rows: Sequence[Encoded]) -> Tensor:
    """Negative log-likelihood of each row of a batch in nats, [B]."""
    sums = torch.zeros(len(rows), dtype=torch.float64)
    with torch.no_grad():
        for part, nll in objective.nll(subject.states(objective, rows)):
            sums.index_add_(0, part.start + part.group, nll.double())
    return sums


def batches(subject: Subject) -> str:
    """The loss of a batch is that of its rows in another order, and the sum of those of its micro-batches."""
    if not subject.objective().batch_invariant:
        raise NotApplicable("it says batch_invariant = False")
    rows, steps = subject.rows[::2], 1
    if subject.makes_texts:
        steps = STEPS
    ways: dict[str, Sequence[Sequence[Encoded]]] = {
        "in another order": [rows[::-1]],
        "one by one": [[row] for row in rows],
        "in two micro-batches": [rows[:1], rows[1:]],
    }
    for step in range(steps):
        whole = sum_of(subject, [rows], step)
        compared = list(ways)
        if step > 0:
            compared = compared[-1:]
        for way in compared:
            parts = sum_of(subject, ways[way], step)
            for term, value in whole.items():
                same_term(term, value, parts.get(term), f"{len(rows)} rows {way}")
    if steps > 1:
        return f"{len(ways)} ways in {steps} steps"
    return f"{len(ways)} ways"


def same_term(term: str, whole: Tensor, parts: Tensor | None, what: str) -> None:
    """Compare a term of a batch with the same term of its rows taken another way."""
    came = "nothing"
    if parts is not None:
        if relative(parts, whole) <= TOLERANCE:
            return
        came = f"{float(parts):.6g}"
    raise Failed(
        f"`{term}` of {what} to be {float(whole):.6g}",
        came,
        "make it a sum over positions or rows, or say batch_invariant = False",
    )


def sum_of(subject: Subject, parts: Sequence[Sequence[Encoded]], step: int) -> dict[str, Tensor]:
    """Sum the loss, its count and its named parts over the micro-batches of one step."""
    objective = subject.comparable()
    every_row = [row for part in parts for row in part]
    sums: dict[str, Tensor] = {}
    seed_torch(subject.seed)
    for part in parts:
        loss = objective.step_loss(subject.batch(part, step, every_row))
        named = {"loss": loss.total.detach(), "n_target_tokens": loss.n_target_tokens, **loss.terms}
        sums = {name: value + sums.get(name, 0) for name, value in named.items()}
    return sums


def relative(first: Tensor, second: Tensor) -> float:
    """Difference as a share of the second.

    >>> round(relative(torch.tensor(1.5), torch.tensor(1.0)), 3)
    0.5
    """
    return float((first.double() - second.double()).abs() / second.double().abs().clamp_min(1e-3))


def bf16(subject: Subject) -> str:
    """Under bf16 autocast, loss and likelihood stay within a hundredth of those in float32."""
    values = {}
    for mixed in (False, True):
        objective = subject.objective(torch.float32).train(not subject.draws)
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=mixed), torch.no_grad():
            states = subject.states(objective)
            nll = torch.cat([nll for _, nll in objective.nll(states)]).double().sum()
            values[mixed] = {"likelihood": nll, "loss": objective.loss(states).total}
    worst = 0.0
    for name, value in values[False].items():
        mixed_value = values[True][name]
        worst = max(worst, share := relative(mixed_value, value))
        if not share <= BF16:
            raise Failed(
                f"the {name} under bf16 autocast to be {float(value):.4g} to {BF16:.0%}",
                f"{float(mixed_value):.4g}",
                "keep sums, exponentials and differences of near numbers in float32",
            )
    return f"{worst:.1e} beside it at most"


def fast_form(subject: Subject) -> str:
    """The loss that is trained has the value and the gradients of its plain form in ordinary autograd."""
    kind = subject.method.kind
    own = [name for name in ("row_loss", "head_loss", "position_loss") if redefined(kind, name)]
    if redefined(kind, "loss") and not own:
        raise NotApplicable("its `loss` is its only form")
    objective = subject.comparable()
    if redefined(kind, "loss") and not objective.batch_invariant:
        raise NotApplicable("its `loss` adds what is no sum over positions")
    fast = gradients(objective, objective.loss(subject.states(objective)).total)
    plain = subject.comparable()
    compare(fast, gradients(plain, plain_total(plain, subject)), "loss", "position_loss")
    if plain.has_fast_form and redefined(kind, "row_loss"):
        with torch.no_grad():
            for rows in subject.slices(plain):
                same_positions(plain, rows)
    if plain.has_fast_form:
        return "head_loss"
    return "slice by slice"


def plain_total(objective: Objective, subject: Subject) -> Tensor:
    """The loss of a batch over logits in the graph; one that looks at whole rows first does so here too."""
    states = subject.states(objective)
    if objective.two_passes:
        objective.fused_head = lambda states: None  # type: ignore[method-assign]
        return objective.loss(states).total
    parts = [objective.position_loss(rows)[0].sum() for rows in slices(states, LIMIT)]
    return torch.stack([*parts, *objective.batch_terms(states).values()]).sum()


def redefined(kind: type, name: str) -> bool:
    """Whether a class has a hook of its own."""
    return getattr(kind, name) is not getattr(Objective, name)


def same_positions(objective: Objective, rows: Rows) -> None:
    """Compare `head_loss` with `row_loss` at each position."""
    fast, _ = objective.position_loss(rows)
    slow = objective.row_loss(objective.log_probs(rows), rows, rows.targets)
    if not (worst := difference(fast, slow)) <= TOLERANCE:
        raise Failed(
            "head_loss to have the value of row_loss at each position",
            f"{worst:.1e} nats beside it",
            "make them one loss, or remove row_loss, which is not trained",
        )


def gradients(objective: Objective, total: Tensor) -> dict[str, Tensor]:
    """Return a loss and its gradient by parameter."""
    total.backward()
    named = {name: parameter.grad for name, parameter in objective.named_parameters() if parameter.grad is not None}
    return {"": total.detach(), **named}


def compare(fast: dict[str, Tensor], plain: dict[str, Tensor], first: str, second: str) -> None:
    """Compare values and gradients of two forms of a loss."""
    if not relative(fast[""], plain[""]) <= TOLERANCE:
        raise Failed(
            f"{first} to be the sum of {second}, {float(plain['']):.6g}",
            f"{float(fast['']):.6g}",
            "let the fast form compute the same number",
        )
    scale = max(float(gradient.abs().max()) for name, gradient in plain.items() if name)
    none = torch.zeros(())
    for name in {**fast, **plain}:
        worst = float((fast.get(name, none) - plain.get(name, none)).abs().max())
        if name and not worst <= TOLERANCE * max(1.0, scale):
            raise Failed(
                f"{first} to give '{name}' the gradient that {second} does",
                f"{worst:.1e} beside it",
                "reach the head through `head` alone, and list every parameter in own_parameters",
            )
