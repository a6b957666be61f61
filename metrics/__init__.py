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
        "ROUGE-1/2/L/Lsum F1 with stems, best reference; None for what is not in Latin letters",
        "Lin 2004",
        kind="generation",
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
}

__all__ = ["METRICS", "Metric"]
