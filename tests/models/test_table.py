"""The table of methods: what every modern objective declares beside its class."""

from __future__ import annotations

import pytest

from bench.config.resolve import find_method, method_names
from bench.models import METHODS

FIRST = (
    "scalegrad",
    "simctg",
    "tailr",
    "emo",
    "gem",
    "entmax",
    "label_smoothing",
    "confidence_penalty",
    "loss_truncation",
)
THEN = ("asft", "ct", "ditto", "eaft", "gold", "mtp")
TRAINED = sorted((*FIRST, *THEN))
ITSELF = {"mtp": "With `heads=1` it is `mle`", "eaft": "With alpha = 0 it is `mle`"}
"""Methods whose control is maximum likelihood, which is a setting of theirs."""


def test_modern_are_the_objectives_that_people_compare_beside_the_papers_own() -> None:
    modern = [name for name, entry in METHODS.items() if entry.group == "modern"]
    assert sorted(name for name in modern if not name.startswith("mle.")) == TRAINED
    assert set(modern) <= set(method_names(["modern"]))
    assert not set(modern) & set(method_names(["papers"]))
    assert set(modern) <= set(method_names(["all"]))


@pytest.mark.parametrize("name", TRAINED)
def test_each_has_a_control_and_says_where_it_stands(name: str) -> None:
    said = find_method(name).kind.__doc__
    assert said is not None
    assert "Source: " in said
    assert METHODS[name].controls or ITSELF[name] in said
