"""ROUGE: numbers worked by hand, rouge-score as oracle, edges, and the authors' logs of ROUGE-1.5.5 on XSum."""

import itertools
import json
import re
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.metrics import METRICS
from bench.metrics.overlap.rouge import KINDS, Tokenizer155, first_bytes, irregular_forms
from tests.metrics.rouge_cases import (
    CORPUS,
    DATA,
    LATIN_CORPUS,
    THEIRS,
    needs_forms,
    oracle,
    published,
    rouge,
    stored,
    text_scores,
    xsum_lines,
)

HAND = json.loads((Path(__file__).parents[2] / "golden" / "rouge" / "several.json").read_text())["cases"]
HAND_KINDS = ("rouge-1", "rouge-2", "rouge-l")
MEASURES, SEVERAL = ("f1", "recall"), ("max", "pooled", "jackknife")


@pytest.fixture(params=["rouge_score_rs", "rouge_score"])
def package(request, monkeypatch):
    """Score by either package."""
    if request.param == "rouge_score":
        monkeypatch.setitem(sys.modules, "rouge_score_rs", None)
    else:
        pytest.importorskip("rouge_score_rs", reason="rouge-score-rs is not installed: the extra 'fast'")
    return request.param


def score(family, texts, references):
    return {one.name: one for one in METRICS[family].load()(*stored(texts, references))}


# Numbers by hand


@pytest.mark.parametrize("case", HAND, ids=[case["name"] for case in HAND])
@pytest.mark.parametrize("measure", MEASURES)
def test_several_references_by_hand(case, measure, package):
    for several in SEVERAL:
        found = rouge([case["hypothesis"]], [case["references"]], HAND_KINDS, measure, several=several,
                      max_bytes=case["max_bytes"])  # fmt: skip
        expected = [100 * float(Fraction(case[kind][measure][several])) for kind in HAND_KINDS]
        assert found == pytest.approx(expected, abs=1e-12), several


def test_a_byte_limit_cuts_texts_and_references():
    rows = ["alpha beta gamma"], [["beta gamma"]]
    assert rouge(*rows, ["rouge-1"], "recall", max_bytes=75) == [100]
    assert rouge(*rows, ["rouge-1"], "recall", max_bytes=10) == [50]  # alpha beta; beta gamma
    assert rouge(*rows, ["rouge-1"], "recall", max_bytes=4) == [0]  # alph; beta
    text = "word " * 15 + "river"
    assert score("rouge_recall", [text], [["river"]])["rouge-1-r"].value == 0
    assert score("rouge_recall", [text[5:]], [["river"]])["rouge-1-r"].value == 100


def test_limited_recall_scores_as_many_words_as_the_reference_has():
    texts = ["the fox ran over the hill and far away", "No one"]
    found = score("rouge_limited", texts, [["the fox far away"], ["no one came"]])
    assert found["rouge-1-r/limited"].value == pytest.approx(100 * (2 / 4 + 2 / 3) / 2)
    assert found["rouge-2-r/limited"].value == pytest.approx(100 * (1 / 3 + 1 / 2) / 2)
    assert "|words:as many as the reference|" in found["rouge-1-r/limited"].signature
    pooled = score("rouge_limited", texts[:1], [["the fox far away", "a fox"]])["rouge-1-r/limited"]
    assert pooled.value == pytest.approx(100 * (2 + 1) / (4 + 2)), "each reference cuts the text to its own length"


# The oracle


@settings(deadline=None, max_examples=150)
@given(CORPUS)
def test_every_text_scores_as_in_rouge_score_to_the_last_bit(corpus):
    hypotheses, references = zip(*corpus, strict=True)
    multi = [oracle(KINDS, True).score_multi(several, hypothesis) for hypothesis, several in corpus]
    assert text_scores(hypotheses, references, KINDS).tolist() == [
        [one[THEIRS[kind]].fmeasure for kind in KINDS] for one in multi
    ]
    recalls = text_scores(hypotheses, [several[:1] for several in references], KINDS, "recall")
    single = [oracle(KINDS, True).score(several[0], hypothesis) for hypothesis, several in corpus]
    assert recalls.tolist() == [[one[THEIRS[kind]].recall for kind in KINDS] for one in single]


@settings(deadline=None, max_examples=100)
@given(LATIN_CORPUS)
def test_the_rules_for_several_references_by_their_definitions(corpus):
    for measure, kind in itertools.product(MEASURES, HAND_KINDS):
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
            expected["jackknife"].append(sum(map(max, others)) / len(values))
            expected["pooled"].append(hits / max(1e-9, whole[measure == "f1"]))
        for several, wanted in expected.items():
            scores = text_scores(*zip(*corpus, strict=True), [kind], measure, several=several)
            assert scores[:, 0].tolist() == pytest.approx(wanted, abs=1e-12), several


# Published numbers

LOGGED = ("rouge-1", "rouge-2", "rouge-3", "rouge-l")


def logged(system, measure):
    """ROUGE-1, -2, -3 and -L of the authors' log."""
    log = (DATA / "xsum" / "official_test_outputs" / f"{system}-test-output.rouge").read_text()
    (line,) = re.findall(rf"^{measure} >> ROUGE\(1/2/3/L/SU4\): ([\d./]+)$", log, re.MULTILINE)
    return [float(value) for value in line.split("/")[:4]]


@pytest.mark.slow  # whole test sets; one of them in the next test
@published
@needs_forms
@pytest.mark.parametrize("system", ["lead", "ext-oracle", "ptgen"])
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
    found = rouge(outputs, references, HAND_KINDS, tokenizer="rouge-1.5.5")
    assert found == pytest.approx([49.07, 25.59, 40.40], abs=0.05)
    assert rouge(outputs, references, HAND_KINDS) == pytest.approx([48.82, 25.50, 40.26], abs=0.006)


@published
def test_duc_2004_by_rule():
    """75 bytes of the first sentence against four headlines, the task's usual baseline: rules are points apart."""
    lines = (DATA / "gigaword" / "duc2004" / "duc2004.jsonl").read_text().splitlines()
    texts, references = zip(*((row["text"], row["summaries"]) for row in map(json.loads, lines)), strict=True)
    for several, values in {"pooled": (22.35, 6.50, 19.57), "jackknife": (34.05, 13.49, 30.63)}.items():
        found = rouge(texts, references, HAND_KINDS, "recall", several=several, max_bytes=75)
        assert found == pytest.approx(values, abs=0.0051), several
    human, others = [several[0] for several in references], [several[1:] for several in references]
    assert rouge(human, others, HAND_KINDS, "recall", several="pooled", max_bytes=75)[0] > 23


# Edges


@pytest.mark.parametrize("several", SEVERAL)
@pytest.mark.parametrize("measure", MEASURES)
def test_alike_is_a_hundred_and_without_a_word_is_zero(measure, several, package):
    text = "The quick brown fox\njumps over the lazy dog"
    assert rouge([text], [[text, text]], KINDS, measure, several=several) == [100] * 6
    for hypothesis, reference in (("", text), (text, ""), ("", ""), ("!?", "..."), (" \n", text), ("zebra", text)):
        assert rouge([hypothesis], [[reference, reference]], KINDS, measure, several=several) == [0] * 6
    assert rouge(["a b"], [["a b"]], KINDS, measure) == [100, 100, 0, 0, 100, 100]  # too short for a triple


# Words and letters


@needs_forms
def test_irregular_forms_are_equal_as_in_rouge_155():
    assert len(irregular_forms()) == 5930
    split = Tokenizer155().tokenize
    assert split("said says saying men were running") == ["say", "sai", "sai", "men", "be", "run"]
    assert split("were women agreed") == ["be", "women", "agre"]
    assert irregular_forms()["has"] == "have"
    assert split("has") == ["has"], "three letters are not looked up"


@given(st.text(max_size=12), st.integers(1, 20))
def test_first_bytes_are_whole_characters(text, n):
    cut = first_bytes(text, n)
    assert text.startswith(cut)
    assert len(cut.encode()) <= n
    rest = text[len(cut) :]
    assert not rest or len(cut.encode()) + len(rest[0].encode()) > n
    assert first_bytes("a\ud800b", 2) == "a?"


@pytest.mark.parametrize("text", ["안녕하세요 세계", "привет, мир", "مرحبا بالعالم", "你好世界", "नमस्ते दुनिया"])
def test_other_scripts_are_not_applicable_and_never_zero(text):
    for family in ("rouge", "rouge_recall"):
        for one in score(family, [text, "hi"], [[text], ["hi"]]).values():
            assert one.value is None
            assert re.search(r"\|not applicable: it drops \d+ % of the references' letters$", one.signature)


# Signature and imports


@pytest.mark.parametrize("family", ["rouge", "table_bleu", "overlap"])
@pytest.mark.parametrize(
    ("rows", "gold", "message"),
    [
        ([{"id": "a", "text": "x"}], {"a": {"references": []}}, "row 'a': expected one or more references"),
        ([{"id": "a", "text": "x"}], {"a": {}}, "row 'a': expected one or more references"),
        ([{"id": "a", "text": "x"}], {"a": {"references": [None]}}, "row 'a': expected one or more references"),
        ([{"id": "a", "text": None}], {"a": {"references": ["x"]}}, "row 'a': expected a text, got NoneType"),
        ([{"id": "a", "text": "x"}], {"a": {"references": ["x"]}, "b": {"references": ["x"]}}, "exactly the 2 ids"),
        ([{"id": "a", "text": "x"}] * 2, {"a": {"references": ["x"]}}, "one row per id"),
        ([], {}, "of no texts is undefined"),
    ],
)
def test_rows_that_cannot_be_scored_say_why(family, rows, gold, message):
    with pytest.raises(ValueError, match=message):
        METRICS[family].load()(rows, gold)
