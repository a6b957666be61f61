"""Perplexity: exact sums, three units, and what is defined at the edges."""

import itertools
import math
import random
from fractions import Fraction

import pytest

from bench.metrics.likelihood.perplexity import perplexity_scores


def perplexity(rows, unit="token"):
    """The value, infinite where it is not shown for that."""
    rows = [{**row, "id": f"{place:03}"} for place, row in enumerate(rows)]
    found = {score.name: score for score in perplexity_scores(rows, {row["id"]: {} for row in rows})}[f"ppl/{unit}"]
    return math.inf if found.signature.endswith("|not applicable: infinite") else found.value


def row(nll_sum, n_tokens=1, n_words=1, n_bytes=1, name="a"):
    return {"id": name, "nll_sum": nll_sum, "n_tokens": n_tokens, "n_words": n_words, "n_bytes": n_bytes}


def random_rows(seed, n=200):
    drawn = random.Random(seed)
    counts = [[drawn.randint(0, 90), drawn.randint(1, 60), drawn.randint(1, 400)] for _ in range(n)]
    return [row(drawn.expovariate(1e-3), *three) for three in counts]


def test_a_uniform_model_over_eight_tokens():
    rows = [row(5 * math.log(8), 5, 2, 15), row(3 * math.log(8), 3, 2, 9)]
    assert perplexity(rows) == pytest.approx(8.0, rel=1e-15)
    assert perplexity(rows, "word") == pytest.approx(64.0, rel=1e-15)  # two tokens a word
    assert perplexity(rows, "byte") == pytest.approx(2.0, rel=1e-15)  # three bytes a token


def test_the_sum_is_exact_in_any_order():
    rows = [row(1e16), row(1.0), row(1.0), row(-1e16)]  # added one by one, both ones are lost in some orders
    assert {perplexity(order) for order in itertools.permutations(rows)} == {math.exp(0.5)}
    drawn = random_rows(0)
    exact = sum(Fraction(r["nll_sum"]) for r in drawn)
    assert perplexity(drawn, "byte") == math.exp(float(exact) / sum(r["n_bytes"] for r in drawn))


def test_impossible_and_enormous_are_infinite():
    assert perplexity([row(1.0), row(math.inf)]) == math.inf
    assert perplexity([row(710.0)]) == math.inf  # exp(710) is more than float64 holds
    assert math.isfinite(perplexity([row(709.0)]))
    assert perplexity([row(0.0)]) == 1.0


def test_texts_without_a_word_have_no_perplexity_of_words():
    token, word, byte = perplexity_scores([row(1.0, 3, 0, 9)], {"a": {}})
    assert (token.value, byte.value) == (pytest.approx(math.exp(1 / 3)), pytest.approx(math.exp(1 / 9)))
    assert (word.value, word.sums) == (None, None)
    assert word.signature.endswith("|not applicable: the texts have no word")


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([], "no texts is undefined"),
        ([row(math.nan)], "'000' is no likelihood"),
        ([row(-math.inf)], "no likelihood"),
        ([row(1.0, n_tokens=-1)], "'token': -1"),
    ],
)
def test_what_has_no_perplexity_says_why(rows, message):
    with pytest.raises(ValueError, match=message):
        perplexity(rows)
