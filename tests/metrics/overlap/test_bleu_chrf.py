"""Corpus BLEU and chrF: numbers worked by hand, sacrebleu as oracle, scripts, edges."""

import pytest
import sacrebleu
from hypothesis import given, settings

from bench.metrics.overlap.bleu_chrf import bleu_tokenizer, overlap_scores
from tests.metrics.rouge_cases import CORPUS, drawn_corpus, overlap, stored


def test_numbers_by_hand():
    """5 words of 5, 4 of 5 matched; pairs 3 of 4, triples 2 of 3, fours 1 of 2; the reference has 5 words too."""
    found = overlap(["the river is very long"], [["the river is very wide"]])
    assert found["bleu"] == pytest.approx(100 * (4 / 5 * 3 / 4 * 2 / 3 * 1 / 2) ** 0.25)
    # abc and abd share 2 of 3 characters, 1 of 2 pairs, no triple; precision and recall are alike, and so is F.
    assert overlap(["abc"], [["abd"]])["chrf"] == pytest.approx(100 * (2 / 3 + 1 / 2 + 0) / 3)


@settings(deadline=None, max_examples=100)
@given(CORPUS)
def test_sacrebleu_agrees_to_the_last_bit_with_any_number_of_references(corpus):
    texts, references = map(list, zip(*corpus, strict=True))
    streams = [[of_text[i] if i < len(of_text) else None for of_text in references] for i in range(4)]
    streams = [stream for stream in streams if any(text is not None for text in stream)]
    found, tokenizer = overlap(texts, references), bleu_tokenizer(references)
    assert found["bleu"] == pytest.approx(
        sacrebleu.corpus_bleu(texts, streams, tokenize=tokenizer, force=True).score, rel=1e-14, abs=0
    )
    assert found["chrf"] == sacrebleu.corpus_chrf(texts, streams).score


@pytest.mark.parametrize(
    ("texts", "tokenizer"),
    [
        (["안녕하세요 세계"], "char"), (["今日は良い天気"], "char"), (["你好世界"], "char"), (["สวัสดี"], "char"),
        (["привет, мир", "été", "مرحبا"], "13a"), (["hello 세계"], "13a"), (["세계세계 half"], "13a"),
        (["세계세계세 half"], "char"), (["12 34", ""], "13a"),
    ],
)  # fmt: skip
def test_the_tokenizer_follows_the_script_of_the_references(texts, tokenizer):
    assert bleu_tokenizer([texts]) == tokenizer
    assert f"|tok:{tokenizer}|" in overlap_scores(*stored(["x"], [texts]))[0].signature


def test_signatures_are_whole_and_depend_on_the_references_alone():
    version = sacrebleu.__version__
    bleu, chrf = overlap_scores(*stored(["x", "y"], [["a", "b"], ["a", "c"]]))
    assert bleu.signature == f"sacrebleu-bleu|order:4|nrefs:2|case:mixed|eff:no|tok:13a|smooth:exp|version:{version}"
    assert chrf.signature == (f"sacrebleu-chrf|beta:2|nrefs:2|case:mixed|eff:yes|nc:6|nw:0|space:no|version:{version}")
    several = overlap_scores(*stored(*drawn_corpus(20)))
    assert all("|nrefs:var|" in score.signature for score in several)
