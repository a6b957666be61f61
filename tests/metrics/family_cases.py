"""Example rows of every metric family, with the functions that stand beside its scorer: one entry of CASES each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from bench.metrics.diversity import copying, mauve
from bench.metrics.faithfulness import coherence, entity_precision
from bench.metrics.faithfulness.dae import dae
from bench.metrics.faithfulness.embedder import embed
from bench.metrics.faithfulness.factcc import factcc
from bench.metrics.faithfulness.nli_acc import Linked, nli, row_cells
from bench.metrics.faithfulness.table_cells import table_texts
from bench.metrics.faithfulness.tapas import tapas
from bench.metrics.faithfulness.tapex import tapex
from bench.metrics.overlap import chrf, rouge, table_bleu
from bench.metrics.overlap.rouge import KINDS, MAX_BYTES, OF_155, RECALLED, Several
from tests.metrics.family_case import GOLD, ROWS, Case
from tests.metrics.family_rows import (
    TAGGER,
    Gold,
    Rows,
    Values,
    as_reference,
    as_source,
    capitals,
    chains,
    gold_of,
    model,
    texts_of,
    with_prompts,
)
from tests.metrics.family_tokens import (
    cache_accuracy_case,
    cache_hits_case,
    diversity_case,
    forgetting_case,
    frequency_groups_case,
    matrix_rank_case,
    ngram_diversity_case,
    perplexity_case,
    sample_perplexity_case,
)


def table_bleu_case() -> Case:
    names = {"corpus": [f"bleu-{n}" for n in (1, 2, 3)], "sentence": [f"sentence-bleu-{n}" for n in (1, 2, 3)]}

    def functions(rows: Rows, gold: Gold) -> Values:
        both = texts_of(rows), gold_of(rows, gold, "references")
        values = [*table_bleu.corpus_bleu_123(*both), *table_bleu.sentence_bleu_123(*both)]
        return dict(zip([*names["corpus"], *names["sentence"]], values, strict=True))

    return Case(
        ROWS,
        GOLD,
        functions,
        best=as_reference,
        perfect=dict.fromkeys([*names["corpus"], *names["sentence"]], 100.0),
        empty=dict.fromkeys([*names["corpus"], *names["sentence"]], 0.0),
    )


def percent_case(functions: Callable[[Rows, Gold], Values], columns: Sequence[str]) -> Case:
    """Return the case of columns from 0, of texts that share nothing with their references, to 100, of copies."""
    return Case(
        ROWS,
        GOLD,
        functions,
        best=as_reference,
        perfect=dict.fromkeys(columns, 100.0),
        empty=dict.fromkeys(columns, 0.0),
    )


def rouge_case() -> Case:
    def functions(rows: Rows, gold: Gold) -> Values:
        values = rouge.rouge(texts_of(rows), gold_of(rows, gold, "references"), KINDS, "f1", several="max")
        return dict(zip(KINDS, values, strict=True))

    return percent_case(functions, KINDS)


def rouge_155_case() -> Case:
    columns = [f"{kind}/1.5.5" for kind in OF_155]

    def functions(rows: Rows, gold: Gold) -> Values:
        both = texts_of(rows), gold_of(rows, gold, "references")
        values = rouge.rouge(*both, OF_155, tokenizer="rouge-1.5.5", several="pooled")
        return dict(zip(columns, values, strict=True))

    return percent_case(functions, columns)


def rouge_recall_case() -> Case:
    ends: dict[Several, str] = {"pooled": "-r", "jackknife": "-r/jackknife"}
    columns = [kind + end for end in ends.values() for kind in RECALLED]

    def functions(rows: Rows, gold: Gold) -> Values:
        both = texts_of(rows), gold_of(rows, gold, "references")
        return {
            kind + ends[several]: value
            for several in ends
            for kind, value in zip(
                RECALLED,
                rouge.rouge(*both, RECALLED, "recall", several=several, max_bytes=MAX_BYTES),
                strict=True,
            )
        }

    return percent_case(functions, columns)


def rouge_limited_case() -> Case:
    columns = [f"{kind}-r/limited" for kind in RECALLED]

    def functions(rows: Rows, gold: Gold) -> Values:
        both = texts_of(rows), gold_of(rows, gold, "references")
        values = rouge.rouge(*both, RECALLED, "recall", several="pooled", as_long=True)
        return dict(zip(columns, values, strict=True))

    return percent_case(functions, columns)


def overlap_case() -> Case:
    def functions(rows: Rows, gold: Gold) -> Values:
        both = texts_of(rows), gold_of(rows, gold, "references")
        return {"bleu": chrf.corpus_bleu(*both), "chrf": chrf.corpus_chrf(*both)}

    return Case(
        ROWS,
        GOLD,
        functions,
        best=as_reference,
        perfect={"bleu": 100.0, "chrf": 100.0},
        empty={"bleu": 0.0, "chrf": 0.0},
    )


def entity_precision_case() -> Case:
    levels = {level: [f"p_ent[{TAGGER},level{level},{how}]" for how in ("mean", "pooled")] for level in (0, 1, 2)}

    def functions(rows: Rows, gold: Gold) -> Values:
        pairs = list(zip(capitals(texts_of(rows)), gold_of(rows, gold, "source"), strict=True))
        entities = [len(some) for some, _ in pairs]
        found = {
            level: [
                sum(entity_precision.is_in_source(one, source, level, {"the"}) for one in some)
                for some, source in pairs
            ]
            for level in levels
        }
        return {
            f"p_ent[{TAGGER},level{level},{how}]": entity_precision.aggregate(found[level], entities, how)
            for level in levels
            for how in ("mean", "pooled")
        }

    names = [name for some in levels.values() for name in some]
    return Case(
        ROWS,
        GOLD,
        functions,
        best=as_source,
        perfect=dict.fromkeys(names, 100.0),
        empty={**dict.fromkeys(names), f"p_ent[{TAGGER},none]": float(len(ROWS))},
        doubled=frozenset({f"p_ent[{TAGGER},none]"}),
    )


def copying_case() -> Case:
    orders = range(1, copying.MAX_N + 1)

    def words(rows: Rows, gold: Gold) -> tuple[Any, Any]:
        return copying.words_of(texts_of(rows)), copying.words_of(gold_of(rows, gold, "source"))

    def functions(rows: Rows, gold: Gold) -> Values:
        rates = copying.copy_rates(*words(rows, gold))
        return {
            **{f"copy-{n}": rate for n, rate in zip(orders, rates, strict=True)},
            "longest-copy": copying.longest_copied(*words(rows, gold)),
        }

    return Case(
        ROWS,
        GOLD,
        functions,
        best=as_source,
        perfect={**{f"copy-{n}": 100.0 for n in orders}, **{f"novel-{n}": 0.0 for n in orders}},
        empty=dict.fromkeys([*(f"{name}-{n}" for name in ("copy", "novel") for n in orders), "longest-copy"]),
    )


def coherence_case() -> Case:
    rows = with_prompts(ROWS, GOLD)

    def functions(rows: Rows, gold: Gold) -> Values:
        return {"coherence": coherence.coherence(texts_of(rows, "prompt"), texts_of(rows), model("SIMCSE"))}

    return Case(
        rows,
        GOLD,
        functions,
        best=lambda rows, gold: ([{**row, "text": row["prompt"]} for row in rows], gold),
        perfect={"coherence": 100.0},
        empty={"coherence": 0.0, "coherence/truncated": 0.0},
    )


def mauve_case() -> Case:
    def functions(rows: Rows, gold: Gold) -> Values:
        rows = sorted(rows, key=lambda row: str(row["id"]))  # clusters depend on the order
        kept = [[text for text in texts_of(rows, name) if text] for name in ("reference", "text")]
        return {"mauve": mauve.mauve(*(embed(model("MAUVE"), texts)[0].numpy() for texts in kept))}

    return Case(
        ROWS,
        GOLD,
        functions,
        best=as_reference,
        perfect={"mauve": 100.0, "mauve/empty": 0.0},
        empty={"mauve": None, "mauve/empty": float(len(ROWS))},
        doubled=frozenset({"mauve/empty", "mauve/truncated"}),
    )


def verdict_case(column: str, variable: str, inputs: Any, decide: Any, **more: Any) -> Case:
    """A share of verdicts: `inputs` of rows and gold, `decide` on them with a model."""

    def functions(rows: Rows, gold: Gold) -> Values:
        verdicts = decide(*inputs(rows, gold), model(variable))
        return {column: 100 * sum(verdicts) / len(verdicts)}

    return Case(ROWS, GOLD, functions, **more)


def documents(rows: Rows, gold: Gold) -> tuple[Any, Any]:
    return gold_of(rows, gold, "source"), texts_of(rows)


def tables(rows: Rows, gold: Gold) -> tuple[Any, Any]:
    return table_texts([gold[row["id"]] for row in rows]), texts_of(rows)


def linked(rows: Rows, gold: Gold) -> tuple[Any, Any]:
    read, texts = tables(rows, gold)
    columns, titles = gold_of(rows, gold, "columns"), gold_of(rows, gold, "title")
    return [Linked(row_cells(t), c, name) for t, c, name in zip(read, columns, titles, strict=True)], texts


def dae_case() -> Case:
    def inputs(rows: Rows, gold: Gold) -> tuple[Any, Any]:
        return gold_of(rows, gold, "source"), chains(texts_of(rows))

    def decide(*given: Any) -> list[bool]:
        return [not all(arcs) for arcs in dae(*given)]

    return verdict_case("dae[spacy]", "DAE", inputs, decide, doubled=frozenset({"dae[spacy,no_arc]"}),
                        empty={"dae[spacy]": 0.0, "dae[spacy,no_arc]": float(len(ROWS))})  # fmt: skip


CASES: Mapping[str, Case] = {
    "perplexity": perplexity_case(),
    "cache_accuracy": cache_accuracy_case(),
    "cache_hits": cache_hits_case(),
    "forgetting": forgetting_case(),
    "matrix_rank": matrix_rank_case(),
    "table_bleu": table_bleu_case(),
    "rouge": rouge_case(),
    "rouge_155": rouge_155_case(),
    "rouge_recall": rouge_recall_case(),
    "rouge_limited": rouge_limited_case(),
    "overlap": overlap_case(),
    "diversity": diversity_case(),
    "frequency_groups": frequency_groups_case(),
    "ngram_diversity": ngram_diversity_case(),
    "sample_perplexity": sample_perplexity_case(),
    "entity_precision": entity_precision_case(),
    "copying": copying_case(),
    "factcc": verdict_case("factcc", "FACTCC", documents, lambda *given: sum(factcc(*given), [])),
    "tapex": verdict_case("tapex-acc", "TAPEX", tables, tapex),
    "tapas": verdict_case("tapas-acc", "TAPAS", tables, tapas),
    "nli": verdict_case("nli-acc", "NLI", linked, nli),
    "dae": dae_case(),
    "coherence": coherence_case(),
    "mauve": mauve_case(),
}

VERDICTS = {"factcc": "FACTCC", "tapex": "TAPEX", "tapas": "TAPAS", "nli": "NLI"}
"""Families whose verifier answers half of the rows one way."""
