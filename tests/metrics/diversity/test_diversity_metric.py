"""The torchmetrics classes of likelihood and diversity: equal to the functions in batches, over ranks, at the edges."""

import json
import math
from pathlib import Path

import pytest
import torch

from bench.cells.launch import free_port
from bench.metrics.diversity.distinct import distinct, seq_rep
from bench.metrics.diversity.divergence import jsd, kld, uniq
from bench.metrics.diversity.divergence_metric import FrequencyGroups, TokenDivergence, Uniq
from bench.metrics.diversity.diversity_metric import Distinct, MSJaccard, SelfBLEU
from bench.metrics.diversity.frequency_groups import frequency_groups
from bench.metrics.diversity.ms_jaccard import ms_jaccard
from bench.metrics.diversity.ngram_diversity import ngram_diversity, simctg_diversity
from bench.metrics.diversity.repetition import repetition
from bench.metrics.diversity.repetition_metric import Repetition, SequenceRepetition
from bench.metrics.diversity.self_bleu import self_bleu
from tests.e2e import children
from tests.metrics.diversity_cases import zipf_texts
from tests.metrics.diversity_ranks import as_rank, feed, make_metrics

TEXTS = zipf_texts(23, 30, seed=1, types=60, shortest=0)
TEXTS[5] = [1, 2, 3] * 7
REFERENCES = zipf_texts(23, 30, seed=2, types=60)
SUMS = {"seq-rep"}  # float sums; the others are exact


def by_functions(texts=TEXTS, references=REFERENCES):
    """What `make_metrics` should compute."""
    return {
        "kld": kld(texts, references),
        "jsd": jsd(texts, references),
        "ms-jaccard": ms_jaccard(texts, references),
        "ms-jaccard/f2_code": ms_jaccard(texts, references, 3, "f2_code"),
        "self-bleu": self_bleu(texts),
        "self-bleu/original": self_bleu(texts, 4, "original"),
        "distinct": distinct(texts, 2),
        "distinct/original": distinct(texts, 2, "original"),
        "ngram-diversity": ngram_diversity(texts),
        "simctg-diversity": simctg_diversity(texts),
        "rep": repetition(texts),
        "seq-rep": seq_rep(texts),
        "uniq": uniq(texts),
        "groups": list(frequency_groups(texts, [100 // (rank + 1) for rank in range(60)])),
    }


def assert_equal(found, expected):
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        assert found[name] == (pytest.approx(value, rel=1e-12) if name in SUMS else value), name


def in_batches(size, texts=TEXTS, references=REFERENCES):
    return [(texts[i : i + size], references[i : i + size]) for i in range(0, len(texts), size)]


def computed(metrics):
    return {name: metric.compute().tolist() for name, metric in metrics.items()}


@pytest.mark.parametrize("size", [1, 4, 23])
def test_batches_give_what_the_functions_give(size):
    metrics = make_metrics()
    for batch in in_batches(size):
        feed(metrics, *batch)
        feed(metrics, [], [])
    assert_equal(computed(metrics), by_functions())
    assert_equal(computed(metrics), by_functions())  # computing is not the end
    feed(metrics, TEXTS[:3], REFERENCES[:3])
    assert_equal(computed(metrics), by_functions([*TEXTS, *TEXTS[:3]], [*REFERENCES, *REFERENCES[:3]]))
    for metric in metrics.values():
        metric.reset()
    feed(metrics, TEXTS[:9], REFERENCES[:9])
    assert_equal(computed(metrics), by_functions(TEXTS[:9], REFERENCES[:9]))


def test_states_merge():
    first, second = make_metrics(), make_metrics()
    feed(first, TEXTS[:9], REFERENCES[:9])
    feed(second, TEXTS[9:], REFERENCES[9:])
    for name, metric in first.items():
        metric.merge_state(second[name])
    assert_equal(computed(first), by_functions())


@pytest.mark.ddp
@pytest.mark.parametrize("shares", [((0, 9), (9, 23)), ((0, 23), (23, 23))], ids=["uneven", "one rank without a text"])
def test_two_processes_give_what_one_gives(shares, tmp_path):
    port, out = free_port(), str(tmp_path / "rank")
    batches = [in_batches(4, TEXTS[a:b], REFERENCES[a:b]) for a, b in shares]
    ranks = [children.start(as_rank, rank, 2, port, batches[rank], out) for rank in range(2)]
    for rank, child in enumerate(ranks):
        assert children.ended(child, 240)
        assert child.exitcode == 0, children.read(Path(f"{out}.log.{rank}"))
        assert_equal(json.loads(Path(f"{out}.{rank}").read_text()), by_functions())


def test_before_the_first_text_nothing_is_defined():
    metrics = make_metrics()
    feed(metrics, [], [])
    found = computed(metrics)
    assert found.pop("uniq") == 0
    for name, value in found.items():
        assert all(map(math.isnan, value if isinstance(value, list) else [value])), name


def test_one_text_has_no_self_bleu_and_a_short_one_no_distinct():
    metric, short = SelfBLEU(2), Distinct(1)
    metric.update([[1, 2, 3]])
    short.update([[1, 2, 3]])
    assert metric.compute().isnan().all()
    assert short.compute().isnan()
    metric.update([[1, 2, 3]])
    assert metric.compute().tolist() == pytest.approx([100, 100])


def test_results_are_double_and_states_are_integers():
    metrics = make_metrics()
    feed(metrics, TEXTS, REFERENCES)
    for name, metric in metrics.items():
        assert metric.half() is metric
        assert metric.compute().dtype == (torch.int64 if name == "uniq" else torch.float64)
    packed = SelfBLEU()
    packed.update([[1, 2], [], [3]])
    assert [state.tolist() for state in packed.texts] == [[1, 2, -1, -1, 3, -1]]


@pytest.mark.parametrize("metric", make_metrics().values(), ids=make_metrics())
def test_what_is_no_token_id_is_refused_at_once(metric):
    two = isinstance(metric, (TokenDivergence, MSJaccard))
    for texts, said in ((["a b"], "list of token ids"), ([[1, -100]], "0 or more, got -100")):
        with pytest.raises(ValueError, match=said):
            metric.update(texts, [[1]]) if two else metric.update(texts)
    if isinstance(metric, (TokenDivergence, Uniq, FrequencyGroups)):
        with pytest.raises(ValueError, match="below 60, the size of the vocabulary, got 60"):
            metric.update([[60]], [[1]]) if two else metric.update([[60]])


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: SelfBLEU(definition="x"), "there are: f2_code, original"),
        (lambda: MSJaccard(definition="x"), "there are: original, f2_code"),
        (lambda: Distinct(definition="x"), "there are: f2_code, per_text, original"),
        (lambda: TokenDivergence(5, "x"), "there are: kld, jsd"),
        (lambda: SequenceRepetition(0), "order of 1 or more"),
        (lambda: FrequencyGroups([0]), "expected training counts"),
    ],
)
def test_unknown_options_are_refused_when_made(make, said):
    with pytest.raises(ValueError, match=said):
        make()


def test_directions():
    better = {name: metric.higher_is_better for name, metric in make_metrics().items()}
    higher = {"ms-jaccard", "ms-jaccard/f2_code", "distinct", "distinct/original", "uniq"}
    higher |= {"ngram-diversity", "simctg-diversity"}
    assert {name for name, up in better.items() if up} == higher
    assert [name for name, up in better.items() if up is None] == ["groups"]
    assert Repetition.higher_is_better is False
