"""Text's built-in sample: enough rows, the same everywhere, and words as frequent as in a natural text."""

import hashlib
import math
import re
from collections import Counter

import pytest

from bench.tasks.samples import sample_rows
from bench.tasks.text import Text
from tests.tasks.sample_files import words

N_TALES = {"train": 260, "valid": 40, "test": 100}
TALES = {split: [" ".join(row["text"]) for row in sample_rows("text", split)] for split in N_TALES}
WORDS = words("text")
COUNTS = Counter(word for tale in TALES["train"] for word in re.findall(r"[a-z'-]+", tale.lower()))
TOTAL = sum(COUNTS.values())


def test_there_are_enough_rows():
    task = Text()
    assert {split: len(tales) for split, tales in TALES.items()} == N_TALES
    assert {split: len(task.split(split).examples) for split in TALES} == {
        "train": 1171, "valid": 183, "test": 447
    }  # fmt: skip
    assert {len(e.target.split()) for e in task.split("test").examples} <= set(range(32, 97))


def test_the_tales_are_the_same_on_every_machine():
    text = "\n".join(tale for tales in TALES.values() for tale in tales)
    assert hashlib.sha256(text.encode()).hexdigest()[:16] == "b2c509c863a234d4"


def test_no_tale_and_no_passage_is_in_two_splits():
    assert len({tale for tales in TALES.values() for tale in tales}) == sum(N_TALES.values())
    task = Text()
    passages = [e.target for split in TALES for e in task.split(split).examples]
    assert len(set(passages)) == len(passages)


def test_words_are_as_frequent_as_in_natural_text():
    """Zipf: the k-th word about 1/k times as often as the first; a straight line of slope -1 in logarithms."""
    ranked = [n for _, n in COUNTS.most_common()]
    points = [(math.log(rank), math.log(ranked[rank - 1])) for rank in range(1, 601)]
    mean_x, mean_y = (sum(values) / len(points) for values in zip(*points, strict=True))
    slope = sum((x - mean_x) * (y - mean_y) for x, y in points) / sum((x - mean_x) ** 2 for x, _ in points)
    assert -1.35 < slope < -0.85
    assert COUNTS.most_common(1)[0][0] == "the"
    assert 0.05 < ranked[0] / TOTAL < 0.10
    assert len(ranked) > 1000
    assert sum(ranked[:50]) / TOTAL < 0.65
    assert sum(n < 10 for n in ranked) > 200, "rare words, which diversity is about"


@pytest.mark.parametrize("split", TALES)
def test_every_tale_is_whole_sentences(split):
    for tale in TALES[split]:
        assert tale == " ".join(tale.split())
        assert not re.search(r"[{}~\n]|\b[Aa] [aeiou]|[a-z]\. [a-z]|\b(\w+) \1\b", tale), tale
        assert tale[0].isupper()
        assert tale[-1] in '."'
        assert tale.count('"') % 2 == 0
        assert 200 < len(tale.split()) < 700


def test_a_tale_is_about_someone_and_something():
    for tale in TALES["test"]:
        names = Counter(word for word in re.findall(r"\b[A-Z][a-z]+\b", tale) if word in WORDS["name"])
        assert names.most_common(1)[0][1] >= 3
        treasures = Counter(word for word in re.findall(r"[a-z-]+", tale) if word in WORDS["treasure"])
        assert treasures.most_common(1)[0][1] >= 3


def test_held_out_tales_have_words_that_training_has_not():
    new = {word for tale in TALES["test"] for word in re.findall(r"[a-z'-]+", tale.lower())} - set(COUNTS)
    assert 0 < len(new) < 100
