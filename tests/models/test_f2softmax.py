"""F2-Softmax: classes, fast and plain loss, the start from a trained softmax, and decoding by eq. 7 in every mode."""

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from bench.config.decoding import parse
from bench.errors import UsageError
from bench.generation.generation import generate
from bench.models.backbones.backbone import Batch
from bench.models.core.sliced_loss import summed
from bench.models.core.states import IGNORED, TokenSlice, slices
from bench.models.f2softmax import F2Softmax
from bench.models.functional.decoupled import decoupled_log_probs
from bench.models.functional.least_squares import LeastSquares, _solved
from bench.models.functional.mefmax import mefmax
from bench.models.mle import MLE
from tests.bench.generation import decoding_oracle as oracle
from tests.bench.generation import tiny_decoders as tiny

V = tiny.VOCABULARY


def counts(seed: int = 0) -> Tensor:
    """Zipf counts of shuffled tokens, some of them never seen."""
    falling = (40 / torch.arange(1, V + 1) ** 0.9).long()
    return falling[torch.randperm(V, generator=torch.Generator().manual_seed(seed))]


def made(kind: str, dtype: torch.dtype = torch.float64, **options: Any) -> F2Softmax:
    """The method over a tiny backbone, its weights large enough to have opinions."""
    torch.manual_seed(0)
    objective = F2Softmax(tiny.backbone(kind, dtype=dtype), **options)
    objective.prepare(counts())
    return objective.eval()


def batch_of(kind: str, seed: int = 0, rows: int = 5) -> Batch:
    """Texts of uneven length, part of them without a target."""
    given = tiny.texts(rows, seed)
    longest = max(map(len, given))
    ids = torch.tensor([t + [0] * (longest - len(t)) for t in given])
    mask = torch.tensor([[1] * len(t) + [0] * (longest - len(t)) for t in given])
    labels = torch.randint(5, V, ids.shape, generator=torch.Generator().manual_seed(seed)) if kind == "bart" else ids
    return {"input_ids": ids, "attention_mask": mask, "labels": labels.masked_fill(mask == 0, IGNORED)}


def rows_of(objective: F2Softmax, kind: str) -> TokenSlice:
    with torch.no_grad():
        (rows,) = slices(objective.backbone.states(batch_of(kind)), 512)
    return rows


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
        ("options", "tokens", "says"),
        [
            ({"classes": "fixed_eq_token"}, V, "fixed_eq_token needs the number of classes, for example number=8"),
            ({"classes": "fixed_eq_freq", "number": -1}, V, "option 'number' must be at least 0, not -1"),
            ({"number": 4}, V, "number=4 has no effect with classes=mefmax"),
            ({}, V + 3, f"expected {V} token counts, one for each row of the model's head, got {V + 3}"),
            ({"classes": "fixed_eq_freq", "number": V + 1}, V, f"{V + 1} classes cannot share {V} tokens"),
        ],
    )
    def test_options_and_tables_that_do_not_fit(self, options: Any, tokens: int, says: str) -> None:
        with pytest.raises(UsageError, match=says):
            F2Softmax(tiny.backbone("gpt2"), **options).prepare(torch.ones(tokens).long())


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


def first_tokens(objective: F2Softmax, prompt: list[int], mode: str, draws: int) -> Tensor:
    """The first token of so many continuations of one prompt, [draws]."""
    found = generate(objective, tiny.collate(objective.backbone, [prompt] * draws), parse(mode)[0], 1, range(draws))
    return torch.tensor([[*text, tiny.END][0] for text in found])


class TestDecoding:
    @pytest.mark.parametrize(
        ("mode", "cut"),
        [
            ("greedy", {"greedy": True}),
            ("decoupled:greedy", {"greedy": True}),
            ("beam=4+length_penalty=2", {"greedy": True}),
            ("topk=3", {"k": 3}),
            ("decoupled:topk=3", {"k": 3}),
            ("nucleus=0.8", {"p": 0.8}),
            ("sample", {}),
            ("posterior:greedy+no_repeat_ngram=3", {}),
            ("posterior:topk=3+temperature=0.5", {}),
            ("posterior:beam=4", {}),
            ("f2_released:topk=3", {}),  # its cut is made where a token is drawn
        ],
    )
    def test_distributions(self, mode: str, cut: dict[str, Any]) -> None:
        """Its own decoding is eq. 7 over its own classes; without a cut, or asked for, it is the posterior."""
        objective = made("gpt2")
        rows, decoding = rows_of(objective, "gpt2"), parse(mode)[0]
        log_probs = objective.log_probs(rows)
        found = objective.decode_log_probs(rows, decoding)
        torch.testing.assert_close(found, decoupled_log_probs(log_probs, objective.classes, **cut), rtol=0, atol=1e-12)
        torch.testing.assert_close(found.exp().sum(1), torch.ones(len(rows), dtype=torch.float64))
        assert torch.equal(objective.decode_log_probs(rows, objective.resolved(decoding)), found)

    @pytest.mark.parametrize("mode", ["greedy+no_repeat_ngram=3", "topk=3+temperature=0.5", "beam=4+no_repeat_ngram=3"])
    def test_settings_eq_7_does_not_have(self, mode: str) -> None:
        with pytest.raises(UsageError) as error:
            F2Softmax.resolved(parse(mode)[0])
        assert "cannot be combined with decoupled decoding" in str(error.value)
        assert f"posterior:{mode} decodes by the whole distribution" in str(error.value)

    @pytest.mark.parametrize(
        "mode", ["min_p=0.1", "typical=0.9", "contrastive_search=4", "greedy+repetition_penalty=1.5"]
    )
    def test_decodings_eq_7_does_not_have(self, mode: str) -> None:
        """By the whole distribution all of them decode; which one is meant must be said."""
        with pytest.raises(UsageError, match="f2softmax: .*equation 7"):
            F2Softmax.resolved(parse(mode)[0])
        objective, decoding = made("gpt2"), parse(f"posterior:{mode}")[0]
        assert F2Softmax.resolved(decoding) is decoding
        rows = rows_of(objective, "gpt2")
        assert torch.equal(objective.decode_log_probs(rows, decoding), objective.log_probs(rows))

    @pytest.mark.parametrize(
        ("kind", "mode"),
        [("gpt2", "greedy"), ("bart", "beam=3"), ("llama", "beam=4+length_penalty=2.0"), ("gpt2", "posterior:beam=3")],
    )
    def test_search(self, kind: str, mode: str) -> None:
        """Against a search that runs every prefix anew; one class holds a single token, so most of a beam is dead."""
        objective, decoding, given = made(kind, torch.float32, classes="released"), parse(mode)[0], tiny.texts(4)
        assert min(objective.sizes) == 1
        found = generate(objective, tiny.collate(objective.backbone, given), decoding, 8)
        assert found == [oracle.decode(objective, text, decoding, 8, tiny.END) for text in given]

    def test_samples_come_from_every_class(self) -> None:
        """Top-1 draws the class and takes its best token; a second cut over all tokens would leave only one."""
        objective, prompt = made("gpt2", torch.float32), tiny.texts(1)[0]
        found = first_tokens(objective, prompt, "topk=1", 400)
        wanted = oracle.next_token(objective, prompt, parse("topk=1")[0])([]).exp()
        assert (wanted > 0).sum() == len(objective.sizes)
        share = found.bincount(minlength=V) / 400
        assert ((share - wanted).abs() < 4 * (wanted * (1 - wanted) / 400).sqrt() + 1e-9).all()


def draw(rows: int, width: int, seed: int = 0) -> Tensor:
    return torch.randn(rows, width, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def fitted(inputs: Tensor, outputs: Tensor, rows: int) -> tuple[Tensor, Tensor]:
    fit = LeastSquares()
    for part, wanted in zip(inputs.split(rows), outputs.split(rows), strict=True):
        fit.add(part, wanted)
    return fit.solve()


@pytest.mark.parametrize(("rows", "worst"), [(7, 1e-5), (200, 1e-5), (400, 0.1)])
def test_a_linear_map_is_found(rows: int, worst: float) -> None:
    """Inputs far from zero and of uneven spread, as a transformer's are; one slice alone has no choice of ridge."""
    inputs, weight, bias = draw(400, 6) * torch.tensor([100.0, 1, 1, 1, 1, 0.1]) + 30, draw(3, 6, 1), draw(1, 3, 2)
    outputs = inputs @ weight.T + bias
    found = fitted(inputs, outputs, rows)
    left = inputs @ found[0].T + found[1] - outputs
    assert left.norm() < worst * (outputs - outputs.mean(0)).norm()


def test_the_ridge_is_chosen_by_rows_held_out() -> None:
    """Fewer rows than inputs, and noise: the chosen ridge does better on new rows than the least one."""
    weight = draw(2, 60, 1) / 8
    inputs, new = draw(48, 60), draw(500, 60, 2)
    noisy = inputs @ weight.T + 0.5 * draw(48, 2, 3)
    found = fitted(inputs, noisy, 4)
    fit = LeastSquares()
    fit.add(inputs, noisy)
    loose = _solved(fit.sums[False], 1e-6)
    errors = [float((new @ w.T + b - new @ weight.T).square().mean()) for w, b in (found, loose)]
    assert errors[0] < 0.8 * errors[1]
