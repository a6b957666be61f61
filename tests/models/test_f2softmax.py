"""models/f2softmax.py: classes, fast and plain loss, and the start from a trained softmax."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from bench.errors import UsageError
from bench.models.backbones.backbone import Batch
from bench.models.core.sliced_loss import summed
from bench.models.core.states import slices
from bench.models.f2softmax import F2Softmax
from bench.models.functional.mefmax import mefmax
from bench.models.mle import MLE
from tests.bench.generation import tiny_decoders as tiny
from tests.models.f2_cases import V, batch_of, counts, made, rows_of

EXACT = {"rtol": 1e-10, "atol": 1e-10}


class TestClasses:
    def test_order_and_classes_are_of_the_counts(self) -> None:
        objective = made("gpt2")
        seen = counts().clamp(min=1)
        assert (seen[objective.order].diff() <= 0).all()
        assert torch.equal(objective.order[objective.ranks], torch.arange(V))
        assert torch.equal(objective.classes, mefmax(seen).of_token)
        assert sum(objective.sizes) == V
        assert len(objective.sizes) == len(objective.class_weight) == 5

    @pytest.mark.parametrize(
        ("options", "sizes"),
        [
            ({"classes": "fixed_eq_token", "number": 4}, (24, 24, 24, 25)),
            ({"classes": "fixed_eq_token", "number": V}, (1,) * V),
            ({"classes": "fixed_eq_freq", "number": 1}, (V,)),
        ],
    )
    def test_ablations(self, options: Any, sizes: tuple[int, ...]) -> None:
        objective = made("gpt2", **options)
        assert objective.sizes == sizes
        states = objective.backbone.states(batch_of("gpt2"))
        generic = summed(states, objective.position_loss, objective.head_parameters())
        torch.testing.assert_close(objective.loss(states).total, generic.total, **EXACT)

    @pytest.mark.parametrize(
        ("options", "says"),
        [
            ({"classes": "fixed_eq_token"}, "classes=fixed_eq_token needs the number of classes, for example number=8"),
            ({"classes": "fixed_eq_freq", "number": -1}, "option 'number' is at least 0, not -1"),
            ({"number": 4}, "number=4 has no effect with classes=mefmax"),
        ],
    )
    def test_options_that_do_not_fit(self, options: Any, says: str) -> None:
        with pytest.raises(UsageError) as error:
            F2Softmax(tiny.backbone("gpt2"), **options)
        assert says in str(error.value)

    @pytest.mark.parametrize(
        ("table", "options", "says"),
        [
            (torch.ones(V + 3), {}, f"frequency table has {V + 3} tokens, the backbone {V}"),
            (torch.zeros(V), {}, "no token with a count above 0"),
            (torch.arange(V) - 1, {}, "counts a token -1 times"),
            (torch.ones(V), {"classes": "fixed_eq_freq", "number": V + 1}, f"{V + 1} classes cannot share {V} tokens"),
        ],
    )
    def test_tables_that_do_not_fit(self, table: Tensor, options: Any, says: str) -> None:
        with pytest.raises(UsageError) as error:
            F2Softmax(tiny.backbone("gpt2"), **options).prepare(table.long())
        assert says in str(error.value)
        assert "\n" not in str(error.value)


class TestTraining:
    @pytest.mark.parametrize("kind", tiny.KINDS)
    def test_every_trained_parameter_is_used(self, kind: str) -> None:
        """An unused one would stop several processes; a head that is tied to nothing is therefore not trained."""
        objective = made(kind)
        objective.loss(objective.backbone.states(batch_of(kind))).total.backward()
        unused = [name for name, p in objective.named_parameters() if p.requires_grad and p.grad is None]
        assert not unused
        output = objective.backbone.model.get_output_embeddings().weight
        assert output.requires_grad == (kind != "llama")
        assert not any(p is output for p in objective.head_parameters())

    def test_from_scratch_it_is_eq_4(self) -> None:
        """No bias that is trained, weights of the input embedding's scale and untied from it."""
        objective = made("gpt2")
        assert not objective.class_bias.requires_grad
        assert not objective.class_bias.any()
        assert objective.token_bias is None
        scale = objective.backbone.embedding().std()
        assert objective.token_weight.std().item() == pytest.approx(scale.item(), rel=0.05)
        assert objective.class_weight.std().item() == pytest.approx(scale.item(), rel=0.25)

    def test_a_checkpoint_is_read_back(self) -> None:
        """Also that a bias that was fitted goes on training in a cell that starts from it."""
        objective = made("gpt2")
        objective.warm_start([batch_of("gpt2", seed) for seed in range(4)])
        torch.manual_seed(5)
        other = F2Softmax(tiny.backbone("gpt2", seed=3, dtype=torch.float64))
        other.prepare(objective.counts)
        other.load_state_dict(objective.state_dict())
        rows = rows_of(objective, "gpt2")
        torch.testing.assert_close(other.log_probs(rows), objective.log_probs(rows))
        assert other.class_bias.requires_grad


def corpus(rows: int, steps: int, seed: int) -> Batch:
    """Texts in which a token says much about the next: it is often followed by one of three, else by a frequent one."""
    generator = torch.Generator().manual_seed(seed)
    followers = torch.randint(5, V, (V, 3), generator=torch.Generator().manual_seed(0))
    weights = 1 / torch.arange(1, V + 1).double()
    ids = [torch.multinomial(weights, rows, replacement=True, generator=generator)]
    for _ in range(steps - 1):
        usual = followers[ids[-1], torch.randint(3, (rows,), generator=generator)]
        frequent = torch.multinomial(weights, rows, replacement=True, generator=generator)
        ids.append(torch.where(torch.rand(rows, generator=generator) < 0.6, usual, frequent))
    text = torch.stack(ids, 1)
    return {"input_ids": text, "attention_mask": torch.ones_like(text), "labels": text}


@pytest.fixture(scope="module")
def trained() -> MLE:
    """A small decoder-only model after 150 steps of maximum likelihood."""
    torch.manual_seed(0)
    objective = MLE(tiny.backbone("gpt2", n_embd=64))
    for parameter in objective.parameters():
        parameter.data.mul_(0.2 if parameter.ndim > 1 else 1.0)
    optimizer = torch.optim.AdamW(objective.parameters(), lr=3e-3)
    for step in range(150):
        batch = corpus(16, 32, step + 1)
        found = objective.loss(objective.backbone.states(batch))
        optimizer.zero_grad()
        (found.total / found.n_target_tokens).backward()
        optimizer.step()
    return objective.eval()


def measured(model: MLE, objective: F2Softmax) -> tuple[float, float, float]:
    """KL(softmax || F2) in nats and both perplexities, on texts that neither has seen."""
    with torch.no_grad():
        (rows,) = slices(model.backbone.states(corpus(16, 32, 10_000)), 10**4)
        before, after = model.log_probs(rows), objective.log_probs(rows)
    kl = (before.exp() * (before - after)).sum(1).mean().item()
    first, second = (x.gather(1, rows.targets[:, None]).mean().neg().exp().item() for x in (before, after))
    return kl, first, second


class TestWarmStart:
    def test_step_0_starts_near_the_model(self, trained: MLE) -> None:
        """Measured: KL 0.045 and perplexity 17.99 to 18.18; 2.69 and 232.6 with class and token vectors at random."""
        objective = F2Softmax(trained.backbone)
        objective.prepare(corpus(64, 32, 1)["input_ids"].flatten().bincount(minlength=V))
        random_kl, *_ = measured(trained, objective)
        objective.warm_start(corpus(16, 32, step + 1) for step in range(8))
        kl, before, after = measured(trained, objective)
        assert before < 0.3 * V, "the model has learnt something"
        assert kl < 0.09
        assert abs(after / before - 1) < 0.02
        assert random_kl > 25 * kl

    @pytest.mark.parametrize("kind", tiny.KINDS)
    def test_tokens_within_a_class_are_exact(self, kind: str) -> None:
        """Also with BART's fixed bias and an untied head; what is left to fit is one number a class."""
        model = MLE(tiny.backbone(kind, dtype=torch.float64)).eval()
        if kind == "bart":
            model.backbone.model.final_logits_bias.copy_(torch.linspace(-1, 1, V))
        objective = F2Softmax(model.backbone)
        objective.prepare(counts())
        objective.warm_start([batch_of(kind, seed) for seed in range(8)])
        rows = rows_of(objective, kind)
        right, found = model.log_probs(rows), objective.log_probs(rows)
        for c in range(len(objective.sizes)):
            of_class = objective.classes == c
            torch.testing.assert_close(found[:, of_class].log_softmax(1), right[:, of_class].log_softmax(1), **EXACT)
        assert objective.class_bias.requires_grad
        assert objective.token_weight.requires_grad
        assert objective.token_weight.data_ptr() != model.backbone.model.get_output_embeddings().weight.data_ptr()

    def test_a_bias_is_kept_and_trains(self) -> None:
        backbone = tiny.backbone("gpt2", dtype=torch.float64)
        backbone.model.lm_head.bias = nn.Parameter(torch.linspace(-1, 1, V, dtype=torch.float64))
        objective = F2Softmax(backbone)
        objective.prepare(counts())
        objective.warm_start([batch_of("gpt2")])
        assert objective.token_bias is not None
        assert torch.equal(objective.token_bias[objective.ranks], backbone.model.lm_head.bias)
        assert objective.token_bias.requires_grad

    def test_states_are_those_without_dropout(self) -> None:
        first, second = made("gpt2"), made("gpt2")
        second.train()
        for objective in (first, second):
            objective.warm_start([batch_of("gpt2", seed) for seed in range(3)])
        assert second.backbone.training
        assert torch.equal(first.class_weight, second.class_weight)
