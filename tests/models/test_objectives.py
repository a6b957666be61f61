"""What holds for every objective beside `check_objective`: components, fast paths, terms, memory, batches."""

from functools import cache
from typing import Any

import pytest
import torch
from torch import Tensor

from bench.base.registry import expand
from bench.config.resolve import EvaluationVariant, find_method, reference_of
from bench.models import METHODS
from bench.models.backbones.backbone import Batch
from bench.models.backbones.small import small_causal, small_encdec
from bench.models.core.objective import Objective
from bench.models.core.run_context import RunContext
from bench.models.core.states import IGNORED, States, slices
from bench.tasks.encode.codec import Codec, Encoded
from bench.tasks.fetch.sources import Source
from bench.tasks.logicnlg import LogicNLG
from tests.drawn import in_turn

NAMES = [name for name in expand(["*"], METHODS, "method") if not METHODS[name.partition(".")[0]].baseline
         and (method := find_method(name)).evaluation_variant == EvaluationVariant() and not method.own_backbone
         and not name.endswith(("continued", "untrained", "external"))]  # fmt: skip
"""Every objective with a loss of its own that runs on both backbones."""

FACTORIES: dict[str, Any] = {"small-causal": small_causal, "small-encdec": small_encdec}
KINDS = list(FACTORIES)
daily = pytest.mark.parametrize(("kind", "name"), in_turn(KINDS[::-1], NAMES))
"""Each method on one of the backbones, not on that of the daily `check_objective`; on both in `make test-long`."""

EXACT = {"rtol": 1e-10, "atol": 1e-10}


@cache
def task() -> LogicNLG:
    """Twenty built-in tables; markers off, so that rows stay short."""
    found = LogicNLG(style="compact")
    found.load(Source(None, "built-in sample"), 20)
    return found


@cache
def rows(kind: str) -> tuple[Encoded, ...]:
    """Eight rows of uneven length."""
    return tuple(task().encode(task().split("train").examples[:8], codec(kind)))


@cache
def codec(kind: str) -> Codec:
    architecture = "decoder-only" if kind == "small-causal" else "encoder-decoder"
    return Codec(task().tokenizer(300), architecture, 40, 12)


def made(kind: str, name: str, **options: Any) -> Objective:
    """A method in float64 over a small backbone, its weights made large enough to have opinions."""
    backbone = FACTORIES[kind](kind, task(), 0, vocabulary=300, width=16, heads=2, layers=1, context=128)
    generator = torch.Generator().manual_seed(0)
    for parameter in backbone.parameters():
        if parameter.ndim > 1:
            torch.nn.init.normal_(parameter, std=0.3, generator=generator)
    method = find_method(name)
    objective: Objective = method.kind(backbone, **{**method.values("method"), **options})
    if objective.uses_token_counts:
        objective.prepare(target_counts(kind))
        for parameter in objective.own_parameters():
            torch.nn.init.normal_(parameter, std=0.3, generator=generator)
    reference = reference_of(method)
    if reference is not None:
        objective.setup_run(RunContext(reference=made(kind, reference.name)))
    return objective.double().eval()


@cache
def kept(kind: str, name: str) -> Objective:
    """A method with its own options, made once; for tests that only read it."""
    return made(kind, name)


@cache
def target_counts(kind: str) -> Tensor:
    """How often each token is a target in twenty rows."""
    found = task().encode(task().split("train").examples, codec(kind))
    return torch.bincount(torch.tensor([token for row in found for token in row.target]), minlength=300)


def batch_of(kind: str, some: list[Encoded] | tuple[Encoded, ...]) -> Batch:
    return codec(kind).train_batch(some)  # type: ignore[return-value]


def states_of(objective: Objective, kind: str, some: tuple[Encoded, ...] | None = None) -> States:
    return objective.states(batch_of(kind, some or rows(kind)))


class TestDistribution:
    @daily
    def test_components(self, kind: str, name: str) -> None:
        """`full` is what a method predicts by: eq. 3 where it trains its cache, else its head."""
        objective = kept(kind, name)
        with torch.no_grad():
            for part in slices(states_of(objective, kind)):
                found = objective.components(part)
                expected = found["head"]
                if name.startswith(("trime", "histalign")):
                    expected = torch.logaddexp(found["head"], found["cache"])
                torch.testing.assert_close(found["full"], expected, **EXACT)
                torch.testing.assert_close(objective.log_probs(part), expected.log_softmax(1), **EXACT)


class TestFastPaths:
    """A faster form of a loss has the value of the plain one, through the distribution the method evaluates with."""

    @daily
    def test_terms_add_up(self, kind: str, name: str) -> None:
        """What is logged beside the loss is what the loss is made of."""
        objective = kept(kind, name)
        found = objective.loss(states_of(objective, kind))
        weight = {"ranking": getattr(objective, "alpha", 0.0)}
        if found.terms:
            total = sum(weight.get(part, 1.0) * value for part, value in found.terms.items())
            torch.testing.assert_close(torch.as_tensor(total), found.total.detach(), **EXACT)


class TestMemory:
    def test_strictly_past(self) -> None:
        """Entry m is state m with token m+1: a position reads the entries before it, of real tokens only."""
        objective = made("small-causal", "mle")
        batch = batch_of("small-causal", rows("small-causal"))
        states = objective.backbone.states(batch)
        ids, mask = batch["input_ids"], batch["attention_mask"]
        assert torch.equal(states.memory, states.hidden)
        assert torch.equal(states.memory_tokens, ids[:, 1:])
        for row in range(len(ids)):
            for position in range(ids.shape[1] - 1):
                expected = [m < position and bool(mask[row, m + 1]) for m in range(ids.shape[1] - 1)]
                assert states.readable[row, position].tolist() == expected

    def test_tokens_come_from_inputs_and_not_from_labels(self) -> None:
        """The prompt's labels are masked, and its tokens are in the cache all the same."""
        objective = made("small-causal", "trime")
        batch = batch_of("small-causal", rows("small-causal"))
        states = objective.backbone.states(batch)
        assert torch.equal(states.labelled, batch["labels"][:, 1:] != IGNORED)
        assert not states.labelled[batch["attention_mask"][:, 1:] > 0].all()
        masked: Batch = {**batch, "labels": batch["labels"].clone()}
        masked["labels"][:, :-3] = IGNORED
        fewer = objective.backbone.states(masked)
        assert torch.equal(fewer.memory_tokens, states.memory_tokens)
        assert torch.equal(fewer.readable, states.readable)


def in_batches(objective: Objective, kind: str, size: int) -> Tensor:
    """The summed loss of the eight rows, so many at a time."""
    every = rows(kind)
    parts = [states_of(objective, kind, every[at : at + size]) for at in range(0, len(every), size)]
    return torch.stack([objective.loss(states).total for states in parts]).sum()


class TestBatches:
    @pytest.mark.parametrize("scope", ["cache", "sequence"])
    @pytest.mark.parametrize("reduction", ["sum", "pair_mean", "authors"])
    @pytest.mark.parametrize("kind", KINDS)
    def test_every_form_of_histalign(self, kind: str, reduction: str, scope: str) -> None:
        """Ranks over a whole sequence count its padding, which depends on the batch."""
        objective = made(kind, "histalign", reduction=reduction, rank_scope=scope, margin=0.1)
        whole, parts = in_batches(objective, kind, 8), in_batches(objective, kind, 1)
        assert torch.allclose(whole, parts, rtol=1e-10, atol=1e-10) == objective.batch_invariant
        assert objective.batch_invariant == (reduction != "authors" and scope == "cache")

    def test_training_step_divides_by_the_whole_step(self) -> None:
        """Two micro-batches of a step sum to the loss per target token of all of its rows."""
        objective, every = made("small-causal", "trime"), rows("small-causal")
        tokens = sum(len(row.target) for row in every)
        whole = objective.training_step({**batch_of("small-causal", every), "step_tokens": tokens}, 0)
        uneven = [every[:3], every[3:]]
        parts = [objective.training_step({**batch_of("small-causal", p), "step_tokens": tokens}, 0) for p in uneven]
        torch.testing.assert_close(torch.stack(parts).sum(), whole, **EXACT)
        torch.testing.assert_close(objective.logged["loss"], parts[1].detach(), **EXACT)
