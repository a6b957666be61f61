"""Corpus BLEU and chrF: numbers worked by hand, sacrebleu as oracle, lengths, scripts, edges."""

import math
import subprocess
import sys

import pytest
import sacrebleu
from hypothesis import given, settings

from bench.metrics.overlap.chrf import (
    bleu_signature,
    bleu_tokenizer,
    chrf_signature,
    corpus_bleu,
    corpus_chrf,
    score_of_counts,
    text_counts,
)
from tests.metrics.rouge_cases import CORPUS, published, xsum_lines

SCORES = {"bleu": corpus_bleu, "chrf": corpus_chrf}
by_score = pytest.mark.parametrize("name", SCORES)


def test_bleu_by_hand():
    """5 words of 5, 4 of 5 matched; pairs 3 of 4, triples 2 of 3, fours 1 of 2; the reference has 5 words too."""
    found = corpus_bleu(["the river is very long"], [["the river is very wide"]])
    assert found == pytest.approx(100 * (4 / 5 * 3 / 4 * 2 / 3 * 1 / 2) ** 0.25)


def test_chrf_by_hand():
    """abc beside abd: 2 of 3 characters, 1 of 2 pairs, no triple; precision and recall are alike, and so is F."""
    assert corpus_chrf(["abc"], [["abd"]]) == pytest.approx(100 * (2 / 3 + 1 / 2 + 0) / 3)


@settings(deadline=None, max_examples=100)
@given(CORPUS)
@pytest.mark.parametrize("tokenizer", ["13a", "char"])
def test_sacrebleu_agrees_to_the_last_bit(tokenizer, corpus):
    hypotheses, references = map(list, zip(*corpus, strict=True))
    streams = [[texts[i] if i < len(texts) else None for texts in references] for i in range(4)]
    streams = [stream for stream in streams if any(text is not None for text in stream)]
    expected = sacrebleu.corpus_bleu(hypotheses, streams, tokenize=tokenizer, force=True).score
    assert corpus_bleu(hypotheses, references, tokenizer) == expected
    assert corpus_chrf(hypotheses, references) == sacrebleu.corpus_chrf(hypotheses, streams).score
    assert 0 <= expected <= 100 + 1e-9


@published
def test_real_outputs_score_as_in_sacrebleu():
    hypotheses, references = xsum_lines("brio/xsum.test.ours.out")[:1000], xsum_lines("brio/xsum.test.reference")[:1000]
    several = [[text] for text in references]
    assert corpus_bleu(hypotheses, several) == sacrebleu.corpus_bleu(hypotheses, [references], force=True).score
    assert corpus_chrf(hypotheses, several) == sacrebleu.corpus_chrf(hypotheses, [references]).score


@settings(deadline=None, max_examples=40)
@given(CORPUS)
@by_score
def test_order_and_repetition_change_nothing(name, corpus):
    score = SCORES[name]
    found = score(*zip(*corpus, strict=True))
    assert score(*zip(*corpus[::-1], strict=True)) == found
    turned = [(hypothesis, texts[::-1]) for hypothesis, texts in corpus]
    if name == "bleu":  # chrF takes the first of equally good references
        assert score(*zip(*turned, strict=True)) == found
    assert score(*zip(*corpus, *corpus, strict=True)) == pytest.approx(found, abs=1e-9) or name == "bleu"


@pytest.mark.parametrize(
    ("hypotheses", "references", "said"),
    [
        (["a", "b", "c"], [["a"]] * 5, "got 3 hypotheses and 5 lists"),
        ([], [], "of no texts is undefined"),
        (["a"], [[]], "references 0"),
        (["a", "b"], [["a"], "bc"], "references 1"),
        (["a", None], [["a"], ["b"]], "hypothesis 1"),
        ("ab", [["a"], ["b"]], "one text"),
    ],
)
@by_score
def test_refuses_what_sacrebleu_scores_wrongly(name, hypotheses, references, said):
    with pytest.raises(ValueError, match=said):
        SCORES[name](hypotheses, references)


@by_score
def test_alike_is_a_hundred_and_without_a_word_is_zero(name):
    text = "the quick brown fox jumps"
    assert SCORES[name]([text], [[text]]) == pytest.approx(100)
    assert SCORES[name](["안녕하세요 세계"], [["안녕하세요 세계", "안녕"]]) == pytest.approx(100)
    for hypothesis, reference in (("", text), (text, ""), ("", "")):
        assert SCORES[name]([hypothesis], [[reference]]) == 0
    assert SCORES[name](["", text], [[text], [text]]) < 100


def test_bleu_of_three_words_is_zero_even_where_alike():
    assert corpus_bleu(["a b c"], [["a b c"]]) == 0
    assert corpus_chrf(["a b c"], [["a b c"]]) == 100


def test_words_of_a_shorter_list_of_references_count():
    assert text_counts("bleu", ["a b", "c"], [["a", "a b"], ["c"]]) == [[2, 2, 2, 1, 0, 0, 2, 1, 0, 0],
                                                                      [1, 1, 1, 0, 0, 0, 1, 0, 0, 0]]  # fmt: skip
    assert text_counts("chrf", [], []) == []
    assert score_of_counts("bleu", [0] * 10) == score_of_counts("chrf", [0] * 18) == 0


@pytest.mark.parametrize(
    ("texts", "tokenizer"),
    [
        (["안녕하세요 세계"], "char"),
        (["今日は良い天気"], "char"),
        (["你好世界"], "char"),
        (["สวัสดี"], "char"),
        (["привет, мир", "été", "مرحبا"], "13a"),
        (["hello 세계"], "13a"),
        (["세계세계 half"], "13a"),
        (["세계세계세 half"], "char"),
        (["12 34", ""], "13a"),
    ],
)
def test_the_tokenizer_follows_the_script_of_the_references(texts, tokenizer):
    assert bleu_tokenizer([texts]) == tokenizer
    assert f"|tok:{tokenizer}|" in bleu_signature([texts])
    hypotheses = [text + " 세계 one two three four" for text in texts]
    several = [[text + " two"] for text in texts]
    assert corpus_bleu(hypotheses, several) == corpus_bleu(hypotheses, several, bleu_tokenizer(several))


def test_signatures_are_whole():
    version = sacrebleu.__version__
    assert bleu_signature([["a", "b"]]) == (
        f"sacrebleu-bleu|order:4|nrefs:2|case:mixed|eff:no|tok:13a|smooth:exp|version:{version}"
    )
    assert bleu_signature([["a"]], "char") != bleu_signature([["a"]])
    assert chrf_signature([["a"], ["a", "b"]]) == (
        f"sacrebleu-chrf|beta:2|nrefs:var|case:mixed|eff:yes|nc:6|nw:0|space:no|version:{version}"
    )
    with pytest.raises(ValueError, match="tokenizer 'ko-mecab' is unknown; there are: 13a, char"):
        corpus_bleu(["a"], [["a"]], "ko-mecab")


def test_importing_imports_no_scorer():
    code = "import sys, bench.metrics.overlap.chrf; print({'torch', 'nltk', 'sacrebleu'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_scores_are_numbers():
    assert all(math.isfinite(score([""], [[""]])) for score in SCORES.values())
