"""Metrics: pure functions and torchmetrics classes over them. Reading METRICS answers: what is there?"""

from dataclasses import dataclass

from bench.entries import Entry


@dataclass(frozen=True)
class Metric(Entry):
    """A metric family over stored rows of one kind.

    Args:
        kind: `likelihood`, `probe`, `spectrum` or `generation`.
        version: raise it when the same rows would score otherwise.
        gold: what it compares rows with: `target`, `references`, `source`, or a field of the task's rows.
    """

    kind: str = ""
    version: int = 1
    gold: tuple[str, ...] = ("target", "references")


METRICS: dict[str, Metric] = {
    "perplexity": Metric("bench.metrics.scorers:perplexity_scores", "per token, word and byte", kind="likelihood"),
    "cache_accuracy": Metric(
        "bench.metrics.scorers:cache_accuracy_scores",
        "Acc@k of head, cache and both on two-word prompts",
        "HistAlign section 5.3",
        kind="probe",
    ),
    "matrix_rank": Metric(
        "bench.metrics.scorers:matrix_rank_scores",
        "rank of the log-probability matrix",
        "HistAlign section 4.1",
        kind="spectrum",
    ),
    "table_bleu": Metric(
        "bench.metrics.scorers:table_bleu_scores",
        "BLEU-1/2/3 against all sentences of the table, corpus and mean-sentence scale",
        "Chen et al. 2020",
        kind="generation",
    ),
    "rouge": Metric(
        "bench.metrics.overlap_scorer:rouge_scores",
        "ROUGE-1/2/3/4/L/Lsum F1 with stems, best reference; None for what is not in Latin letters",
        "Lin 2004",
        kind="generation",
        version=2,
    ),
    "rouge_recall": Metric(
        "bench.metrics.overlap_scorer:rouge_recall_scores",
        "ROUGE-1/2/L recall of the first 75 bytes, references pooled (ROUGE-1.5.5) and by jackknife",
        "Over et al. 2007",
        kind="generation",
    ),
    "overlap": Metric(
        "bench.metrics.overlap_scorer:overlap_scores",
        "corpus BLEU and chrF of sacrebleu",
        "Post 2018; Popovic 2015",
        kind="generation",
    ),
    "diversity": Metric(
        "bench.metrics.diversity_scorer:diversity_scores",
        "KLD, MS-Jaccard, Self-BLEU, Distinct, Rep, Uniq of continuations",
        "F2-Softmax section 4.1.6",
        kind="generation",
    ),
    "ngram_diversity": Metric(
        "bench.metrics.ngram_diversity_scorer:ngram_diversity_scores",
        "n-gram diversity of words and of tokens: Meister's mean and SimCTG's product",
        "HistAlign section 5.3; Meister et al. 2023; Su et al. 2022",
        kind="generation",
        gold=(),
    ),
    "entity_precision": Metric(
        "bench.metrics.entity_precision:entity_precision_scores",
        "share of a summary's named entities that the source has, levels 0/1/2; None for lower-case text",
        "Nan et al. 2021",
        needs="spaCy and a model, en_core_web_lg in the paper",
        kind="generation",
        gold=("source",),
    ),
    "copying": Metric(
        "bench.metrics.copying_scorer:copying_scores",
        "share of n-grams that stand in the source, or do not; longest copied span",
        "See et al. 2017; Narayan et al. 2018",
        kind="generation",
        gold=("source",),
    ),
    "factcc": Metric(
        "bench.metrics.factcc:factcc_scores",
        "share of claims that FactCC finds consistent with the source",
        "Kryscinski et al. 2020",
        needs="manueldeprada/FactCC in the hub cache, or BENCH_FACTCC naming a folder",
        kind="generation",
        gold=("source",),
    ),
    "tapex": Metric(
        "bench.metrics.tapex:tapex_scores",
        "share of sentences that TAPEX finds entailed by the table",
        "Liu et al. 2022",
        needs="microsoft/tapex-large-finetuned-tabfact in the hub cache, or BENCH_TAPEX naming a folder",
        kind="generation",
        gold=("table",),
    ),
    "tapas": Metric(
        "bench.metrics.tapas:tapas_scores",
        "share of sentences that TAPAS finds entailed by the table",
        "Eisenschlos et al. 2020",
        needs="google/tapas-large-finetuned-tabfact in the hub cache, or BENCH_TAPAS naming a folder",
        kind="generation",
        gold=("table",),
    ),
    "coherence": Metric(
        "bench.metrics.coherence:coherence_scores",
        "cosine of the sentence embeddings of prompt and continuation",
        "HistAlign section 5.3; Su et al. 2022; Gao et al. 2021",
        needs="a SimCSE encoder in the hub cache, or BENCH_SIMCSE naming an encoder or folder",
        kind="generation",
        gold=("source",),
    ),
    "mauve": Metric(
        "bench.metrics.mauve:mauve_scores",
        "MAUVE of continuations against the true ones, by features of GPT-2 large",
        "Pillutla et al. 2021",
        needs="mauve-text, and gpt2-large in the hub cache or BENCH_MAUVE naming a model or folder",
        kind="generation",
        gold=(),
    ),
    "sp_acc": Metric(
        "bench.metrics.sp_acc:sp_acc_scores",
        "share of sentences whose best-ranked logical forms are true, over programs that the authors' search found",
        "Chen et al. 2020",
        needs="BENCH_SP_PROGRAMS naming a file of programs, BENCH_SP_RANKER naming the folder of the ranker",
        kind="generation",
        gold=("title",),
    ),
}

__all__ = ["METRICS", "Metric"]
