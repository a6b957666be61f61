"""Losses on plain tensors: equal to those of the suite, in value and in the gradients of states and head."""

import inspect
from typing import Any

import pytest
import torch

from bench import losses
from bench.errors import UsageError
from bench.models.backbones.causal import Causal
from tests.bench.integrations.test_attach import ON_STATES
from tests.bench.integrations.trainers import COUNTS, batch, in_the_suite, llama


@pytest.mark.parametrize("name", [*ON_STATES, "emo.shuffled"])
def test_value_and_gradients_are_those_of_the_suite(name: str) -> None:
    expected = in_the_suite(name, Causal(llama(), None))
    if name == "face":
        expected.frequency.copy_(torch.arange(40) * 3)  # as after some steps
    if name.startswith("emo"):
        expected.directions.copy_(expected.directions.flip(0))  # training started from another head
    if name == "loss_truncation":
        expected.recent.cut.fill_(3.7)  # between the losses of the rows
    rows = batch()
    found = expected.step_loss(rows)
    trained = {name: parameter for name, parameter in expected.named_parameters() if parameter.requires_grad}
    wanted = torch.autograd.grad(found.total / found.n_target_tokens, list(trained.values()))
    model, options = llama(), {}
    state = {
        key: value.detach().clone().requires_grad_(key in trained)
        for key, value in expected.state_dict().items()
        if not key.startswith("backbone.")
    }
    if state.pop("counts", None) is not None:
        options["token_counts"] = COUNTS
    parts = state | {f"backbone.model.{key}": parameter for key, parameter in model.named_parameters()}
    if state:
        options["state"] = state
    hidden = model.model(input_ids=rows["input_ids"], attention_mask=rows["attention_mask"]).last_hidden_state
    if name in ("gold", "asft"):
        other = llama()
        options["reference"] = (other.model(rows["input_ids"]).last_hidden_state, other.lm_head.weight)
    given = (hidden, model.lm_head.weight, rows["input_ids"], rows["labels"], rows["attention_mask"])
    method, _, variant = name.partition(".")
    settings = {"gamma": 1.0, "floor": 0.0} if variant == "dft" else {"variant": variant} if variant else {}
    drawn = torch.random.get_rng_state()
    loss = losses.loss_of(name, *given, **options)
    assert torch.equal(torch.random.get_rng_state(), drawn)
    if name != "emo.shuffled":  # its option has the name of a tensor, `embedding`
        assert torch.equal(loss, getattr(losses, method)(*given, **options, **settings))
    torch.testing.assert_close(loss, found.total / found.n_target_tokens, rtol=1e-5, atol=1e-6)
    for one, other in zip(torch.autograd.grad(loss, [parts[key] for key in trained]), wanted, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("ul_seq", r"bench\.attach"), ("ditto", r"bench\.attach"), ("adadec", "bench run"), ("unigram", "bench run"),
        ("label_smoothing.unigram", r"token_counts=\[V\]"), ("f2softmax", r"token_counts=\[V\]"),
        ("face", r"state: 'frequency' \[9\]; got no tensors"), ("emo", r"state: 'directions' \[9, 4\]"),
        ("mtp", "state: 'later_heads.0.0.weight'"), ("loss_truncation", "'recent.cut'"),
        ("gold", "needs frozen model"),
    ],
)  # fmt: skip
def test_what_is_missing_is_named(name: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        losses.loss_of(name, torch.randn(1, 3, 4), torch.randn(9, 4), torch.tensor([[1, 2, 3]]))


def test_smoothing_by_frequency_takes_its_counts() -> None:
    given = torch.randn(1, 3, 4), torch.randn(9, 4), torch.tensor([[1, 2, 3]])
    even, other = torch.ones(9, dtype=torch.int64), torch.arange(1, 10)
    loss = losses.loss_of("label_smoothing.unigram", *given, token_counts=even)
    torch.testing.assert_close(loss, losses.label_smoothing(*given))
    assert loss != losses.loss_of("label_smoothing.unigram", *given, token_counts=other)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"hidden": torch.randn(1, 2, 4)}, r"hidden of the shape \[1, 3, 4\]"),
        ({"labels": torch.tensor([[1, 2]])}, "labels of the shape"),
        ({"attention_mask": torch.ones(1, 2)}, "attention_mask of the shape"),
        ({"bias": torch.ones(1)}, "bias of the shape"),
        ({"embedding": torch.ones(4, 9)}, "embedding of the shape"),
        ({"weight": torch.ones(9)}, r"expected weight \[V, D\]"),
        ({"reference": (torch.randn(1, 3, 4), torch.randn(9, 4))}, "reads no frozen model"),
        ({"token_counts": torch.ones(9)}, "reads no counts"),
        ({"reference": torch.randn(1, 3, 4)}, "got one tensor"),
        ({"state": {"weights": torch.ones(9)}}, r"expects in state: no tensors; got 'weights' \[9\]"),
    ],
)
def test_shapes_are_checked(changed: dict[str, Any], message: str) -> None:
    given = {"hidden": torch.randn(1, 3, 4), "weight": torch.randn(9, 4), "input_ids": torch.tensor([[1, 2, 3]])}
    with pytest.raises(UsageError, match=message):
        losses.mle(**given | changed)


def test_padding_carries_no_loss() -> None:
    hidden, weight = torch.randn(1, 4, 4), torch.randn(9, 4)
    padded = losses.mle(hidden, weight, torch.tensor([[1, 2, 3, 0]]), attention_mask=torch.tensor([[1, 1, 1, 0]]))
    assert padded == losses.mle(hidden[:, :3], weight, torch.tensor([[1, 2, 3]]))
    assert losses.histalign(hidden[:, :1], weight, torch.tensor([[1]]), variant="released") == 0


def test_each_method_is_documented_with_its_shapes_and_equation() -> None:
    assert set(dir(losses)) == {name for name in ON_STATES if "." not in name}
    assert "hidden: `[B, T, D]`" in str(losses.histalign.__doc__)
    assert "eq. 5" in str(losses.histalign.__doc__)
    assert list(inspect.signature(losses.mle).parameters)[:3] == ["hidden", "weight", "input_ids"]
    with pytest.raises(AttributeError, match="no loss 'lead'"):
        _ = losses.lead
