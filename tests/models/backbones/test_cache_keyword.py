"""Cache keyword: the name that a model's own code has, else the library's."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from bench.config.decoding import parse
from bench.generation.generation import Generator
from bench.generation.row_cache import new_cache
from bench.models.backbones.cache_keyword import NEW, OLD, cache_keyword, library_keyword
from bench.models.mle import MLE
from tests.models.backbones.families import tiny


class Older(nn.Module):
    def forward(self, input_ids, past_key_values=None, use_cache=False): ...


class Newer(nn.Module):
    def forward(self, input_ids, cache=None, use_cache=False): ...


class InBetween(nn.Module):
    def forward(self, input_ids, past_key_values=None, cache=None): ...


class Anything(nn.Module):
    def forward(self, *args, **kwargs): ...


@pytest.mark.parametrize(
    ("kind", "name"), [(Older, OLD), (Newer, NEW), (InBetween, NEW), (Anything, library_keyword())]
)
def test_the_name_is_the_models_own(kind, name):
    assert cache_keyword(kind()) == name


@pytest.mark.parametrize("name", [OLD, NEW])
def test_the_generator_takes_either(name):
    objective = MLE(tiny("gpt2", "decoder-only"))
    generator = Generator(objective, parse("greedy")[0])
    cache = new_cache(objective.backbone.model.config)
    ids = torch.tensor([[3, 4, 5]])
    out = generator(input_ids=ids, attention_mask=torch.ones_like(ids), **{name: cache})
    assert cache.get_seq_length() == 3
    assert out[library_keyword()] is cache
