"""Paired BLEU: golden sets, the plain form, edges."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.metrics.diversity.self_bleu import DEFINITIONS
from bench.metrics.overlap.paired_bleu import paired_bleu
from tests.metrics.diversity_cases import GOLDEN, TEXT, golden, plain_bleu

PAIRS = st.lists(st.tuples(TEXT, TEXT), max_size=6)


@pytest.mark.parametrize("name", [name for name in GOLDEN if golden(name)[2]["bleu_upto"]])
def test_golden(name):
    texts, references, expected = golden(name)
    assert [value / 100 for value in paired_bleu(texts, references)] == pytest.approx(expected["bleu_upto"], abs=1e-14)


@pytest.mark.parametrize("definition", DEFINITIONS)
@settings(deadline=None, max_examples=100)
@given(PAIRS)
def test_the_fast_form_is_the_plain_one(definition, pairs):
    texts, references = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    for n, value in enumerate(paired_bleu(texts, references, 4, definition), start=1):
        if n > max(map(len, texts), default=0):
            assert value is None
        else:
            each = [plain_bleu(text, [reference], n, definition) for text, reference in pairs]
            assert value == pytest.approx(100 * sum(each) / len(each), rel=1e-11, abs=1e-300)


def test_each_text_has_its_own_reference():
    texts, references = [[1, 2, 3], [4, 5, 6]], [[1, 2, 3], [4, 5, 6]]
    assert paired_bleu(texts, references) == pytest.approx([100] * 3)
    assert paired_bleu(texts, references[::-1]) == [0, 0, 0]


def test_not_one_reference_each_is_refused():
    with pytest.raises(ValueError, match="2 texts, 1 references"):
        paired_bleu([[1], [2]], [[1]])
