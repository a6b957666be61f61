"""UL-seq and UL-token+seq: against a plain recomputation without cache, the coin, batches, padding, modes, golden.

The plain form writes token by token with a full forward pass each, and scores each repeated token from the
distribution it was drawn from.
"""

from dataclasses import replace
from functools import partial
from typing import Any

import pytest
import torch
from torch import Tensor

from bench.cells.build import continued
from bench.models.backbones.backbone import Batch
from bench.models.core.continuations import draw, write
from bench.models.core.objective import Objective
from bench.models.core.run_context import ContinuePrompts, RunContext
from bench.models.core.states import IGNORED
from bench.models.functional.unlikelihood import repeated
from bench.models.mle import MLE
from bench.models.ul_seq import ULSeq, ULTokenSeq
from bench.models.ul_token import ULToken
from tests.bench.generation import tiny_decoders as tiny
from tests.models import still
from tests.models.given_logits import GivenLogits, batch_of
from tests.models.test_ditto import WHAT, backbone_of
from tests.models.test_ul_token import cases, load

METHODS = [ULSeq, ULTokenSeq]
VARIANTS = ["paper", "released"]
MOST = 12
EXACT = {"rtol": 1e-9, "atol": 1e-9}


def made(kind: str, method: Any = ULSeq, *, mix: float = 1.0, ngram: int = 2, **options: Any) -> Objective:
    """A method in training mode whose steps are all on sequences; 2-grams repeat soon in a tiny model."""
    names = ("seed", *still.STILL[kind])
    backbone = still.backbone(kind, **{name: options.pop(name) for name in names if name in options})
    objective: Objective = method(backbone, mix=mix, ngram=ngram, **options)
    objective.setup_run(RunContext(continue_prompts=partial(continued, objective), max_target=MOST))
    return objective


def continues_so(objective: Objective, continued: ContinuePrompts) -> None:
    """Let an objective continue prompts in this way."""
    objective.setup_run(replace(objective.run_context, continue_prompts=continued))


def batches(what: str) -> Batch:
    """Running text of 24 to 40 tokens, or rows with a source."""
    if what == "running":
        return still.running([[1, *text] for text in tiny.texts(5, 4, longest=39) if len(text) > 8])
    return still.batch(what)


def plain(objective: Objective, batch: Batch, *, step: int = 3, n: int = 2, variant: str = "paper") -> Tensor:
    """Mean over rows, row by row and token by token, each from a forward pass over all that is before it."""
    written = write(objective, batch, objective.cut, draw(objective.run_seed, "prefix", step))
    sums = [torch.zeros((), dtype=torch.float64) for _ in batch["labels"]]
    lengths = [0] * len(sums)
    for one in written:
        text: list[int] = []
        probabilities: list[Tensor] = []
        while len(text) < len(one.tokens):
            distribution = next_distribution(objective, batch, one.row, one.prompt + text)
            token = int(distribution.argmax())
            text.append(token)
            probabilities.append(distribution[token])
        assert text == one.tokens, "the cached continuation is the greedy one"
        grams = [tuple(text[at : at + n]) for at in range(len(text) - n + 1)]
        for place, probability in enumerate(probabilities):
            tested = range(max(0, place - n + 1), min(place + 1, len(grams) - (variant == "released")))
            if any(grams[at] in grams[:at] for at in tested):
                sums[one.row] = sums[one.row] - torch.log1p(-probability)
        lengths[one.row] += len(text)
    return torch.stack([total / max(1, length) for total, length in zip(sums, lengths, strict=True)]).mean()


def next_distribution(objective: Objective, batch: Batch, row: int, text: list[int]) -> Tensor:
    """Distribution of the token behind a text, [V], by a forward pass of one row."""
    if objective.backbone.architecture == "encoder-decoder":
        kept = batch["attention_mask"][row] > 0
        given: Batch = {"input_ids": batch["input_ids"][row][kept][None], "labels": torch.tensor([[*text, 5]])}
        given["attention_mask"] = torch.ones_like(given["input_ids"])
    else:
        given = still.rows_of([[*text, 5]], [[IGNORED] * len(text) + [5]])
    hidden = objective.backbone.states(given).hidden[0, -1:]
    return objective.backbone.head(hidden).softmax(-1)[0]


class TestEqualsPlain:
    @pytest.mark.parametrize("variant", VARIANTS)
    @pytest.mark.parametrize("what", WHAT)
    def test_value_and_every_gradient(self, what: str, variant: str) -> None:
        """One scoring pass with a cache before it, or everything again for each token."""
        options = {"prefix": 5, "continuation": 9} if what == "running" else {}
        objective = made(backbone_of(what), variant=variant, **options)
        batch = batches(what)
        expected = plain(objective, batch, variant=variant)
        assert expected > 0.01
        found = still.stepped(objective, batch)
        n_tokens = int((batch["labels"] != IGNORED).sum())
        still.assert_same_gradients(objective, found.total / n_tokens, expected)
        torch.testing.assert_close(found.terms["repetition"], found.total.detach(), **EXACT)


class TestGolden:
    @pytest.mark.parametrize("variant", VARIANTS)
    @pytest.mark.parametrize("name", cases("ul_seq"))
    def test_sequences(self, name: str, variant: Any) -> None:
        """The written tokens and their logits are given; the loss per written token comes out of a step."""
        given, expected = load(name)
        (tokens,) = given["tokens"]
        backbone = GivenLogits(torch.tensor(given["logits"][0], dtype=torch.float64), bos=0)
        objective = ULSeq(backbone, mix=1.0, ngram=given["n"], variant=variant)
        continues_so(objective, lambda batch, most: [tokens[:most] for _ in batch["input_ids"]])
        text = torch.zeros(1, 3 * len(tokens) // 2 + 1, dtype=torch.long)
        wanted = expected["loss_paper" if variant == "paper" else "loss_code"]
        if not wanted:  # nothing is repeated, and the step trains on the true text
            assert not any(repeated(tokens, given["n"], last=False))
            return
        found = still.stepped(objective, batch_of(text))
        torch.testing.assert_close(float(found.total.detach() / text.numel()), wanted, **EXACT)


class TestNothingRepeats:
    def test_rows_without_repetition_are_not_scored(self) -> None:
        """Two of five rows repeat, so the scoring pass has two rows."""
        objective = made("gpt2")
        written = [[5, 6, 5, 6]] * 2 + [[5, 6, 7]] * 3
        continues_so(objective, lambda batch, most: written)
        seen = []
        original = objective.backbone.states
        objective.backbone.states = lambda batch: seen.append(len(batch["labels"])) or original(batch)  # type: ignore
        found = still.stepped(objective, still.batch("gpt2"))
        assert seen == [2]
        assert found.n_target_tokens == 4, "nor is a token that is no repetition"


class TestCoin:
    @pytest.mark.parametrize("method", METHODS)
    def test_only_one_of_the_two_losses(self, method: Any) -> None:
        """Equal for every rank and micro-batch of a step: it depends on seed and step."""
        objective = made("gpt2", method, mix=0.5)
        token = MLE(objective.backbone) if method is ULSeq else ULToken(objective.backbone)
        kinds = set()
        for step in range(6):
            turn = draw(0, "coin", step) < 0.5
            for rows in (slice(0, 2), slice(2, 5)):
                batch = still.batch("gpt2", rows)
                found = still.stepped(objective, batch, step=step)
                if not turn:
                    torch.testing.assert_close(found.total, token.step_loss(batch).total, **EXACT)
                assert ("repetition" in found.terms) == turn
            kinds.add(turn)
        assert kinds == {True, False}


class TestModes:
    @pytest.mark.parametrize("what", ["gpt2", "bart"])
    def test_dropout(self, what: str) -> None:
        """Off in both passes, on again afterwards, and no random number is drawn."""
        rates = dict.fromkeys(still.STILL[what], 0.5)
        objective = made(what, **rates)
        before, state = [part.training for part in objective.modules()], torch.get_rng_state()
        found = still.stepped(objective, still.batch(what)).total
        assert [part.training for part in objective.modules()] == before
        assert all(before)
        assert torch.equal(torch.get_rng_state(), state)
        torch.testing.assert_close(found, still.stepped(made(what), still.batch(what)).total, **EXACT)
