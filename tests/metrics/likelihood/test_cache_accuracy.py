"""Acc@k of HistAlign, section 5.3, by hand and against a slow second computation."""

import random

import pytest

from bench.metrics.likelihood.cache_accuracy import KS, MODES, are_found


def acc_at_k(rows, mode, k):
    return 100.0 * sum(are_found(row, mode, k) for row in rows) / len(rows)


def row(name="a", wanted=((3, 30), (4, 40)), **rankings):
    filler = list(range(100, 125))
    return {"id": name, **dict.fromkeys(MODES, filler), **rankings, "wanted": [list(word) for word in wanted]}


def random_rows(seed, n=40, vocabulary=60):
    drawn = random.Random(seed)
    return [
        row(
            f"prompt/{i}",
            wanted=[drawn.sample(range(vocabulary), drawn.randint(1, 3)) for _ in range(2)],
            head=drawn.sample(range(vocabulary), 25),
            full=drawn.sample(range(vocabulary), 25),
            cache=drawn.sample(range(vocabulary), drawn.randint(1, 25)),
        )
        for i in range(n)
    ]


def slowly(rows, mode, k):
    right = []
    for one in rows:
        found = [[guess in word for guess in one[mode][:k]].count(True) > 0 for word in one["wanted"]]
        right.append(found == [True, True])
    return 100.0 * right.count(True) / len(right)


def test_both_words_are_needed():
    one_word = row("a", cache=[3, 9, 8, 7, 6])
    both = row("b", cache=[9, 40, 3, 8, 7])
    assert acc_at_k([one_word], "cache", 5) == 0.0
    assert acc_at_k([both], "cache", 2) == 0.0  # the second word is third
    assert acc_at_k([both], "cache", 5) == 100.0
    assert acc_at_k([one_word, both], "cache", 5) == 50.0


def test_what_cannot_be_scored_says_why():
    for mode in ("head", "full"):
        with pytest.raises(ValueError, match=r"'a' stores 24 .* Acc@25 needs 25"):
            acc_at_k([row(**{mode: list(range(24))})], mode, 25)
    for wanted in (((3,), ()), ((3,),), ((3,), (4,), (5,))):
        with pytest.raises(ValueError, match="two words"):
            acc_at_k([row(wanted=wanted)], "cache", 2)


@pytest.mark.parametrize("mode", MODES)
def test_equals_the_slow_computation_and_grows_with_k(mode):
    for seed in range(20):
        rows = random_rows(seed)
        scores = [acc_at_k(rows, mode, k) for k in KS]
        assert scores == [slowly(rows, mode, k) for k in KS]
        assert scores == sorted(scores)
