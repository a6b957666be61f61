"""The overlap columns of stored rows: equal to the functions, None where not applicable, what is refused."""

import subprocess
import sys

import pytest

from bench.metrics import METRICS
from bench.metrics.overlap.chrf import corpus_bleu, corpus_chrf, overlap_scores
from bench.metrics.overlap.rouge import rouge, rouge_limited_scores, rouge_recall_scores, rouge_scores
from tests.metrics.rouge_cases import drawn_corpus

FAMILIES = {"rouge": rouge_scores, "rouge_recall": rouge_recall_scores, "overlap": overlap_scores}
TEXTS, REFERENCES = drawn_corpus(20, seed=5, most=4)
every_family = pytest.mark.parametrize("family", FAMILIES)


def stored(texts, references):
    rows = [{"id": f"test/{i}", "text": text, "token_ids": [1]} for i, text in enumerate(texts)]
    return rows, {
        row["id"]: {"target": "", "references": several} for row, several in zip(rows, references, strict=True)
    }


def by_name(family, texts=TEXTS, references=REFERENCES):
    return {score.name: score for score in FAMILIES[family](*stored(texts, references))}


def test_columns_are_those_of_the_functions():
    f1 = ["rouge-1", "rouge-2", "rouge-3", "rouge-4", "rouge-l", "rouge-lsum"]
    assert [(name, score.value) for name, score in by_name("rouge").items()] == [
        *zip(f1, rouge(TEXTS, REFERENCES, f1), strict=True)
    ]
    recall, kinds = by_name("rouge_recall"), ["rouge-1", "rouge-2", "rouge-l"]
    names = [f"{kind}-r{rule}" for rule in ("", "/jackknife") for kind in kinds]
    expected = [value for several in ("pooled", "jackknife")
                for value in rouge(TEXTS, REFERENCES, kinds, "recall", several=several, max_bytes=75)]  # fmt: skip
    assert [(name, score.value) for name, score in recall.items()] == [*zip(names, expected, strict=True)]
    assert {name: score.value for name, score in by_name("overlap").items()} == {
        "bleu": corpus_bleu(TEXTS, REFERENCES), "chrf": corpus_chrf(TEXTS, REFERENCES)
    }  # fmt: skip


def test_75_bytes_count():
    text = "word " * 15 + "river"
    assert by_name("rouge_recall", [text], [["river"]])["rouge-1-r"].value == 0
    assert by_name("rouge_recall", [text[5:]], [["river"]])["rouge-1-r"].value == 100
    assert by_name("rouge", [text], [["river"]])["rouge-1"].value > 0


@every_family
def test_units_directions_numbers_and_signatures(family):
    scores = by_name(family).values()
    assert {(score.unit, score.higher_is_better, score.n) for score in scores} == {("percent", True, 20)}
    signatures = [score.signature for score in scores]
    assert len(set(signatures)) == len(signatures)
    assert all("var" in signature for signature in signatures)
    other = by_name(family, ["x"] * 20, REFERENCES).values()
    assert [score.signature for score in other] == signatures, "texts do not decide the column"
    fewer = by_name(family, TEXTS, [several[:1] for several in REFERENCES]).values()
    assert not {score.signature for score in fewer} & set(signatures)


@every_family
def test_order_does_not_change_a_bit(family):
    rows, gold = stored(TEXTS, REFERENCES)
    assert FAMILIES[family](rows[::-1], dict(reversed(gold.items()))) == FAMILIES[family](rows, gold)


def test_other_scripts_are_none_with_a_reason_and_never_zero():
    korean = ["안녕하세요 세계", "강이 길다"], [["안녕하세요 세계"], ["강이 넓다"]]
    for family in ("rouge", "rouge_recall"):
        for score in by_name(family, *korean).values():
            assert score.value is None
            assert "not applicable: it drops 100 % of the references' letters" in score.signature
    overlap = by_name("overlap", *korean)
    assert overlap["bleu"].value > 0
    assert overlap["chrf"].value > 0
    assert "|tok:char|" in overlap["bleu"].signature


@pytest.mark.parametrize(
    ("rows", "gold", "said"),
    [
        ([{"id": "a", "text": "x"}], {"a": {"references": []}}, "references 0: expected one or more texts"),
        ([{"id": "a", "text": "x"}], {"a": {}}, "references 0: expected one or more texts"),
        ([{"id": "a", "text": "x"}], {"a": {"references": ["x"]}, "b": {"references": ["x"]}}, "exactly the 2 ids"),
        ([{"id": "a", "text": "x"}] * 2, {"a": {"references": ["x"]}}, "one row per id"),
        ([], {}, "of no texts is undefined"),
    ],
)
@every_family
def test_rows_that_cannot_be_scored_say_why(family, rows, gold, said):
    with pytest.raises(ValueError, match=said):
        FAMILIES[family](rows, gold)


@every_family
def test_it_is_listed(family):
    assert METRICS[family].kind == "generation"
    assert METRICS[family].load() is FAMILIES[family]


def test_scoring_does_not_import_torch():
    code = (
        "import sys, bench.metrics.overlap.rouge, bench.metrics.overlap.chrf;"
        "print({'torch', 'nltk', 'torchmetrics'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_limited_recall_scores_as_many_words_as_the_reference_has():
    rows = [{"id": "a", "text": "the fox ran over the hill and far away"}, {"id": "b", "text": "No one"}]
    gold = {"a": {"references": ["the fox far away"]}, "b": {"references": ["no one came"]}}
    found = {score.name: score for score in rouge_limited_scores(rows, gold)}
    assert list(found) == ["rouge-1-r/limited", "rouge-2-r/limited", "rouge-l-r/limited"]
    assert found["rouge-1-r/limited"].value == pytest.approx(100 * (2 / 4 + 2 / 3) / 2)
    assert found["rouge-2-r/limited"].value == pytest.approx(100 * (1 / 3 + 1 / 2) / 2)
    assert "|words:as many as the reference|" in found["rouge-1-r/limited"].signature
    several = {"a": {"references": ["the fox far away", "a fox"]}}
    pooled = rouge_limited_scores(rows[:1], several)[0]
    assert pooled.value == pytest.approx(100 * (2 + 1) / (4 + 2)), "each reference cuts the text to its own length"
