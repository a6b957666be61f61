"""N-gram diversity: both definitions by slow loops, short texts, stored rows."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.metrics import METRICS
from bench.metrics.diversity.ngram_diversity import simctg_diversity
from tests.metrics.diversity_cases import TEXTS, grams, ngram_diversity, zipf_texts

DEFINITIONS = ("released", "paper")

COLUMNS = ["ngram-diversity", "simctg-diversity", "simctg-diversity/paper"]


def plain_mean(texts):
    found = []
    for text in texts:
        ratios = [len(grams(text, n)) / grams(text, n).total() for n in range(1, 5) if len(text) >= n]
        if ratios:
            found.append(sum(ratios) / len(ratios))
    return 100 * sum(found) / len(found) if found else None


def near(value):
    return value if value is None else pytest.approx(value, rel=1e-12)


def plain_product(texts, definition):
    product = 1.0
    for n in (2, 3, 4):
        new = total = 0
        for text in texts:
            every = [tuple(text[i : i + n]) for i in range(len(text) - n + 1)]
            if definition == "released":
                every = every[:-1]
            new, total = new + len(set(every)), total + len(every)
        if not total:
            return None
        repeated = 1 - new / total
        product *= 1 - (round(repeated * 100, 2) / 100 if definition == "released" else repeated)
    return 100 * product


@settings(deadline=None, max_examples=100)
@given(TEXTS, st.randoms(use_true_random=False))
def test_loops_say_the_same_and_neither_order_nor_doubling_matters(texts, rng):
    mixed = rng.sample(texts, len(texts))
    assert ngram_diversity(texts) == ngram_diversity(mixed) == near(plain_mean(texts))
    assert ngram_diversity([*texts, *texts]) == near(ngram_diversity(texts))
    for definition in DEFINITIONS:
        value = simctg_diversity(texts, definition)
        assert value == simctg_diversity(mixed, definition) == simctg_diversity([*texts, *texts], definition)
        assert value == near(plain_product(texts, definition))


@pytest.mark.parametrize(
    ("texts", "mean"),
    [
        ([], None),
        ([[]], None),
        ([[7]], 100.0),
        ([[7, 7]], 75.0),  # 1/2 and 1/1
        ([[7, 7, 7]], pytest.approx(100 * (1 / 3 + 1 / 2 + 1) / 3)),
        ([[7, 7, 7, 7]], pytest.approx(100 * (1 / 4 + 1 / 3 + 1 / 2 + 1) / 4)),
        ([[7, 7], []], 75.0),  # an empty text is left out
        ([[1, 2, 3, 4, 5]] * 3, 100.0),  # equal texts: only a text's own repeats count
    ],
)
def test_short_texts_have_the_orders_they_have(texts, mean):
    assert ngram_diversity(texts) == mean


def test_the_released_code_does_not_see_the_last_ngram_and_rounds():
    text = [1, 2, 3, 4, 5, 6, 1, 2]
    assert simctg_diversity([text], "paper") == pytest.approx(100 * 6 / 7)
    assert simctg_diversity([text], "released") == 100.0
    text = [1, 2, 1, 2, 3, 4, 5, 6]  # of 12 21 12 23 34 45 the share 1/6 repeats: 16.67 %
    assert simctg_diversity([text], "released") == pytest.approx(83.33, abs=1e-12)


def test_stored_rows_score_as_the_functions():
    texts = zipf_texts(12, 20, seed=3, types=40, shortest=0)
    rows = [{"id": f"test/{n:02}", "text": " ".join(f"w{i}" for i in text), "token_ids": text, "reference_ids": text}
            for n, text in enumerate(texts)]  # fmt: skip
    gold, load = {row["id"]: {} for row in rows}, METRICS["ngram_diversity"].load()
    found = {one.name: one for one in load(rows, gold)}
    expected = [ngram_diversity(texts), simctg_diversity(texts), simctg_diversity(texts, "paper")]
    assert list(found) == [*COLUMNS, *(f"{name}/tokens" for name in COLUMNS)]
    assert [one.value for one in found.values()] == expected * 2
    for name, one in found.items():
        assert re.search(r"tokens:[0-9a-f]{8}$" if name.endswith("tokens") else "words:whitespace$", one.signature)
    without = {one.name: one for one in load([{name: row[name] for name in ("id", "text")} for row in rows], gold)}
    for name in COLUMNS:
        assert without[name] == found[name]
        assert without[f"{name}/tokens"].signature.endswith("not applicable: rows without token_ids")
