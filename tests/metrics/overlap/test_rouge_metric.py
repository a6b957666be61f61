"""The torchmetrics classes of overlap: equal to the functions and the scorers in batches and over shards."""

import math

import pytest
import torch

from bench.metrics.overlap.chrf import corpus_bleu, corpus_chrf
from bench.metrics.overlap.chrf_metric import CorpusOverlap
from bench.metrics.overlap.overlap_scorer import overlap_scores, rouge_recall_scores, rouge_scores
from bench.metrics.overlap.rouge import KINDS, rouge
from bench.metrics.overlap.rouge_metric import Rouge
from tests.metrics.rouge_cases import drawn_corpus

HYPOTHESES, REFERENCES = drawn_corpus(23, seed=3)
RECALL = (("rouge-1", "rouge-2", "rouge-l"), "recall")


def make_metrics():
    return {
        "rouge": Rouge(KINDS),
        "all kinds": Rouge(KINDS, tokenizer="unstemmed", several="average"),
        "unicode": Rouge(["rouge-1"], tokenizer="unicode"),
        "pooled": Rouge(*RECALL, several="pooled", max_bytes=75),
        "jackknife": Rouge(*RECALL, several="jackknife", max_bytes=75),
        "bleu": CorpusOverlap("bleu"),
        "bleu of characters": CorpusOverlap("bleu", "char"),
        "chrf": CorpusOverlap("chrf"),
    }


def by_functions(texts=HYPOTHESES, references=REFERENCES):
    return {
        "rouge": rouge(texts, references, KINDS),
        "all kinds": rouge(texts, references, KINDS, tokenizer="unstemmed", several="average"),
        "unicode": rouge(texts, references, ["rouge-1"], tokenizer="unicode"),
        "pooled": rouge(texts, references, *RECALL, several="pooled", max_bytes=75),
        "jackknife": rouge(texts, references, *RECALL, several="jackknife", max_bytes=75),
        "bleu": corpus_bleu(texts, references, "13a"),
        "bleu of characters": corpus_bleu(texts, references, "char"),
        "chrf": corpus_chrf(texts, references),
    }


EXACT = {"bleu", "bleu of characters", "chrf"}


def assert_equal(metrics, expected):
    for name, metric in metrics.items():
        value = metric.compute()
        assert value.dtype == torch.float64
        close = [expected[name]] if name in EXACT else pytest.approx(expected[name], rel=1e-12)
        assert value.reshape(-1).tolist() == close, name


@pytest.mark.parametrize("size", [1, 4, 23])
def test_batches_give_what_the_functions_give(size):
    metrics = make_metrics()
    for metric in metrics.values():
        for i in range(0, 23, size):
            metric.update(HYPOTHESES[i : i + size], REFERENCES[i : i + size])
            metric.update([], [])
    assert_equal(metrics, by_functions())
    for metric in metrics.values():
        assert metric.half() is metric
        metric.reset()
        metric.update(HYPOTHESES[:9], REFERENCES[:9])
    assert_equal(metrics, by_functions(HYPOTHESES[:9], REFERENCES[:9]))


@pytest.mark.parametrize("ends", [(23,), (9, 23), (0, 23), (1, 14, 23), (0, 0, 23), (11, 11, 23)])
def test_shards_give_what_function_and_scorer_give(ends):
    """One, two and three processes, some without a text: their states are summed, as torchmetrics does."""
    shards = [make_metrics() for _ in ends]
    for shard, first, last in zip(shards, (0, *ends), ends, strict=False):
        for metric in shard.values():
            metric.update(HYPOTHESES[first:last], REFERENCES[first:last])
    merged = shards[0]
    for shard in shards[1:]:
        for name, metric in merged.items():
            metric.merge_state(shard[name])
    assert_equal(merged, by_functions())
    rows = [{"id": f"test/{i}", "text": text} for i, text in enumerate(HYPOTHESES)]
    gold = {f"test/{i}": {"references": texts} for i, texts in enumerate(REFERENCES)}
    scored = [*rouge_scores(rows, gold), *rouge_recall_scores(rows, gold), *overlap_scores(rows, gold)]
    names = ("rouge", "pooled", "jackknife", "bleu", "chrf")
    found = [value for name in names for value in merged[name].compute().reshape(-1).tolist()]
    assert found == pytest.approx([score.value for score in scored], rel=1e-12)


def test_before_the_first_text_nothing_is_defined():
    for metric in make_metrics().values():
        metric.update([], [])
        assert metric.compute().isnan().all()


def test_not_applicable_is_decided_over_all_batches():
    metric = Rouge(["rouge-1"])
    metric.update(["세계"], [["세계"]])
    assert math.isnan(metric.compute())
    metric.update(["a b"], [["a b"]])
    assert metric.compute() == 50
    other = Rouge(["rouge-1"], tokenizer="unicode")
    other.update(["세계"], [["세계"]])
    assert other.compute() == 100


@pytest.mark.parametrize("metric", make_metrics().values(), ids=make_metrics())
def test_what_would_be_scored_wrongly_is_refused(metric):
    with pytest.raises(ValueError, match="got 3 hypotheses and 5 lists"):
        metric.update(["a", "b", "c"], [["a"]] * 5)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: Rouge(["rouge-7"]), "kind 'rouge-7' is unknown"),
        (lambda: Rouge(several="best"), "several 'best' is unknown"),
        (lambda: CorpusOverlap("bleu", "intl"), "tokenizer 'intl' is unknown; there are: 13a, char"),
        (lambda: CorpusOverlap("ter"), "score 'ter' is unknown; there are: bleu, chrf"),
    ],
)
def test_options_that_do_not_exist(make, said):
    with pytest.raises(ValueError, match=said):
        make()
