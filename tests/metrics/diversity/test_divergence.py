"""KLD, JSD and Uniq: golden sets, by hand, by Counter, what is defined, metamorphic."""

import math
from collections import Counter

import pytest
from hypothesis import given, settings

from tests.metrics.diversity_cases import GOLDEN, TEXTS, golden, jsd, kld, uniq

LOG = math.log
MISSING = 1e-10


def shares(texts):
    counts = Counter(token for text in texts for token in text)
    return {token: count / counts.total() for token, count in counts.items()}


def plain_kld(texts, references):
    h, r = shares(texts), shares(references)
    return sum(r.get(t, MISSING) * LOG(r.get(t, MISSING) / h.get(t, MISSING)) for t in h | r)


def plain_jsd(texts, references):
    h, r = shares(texts), shares(references)
    middle = {t: (h.get(t, 0) + r.get(t, 0)) / 2 for t in h | r}
    return sum(p * LOG(p / middle[t]) for side in (h, r) for t, p in side.items()) / 2


@pytest.mark.parametrize("name", GOLDEN)
def test_golden(name):
    texts, references, expected = golden(name)
    assert kld(texts, references) == pytest.approx(expected["kld"], rel=1e-12, abs=1e-15)
    assert uniq(texts) == expected["uniq"]


def test_by_hand():
    generated, true = [[1, 1], [1, 2]], [[1, 2, 2, 2]]
    assert kld(generated, true) == pytest.approx(0.25 * LOG(0.25 / 0.75) + 0.75 * LOG(0.75 / 0.25))
    half = (0.75 * LOG(0.75 / 0.5) + 0.25 * LOG(0.25 / 0.5)) / 2
    assert jsd(generated, true) == pytest.approx(2 * half)


def test_the_true_text_comes_first():
    """A token never generated is expensive, a token generated only is next to nothing."""
    assert kld([[1]], [[1, 2]]) == pytest.approx(0.5 * LOG(0.5) + 0.5 * LOG(0.5 / MISSING))
    assert kld([[1, 2]], [[1]]) == pytest.approx(LOG(2) + MISSING * LOG(MISSING / 0.5), abs=1e-15)
    assert kld([[1]], [[2]]) == pytest.approx(LOG(1 / MISSING) + MISSING * LOG(MISSING), rel=1e-15)


@settings(deadline=None, max_examples=100)
@given(TEXTS, TEXTS)
def test_counters_say_the_same(texts, references):
    if not (any(texts) and any(references)):
        assert kld(texts, references) is jsd(texts, references) is None
    else:
        assert kld(texts, references) == pytest.approx(plain_kld(texts, references), rel=1e-12, abs=1e-14)
        assert jsd(texts, references) == pytest.approx(plain_jsd(texts, references), rel=1e-12, abs=1e-14)
        assert -1e-15 <= jsd(texts, references) <= LOG(2) + 1e-15
    assert uniq(texts) == len(shares(texts)) if any(texts) else uniq(texts) == 0


@pytest.mark.parametrize("measure", [kld, jsd])
@pytest.mark.parametrize(("texts", "references"), [([], [[1]]), ([[1]], []), ([[]], [[1]]), ([[1]], [[], []])])
def test_a_side_without_a_token_is_not_defined(measure, texts, references):
    assert measure(texts, references) is None
