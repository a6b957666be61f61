"""LogicNLG BLEU: numbers worked by hand, nltk as oracle, published outputs."""

import gzip
import json
import math
import sys
import warnings
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nltk.translate import bleu_score

from bench.metrics.overlap.table_bleu import WEIGHTS, bleu_counts, table_bleu_scores
from bench.tasks.files.logicnlg import read_split
from tests.metrics.rouge_cases import stored
from tests.tasks.files.test_logicnlg import DATA, published

# BLEU-1/2/3 of the published outputs on test, by sentence and by corpus, as nltk gave them when the project began; the
# publishers' file names agree with them (12.65, 13.35).
GOLDEN = {
    "GPT_gpt2_12.65": ((48.84, 27.14, 12.65), (50.64, 30.85, 19.49)),
    "GPT_gpt2_C2F_13.35": ((46.64, 26.76, 13.35), (48.21, 30.44, 20.13)),
    "plog_bart-large": ((54.48, 34.64, 20.57), (56.57, 38.14, 26.89)),
    "plog_plog-bart-large": ((54.85, 34.96, 20.98), (56.69, 38.21, 27.09)),
    "plog_plog-t5-base": ((51.66, 32.26, 18.88), (52.84, 35.23, 24.78)),
    "plog_t5-large": ((53.44, 34.07, 20.38), (55.09, 37.31, 26.57)),
}


def scores(texts, references):
    return table_bleu_scores(*stored(texts, references))


def corpus_bleu_123(texts, references):
    return tuple(score.value for score in scores(texts, references)[:3])


def sentence_bleu_123(texts, references):
    return tuple(score.value for score in scores(texts, references)[3:])


FUNCTIONS = {"corpus": corpus_bleu_123, "sentence": sentence_bleu_123}


# Numbers by hand


def test_one_sentence_by_hand():
    """4 words against 6: 3 of 4 words, 2 of 3 pairs, 1 of 2 triples match; brevity exp(1 - 6/4)."""
    brevity = math.exp(-0.5)
    expected = [75 * brevity, 100 * brevity * math.sqrt(0.5), 100 * brevity * 0.25**0.33]
    for score in FUNCTIONS.values():
        assert score(["The aldra is long"], [["the aldra is the longest river"]]) == pytest.approx(expected)


def test_the_scales_differ_by_hand():
    """One sentence right, one wrong: half by sentence, (4 + 0) of (4 + 2) words by corpus."""
    hypotheses, references = ["a b c d", "x y"], [["a b c d"], ["e f"]]
    assert sentence_bleu_123(hypotheses, references) == pytest.approx((50, 50, 50))
    expected = (100 * 4 / 6, 100 * math.sqrt(4 / 6 * 3 / 4), 100 * (4 / 6 * 3 / 4 * 2 / 3) ** 0.33)
    assert corpus_bleu_123(hypotheses, references) == pytest.approx(expected)


def test_counts_clip_by_the_reference_that_has_most_and_take_the_nearest_length():
    assert bleu_counts("the the the the", ["the cat", "the the mat on it"]) == (2, 1, 0, 4, 3, 2, 4, 5)
    assert bleu_counts("a b c", ["a b", "a b c d"])[6:] == (3, 2)  # equally near: the shorter


def test_references_split_at_every_space_and_hypotheses_at_white_space():
    assert bleu_counts("a  b\tc", ["a  b"]) == (2, 0, 0, 3, 2, 1, 3, 3)


# Properties


SENTENCE = st.lists(st.sampled_from(["a", "b", "c", "d", "The", "the"]), max_size=9).map(" ".join)
CORPUS = st.lists(st.tuples(SENTENCE, st.lists(SENTENCE, min_size=1, max_size=3)), min_size=1, max_size=6)


@settings(deadline=None, max_examples=50)
@given(CORPUS)
def test_every_bit_is_nltks(corpus):
    hypotheses, references = map(list, zip(*corpus, strict=True))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tiny = {"smoothing_function": lambda p_n, **_: [one if one.numerator else sys.float_info.min for one in p_n]}
        sources = [[one.lower().split(" ") for one in several] for several in references]
        words = [one.lower().split() for one in hypotheses]
        whole = bleu_score.corpus_bleu(sources, words, weights=WEIGHTS, **tiny)
        each = [bleu_score.sentence_bleu(*pair, weights=WEIGHTS, **tiny) for pair in zip(sources, words, strict=True)]
    assert corpus_bleu_123(hypotheses, references) == tuple(100.0 * value for value in whole)
    sums = [score.sums.values[:, 0].tolist() for score in scores(hypotheses, references)[3:]]
    assert [*zip(*sums, strict=True)] == [tuple(100.0 * value for value in values) for values in each]


# Published outputs


@cache
def rows_of_test():
    return read_split(DATA, "test")


def published_outputs(name):
    """Hypotheses and references in the order of the test split."""
    rows = rows_of_test()
    outputs = json.loads(gzip.decompress((DATA / "outputs" / f"{name}.json.gz").read_bytes()))
    assert sum(map(len, outputs.values())) == len(rows) == 4305
    texts = [outputs[row.fields["table_id"]][int(row.id.rsplit("/", 1)[1])] for row in rows]
    return texts, [row.references for row in rows]


@published
@pytest.mark.parametrize(
    "name", [name if at < 2 else pytest.param(name, marks=pytest.mark.slow) for at, name in enumerate(GOLDEN)]
)
def test_published_outputs(name):
    texts, references = published_outputs(name)
    assert sentence_bleu_123(texts, references) == pytest.approx(GOLDEN[name][0], abs=0.0051)
    assert corpus_bleu_123(texts, references) == pytest.approx(GOLDEN[name][1], abs=0.0051)
