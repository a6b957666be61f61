"""bench/ladder/sizes.py: models of one family near the sizes that were asked for."""

from __future__ import annotations

import pytest
import torch
from transformers import GPT2Config, GPT2LMHeadModel

from bench.errors import UsageError
from bench.ladder.sizes import FAMILIES, MILLION, parse_sizes, rung_name, size_near
from bench.models.backbones import find_backbone
from bench.tasks.fetch.sources import Source
from bench.tasks.text import Text

SIZES = [millions for family in FAMILIES.values() for millions in family]


def without_embeddings(model: torch.nn.Module) -> int:
    """The parameters of a GPT-2 but for its embeddings of tokens and positions, counted."""
    embeddings = ("transformer.wte", "transformer.wpe")
    return sum(p.numel() for name, p in model.named_parameters() if not name.startswith(embeddings))


@pytest.mark.parametrize("millions", SIZES)
def test_the_stated_parameters_are_those_of_the_model_and_near_the_size(millions: float) -> None:
    size = size_near(millions)
    config = GPT2Config(vocab_size=50, n_positions=8, n_embd=size.width, n_layer=size.layers, n_head=size.heads)
    with torch.device("meta"):
        counted = without_embeddings(GPT2LMHeadModel(config))
    assert size.parameters == counted
    assert abs(counted - millions * MILLION) <= 0.1 * millions * MILLION


def test_the_backbone_of_the_ladder_has_the_stated_parameters(sample_data: None) -> None:
    task = Text()
    task.load(Source(None, "built-in sample"))
    size = size_near(0.1)
    make = find_backbone("small-causal").value.load()
    backbone = make("small-causal", task, 0, vocabulary=300, width=size.width, layers=size.layers, heads=size.heads)
    assert without_embeddings(backbone.model) == size.parameters


def test_a_family_grows_in_width_and_depth() -> None:
    for millions in FAMILIES.values():
        sizes = [size_near(each) for each in millions]
        assert [size.width for size in sizes] == sorted({size.width for size in sizes})
        assert [size.layers for size in sizes] == sorted({size.layers for size in sizes})


def test_what_is_typed() -> None:
    assert [size.name for size in parse_sizes("gpu")] == ["4M", "16M", "60M"]
    assert parse_sizes("0.1M,1M") == parse_sizes("0.1,1") == (size_near(0.1), size_near(1.0))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("cpus", "--sizes takes cpu or gpu, or millions of parameters such as 0.1M,1M,10M, not 'cpus'; did you mean"),
        ("", "not ''"),
        ("1M,0.1M", "sizes above 0 that grow"),
        ("1M,1M", "sizes above 0 that grow"),
        ("-1M", "sizes above 0 that grow"),
        ("2M,2.01M", "sizes that differ, not '2M,2.01M', whose models have 1.9M, 1.9M"),
        ("0.001M,1M", "comes within 10 % of 0.001M parameters; the nearest has 12,768"),
    ],
)
def test_wrong_sizes_are_one_clear_line(text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message.replace("(", r"\(")):
        parse_sizes(text)


@pytest.mark.parametrize("millions", [*SIZES, 0.013, 0.05, 0.4, 2, 33, 100, 350])
def test_a_stored_shape_has_the_name_of_its_size(millions: float) -> None:
    size = size_near(millions)
    assert rung_name(size.width, size.layers) == size.name


def test_a_size_is_named_by_the_parameters_it_has() -> None:
    assert [size.name for size in parse_sizes("1M,2M,100M,350M")] == ["1M", "1.9M", "100M", "351M"]
