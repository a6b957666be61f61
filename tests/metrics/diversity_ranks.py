"""One of every torchmetrics class of likelihood and diversity, fed alike, alone or as one of several processes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import torch.distributed
from torchmetrics import Metric

from bench.metrics.diversity.divergence_metric import FrequencyGroups, TokenDivergence, Uniq
from bench.metrics.diversity.diversity_metric import Distinct, MSJaccard, SelfBLEU
from bench.metrics.diversity.ngram_diversity_metric import NgramDiversity, SimctgDiversity
from bench.metrics.diversity.repetition_metric import Repetition, SequenceRepetition
from tests.e2e.children import enter
from tests.metrics.diversity_cases import Text


def make_metrics() -> dict[str, Metric]:
    """One of every class, by a name; those of two sides first."""
    return {
        "kld": TokenDivergence(60),
        "jsd": TokenDivergence(60, "jsd"),
        "ms-jaccard": MSJaccard(3),
        "ms-jaccard/f2_code": MSJaccard(3, "f2_code"),
        "self-bleu": SelfBLEU(4),
        "self-bleu/original": SelfBLEU(4, "original"),
        "distinct": Distinct(2),
        "distinct/original": Distinct(2, "original"),
        "ngram-diversity": NgramDiversity(),
        "simctg-diversity": SimctgDiversity(),
        "rep": Repetition(),
        "seq-rep": SequenceRepetition(4),
        "uniq": Uniq(60),
        "groups": FrequencyGroups([100 // (rank + 1) for rank in range(60)]),
    }


TWO_SIDED = 4
"""How many of `make_metrics` compare texts with references."""


def feed(metrics: dict[str, Metric], texts: Sequence[Text], references: Sequence[Text]) -> None:
    """Update every metric with a batch."""
    for number, metric in enumerate(metrics.values()):
        metric.update(texts, references) if number < TWO_SIDED else metric.update(texts)


def as_rank(rank: int, world: int, port: int, batches: list[Any], out: str) -> None:
    """Be one of several processes, and write what each class computes of all batches."""
    enter({}, f"{out}.log.{rank}")
    address = f"tcp://127.0.0.1:{port}"
    wait = timedelta(seconds=120)
    torch.distributed.init_process_group("gloo", address, timeout=wait, rank=rank, world_size=world)
    metrics = make_metrics()
    for texts, references in batches:
        feed(metrics, texts, references)
    found = {name: metric.compute().tolist() for name, metric in metrics.items()}
    Path(f"{out}.{rank}").write_text(json.dumps(found))
    torch.distributed.destroy_process_group()
