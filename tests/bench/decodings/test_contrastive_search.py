"""Contrastive search: golden texts of a toy model, a plain loop of full passes, and its two limits."""

from pathlib import Path
from types import SimpleNamespace
from typing import ClassVar

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from transformers import PretrainedConfig

from bench.decodings import searches
from bench.decodings.searches import ContrastiveSearch
from bench.errors import UsageError
from bench.generation.generation import generate
from bench.models.backbones.backbone import Backbone, Batch, Step
from bench.models.core.states import States, TokenSlice, last_slice
from bench.models.mle import MLE
from tests.bench.generation.test_generation import run
from tests.bench.generation.tiny_decoders import KINDS, backbone, texts

GOLDEN = Path(__file__).parents[2] / "golden" / "modern"
PROMPT = [1, 2, 3]


class Toy(Backbone):
    """The golden model: h_t = tanh(E[x_t] A + h_(t-1) R), logits h_t U^T; h before the prompt is 0."""

    architecture: ClassVar[str] = "decoder-only"

    def __init__(self, number: int) -> None:
        with np.load(GOLDEN / f"contrastive_search_{number}.npz") as arrays:
            held = {name: torch.from_numpy(arrays[name]).double() for name in arrays.files}
        config = PretrainedConfig(num_hidden_layers=0, vocab_size=len(held["E"]))
        super().__init__(_model(config, held["U"]), None)
        self.held = held

    def states(self, batch: Batch) -> States:
        raise NotImplementedError

    def extend(self, step: Step) -> TokenSlice:
        hidden = step.cache.rows.get("last", torch.zeros(len(step.ids), self.held["A"].shape[0]).double())
        for at in range(step.ids.shape[1]):
            hidden = torch.tanh(self.held["E"][step.ids[:, at]] @ self.held["A"] + hidden @ self.held["R"])
            states = step.cache.append("hidden", hidden[:, None])
        tokens = step.cache.append("tokens", step.ids)
        step.cache.put({"last": hidden})
        return last_slice(hidden, states[:, :-1], tokens[:, 1:], torch.ones_like(tokens[:, 1:], dtype=torch.bool))


def _model(config: PretrainedConfig, weight: Tensor) -> nn.Module:
    """What a backbone asks of its model: a configuration and an output embedding."""
    head = nn.Linear(weight.shape[1], weight.shape[0], bias=False).double()
    head.weight.data.copy_(weight)
    return SimpleNamespace(config=config, get_output_embeddings=lambda: head)  # type: ignore[return-value]


@pytest.mark.parametrize("number", [0, 1])
@pytest.mark.parametrize(("k", "alpha"), [(4, 0.6), (5, 0.0), (8, 0.9)])
def test_golden(number: int, k: int, alpha: float) -> None:
    toy = Toy(number)
    ids = torch.tensor([PROMPT, PROMPT])
    batch: Batch = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
    found = generate(MLE(toy), batch, ContrastiveSearch(k=k, alpha=alpha), 12)
    assert found == [toy.held[f"k{k}_a{alpha}_tokens"].long().tolist()] * 2
    if alpha == 0:
        assert found[0] == toy.held["greedy"].long().tolist()


@pytest.mark.parametrize("kind", KINDS)
def test_padding_does_not_count(monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    """A state is compared with those behind the tokens of its prompt and text; behind the start token for BART."""
    given, seen, cosine = [[7], *texts(3, 3)], list[list[int]](), searches.largest_cosine

    def watched(tried: Tensor, before: Tensor, real: Tensor) -> Tensor:
        seen.append(real.sum(1).tolist())
        return cosine(tried, before, real)

    monkeypatch.setattr(searches, "largest_cosine", watched)
    run(MLE(backbone(kind, eos_token_id=None)), given, "contrastive_search=5", 3)
    read = [1] * 4 if kind == "bart" else [len(text) for text in given]
    assert seen == [[count + step for count in read] for step in range(3)]


def test_the_last_token_is_read_too() -> None:
    """Greedy search needs one position less."""
    model = backbone("gpt2", n_positions=8)
    assert run(MLE(model), [[5] * 4], "greedy", 5)
    with pytest.raises(UsageError, match="4 given and 6 new tokens need more than the backbone's 8 positions"):
        run(MLE(model), [[5] * 4], "contrastive_search=3", 5)
