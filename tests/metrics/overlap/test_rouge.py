"""ROUGE: numbers worked by hand, rouge-score as oracle, edges, and the authors' logs of ROUGE-1.5.5 on XSum."""

import itertools
import json
import re
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings

from bench.metrics.overlap.rouge import KINDS, MEASURES, SEVERAL, rouge, signature, text_scores
from bench.metrics.overlap.rouge_tokens import TOKENIZERS
from tests.metrics.rouge_cases import (
    CORPUS,
    DATA,
    LATIN_CORPUS,
    THEIRS,
    drawn_corpus,
    needs_forms,
    oracle,
    published,
    xsum_lines,
)

HAND = json.loads((Path(__file__).parents[2] / "golden" / "rouge" / "several.json").read_text())["cases"]
HAND_KINDS = ("rouge-1", "rouge-2", "rouge-l")


@pytest.fixture(params=["rouge_score_rs", "rouge_score"])
def package(request, monkeypatch):
    """Score by either package."""
    if request.param == "rouge_score":
        monkeypatch.setitem(sys.modules, "rouge_score_rs", None)
    else:
        pytest.importorskip("rouge_score_rs", reason="rouge-score-rs is not installed: the extra 'fast'")
    return request.param


# Numbers by hand


@pytest.mark.parametrize("case", HAND, ids=[case["name"] for case in HAND])
@pytest.mark.parametrize("measure", MEASURES)
def test_several_references_by_hand(case, measure, package):
    for several in SEVERAL:
        found = rouge([case["hypothesis"]], [case["references"]], HAND_KINDS, measure, several=several,
                      max_bytes=case["max_bytes"])  # fmt: skip
        expected = [100 * float(Fraction(case[kind][measure][several])) for kind in HAND_KINDS]
        assert found == pytest.approx(expected, abs=1e-12), several


def test_lsum_takes_lines_for_sentences():
    """By hand: LCS of the whole is 'a b' or 'c d', 2 of 4; of each line it is the line, 4 of 4."""
    hypothesis, reference = "c d\na b", "a b\nc d"
    assert rouge([hypothesis], [[reference]], ["rouge-l", "rouge-lsum"]) == [50, 100]
    one_line = [text.replace("\n", " ") for text in (hypothesis, reference)]
    assert rouge([one_line[0]], [[one_line[1]]], ["rouge-l", "rouge-lsum"]) == [50, 50]


def test_lsum_counts_no_word_twice():
    """By hand: both lines of the reference meet the one 'a', which counts once: 1 of 2 and 1 of 1, F1 2/3."""
    assert rouge(["a"], [["a\na"]], ["rouge-lsum"]) == [pytest.approx(200 / 3)]


def test_a_byte_limit_cuts_hypothesis_and_references():
    rows = ["alpha beta gamma"], [["beta gamma"]]
    assert rouge(*rows, ["rouge-1"], "recall") == [100]
    assert rouge(*rows, ["rouge-1"], "recall", max_bytes=75) == [100]
    assert rouge(*rows, ["rouge-1"], "recall", max_bytes=10) == [50]  # alpha beta; beta gamma
    assert rouge(*rows, ["rouge-1"], "recall", max_bytes=4) == [0]  # alph; beta


def test_pooled_matches_are_whole_numbers():
    assert 1 / 49 * 49 < 1
    long = " ".join(["cat", *["dog"] * 48])
    assert rouge(["cat"], [[long, long]], ["rouge-1"], "recall", several="pooled") == [pytest.approx(100 / 49)]


# The oracle


@settings(deadline=None, max_examples=150)
@given(CORPUS)
@pytest.mark.parametrize("stem", [True, False])
def test_every_text_scores_as_in_rouge_score_to_the_last_bit(stem, corpus):
    hypotheses, references = zip(*corpus, strict=True)
    tokenizer = "stemmed" if stem else "unstemmed"
    found = text_scores(hypotheses, references, KINDS, tokenizer=tokenizer)
    multi = [oracle(KINDS, stem).score_multi(several, hypothesis) for hypothesis, several in corpus]
    assert found.tolist() == [[one[THEIRS[kind]].fmeasure for kind in KINDS] for one in multi]
    recalls = text_scores(hypotheses, [several[:1] for several in references], KINDS, "recall", tokenizer=tokenizer)
    single = [oracle(KINDS, stem).score(several[0], hypothesis) for hypothesis, several in corpus]
    assert recalls.tolist() == [[one[THEIRS[kind]].recall for kind in KINDS] for one in single]


@settings(deadline=None, max_examples=100)
@given(LATIN_CORPUS)
def test_the_rules_for_several_references_by_their_definitions(corpus):
    for measure, kind in itertools.product(MEASURES, ("rouge-1", "rouge-2", "rouge-l")):
        expected = {several: [] for several in SEVERAL}
        for hypothesis, references in corpus:
            found = [oracle(KINDS, True).score(one, hypothesis)[THEIRS[kind]] for one in references]
            values = [one.fmeasure if measure == "f1" else one.recall for one in found]
            others = [values[:i] + values[i + 1 :] or values for i in range(len(values))]
            sizes = [[max(0, len(re.findall("[a-z0-9]+", text.lower())) - (kind == "rouge-2"))
                      for text in (hypothesis, one)] for one in references]  # fmt: skip
            hits = sum(round(one.recall * size[1]) for one, size in zip(found, sizes, strict=True))
            whole = sum(size[1] for size in sizes), sum(map(sum, sizes)) / 2
            expected["max"].append(max(values))
            expected["average"].append(sum(values) / len(values))
            expected["jackknife"].append(sum(map(max, others)) / len(values))
            expected["pooled"].append(hits / max(1e-9, whole[measure == "f1"]))
        for several, wanted in expected.items():
            scores = text_scores(*zip(*corpus, strict=True), [kind], measure, several=several)
            assert scores[:, 0].tolist() == pytest.approx(wanted, abs=1e-12), several


@published
@pytest.mark.parametrize(
    ("stem", "lines"), [(True, 400), *(pytest.param(stem, 2000, marks=pytest.mark.slow) for stem in (True, False))]
)
def test_real_pairs_score_as_in_rouge_score_to_the_last_bit(stem, lines):
    pytest.importorskip("rouge_score_rs", reason="rouge-score-rs is not installed: the extra 'fast'")
    references = xsum_lines("brio/xsum.test.reference")[:lines]
    hypotheses = xsum_lines("brio/xsum.test.ours.out")[:lines]
    pairs = [*zip(hypotheses, references, strict=True)]
    pairs += [
        ("\n".join(hypotheses[i : i + 3]), "\n".join(references[i : i + 3])) for i in range(0, min(600, lines), 3)
    ]
    found = text_scores([h for h, _ in pairs], [[r] for _, r in pairs], KINDS,
                        tokenizer="stemmed" if stem else "unstemmed")  # fmt: skip
    theirs = [oracle(KINDS, stem).score(reference, hypothesis) for hypothesis, reference in pairs]
    assert np.array_equal(found, [[one[THEIRS[kind]].fmeasure for kind in KINDS] for one in theirs])


@pytest.mark.parametrize("tokenizer", TOKENIZERS)
def test_both_packages_give_the_same_bits(tokenizer, monkeypatch):
    pytest.importorskip("rouge_score_rs", reason="rouge-score-rs is not installed: the extra 'fast'")
    hypotheses, references = drawn_corpus(60)
    found = text_scores(hypotheses, references, KINDS, tokenizer=tokenizer)
    monkeypatch.setitem(sys.modules, "rouge_score_rs", None)
    assert np.array_equal(text_scores(hypotheses, references, KINDS, tokenizer=tokenizer), found)
    assert 0 < found.mean() < 1


# Published numbers

LOGGED = ("rouge-1", "rouge-2", "rouge-3", "rouge-l")
SYSTEMS = ("lead", "ext-oracle", "ptgen")


def logged(system, measure):
    """ROUGE-1, -2, -3 and -L of the authors' log."""
    log = (DATA / "xsum" / "official_test_outputs" / f"{system}-test-output.rouge").read_text()
    (line,) = re.findall(rf"^{measure} >> ROUGE\(1/2/3/L/SU4\): ([\d./]+)$", log, re.MULTILINE)
    return [float(value) for value in line.split("/")[:4]]


@pytest.mark.slow  # whole test sets; one of them in the next test
@published
@needs_forms
@pytest.mark.parametrize("system", SYSTEMS)
def test_the_authors_logs_on_xsum(system):
    hypotheses = xsum_lines(f"official_test_outputs/{system}-test-output.txt")
    references = [[text] for text in xsum_lines("official_test_outputs/gold-test-sentences.txt")]
    for measure, label in (("f1", "f-score"), ("recall", "recall")):
        found = rouge(hypotheses, references, LOGGED, measure, tokenizer="rouge-1.5.5")
        assert found == pytest.approx(logged(system, label), abs=0.011)
        nearly = np.array(logged(system, label)) - rouge(hypotheses, references, LOGGED, measure)
        assert nearly.min() > 0
        assert nearly.max() < 0.46  # irregular forms, which Porter's stemmer does not know
        assert nearly[0] > 0.25


@published
@needs_forms
def test_the_published_scores_of_brio_on_xsum():
    """Its references write brackets as -LRB- and -RRB-, which are words to ROUGE, and its outputs do not."""
    references = [[text] for text in xsum_lines("brio/xsum.test.reference")]
    outputs = [text.replace("(", " -LRB- ").replace(")", " -RRB- ") for text in xsum_lines("brio/xsum.test.ours.out")]
    kinds = ("rouge-1", "rouge-2", "rouge-l")
    found = rouge(outputs, references, kinds, tokenizer="rouge-1.5.5")
    assert found == pytest.approx([49.07, 25.59, 40.40], abs=0.05)
    assert rouge(outputs, references, kinds) == pytest.approx([48.82, 25.50, 40.26], abs=0.006)


@published
def test_duc_2004_by_rule():
    """75 bytes of the first sentence beside four headlines, the task's usual baseline: rules are points apart."""
    lines = (DATA / "gigaword" / "duc2004" / "duc2004.jsonl").read_text().splitlines()
    texts, references = zip(*((row["text"], row["summaries"]) for row in map(json.loads, lines)), strict=True)
    kinds = ["rouge-1", "rouge-2", "rouge-l"]
    expected = {"pooled": (22.35, 6.50, 19.57), "average": (22.52, 6.61, 19.77), "jackknife": (34.05, 13.49, 30.63)}
    for several, values in expected.items():
        found = rouge(texts, references, kinds, "recall", several=several, max_bytes=75)
        assert found == pytest.approx(values, abs=0.0051), several
    human, others = [several[0] for several in references], [several[1:] for several in references]
    assert rouge(human, others, kinds, "recall", several="pooled", max_bytes=75)[0] > 23


# Edges


@pytest.mark.parametrize("several", SEVERAL)
@pytest.mark.parametrize("measure", MEASURES)
def test_alike_is_a_hundred_and_without_a_word_is_zero(measure, several, package):
    text = "The quick brown fox\njumps over the lazy dog"
    assert rouge([text], [[text, text]], KINDS, measure, several=several) == [100] * 6
    for hypothesis, reference in (("", text), (text, ""), ("", ""), ("!?", "..."), (" \n", text), ("zebra", text)):
        assert rouge([hypothesis], [[reference, reference]], KINDS, measure, several=several) == [0] * 6
    assert rouge(["a b"], [["a b"]], KINDS, measure) == [100, 100, 0, 0, 100, 100]  # too short for a triple


@settings(deadline=None, max_examples=40)
@given(LATIN_CORPUS)
def test_order_and_repetition_change_nothing(corpus):
    for several in SEVERAL:
        found = rouge(*zip(*corpus, strict=True), several=several)
        turned = [(hypothesis, references[::-1]) for hypothesis, references in corpus[::-1]]
        assert rouge(*zip(*turned, strict=True), several=several) == found
        assert rouge(*zip(*corpus, *corpus, strict=True), several=several) == pytest.approx(found, abs=1e-12)
        assert all(0 <= value <= 100 for value in found)


@pytest.mark.parametrize("score", [rouge, text_scores])
@pytest.mark.parametrize(
    ("hypotheses", "references", "said"),
    [
        (["a", "b", "c"], [["a"]] * 5, "got 3 hypotheses and 5 lists"),
        (["a"], [[]], "references 0"),
        (["a", "b"], [["a"], "bc"], "references 1"),
        (["a", None], [["a"], ["b"]], "hypothesis 1"),
        ("ab", [["a"], ["b"]], "one text"),
    ],
)
def test_refuses_what_would_be_scored_wrongly(score, hypotheses, references, said):
    with pytest.raises(ValueError, match=said):
        score(hypotheses, references)


def test_no_text_has_no_mean():
    assert text_scores([], []).shape == (0, 4)
    with pytest.raises(ValueError, match="ROUGE of no texts is undefined"):
        rouge([], [])


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"kinds": ["rouge-5"]}, "kind 'rouge-5' is unknown; there are: rouge-1"),
        ({"kinds": "rouge-1"}, "one or more kinds of ROUGE in a list"),
        ({"kinds": []}, "one or more kinds of ROUGE in a list"),
        ({"measure": "precision"}, "measure 'precision' is unknown; there are: f1, recall"),
        ({"several": "best"}, "several 'best' is unknown; there are: max, pooled, jackknife, average"),
        ({"tokenizer": "13a"}, "tokenizer '13a' is unknown; there are: stemmed, unstemmed, rouge-1.5.5, unicode"),
        ({"max_bytes": 0}, "max_bytes of 1 or more, or None for all, got 0"),
    ],
)
def test_options_that_do_not_exist(options, said):
    with pytest.raises(ValueError, match=said):
        rouge(["a"], [["a"]], **options)


# Other scripts


@pytest.mark.parametrize("text", ["안녕하세요 세계", "привет, мир", "مرحبا بالعالم", "你好世界", "नमस्ते दुनिया"])
def test_other_scripts_are_not_applicable_and_have_a_tokenizer(text):
    assert rouge([text], [[text]]) == [None] * 4
    assert rouge(["hello world"], [[text, "hi"]], ["rouge-1"], tokenizer="unstemmed") == [None]
    assert rouge([text], [[text]], tokenizer="unicode")[0] == 100
    assert "|not applicable: it drops 100 % of the references' letters" in signature("rouge-1", references=[[text]])
    assert "not applicable" not in signature("rouge-1", references=[[text]], tokenizer="unicode")


def test_accents_and_few_foreign_names_are_scored():
    assert rouge(["été"], [["l'été à Séoul (서울)"]], ["rouge-1"])[0] > 0
    assert rouge(["안녕하세요"], [["hello"]], ["rouge-1"]) == [0], "only references decide: the same for every method"


# Signature and imports


def test_every_option_is_in_the_signature():
    references = ([["a"]], [["a"] * 4], [["a"], ["a", "b"]])
    options = [{"tokenizer": t, "several": s, "max_bytes": b, "references": r}
               for t, s, b, r in itertools.product(TOKENIZERS, SEVERAL, (None, 75), references)]  # fmt: skip
    names = [signature(kind, measure, **one) for kind, measure, one in itertools.product(KINDS, MEASURES, options)]
    assert len(set(names)) == len(names) == 6 * 2 * 96
    assert all(name.startswith("rouge|tok:") and "|rouge-score:0." in name for name in names)
    assert all(("sentences:lines" in name) == ("type:lsum" in name) for name in names)
    with pytest.raises(ValueError, match="kind 'rouge-9' is unknown"):
        signature("rouge-9")


def test_naming_a_score_imports_no_scorer():
    code = "import sys, bench.metrics.overlap.rouge as r; r.signature('rouge-1'); print({'torch', 'nltk', 'rouge_score'} & set(sys.modules))"  # noqa: E501
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
