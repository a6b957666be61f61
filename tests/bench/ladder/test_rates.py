"""bench/ladder/rates.py: the same two factors of its own rate for every method."""

from __future__ import annotations

import pytest

from bench.config.config import CellConfig, override
from bench.config.resolve import cell_config, find_method
from bench.ladder.rates import Rates, rate_scale
from bench.tasks.text import Text

RATES = Rates(scale=0.4)


def config_of(name: str, *sets: tuple[str, str]) -> CellConfig:
    """The configuration of a method's cell on text."""
    given = [override(key, value) for key, value in sets]
    return cell_config(Text, find_method(name), None, 0, "small", given, None, None)


def test_the_rates_are_half_and_twice_the_scaled_rate_of_the_recipe() -> None:
    trained, finetuned = find_method("mle"), find_method("ul_seq")
    assert RATES.combinations(trained, config_of("mle")) == [("mle:optim.lr=0.0004",), ("mle:optim.lr=0.0016",)]
    found = RATES.combinations(finetuned, config_of("ul_seq"))
    assert found == [("ul_seq:optim.lr=6e-05",), ("ul_seq:optim.lr=0.00024",)], (
        "around the recipe's 3e-4 of fine-tuning"
    )


def test_only_the_first_seed_is_tried_for_a_whole_training() -> None:
    method, config = find_method("mle"), config_of("mle")
    assert RATES.seeds((3, 1, 2)) == (3,)
    assert RATES.only_while_tried(method, config) == ()


def test_what_starts_from_another_has_its_rate() -> None:
    assert RATES.starts_from(find_method("ul_seq")) == ["mle"]
    assert RATES.starts_from(find_method("mle")) == []


def test_weights_that_are_only_read_have_no_trials() -> None:
    assert RATES.combinations(find_method("mle"), config_of("mle", ("trainer.steps", "0"))) == []


def test_the_record_says_what_was_tried() -> None:
    content = RATES.content(find_method("mle"), config_of("mle"))
    assert content == {
        "factors_of_rate": [0.2, 0.8],
        "by": "nats per target token on the validation split, of one seed",
    }


def test_a_wider_model_has_a_lower_rate() -> None:
    assert rate_scale(64, {"backbone.width": 128}) == 2.0
    assert rate_scale(256, {}) == pytest.approx(0.5)
