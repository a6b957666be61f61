"""Cache keyword: the name that a model's own code has, else the library's."""

from __future__ import annotations

import pytest
from torch import nn

from bench.models.backbones.cache_keyword import NEW, OLD, cache_keyword, library_keyword


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
