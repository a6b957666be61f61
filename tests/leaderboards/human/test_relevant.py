"""Relevant sentences: the choice of HistAlign B.2 by hand, by brute force, and in a study."""

import numpy as np
import pytest

from bench.leaderboards.human.relevant import ELLIPSIS, relevant, sentences
from bench.leaderboards.human.study import study
from tests.leaderboards.studies import rows

WORDS = ("apple", "bridge", "cloud", "door")


def counts(texts):
    """How often each of four words stands in a text: sentences without one are like nothing."""
    return np.array([[text.lower().count(word) for word in WORDS] for text in texts], dtype=float)


SOURCE = "An apple fell. Nothing else. The bridge held. A cloud came. The door and the bridge. An apple and a door."


@pytest.mark.parametrize(
    ("texts", "most", "expected"),
    [
        # cosines to "apple": 1 of the first, 0.71 of the last, 0 of the others
        (["apple"], 1, ["An apple fell.", ELLIPSIS]),
        (["apple"], 2, ["An apple fell.", ELLIPSIS, "An apple and a door."]),
        # each text has sentences of its own, and all of them are shown, in the order of the source
        (["cloud", "apple"], 1, ["An apple fell.", ELLIPSIS, "A cloud came.", ELLIPSIS]),
        (["bridge", "bridge"], 1, [ELLIPSIS, "The bridge held.", ELLIPSIS]),
        # two sentences are alike: the first of them is taken
        (["door bridge apple"], 1, [ELLIPSIS, "The door and the bridge.", ELLIPSIS]),
        # a text of length has no more weight than a short one
        (["cloud " * 50, "door bridge"], 1, [ELLIPSIS, "A cloud came.", "The door and the bridge.", ELLIPSIS]),
        (["apple"], 6, sentences(SOURCE)),
        (["apple"], 10, sentences(SOURCE)),
        ([" ", "cloud"], 1, [ELLIPSIS, "A cloud came.", ELLIPSIS]),
        ([""], 3, [ELLIPSIS]),
    ],
)
def test_by_hand(texts, most, expected):
    assert relevant(SOURCE, texts, counts, most).split("\n") == expected


@pytest.mark.parametrize("seed", range(10))
def test_a_plain_loop_finds_the_same(seed):
    drawn = np.random.default_rng(seed)
    parts = [f"Sentence {i}." for i in range(30)]
    texts = [f"text {i}" for i in range(3)]
    vectors = dict(zip([*parts, *texts], drawn.normal(size=(33, 8)), strict=True))
    expected = set()
    for text in texts:
        one = vectors[text]
        near = {part: np.dot(vectors[part], one) / np.linalg.norm(vectors[part]) for part in parts}
        expected |= set(sorted(parts, key=lambda part: -near[part])[:10])
    shown = relevant(" ".join(parts), texts, lambda asked: np.array([vectors[each] for each in asked])).split("\n")
    assert [line for line in shown if line != ELLIPSIS] == [part for part in parts if part in expected]
    assert not any(a == b == ELLIPSIS for a, b in zip(shown, shown[1:], strict=False))
    assert 10 <= len(expected) < 30


def test_a_source_without_a_sentence_stays():
    assert relevant(" \n", ["apple"], counts) == " \n"


def test_a_study_shows_what_the_texts_of_an_item_are_about_and_draws_the_same_rows():
    methods = ("mle", "trime")

    def shorten(context, texts):
        return f"{context} for {len(texts)}"

    whole = study(rows(12, methods), methods, "single", items=6, checks=2)
    short = study(rows(12, methods), methods, "single", items=6, checks=2, shorten=shorten)
    assert [item["context"] for item in short.content["items"]] == [
        f"{item['context']} for 2" for item in whole.content["items"]
    ]
    assert short.key["items"] == whole.key["items"]
    assert short.key["study"] != whole.key["study"]
