"""Example rows of every metric family for the tester in test_every_family.py: one entry of CASES each."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch

from bench.metrics import METRICS
from bench.metrics.columns import expand
from bench.metrics.likelihood.matrix_rank import singular_values
from tests.metrics.family_rows import TAGGER, Gold, Rows, as_reference, as_source, with_prompts, written

ROWS, GOLD = written()


@dataclass(frozen=True)
class Case:
    """What the tester knows about a family.

    Args:
        rows: stored rows, in no order.
        gold: what they are compared with.
        best: makes rows and gold that are as good as possible.
        perfect: columns of such rows.
        empty: columns where every text is empty, None for an undefined one.
    """

    rows: Rows
    gold: Gold
    best: Callable[[Rows, Gold], tuple[Rows, Gold]] | None = None
    perfect: Mapping[str, float] = field(default_factory=dict)
    empty: Mapping[str, float | None] | None = None


def named(*patterns: str) -> list[str]:
    return [name for pattern in patterns for name in expand(pattern)]


def percent_case(columns: Iterable[str]) -> Case:
    """Columns from 0, of empty texts, to 100, of copies of the references."""
    names = list(columns)
    return Case(ROWS, GOLD, as_reference, perfect=dict.fromkeys(names, 100.0), empty=dict.fromkeys(names, 0.0))


def counted(names: tuple[str, ...], counts: list[tuple[float, ...]], best: dict[str, float]) -> Case:
    """Rows of counts, whose ids are not in their order; `best` replaces some of the counts."""
    rows = [{"id": f"test/{n * 5 % 6}", **dict(zip(names, some, strict=True))} for n, some in enumerate(counts)]
    return Case(rows, {row["id"]: {} for row in rows}, lambda rows, gold: ([{**row, **best} for row in rows], gold))


def perplexity_case() -> Case:
    # Sums that rounding makes depend on their order.
    case = counted(
        ("nll_sum", "n_tokens", "n_words", "n_bytes"),
        [(1.2, 7, 5, 31), (0.8, 1, 1, 4), (73.5, 33, 20, 140), (2.3, 7, 5, 31), (0.495, 2, 1, 9), (178.9, 40, 31, 200)],
        {"nll_sum": 0.0},
    )
    return Case(case.rows, case.gold, case.best, perfect=dict.fromkeys(named("ppl/{token,word,byte}"), 1.0))


def cache_accuracy_case() -> Case:
    rows = []
    for n in range(7):
        ranking = [(n * 7 + i * (2 * n + 1)) % 29 for i in range(25)]
        rows.append({"id": f"test/{n * 3 % 7}", "head": ranking, "full": ranking[::-1], "cache": ranking[: 3 * n],
                     "wanted": [[ranking[n], 40], [ranking[2 * n]]]})  # fmt: skip

    def best(rows: Rows, gold: Gold) -> tuple[Rows, Gold]:
        found = dict.fromkeys(("head", "full", "cache"), list(range(25)))
        return [{**row, **found, "wanted": [[0], [0, 1]]} for row in rows], gold

    perfect = dict.fromkeys(named("acc@{1,2,5,10,25}/{head,full,cache}"), 100.0)
    return Case(rows, {row["id"]: {} for row in rows}, best, perfect)


def cache_hits_case() -> Case:
    names = ("n_cache_hits", "n_cached", "n_tokens")
    case = counted(names, [(0, 0, 3), (2, 5, 9), (7, 7, 7), (1, 4, 30), (0, 2, 2), (0, 0, 0)], {})

    def best(rows: Rows, gold: Gold) -> tuple[Rows, Gold]:
        return [{**row, **dict.fromkeys(names, row["n_tokens"])} for row in rows], gold

    return Case(case.rows, case.gold, best, perfect={"cache-hit@1": 100.0, "cache-coverage": 100.0})


def forgetting_case() -> Case:
    case = counted(
        ("nll_sum", "kl_sum", "n_tokens"),
        [(3.5, 0.5, 2), (20.0, 1.25, 8), (9.0, 0.0, 5), (7.0, 2.0, 3), (4.0, 0.75, 4), (1.0, 0.0, 1)],
        {"nll_sum": 0.0, "kl_sum": 0.0},
    )
    return Case(case.rows, case.gold, case.best, perfect={"forgetting/nll": 0.0, "forgetting/kl": 0.0})


def matrix_rank_case() -> Case:
    torch.manual_seed(0)
    matrix = (torch.randn(9, 4, dtype=torch.float64) @ torch.randn(4, 12, dtype=torch.float64)).log_softmax(dim=-1)
    matrix[7:] = matrix[:2]
    values = singular_values(matrix).tolist()
    return Case([{"id": "singular_values", "shape": list(matrix.shape), "values": values, "rows": 3}], {})


def diversity_case() -> Case:
    columns = named(*(pattern[1:] for pattern in METRICS["diversity"].columns))
    perfect = {"kld": 0.0, "jsd": 0.0, **dict.fromkeys(named("ms-jaccard-{1,2,3}{,/f2_code}"), 100.0)}
    empty = {**dict.fromkeys(columns), "rep": 0.0, "uniq": 0.0}
    return Case(ROWS, GOLD, as_reference, perfect, empty)


def frequency_groups_case() -> Case:
    rows = [{**row, "groups": [sum(token % 4 == n for token in row["token_ids"]) for n in range(4)]} for row in ROWS]
    return Case(rows, GOLD)


def entity_precision_case() -> Case:
    names, none = named(f"p_ent[{TAGGER},level{{0,1,2}},{{mean,pooled}}]"), f"p_ent[{TAGGER},none]"
    empty = {**dict.fromkeys(names), none: float(len(ROWS))}
    return Case(ROWS, GOLD, as_source, dict.fromkeys(names, 100.0), empty)


def copying_case() -> Case:
    copies, novelties = named("copy-{1,2,3,4}"), named("novel-{1,2,3,4}")
    perfect = dict.fromkeys(copies, 100.0) | dict.fromkeys(novelties, 0.0)
    return Case(ROWS, GOLD, as_source, perfect, dict.fromkeys([*copies, *novelties, "longest-copy"]))


def coherence_case() -> Case:
    def best(rows: Rows, gold: Gold) -> tuple[Rows, Gold]:
        return [{**row, "text": row["prompt"]} for row in rows], gold

    empty = {"coherence": 0.0, "coherence/truncated": 0.0}
    return Case(with_prompts(ROWS, GOLD), GOLD, best, {"coherence": 100.0}, empty)


def mauve_case() -> Case:
    empty = {"mauve": None, "mauve/empty": float(len(ROWS))}
    return Case(ROWS, GOLD, as_reference, {"mauve": 100.0, "mauve/empty": 0.0}, empty)


def plain_case(**known: Any) -> Case:
    return Case(ROWS, GOLD, **known)


CASES: Mapping[str, Case] = {
    "perplexity": perplexity_case(),
    "cache_accuracy": cache_accuracy_case(),
    "cache_hits": cache_hits_case(),
    "forgetting": forgetting_case(),
    "matrix_rank": matrix_rank_case(),
    "table_bleu": percent_case(named("{bleu,sentence-bleu}-{1,2,3}")),
    "rouge": percent_case(named("rouge-{1,2,3,4,l,lsum}")),
    "rouge_155": percent_case(named("rouge-{1,2,3,4,l}/1.5.5")),
    "rouge_recall": percent_case(named("rouge-{1,2,l}-r{,/jackknife}")),
    "rouge_limited": percent_case(named("rouge-{1,2,l}-r/limited")),
    "exact_match": percent_case(("exact-match",)),
    "overlap": percent_case(("bleu", "chrf")),
    "diversity": diversity_case(),
    "frequency_groups": frequency_groups_case(),
    "ngram_diversity": plain_case(empty=dict.fromkeys(named("{ngram,simctg}-diversity{,/tokens}"))),
    "entity_precision": entity_precision_case(),
    "copying": copying_case(),
    "factcc": plain_case(),
    "tapex": plain_case(),
    "tapas": plain_case(),
    "nli": plain_case(),
    "dae": plain_case(empty={"dae": 0.0, "dae[no_arc]": float(len(ROWS))}),
    "coherence": coherence_case(),
    "mauve": mauve_case(),
}

VERDICTS = {"factcc": "FACTCC", "tapex": "TAPEX", "tapas": "TAPAS", "nli": "NLI"}
"""Families with a verifier, whose bias is moved so that it gives both answers."""
