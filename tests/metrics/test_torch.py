"""The torchmetrics classes in a loop: what `update` takes, labels, collections, forward, columns, errors."""

import math
import pickle  # noqa: TID251
import subprocess
import sys
from functools import partial

import pytest
import torch
import torchmetrics
from torchmetrics.text import Perplexity as TheirPerplexity

import bench.metrics
from bench.metrics import (
    BLEU,
    CHRF,
    CLASSES,
    METRICS,
    Copying,
    Distinct,
    Diversity,
    Perplexity,
    Rouge,
    RougeLimited,
    SelfBLEU,
    TableBLEU,
)
from tests.metrics.diversity_cases import distinct
from tests.metrics.rouge_cases import drawn_corpus, overlap

HYPOTHESES, REFERENCES = drawn_corpus(23, seed=3)


def plain(values):
    return {name: value.item() for name, value in values.items()}


def fed(metric, *batches, **options):
    for batch in batches:
        metric.update(*batch, **options)
    return plain(metric.compute())


def in_batches(size):
    return [(HYPOTHESES[at : at + size], REFERENCES[at : at + size]) for at in range(0, 23, size)]


def test_a_collection_is_a_collection():
    metrics = torchmetrics.MetricCollection(
        {"bleu": BLEU(), "chrf": CHRF(), "rouge": Rouge(columns=["rouge-1"])}, prefix="val/"
    )
    batches = in_batches(6)
    for batch in ([], []), *batches:
        of_batch = metrics(*batch)
    assert of_batch["val/bleu"] == overlap(*batches[-1])["bleu"]
    expected = {f"val/{name}": value for name, value in overlap(HYPOTHESES, REFERENCES).items()}
    found = plain(metrics.compute())
    assert {name: found[name] for name in expected} == expected
    assert plain(pickle.loads(pickle.dumps(metrics)).compute()) == found
    assert plain(metrics.clone().compute()) == found
    metrics.reset()
    metrics.update(preds=batches[0][0], target=batches[0][1])
    assert metrics.compute()["val/bleu"] == overlap(*batches[0])["bleu"]


def test_ids_put_rows_in_the_order_of_the_scorer():
    rows = [{"id": f"test/{place}", "text": text} for place, text in enumerate(HYPOTHESES)]
    gold = {row["id"]: {"references": some} for row, some in zip(rows, REFERENCES, strict=True)}
    metric = Rouge()
    for place in reversed(range(23)):
        metric.update([HYPOTHESES[place]], [REFERENCES[place]], ids=[f"test/{place}"])
    assert metric.scores() == METRICS["rouge"].load()(rows, gold)
    metric.update(["a"], ["a"], ids=["test/3"])
    with pytest.raises(ValueError, match="expected each id once, got 1 ids again, such as 'test/3'"):
        metric.compute()


def test_logits_give_torchmetrics_perplexity():
    torch.manual_seed(0)
    logits, target = torch.randn(5, 7, 11), torch.randint(11, (5, 7))
    target[1, 3:] = target[4] = -100
    theirs = TheirPerplexity(ignore_index=-100)
    theirs.update(logits, target)
    ours = Perplexity(ignore_index=-100)
    ours.update(logits[:2], target[:2])
    ours.update(logits[2:], target[2:])
    assert plain(ours.compute()) == {"ppl/token": pytest.approx(theirs.compute().item(), rel=1e-5)}
    assert plain(ours.compute()) == fed(Perplexity(), (logits, target), ignore_index=-100)
    with pytest.raises(ValueError, match=r"expected preds \[B, T, V\] and target \[B, T\]"):
        ours.update(logits[0], target)
    with pytest.raises(ValueError, match="expected token ids from 0, got -100; set ignore_index"):
        Perplexity().update(logits, target)


def test_token_ids_and_words():
    ids = [[1, 2, 3, 1, 2], [4, 5, 4, 5], [1, 2, 9]]
    expected = {"distinct-1": distinct(ids, 1), "distinct-1/per_text": distinct(ids, 1, "per_text"),
                "distinct-1/original": distinct(ids, 1, "original")}  # fmt: skip
    for name, value in fed(Distinct(columns=["distinct-1*"]), (ids,)).items():
        assert value == expected[name] or (math.isnan(value) and expected[name] is None)
    two_orders = partial(SelfBLEU, columns=["self-bleu-{1,2}"])
    words = [" ".join(f"w{token}" for token in text) for text in ids]
    assert fed(two_orders(), (words[:2],), (words[2:],)) == fed(two_orders(), (ids,))
    assert fed(Diversity(columns=["uniq"]), (torch.tensor([[1, 2], [2, 3]]),)) == {"uniq": 3.0}
    assert fed(Copying(columns=["{copy,novel}-1"]), (["a b"], ["a c"])) == {"copy-1": 50.0, "novel-1": 50.0}


def test_one_text_is_no_list_of_texts():
    for metric in (bench.metrics.NgramDiversity(), bench.metrics.SelfBLEU()):
        with pytest.raises(ValueError, match="expected a list of texts, got one text"):
            metric.update("the fox ran and the fox ran")


def test_columns_are_chosen_by_pattern():
    assert Rouge(columns=["rouge-{1,l}"]).columns == ["rouge-1", "rouge-l"]
    assert SelfBLEU(columns=["self-bleu-3*"]).columns == ["self-bleu-3", "self-bleu-3/original"]
    with pytest.raises(ValueError, match=r"no column for columns=\('rouge-7',\); there are: rouge-"):
        Rouge(columns=["rouge-7"])


def test_not_applicable_is_decided_over_all_batches():
    metric = Rouge(columns=["rouge-1"])
    assert metric(["세계"], [["세계"]])["rouge-1"].isnan()
    metric.update(["a b"], [["a b"]])
    assert plain(metric.compute()) == {"rouge-1": 50.0}


@pytest.mark.parametrize("kind", [BLEU, CHRF, Rouge, RougeLimited, TableBLEU])
def test_what_would_be_scored_wrongly_is_refused(kind):
    metric = kind()
    with pytest.raises(ValueError, match="expected one target for each of 3 texts, got 5"):
        metric.update(["a", "b", "c"], [["a"]] * 5)
    with pytest.raises(ValueError, match="expected one id for each of 1 texts, got 2"):
        metric.update(["a"], ["a"], ids=["x", "y"])
    with pytest.raises(ValueError, match="expected a list of texts and a list of targets, got one text"):
        metric.update(["a"], "a")
    with pytest.raises(ValueError, match="expected one or more references for each text, got none for text 1"):
        metric.update(["a", "b"], [["a"], []])


def test_every_family_has_a_class_and_no_class_lacks_a_family():
    assert {family for family, _ in CLASSES.values()} == set(METRICS)
    assert set(CLASSES) <= set(dir(bench.metrics))
    with pytest.raises(AttributeError, match="has no attribute 'Roug'"):
        bench.metrics.Roug  # noqa: B018


@pytest.mark.parametrize("module", ["", ".overlap.rouge", ".overlap.bleu_chrf", ".diversity.diversity"])
def test_scoring_texts_imports_neither_torch_nor_a_package_of_scores(module):
    heavy = {"torch", "nltk", "rouge_score", "sacrebleu", "torchmetrics"} | (set() if module else {"numpy"})
    code = f"import sys, bench.metrics{module}; print({heavy} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
