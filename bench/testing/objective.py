"""`check_objective`: the tests that every objective must pass, like scikit-learn's check_estimator.

Each check is a function of a `Subject`, a small model with a few rows, in float64 except where a check names another
precision, and returns what it measured. If the first check fails, the others are not run.
"""

import copy
import math
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load, save
from torch import Tensor

from bench.base.options import options_of
from bench.base.printable import one_line
from bench.base.seeds import seed_of, seed_torch
from bench.cells.build import optimiser_of, training_loader
from bench.cells.make import name_of
from bench.cells.plan import compatibility
from bench.config.config import parse_sets
from bench.config.decoding import parse
from bench.config.resolve import check_overrides, find_method, reference_of
from bench.errors import UsageError
from bench.generation.continuation import Continuation
from bench.launch.processes import Rank, run_processes
from bench.models.core.objective import Objective
from bench.models.core.states import IGNORED, TokenSlice, slices
from bench.store.checkpoints import load_checkpoint, save_checkpoint
from bench.tasks.encode.codec import Encoded
from bench.tasks.logicnlg import LogicNLG
from bench.testing.report import TOLERANCE, Check, Failed, NotApplicable, Result, difference, near, need, run_checks
from bench.testing.subject import SLICE, Subject
from bench.training.execution import Execution
from bench.training.training import train

BACKBONES = ("small-causal", "small-encdec")
"""Backbones that a method is checked on, unless it always has the same one."""
SHIFTS = {"decoder-only": ((0, 5), (5, 0), (3, 4)), "encoder-decoder": ((0, 5),)}
"""Padding columns on the left and right; rows of an encoder-decoder are padded on the right only."""
OVERFIT_STEPS = 60
"""Steps after which the loss of two rows should have fallen; that of a loss p log p rises before it falls."""


# Distributions -----------------------------------------------------------------------------------------------------


def builds(subject: Subject) -> str:
    """It fits the backbone, and its constructor accepts its options."""
    if reason := subject.method.kind.why_not(compatibility(subject.config, subject.cell.task)):
        raise NotApplicable(reason)
    options = options_of(subject.method.kind)
    size = sum(parameter.numel() for parameter in subject.objective().parameters())
    return f"{size:,} parameters; options: {', '.join(options) or 'none'}"


def hooks_of(objective: Objective, decodings: str) -> dict[str, Callable[[TokenSlice], Tensor]]:
    """Return the functions of an objective that give log-probabilities [n, V], by name."""
    hooks: dict[str, Callable[[TokenSlice], Tensor]] = {"log_probs": objective.log_probs}
    for decoding in parse(decodings):
        hooks[f"decode_log_probs for {decoding.text}"] = partial(objective.decode_log_probs, decoding=decoding)
    return hooks


@torch.no_grad()
def sums_to_one(subject: Subject) -> str:
    """Probabilities sum to one, also those that decoding sees, where tokens that are cut away have none."""
    objective, worst = subject.objective().eval(), 0.0
    hooks = hooks_of(objective, "greedy,topk=3,nucleus=0.9,beam=3")
    for tokens in subject.slices(objective):
        expected = [len(tokens), objective.backbone.vocabulary_size]
        for name, hook in hooks.items():
            log_probs = hook(tokens)
            actual = list(log_probs.shape)
            need(actual == expected, f"{name} of shape [n, V] = {expected}", actual, "give every token a column")
            off = float((log_probs.double().logsumexp(1).exp() - 1).abs().max())
            remedy = "normalise, e.g. with log_softmax, and look for 0 * inf, inf - inf and log(-x)"
            near(off, f"rows of exp({name}) that sum to 1", remedy)
            worst = max(worst, off)
    return f"off by {worst:.0e} at most"


@torch.no_grad()
def cache(subject: Subject) -> str:
    """Decoding with a cache, where later tokens do not exist yet, equals a full forward pass over the whole text."""
    objective, rows = subject.objective().eval(), subject.rows[:3]
    prompts: Any = subject.codec.prompt_batch(rows)
    steps = max(len(row.target) for row in rows)
    for decoding in parse("greedy,beam=3"):
        for name, hook in hooks_of(objective, decoding.text).items():
            full = [torch.cat([hook(tokens) for tokens in subject.slices(objective, [row])]) for row in rows]  # [T, V]
            texts = Continuation(objective, decoding, prompts)
            for at in range(steps):
                there = [place for place, row in enumerate(rows) if at < len(row.target)]
                near(
                    difference(hook(texts.rows)[there], torch.stack([full[place][at] for place in there])),
                    f"{name} to give with a cache what it gives in a full forward pass, where later tokens are known",
                    "read only `written` and `readable`, no targets, positions or `cpu`: generation has none",
                )
                texts.append(torch.tensor([(*row.target, *row.target)[at] for row in rows]))
    return f"{steps} steps"


# Losses ------------------------------------------------------------------------------------------------------------


def finite(subject: Subject) -> str:
    """Loss and gradients are finite for confident predictions and for rows without targets, whose loss is 0."""
    objective = subject.objective(torch.float32)
    with torch.no_grad():
        for parameter in objective.head_parameters():
            parameter.mul_(30)  # most tokens then have a probability of 0 and one has 1
    states = subject.states(objective)
    targets = states.targets.clone()
    for tokens in slices(states):  # the model is right at every other position
        likeliest, even = objective.log_probs(tokens).detach().argmax(1), tokens.position % 2 == 0
        targets[(tokens.start + tokens.group)[even], tokens.position[even]] = likeliest[even]
    remedy = "bound (clamp_min) what is divided by, rooted or taken a logarithm of"
    certain = differentiated(objective, objective.loss(replace(states, targets=targets)).total, remedy)
    objective, batch = subject.comparable(), subject.batch(subject.rows)
    batch["labels"] = torch.full_like(batch["labels"], IGNORED)  # a process may have no other rows in a step
    total = differentiated(objective, objective.step_loss(batch).total, "divide by no count that may be 0")
    free = subject.makes_texts or total == 0  # the texts that a model makes cost something
    need(free, "a loss of 0 of rows without targets", total, "sum over targets")
    return f"loss {certain:.3g} where the model is certain"


def differentiated(objective: Objective, total: Tensor, remedy: str) -> float:
    """Compute the gradients of a loss, and fail the check unless it and they are finite; return it."""
    if total.requires_grad:
        total.backward()
    loss = float(total.detach())
    bad = [name for name, gradient in gradients_of(objective).items() if not gradient.isfinite().all()]
    actual = f"a loss of {loss:.4g} and NaN or inf in the gradient of {', '.join(bad) or 'nothing'}"
    need(math.isfinite(loss) and not bad, "a finite loss and finite gradients", actual, remedy)
    return loss


def padding(subject: Subject) -> str:
    """Padding and neighbours change nothing in the likelihood and in the loss of a row."""
    objective, last = subject.objective().eval(), subject.rows[-1]
    remedy = "mask padding (`readable`, IGNORED targets) and count positions from the first real token"
    together = objective.target_nll(subject.states(objective)).sum(1)  # [B] nats
    for row, expected in zip(subject.rows, together, strict=True):
        alone = objective.target_nll(subject.states(objective, [row])).sum()
        near(difference(alone, expected), "a row to have alone the likelihood it has in a batch", remedy)
    bare = subject.comparable().step_loss(subject.batch([last])).total.detach()
    for left, right in SHIFTS[objective.backbone.architecture]:
        batch = subject.padded(last, left, right)
        where = f"with {left} padding columns on the left and {right} on the right"
        alone = objective.target_nll(objective.states(batch)).sum()
        near(difference(alone, together[-1]), f"a row to keep its likelihood {where}", remedy)
        if objective.batch_invariant:
            loss = subject.comparable().step_loss(batch).total.detach()
            near(relative(loss, bare), f"a row to keep its loss {where}", "let no term depend on padding")
    return "likelihood and loss" if objective.batch_invariant else "likelihood; the class sets batch_invariant = False"


def batches(subject: Subject) -> str:
    """Order and micro-batches change nothing: each term of the loss is a sum over rows."""
    if not subject.objective().batch_invariant:
        raise NotApplicable("the class sets batch_invariant = False")
    rows = subject.rows[::2]
    ways: dict[str, Sequence[Sequence[Encoded]]] = {
        "in two micro-batches": [rows[:1], rows[1:]],
        "in another order": [rows[::-1]],
        "one by one": [[row] for row in rows],
    }
    for step in range(4 if subject.makes_texts else 1):  # a coin of a loss on its own texts should fall both ways
        whole = terms_of(subject, [rows], step)
        for way, parts in ways.items():
            found = terms_of(subject, parts, step)
            for term, value in whole.items():
                part = found.get(term, torch.tensor(torch.nan))
                expected = f"`{term}` of {len(rows)} rows {way} to be {float(value):.6g}"
                remedy = "make it a sum over positions or rows, or say batch_invariant = False"
                need(relative(part, value) <= TOLERANCE, expected, f"{float(part):.6g}", remedy)
    return ", ".join(ways)


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
    hooks = ("token_loss", "head_loss", "position_loss", "loss")
    defined = [name for name in hooks if getattr(subject.method.kind, name) is not getattr(Objective, name)]
    fast, plain = subject.comparable(), subject.comparable()
    if defined == ["loss"]:
        raise NotApplicable("its `loss` is its only form")
    if "loss" in defined and not fast.batch_invariant:
        raise NotApplicable("its `loss` adds what is no sum over positions")
    trained, expected = fast.loss(subject.states(fast)).total, plain_loss(plain, subject)
    trained.backward()
    expected.backward()
    near(relative(trained, expected), "the loss to be the sum of position_loss", "make both the same number")
    first, second, none = gradients_of(fast), gradients_of(plain), torch.zeros(())
    scale = max(1.0, *(float(gradient.abs().max()) for gradient in second.values()))
    for name in {**first, **second}:
        gap = difference(first.get(name, none), second.get(name, none)) / scale
        remedy = "reach the head through `head` alone, and list every parameter in own_parameters"
        near(gap, f"the loss to give '{name}' the gradient that its plain form does", remedy)
    if not plain.has_fast_form:
        return "slice by slice"
    for tokens in subject.slices(plain) if "token_loss" in defined else ():
        by_token = plain.token_loss(plain.log_probs(tokens), tokens, tokens.targets)
        gap = difference(plain.position_loss(tokens)[0].detach(), by_token.detach())
        remedy = "make them one loss, or remove token_loss, which is not trained"
        near(gap, "head_loss to have the value of token_loss at each position", remedy)
    return "head_loss"


def plain_loss(objective: Objective, subject: Subject) -> Tensor:
    """Return the loss of a batch over logits in the graph; one that looks at whole rows first does so here too."""
    states = subject.states(objective)
    if objective.two_passes:
        objective.fused_head = lambda states: None  # type: ignore[method-assign]
        return objective.loss(states).total
    parts = [objective.position_loss(tokens)[0].sum() for tokens in slices(states, SLICE)]
    return torch.stack([*parts, *objective.batch_terms(states).values()]).sum()


@torch.no_grad()
def bf16(subject: Subject) -> str:
    """Under bf16 autocast, loss and NLL stay within a hundredth of those in float32."""
    values = []
    for mixed in (False, True):
        objective = subject.objective(torch.float32).train(not subject.draws)
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=mixed):
            states = subject.states(objective)
            values.append((objective.target_nll(states).double().sum(), objective.loss(states).total))
    shares = [relative(mixed, exact) for exact, mixed in zip(*values, strict=True)]
    for name, share in zip(("NLL", "loss"), shares, strict=True):
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


# Training ----------------------------------------------------------------------------------------------------------


class Trainee:
    """An objective that is trained by hand as one process trains it."""

    def __init__(self, subject: Subject, rows: Sequence[Encoded]) -> None:
        self.subject, self.rows, self.taken = subject, rows, 0
        self.objective = subject.objective(fresh=True)
        self.optimizer = torch.optim.Adam([p for p in self.objective.parameters() if p.requires_grad], lr=1e-2)

    def step(self) -> float:
        """Take a step, whose gradients are left in `grad`; return its loss per target token."""
        seed_torch(seed_of(self.subject.seed, "step", 0, self.taken))
        self.optimizer.zero_grad()
        loss = self.objective.training_step(self.subject.batch(self.rows, self.taken), self.taken)
        total = differentiated(self.objective, loss, "look for log(0), 0 * inf and division by a count that may be 0")
        self.objective.end_of_step(lambda tensor: tensor)
        self.optimizer.step()
        self.taken += 1
        return total

    def nll(self) -> float:
        """Return the negative log-likelihood of the rows in nats a token, in evaluation mode."""
        nll = self.objective.eval().target_nll(self.subject.states(self.objective, self.rows))
        self.objective.train()
        return float(nll.sum()) / sum(len(row.target) for row in self.rows)


def reload(subject: Subject) -> str:
    """Training goes on from a checkpoint with the losses it would have had without the break."""
    first, second = Trainee(subject, subject.rows), Trainee(subject, subject.rows)
    for _ in range(2):
        first.step()
    kept, optimizer = save_checkpoint(first.objective), copy.deepcopy(first.optimizer.state_dict())
    load_checkpoint(second.objective, load(kept), Path("checkpoint"))
    second.optimizer.load_state_dict(optimizer)
    second.taken = first.taken
    for step in range(2):
        went_on, began_again = first.step(), second.step()
        near(
            abs(went_on - began_again) / max(1.0, abs(went_on)),
            f"a loss of {went_on:.9g} in step {step + 1} after loading",
            "keep what the loss depends on in parameters and buffers (register_buffer)",
            1e-9,
        )
    return f"{len(kept) // 1024} KiB"


def overfit(subject: Subject) -> str:
    """Training on two rows makes them more likely and lowers their loss, by gradients that reach every parameter.

    The loss alone may rise where a method writes texts itself, or compares with a frozen model from which it departs.
    """
    trainee, losses, reached = Trainee(subject, subject.rows[-2:]), list[float](), set[str]()
    start = trainee.nll()
    for _ in range(OVERFIT_STEPS):
        losses.append(trainee.step())
        largest = {name: float(gradient.abs().max()) for name, gradient in gradients_of(trainee.objective).items()}
        if subject.method.parent and not reached and max(largest.values()) < 1e-9:  # what Adam divides by has 1e-8
            raise NotApplicable(f"it is fine-tuned from {subject.method.parent}, and a fresh model gives no gradient")
        if trainee.taken <= 3:  # some parameters start behind a weight of zero
            reached |= {name for name, size in largest.items() if size}
    missed = [name for name, one in trainee.objective.named_parameters() if one.requires_grad and name not in reached]
    remedy = "use it in the loss, or set requires_grad=False"
    need(
        not missed,
        "every trainable parameter to have a gradient within 3 steps",
        f"none at {', '.join(missed)}",
        remedy,
    )
    learned, (first, *_, last) = trainee.nll(), losses
    actual = f"{start:.3g} -> {learned:.3g} nats a token, loss {first:.3g} -> {last:.3g} in {trainee.taken} steps"
    any_loss = subject.makes_texts or bool(getattr(subject.method.kind, "reference", ""))
    remedy = "look at the sign of each term and at what is detached"
    need(learned < start and (any_loss or last < first), "loss and NLL of two rows to fall", actual, remedy)
    return actual


# Several processes -------------------------------------------------------------------------------------------------

WORLD, STEPS, BATCH = 2, 4, 5
"""Processes, steps, and rows of a step: not a multiple of two, so that they have unequal numbers of rows and tokens."""
CURVE = "the training curve"


def ranks(subject: Subject) -> str:
    """Two processes that share each step's rows end with the weights, buffers and losses of one, without dropout."""
    if not subject.objective().batch_invariant:
        raise NotApplicable("the class sets batch_invariant = False")
    if torch.backends.mps.is_available():
        raise NotApplicable("training would run on this machine's accelerator, which has no float64")
    if subject.method.spec.startswith("__main__"):
        raise NotApplicable("other processes cannot import a class of this program: put it in a file of its own")
    sets = [*subject.sets, "backbone.dropout=0.0"]  # its masks are of each process; every other draw is compared
    with tempfile.TemporaryDirectory(prefix="bench-ranks-") as folder:
        scratch = Path(folder)
        job = {"method": subject.method.spec, "backbone": subject.backbone, "seed": subject.seed, "sets": sets}
        without_gpu = {"CUDA_VISIBLE_DEVICES": ""}
        bad_end = run_processes("bench.testing.objective:train_both", job, WORLD, scratch, 1, without_gpu)
        if bad_end:
            raise Failed(
                f"expected {WORLD} processes to end well; got: {one_line(bad_end.get('error', 'a signal'))}; let every "
                f"parameter and every process take part in each step"
            )
        alone, *together = (load((scratch / name).read_bytes()) for name in ("alone", *map(str, range(WORLD))))
    for rank, shared in enumerate(together):
        for name, tensor in alone.items():
            rounding = 2e-6 * max(1.0, float(tensor.abs().max()))  # the curve is stored with six decimals
            remedy = "sum counts over ranks with `reduce` in end_of_step, and rows in step_loss"
            expected = f"{name} of process {rank} to be that of one process alone"
            near(difference(tensor, shared[name]), expected, remedy, rounding if name == CURVE else TOLERANCE)
    return f"{STEPS} steps of {BATCH} rows"


def train_both(job: Mapping[str, Any], rank: Rank) -> None:
    """Train in one of the processes; the first also trains alone, for comparison."""
    subject = Subject(find_method(job["method"]), job["backbone"], job["seed"], tuple(job["sets"]))
    if rank.number == 0:
        (rank.scratch / "alone").write_bytes(trained(replace(subject), 1))
    (rank.scratch / str(rank.number)).write_bytes(trained(subject, WORLD))


def trained(subject: Subject, world: int) -> bytes:
    """Train as the program does; return the checkpoint and the curve."""
    objective = subject.objective(fresh=True)
    config = replace(subject.config.trainer, steps=STEPS, batch_size=BATCH, lr=1e-3)
    objective.setup_run(replace(objective.run_context, optimiser=optimiser_of(config)))
    cell = replace(subject.cell, config=replace(subject.config, trainer=config))
    cell.task.setup_run(training_loader(cell, subject.codec))
    record = train(objective, cell.task, config, Execution(world=world))
    curve = torch.tensor([loss for _, loss in record["curve"]], dtype=torch.float64)
    return save({**load(save_checkpoint(objective)), CURVE: curve})


# All checks --------------------------------------------------------------------------------------------------------

DISTRIBUTION: list[Check] = [builds, sums_to_one, padding, bf16, cache]
"""Checks of every method, also of one that is never trained."""
TRAINING: list[Check] = [finite, batches, fast_form, reload, overfit, ranks]
CHECKS = DISTRIBUTION + TRAINING


def check_objective(
    what: type[Objective] | str,
    *,
    backbones: Sequence[str] = BACKBONES,
    quick: bool = False,
    sets: Sequence[str] = (),
) -> Iterator[Result]:
    """Check an objective on small models in float64, with rows of the built-in sample.

    Args:
        what: a class at the top level of a file, or as typed after --method: `histalign.released`, `file.py:Class`.
        backbones: names; a method that always has the same backbone is checked on that one.
        quick: leave out `ranks`, which starts other processes.
        sets: options as typed after --set, e.g. `method.gamma=1`.

    Yields:
        The result of each check; `assert all(result.ok for result in check_objective(Focal))` is a test.

    Raises:
        UsageError: there is no such method, class, backbone or option.
    """
    method = find_method(name_of(what, "method"))
    if method.is_baseline:
        raise UsageError(f"'{method.name}' is a baseline, which is not trained; there is nothing to check")
    chosen = [method.own_backbone] if method.own_backbone else list(dict.fromkeys(backbones))
    methods = [method, *filter(None, [reference_of(method)])]
    check_overrides(parse_sets(sets), [LogicNLG], methods, chosen)
    subjects = [Subject(method, name, sets=tuple(sets)) for name in chosen]
    _ = [subject.config for subject in subjects]  # refuses unknown backbones, and values that an option does not take
    fits = False
    checks = DISTRIBUTION if method.untrained or method.only_reads else CHECKS
    checks = [check for check in checks if not (quick and check is ranks)]
    for subject in subjects:
        for result in run_checks(checks, subject, plugin=method.kind, backbone=subject.backbone):
            fits = fits or result.state != "not applicable"
            yield result
    if not fits:
        reason = f"expected a backbone it works on; got none among {', '.join(chosen)}; choose another"
        yield Result("fits", "", "failed", reason)
