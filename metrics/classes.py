"""Classes: the names under which metric families can be imported as torchmetrics classes; nothing heavy is loaded."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

__all__ = ["CLASSES", "MetricClass", "class_named", "names"]


@dataclass(frozen=True)
class MetricClass:
    """A torchmetrics class: a family, and which of its columns it gives.

    Args:
        family: a name in METRICS.
        columns: patterns of columns, as in `bench.metrics.columns`.
        scores: `package.module:Name` of a scorer of these columns alone, where the family's would compute more than is
            asked for; empty for the family's own.
    """

    family: str
    columns: tuple[str, ...] = ("*",)
    scores: str = ""


CLASSES: dict[str, MetricClass] = {
    "Perplexity": MetricClass("perplexity", ("ppl/token",)),
    "TableBLEU": MetricClass("table_bleu"),
    "BLEU": MetricClass("overlap", ("bleu",)),
    "CHRF": MetricClass("overlap", ("chrf",)),
    "KLD": MetricClass("diversity", ("kld",)),
    "JSD": MetricClass("diversity", ("jsd",)),
    "MSJaccard": MetricClass("diversity", ("ms-jaccard-*",)),
    "SelfBLEU": MetricClass("diversity", ("self-bleu-*",), "bench.metrics.diversity.self_bleu:self_bleu_scores"),
    "Distinct": MetricClass("diversity", ("distinct-*",), "bench.metrics.diversity.distinct:distinct_scores"),
    "Repetition": MetricClass("diversity", ("rep",)),
    "SequenceRepetition": MetricClass("diversity", ("seq-rep-*",)),
    "Uniq": MetricClass("diversity", ("uniq",)),
    "SimctgDiversity": MetricClass("ngram_diversity", ("simctg-diversity*",)),
    "NgramDiversity": MetricClass("ngram_diversity", ("ngram-diversity*",)),
    "CopyRate": MetricClass("copying"),
    "FactCC": MetricClass("factcc"),
    "DAE": MetricClass("dae"),
    "TapexAcc": MetricClass("tapex"),
    "TapasAcc": MetricClass("tapas"),
    "NLIAcc": MetricClass("nli"),
    "SPAcc": MetricClass("sp_acc"),
}
"""Every other family has a class of its whole name: `cache_hits` is `CacheHits`."""


def class_named(name: str, families: Iterable[str]) -> MetricClass:
    """Return what a class is made of.

    Raises:
        KeyError: there is no such class.

    >>> class_named("CacheHits", ["cache_hits"]).family
    'cache_hits'
    """
    return {**{_camel(family): MetricClass(family) for family in families}, **CLASSES}[name]


def names(families: Iterable[str]) -> list[str]:
    """Return the names of all classes."""
    return sorted({*map(_camel, families), *CLASSES})


def _camel(family: str) -> str:
    return "".join(part.capitalize() for part in family.split("_"))
