"""DITTO as a class: golden vectors, the texts it makes, which tokens are penalised, steps and micro-batches."""

import math
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor

from bench.models.backbones.backbone import Batch
from bench.models.core.continuations import Written, draw, scoring_batch
from bench.models.core.run_context import RunContext
from bench.models.core.states import IGNORED
from bench.models.ditto import Ditto, RepeatedSpan, lags_of, repeated_spans
from tests.models import still
from tests.models.given_logits import GivenLogits, ModernCase, batch_of, modern_case

CASES = ["ditto_0", "ditto_1"]
VARIANTS: list[Any] = ["paper", "released"]
WHAT = ["running", "gpt2", "bart"]
MOST = 12
EXACT = {"rtol": 1e-9, "atol": 1e-12}


def made(kind: str, *, mix: float = 1.0, span: int = 3, **options: Any) -> Ditto:
    objective = Ditto(still.backbone(kind), mix=mix, span=span, **options)
    objective.setup_run(RunContext(max_target=MOST))
    return objective


def running() -> Batch:
    """Running text behind a start token, 9 to 13 tokens."""
    return still.running([[1, *range(5 + row, 14 + 2 * row)] for row in range(4)])


def batches(what: str) -> Batch:
    return running() if what == "running" else still.batch(what)


def backbone_of(what: str) -> str:
    return "gpt2" if what == "running" else what


def golden_lags(case: ModernCase, variant: str) -> Tensor:
    """Each row repeats a span behind a prefix; a state predicts the token behind its own."""
    lags = torch.zeros_like(case["targets"])
    for row, (prefix, period) in enumerate(zip(case.params["prefix"], case.params["period"], strict=True)):
        tokens = case["targets"][row, prefix - 1 :]
        span = RepeatedSpan(Written(row, [0] * prefix, tokens[tokens != IGNORED].tolist()), period)
        lags[row, prefix - 1 :] = lags_of([span], tokens[None], skipped=int(variant == "released"))[0]
    return lags


class TestGolden:
    @pytest.mark.parametrize(("variant", "suffix"), [("paper", ""), ("released", "_as_coded")])
    @pytest.mark.parametrize("name", CASES)
    def test_value_and_gradient(self, name: str, variant: str, suffix: str) -> None:
        case = modern_case(name)
        real = case["targets"] != IGNORED
        objective = Ditto(GivenLogits(case["logits"][real]), decay=case.params["lam"])
        states = objective.states(batch_of(case["targets"]))
        lags = golden_lags(case, variant)
        found = objective.repetition_loss(states, lags, torch.ones(lags.shape, dtype=torch.float64))
        torch.testing.assert_close(found.total, case[f"rows{suffix}"].nansum(), **EXACT)
        (gradient,) = torch.autograd.grad(found.total, objective.backbone.logits)  # type: ignore[arg-type]
        torch.testing.assert_close(gradient, case[f"grad_logits{suffix}"][real], rtol=1e-8, atol=1e-10)


def test_the_loss_that_is_logged_is_the_one_that_is_trained() -> None:
    objective, given, logged = made("gpt2"), running(), dict[str, Tensor]()
    objective.__dict__["_attached_trainer"] = lambda: SimpleNamespace(
        world_size=1, accumulate_grad_batches=1, loggers=[1]
    )
    objective.__dict__["log"] = lambda name, value, **_: logged.update({name: value})
    tokens = int((given["labels"] != IGNORED).sum())
    loss = objective.training_step({**given, "step": 0, "step_rows": len(given["labels"]), "step_tokens": tokens}, 0)
    torch.testing.assert_close(logged["train/loss"], loss.detach())


class TestTexts:
    def test_tokens_without_a_target_between_targets_are_in_no_span(self) -> None:
        """A chat: turns that are not the model's lie between its answers."""
        ids = [*range(20, 40)]
        labels = [token if token in (24, 25, 26, 27, 34, 35, 36, 37) else IGNORED for token in ids]
        (span,) = repeated_spans(made("gpt2"), still.rows_of([ids], [labels]), 6, 0.9)
        assert (span.written.prompt, span.period) == ([20, 21, 22, 23], 6)
        assert set(span.written.tokens) == {26, 27, 34, 35, 36, 37}

    def test_running_text(self) -> None:
        """The span before is the prefix, and a text gets the length of its row."""
        objective = made("gpt2")
        spans = repeated_spans(objective, running(), 3, 0.0)
        assert [span.written.prompt for span in spans] == [[1, 5, 6, 7], [1, 6, 7, 8], [1, 7, 8, 9], [1, 8, 9, 10]]
        assert spans[0].written.tokens == [8, 9, 10, 8, 9, 10]
        assert [len(span.written.prompt + span.written.tokens) for span in spans] == [10, 11, 12, 13]
        last = repeated_spans(objective, running(), 3, 0.999)[0]
        assert (last.written.prompt, last.written.tokens[:3]) == ([1, 8, 9, 10], [11, 12, 13])

    def test_short_text(self) -> None:
        """It is repeated at least once, or left alone."""
        (span,) = repeated_spans(made("gpt2"), still.running([[1, 5, 6, 7], [1, 5, 6]]), 3, 0.0)
        assert span == RepeatedSpan(Written(0, [1, 5], [6, 6]), 1)

    def test_behind_a_source(self) -> None:
        """A span of the target up to the longest target; the end token is not repeated."""
        end = still.backbone("gpt2").model.config.eos_token_id
        given = still.rows_of([[1, 9, 9, 5, 6, end]], [[IGNORED, IGNORED, IGNORED, 5, 6, end]])
        (span,) = repeated_spans(made("gpt2"), given, 8, 0.0)
        assert span == RepeatedSpan(Written(0, [1, 9, 9], [5, 6] * 6), 2)

    def test_encoder_decoder(self) -> None:
        objective = made("bart", span=50)
        end = objective.backbone.model.config.eos_token_id
        given: Any = {**still.rows_of([[9, 9]], [[5, 6, 7, 8, 9, 10, 11, end]])}
        (span,) = repeated_spans(objective, given, 50, 0.999)
        assert span == RepeatedSpan(Written(0, [], [6, 7, 8, 9, 10, 11] * 2), 6)


class TestSteps:
    @pytest.mark.parametrize("variant", VARIANTS)
    @pytest.mark.parametrize("what", WHAT)
    def test_by_hand(self, what: str, variant: Any) -> None:
        """Value and every gradient are those of a loop over texts, one forward pass each."""
        objective = made(backbone_of(what), variant=variant)
        found = still.stepped(objective, batches(what))
        still.assert_same_gradients(objective, found.total, by_hand(objective, batches(what), variant))

    def test_nothing_to_repeat(self) -> None:
        """A zero, whose gradients are zeros."""
        objective = made("gpt2")
        found = still.stepped(objective, still.running([[1, 5, 6]]))
        assert found.total == 0
        assert not any(gradient.any() for gradient in still.gradients(objective, found.total))


def by_hand(objective: Ditto, batch: Batch, variant: str) -> Tensor:
    """The mean over rows of the mean over penalised tokens, scaled to the target tokens of the step."""
    totals = []
    for span in repeated_spans(objective, batch, objective.span, draw(0, "span", 3)):
        states = objective.states(scoring_batch(objective, batch, [span.written]))
        log_p = objective.backbone.head(states.hidden[0]).log_softmax(-1)
        first = len(span.written.prompt[1:])
        at = [log_p[first + place, token].exp() for place, token in enumerate(span.written.tokens)]
        penalised = range(span.period + (variant == "released"), len(at))
        terms = [-torch.log(1 - (at[place] - 0.5 * at[place - span.period].detach()).abs()) for place in penalised]
        totals.append(torch.stack(terms).mean())
    n_targets = int((batch["labels"] != IGNORED).sum())
    return torch.stack(totals).sum() * n_targets / len(batch["labels"])


class TestCertainty:
    def test_bounded(self) -> None:
        """A token that became certain behind a first time without any chance costs 46 nats, not infinitely many."""
        logits = torch.zeros(2, 4, dtype=torch.float64)
        logits[0, 1], logits[1, 1] = -2000.0, 2000.0
        objective = Ditto(GivenLogits(logits))
        states = objective.states(batch_of(torch.tensor([[1, 1]])))
        lags, weights = torch.tensor([[0, 1]]), torch.ones(1, 2, dtype=torch.float64)
        found = objective.repetition_loss(states, lags, weights)
        assert float(found.total.detach()) == pytest.approx(-math.log(1e-20))
        (gradient,) = torch.autograd.grad(found.total, objective.backbone.logits)  # type: ignore[arg-type]
        assert gradient.isfinite().all()
