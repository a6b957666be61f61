"""Families over counts and token ids, for the tester: likelihood, cache, rank, diversity."""

from __future__ import annotations

from typing import Any

import torch

from bench.metrics import METRICS
from bench.metrics.columns import expand
from bench.metrics.diversity import distinct, divergence, ms_jaccard, ngram_diversity, repetition, self_bleu
from bench.metrics.diversity.distinct import DEFINITIONS as DISTINCT
from bench.metrics.diversity.frequency_groups import GROUPS, frequency_groups, group_of_tokens
from bench.metrics.likelihood import cache_accuracy, cache_hits, perplexity, sample_perplexity
from bench.metrics.likelihood.matrix_rank import PRECISIONS, rank_of, singular_values
from tests.metrics.family_case import GOLD, ROWS, Case
from tests.metrics.family_rows import (
    Gold,
    Rows,
    Values,
    as_reference,
    texts_of,
)


def perplexity_case() -> Case:
    # Sums that rounding makes depend on their order.
    counts = [
        (1.2, 7, 5, 31),
        (0.8, 1, 1, 4),
        (73.5, 33, 20, 140),
        (2.3, 7, 5, 31),
        (0.495, 2, 1, 9),
        (178.9, 40, 31, 200),
    ]
    rows = [{"id": f"test/{n * 5 % 6}", "nll_sum": nll, "n_tokens": tokens, "n_words": words, "n_bytes": size}
            for n, (nll, tokens, words, size) in enumerate(counts)]  # fmt: skip

    return Case(
        rows,
        {row["id"]: {} for row in rows},
        lambda rows, gold: {f"ppl/{unit}": perplexity.perplexity(rows, unit) for unit in perplexity.UNITS},
        best=lambda rows, gold: ([{**row, "nll_sum": 0.0} for row in rows], gold),
        perfect={f"ppl/{unit}": 1.0 for unit in perplexity.UNITS},
    )


def cache_accuracy_case() -> Case:
    columns = [(mode, k) for mode in cache_accuracy.MODES for k in cache_accuracy.KS]
    rows = []
    for n in range(7):
        ranking = [(n * 7 + i * (2 * n + 1)) % 29 for i in range(25)]
        rows.append({"id": f"test/{n * 3 % 7}", "head": ranking, "full": ranking[::-1], "cache": ranking[: 3 * n],
                     "wanted": [[ranking[n], 40], [ranking[2 * n]]]})  # fmt: skip

    def best(rows: Rows, gold: Gold) -> tuple[Rows, Gold]:
        return [
            {**row, **dict.fromkeys(cache_accuracy.MODES, list(range(25))), "wanted": [[0], [0, 1]]} for row in rows
        ], gold

    return Case(
        rows,
        {row["id"]: {} for row in rows},
        lambda rows, gold: {f"acc@{k}/{mode}": cache_accuracy.acc_at_k(rows, mode, k) for mode, k in columns},
        best=best,
        perfect={f"acc@{k}/{mode}": 100.0 for mode, k in columns},
    )


def cache_hits_case() -> Case:
    counts = [(0, 0, 3), (2, 5, 9), (7, 7, 7), (1, 4, 30), (0, 2, 2), (0, 0, 0)]
    names = ("n_cache_hits", "n_cached", "n_tokens")
    rows = [{"id": f"test/{n * 5 % 6}", **dict(zip(names, some, strict=True))} for n, some in enumerate(counts)]

    def functions(rows: Rows, gold: Gold) -> Values:
        hits, cached, tokens = (texts_of(rows, name) for name in names)
        return {"cache-hit@1": cache_hits.hit_rate(hits, cached), "cache-coverage": cache_hits.hit_rate(cached, tokens)}

    return Case(
        rows,
        {row["id"]: {} for row in rows},
        functions,
        best=lambda rows, gold: ([{**row, **dict.fromkeys(names, row["n_tokens"])} for row in rows], gold),
        perfect={"cache-hit@1": 100.0, "cache-coverage": 100.0},
    )


def forgetting_case() -> Case:
    sums = [(3.5, 0.5, 2), (20.0, 1.25, 8), (9.0, 0.0, 5), (7.0, 2.0, 3), (4.0, 0.75, 4), (1.0, 0.0, 1)]
    rows = [
        {"id": f"test/{n * 5 % 6}", "nll_sum": nll, "kl_sum": kl, "n_tokens": tokens}
        for n, (nll, kl, tokens) in enumerate(sums)
    ]

    def functions(rows: Rows, gold: Gold) -> Values:
        tokens = sum(row["n_tokens"] for row in rows)
        return {f"forgetting/{name}": sum(row[f"{name}_sum"] for row in rows) / tokens for name in ("nll", "kl")}

    return Case(
        rows,
        {row["id"]: {} for row in rows},
        functions,
        best=lambda rows, gold: ([{**row, "nll_sum": 0.0, "kl_sum": 0.0} for row in rows], gold),
        perfect={"forgetting/nll": 0.0, "forgetting/kl": 0.0},
    )


def matrix_rank_case() -> Case:
    torch.manual_seed(0)
    matrix = (torch.randn(9, 4, dtype=torch.float64) @ torch.randn(4, 12, dtype=torch.float64)).log_softmax(dim=-1)
    matrix[7:] = matrix[:2]
    row = {"id": "singular_values", "shape": list(matrix.shape), "values": singular_values(matrix).tolist(), "rows": 3}

    def functions(rows: Rows, gold: Gold) -> Values:
        return {f"rank/{one}": float(rank_of(singular_values(matrix), (9, 12), one)) for one in PRECISIONS}

    return Case([row], {}, functions)


def diversity_case() -> Case:
    jaccard, bleu = (
        " ".join(f"{name}-{n}" for n in range(1, most + 1)) for name, most in (("ms-jaccard", 3), ("self-bleu", 4))
    )
    ends = {kind: "" if kind == DISTINCT[0] else f"/{kind}" for kind in DISTINCT}

    def ended(names: str, end: str) -> str:
        return " ".join(name + end for name in names.split())

    def functions(rows: Rows, gold: Gold) -> Values:
        texts, true = texts_of(rows, "token_ids"), texts_of(rows, "reference_ids")
        several = {
            jaccard: ms_jaccard.ms_jaccard(texts, true), bleu: self_bleu.self_bleu(texts),
            ended(jaccard, "/f2_code"): ms_jaccard.ms_jaccard(texts, true, 3, "f2_code"),
            ended(bleu, "/original"): self_bleu.self_bleu(texts, 4, "original"),
        }  # fmt: skip
        return {
            "kld": divergence.kld(texts, true), "jsd": divergence.jsd(texts, true),
            **{name: value for names, values in several.items()
               for name, value in zip(names.split(), values, strict=True)},
            **{f"distinct-{n}{ends[kind]}": distinct.distinct(texts, n, kind) for kind in DISTINCT for n in (1, 2, 3)},
            "rep": repetition.repetition(texts), "uniq": float(divergence.uniq(texts)),
            "seq-rep-4": distinct.seq_rep(texts, 4),
        }  # fmt: skip

    columns = [name for pattern in METRICS["diversity"].columns for name in expand(pattern[1:])]
    nothing = dict.fromkeys(columns)
    perfect = {"kld": 0.0, "jsd": 0.0, **dict.fromkeys(f"{jaccard} {ended(jaccard, '/f2_code')}".split(), 100.0)}
    doubled = {*bleu.split(), *ended(bleu, "/original").split(), *(f"distinct-{n}/original" for n in (1, 2, 3))}
    return Case(
        ROWS, GOLD, functions, best=as_reference, perfect=perfect,
        empty={**nothing, "rep": 0.0, "uniq": 0.0}, doubled=frozenset(doubled),
    )  # fmt: skip


def frequency_groups_case() -> Case:
    train = [100 // (rank + 1) for rank in range(60)]
    columns, group = [f"frequency/{name}" for name in GROUPS], group_of_tokens(train)
    rows = [{**row, "groups": [sum(group[token] == n for token in row["token_ids"]) for n in range(len(GROUPS))]}
            for row in ROWS]  # fmt: skip

    def functions(rows: Rows, gold: Gold) -> Values:
        found = frequency_groups(texts_of(rows, "token_ids"), train)
        return dict(zip(columns, found, strict=True)) if found else dict.fromkeys(columns)

    return Case(rows, GOLD, functions)


def ngram_diversity_case() -> Case:
    def sides(rows: Rows) -> dict[str, Any]:
        return {"": ngram_diversity.whitespace_ids(texts_of(rows)), "/tokens": texts_of(rows, "token_ids")}

    def functions(rows: Rows, gold: Gold) -> Values:
        return {name + end: value for end, texts in sides(rows).items() for name, value in (
            ("ngram-diversity", ngram_diversity.ngram_diversity(texts)),
            ("simctg-diversity", ngram_diversity.simctg_diversity(texts)),
            ("simctg-diversity/paper", ngram_diversity.simctg_diversity(texts, "paper")))}  # fmt: skip

    names = ("ngram-diversity", "simctg-diversity", "simctg-diversity/paper")
    return Case(ROWS, GOLD, functions, empty={name + end: None for end in ("", "/tokens") for name in names})


def sample_perplexity_case() -> Case:
    def functions(rows: Rows, gold: Gold) -> Values:
        texts, true = texts_of(rows, "token_ids"), texts_of(rows, "reference_ids")
        return {"sample-ppl": sample_perplexity.sample_perplexity(texts, true)}

    return Case(ROWS, GOLD, functions, empty={"sample-ppl": None}, doubled=frozenset({"sample-ppl"}))
