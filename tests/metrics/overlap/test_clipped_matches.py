"""Clipped matches: against plain counting, for any number of references and any size of a chunk."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.metrics.overlap import clipped_matches as module
from bench.metrics.overlap.chrf import text_counts
from bench.metrics.overlap.clipped_matches import clipped_matches
from tests.metrics.rouge_cases import drawn_corpus

TOKENS = st.lists(st.integers(0, 4), max_size=9)
CORPUS = st.lists(st.tuples(TOKENS, st.lists(TOKENS, min_size=1, max_size=3)), max_size=6)
ORDERS = 3


def grams(tokens: list[int], n: int) -> Counter[tuple[int, ...]]:
    return Counter(tuple(tokens[at : at + n]) for at in range(len(tokens) - n + 1))


@pytest.mark.parametrize("chunk", [1, 20, 1 << 14])
@settings(deadline=None, max_examples=40)
@given(corpus=CORPUS)
def test_matches_are_those_of_plain_counting(chunk: int, corpus: list[tuple[list[int], list[list[int]]]]) -> None:
    texts, references = [text for text, _ in corpus], [several for _, several in corpus]
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(module, "CHUNK", chunk)
        found = clipped_matches(texts, references, ORDERS)
    by_reference, by_text = [], []
    for text, several in corpus:
        for reference in several:
            shared = [grams(text, n) & grams(reference, n) for n in range(1, ORDERS + 1)]
            by_reference.append([count.total() for count in shared])
        most = [Counter[tuple[int, ...]]() for _ in range(ORDERS)]
        for reference in several:
            most = [count | grams(reference, n) for n, count in enumerate(most, 1)]
        by_text.append([(grams(text, n) & count).total() for n, count in enumerate(most, 1)])
    assert found.by_reference.tolist() == by_reference
    assert found.by_text.tolist() == by_text
    assert found.texts.tolist() == [len(text) for text in texts]
    assert found.references.tolist() == [len(one) for several in references for one in several]
    assert found.owners.tolist() == [at for at, several in enumerate(references) for _ in several]


@pytest.mark.parametrize("name", ["bleu", "chrf"])
def test_counts_are_those_of_sacrebleu_text_by_text(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from sacrebleu.metrics.bleu import BLEU
    from sacrebleu.metrics.chrf import CHRF

    monkeypatch.setattr(module, "CHUNK", 100)
    hypotheses, references = drawn_corpus(300)
    metric = BLEU(force=True) if name == "bleu" else CHRF()
    expected = []
    for hypothesis, several in zip(hypotheses, references, strict=True):
        expected += metric._extract_corpus_statistics([hypothesis], [[text] for text in several])
    assert text_counts(name, hypotheses, references) == expected
