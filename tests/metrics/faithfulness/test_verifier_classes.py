"""Classes of verifiers and taggers: they keep counts, read each text once, and give no number without their model."""

import pytest

from bench.metrics import DAE, METRICS, EntityPrecision, FactCC, NLIAcc, TapasAcc, TapexAcc
from bench.metrics.faithfulness import entity_precision, factcc, spacy_models, verifiers
from bench.metrics.faithfulness.checkpoints import NotApplicable
from bench.metrics.score import Family
from tests.metrics import tiny_verifiers
from tests.metrics.family_cases import GOLD, ROWS

CLASSES = (FactCC, TapexAcc, TapasAcc, NLIAcc, DAE)
DOCUMENTS, SUMMARIES = ["the river rose", "it fell"], ["It rose. It fell. the year", "no one was hurt"]
of_every_class = pytest.mark.parametrize("kind", CLASSES)


@pytest.fixture
def checkpoint(tmp_path, monkeypatch):
    folder = tmp_path / "factcc"
    folder.mkdir()
    monkeypatch.setenv("BENCH_FACTCC", str(tiny_verifiers.bert(folder)))
    return folder


@of_every_class
def test_without_its_model_there_is_no_number_and_a_reason(kind, tmp_path, monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    for variable in ("FACTCC", "TAPEX", "TAPAS", "NLI", "DAE", "DAE_ARCS"):
        monkeypatch.delenv(f"BENCH_{variable}", raising=False)
    metric = kind()
    for row in ROWS:
        metric.update_rows([row], GOLD)
    assert all(value.isnan() for value in metric.compute().values())
    assert metric.scores() == METRICS[metric.made_of.family].load()(ROWS, GOLD)
    for score in metric.scores():
        assert "|not applicable: needs " in score.signature


def test_what_rows_lack_comes_before_what_the_machine_lacks(tmp_path, monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    monkeypatch.delenv("BENCH_FACTCC", raising=False)
    metric = FactCC()
    metric.update(SUMMARIES, DOCUMENTS)
    assert "|not applicable: needs " in metric.scores()[0].signature
    metric.update(["it rose"], [""])
    assert metric.scores()[0].signature.endswith("|not applicable: no source text")


def test_each_text_is_read_once(checkpoint, monkeypatch):
    read, loads = [], []
    real, load = verifiers.logits_of, factcc.load_factcc
    monkeypatch.setattr(verifiers, "logits_of", lambda v, e, *rest: read.extend(e) or real(v, e, *rest))
    monkeypatch.setattr(factcc, "load_factcc", lambda *given: loads.append(given) or load(*given))
    metric = FactCC()
    for document, summary in zip(DOCUMENTS, SUMMARIES, strict=True):
        metric.update([summary], [document])
    for _ in range(2):
        metric.compute()
        metric.scores()
    assert len(read) == 4
    assert len(loads) == 1


def test_claims_are_counted_not_summaries(checkpoint):
    metric = FactCC()
    metric.update(SUMMARIES, DOCUMENTS)
    verdicts = factcc.factcc(DOCUMENTS, SUMMARIES, factcc.load_factcc(str(checkpoint)))
    (score,) = metric.scores()
    assert (score.n, score.sums.total.tolist()) == (2, [sum(map(sum, verdicts)), 4])
    with pytest.raises(ValueError, match="expected one target for each of 2 texts, got 1"):
        metric.update(SUMMARIES, DOCUMENTS[:1])
    assert metric.scores() == [score], "nothing is counted of what is refused"


def test_verdicts_of_two_models_are_not_added_up(checkpoint, tmp_path, monkeypatch):
    metric = FactCC()
    metric.update(SUMMARIES[:1], DOCUMENTS[:1])
    other = tmp_path / "other"
    other.mkdir()
    monkeypatch.setenv("BENCH_FACTCC", str(tiny_verifiers.bert(other)))
    metric.update(SUMMARIES[1:], DOCUMENTS[1:])
    with pytest.raises(ValueError, match="expected one model for all rows, got 2: checkpoint:factcc"):
        metric.compute()


def test_no_rows_are_refused_by_a_family():
    family = verifiers.verdict_family("x", "x", lambda rows, gold: pytest.fail("there is nothing to read"))
    assert isinstance(family, Family)
    with pytest.raises(ValueError, match="a score of no texts is undefined"):
        family([], {})


def test_a_reason_is_of_the_whole_column():
    def decide(rows, gold):
        raise NotApplicable("no table")

    (score,) = verifiers.verdict_family("x", "x|y:1", decide)([{"id": "a"}], {"a": {}})
    assert (score.value, score.n, score.sums) == (None, 1, None)
    assert score.signature == "x|y:1|dtype:float32|version:1|not applicable: no table"


def test_entity_precision_by_hand(monkeypatch):
    entities = {"one": ["Aldra", "Bank of Sorn"], "two": [], "three": ["SORN"], "four": ["the Vale", "US"]}
    sources = ["the Aldra and a sorn", "x", "a sorn", "the sea"]
    monkeypatch.setattr(spacy_models, "installed", lambda tagger=None: ("by-hand", ""))
    monkeypatch.setattr(spacy_models, "versioned", lambda tagger: f"{tagger}-0.0")
    monkeypatch.setattr(entity_precision, "spacy_entities", lambda texts, tagger: [entities[text] for text in texts])
    monkeypatch.setattr(entity_precision, "stop_words", lambda: {"the"})
    monkeypatch.setattr(entity_precision, "MAX_UNCASED", 1.0)
    metric = EntityPrecision()
    metric.update(["one", "two"], sources[:2])
    metric.update(["three", "four"], sources[2:])
    values = {name: value.item() for name, value in metric.compute().items()}
    for level, shares, matches in ((0, 0.5, 1), (1, 1.5, 2), (2, 2.0, 3)):
        assert values[f"p_ent[by-hand,level{level},mean]"] == pytest.approx(100 * shares / 3)
        assert values[f"p_ent[by-hand,level{level},pooled]"] == 100 * matches / 5
    assert values["p_ent[by-hand,none]"] == 1
