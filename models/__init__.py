"""Training objectives, one LightningModule per file. METHODS lists them all."""

from dataclasses import dataclass

from bench.base.entries import Entry


@dataclass(frozen=True)
class MethodEntry(Entry):
    """A method, its variants and its controls.

    Args:
        variants: named settings of the same class, `section.name` to value. With `evaluation_variant.*` nothing is
            trained: the variant evaluates the cell of the method itself in another way. `parent` starts from another
            method's cell.
        controls: names of methods that would explain its gain away; `--method all` runs them too.
        baseline: whether no weight is trained for it: it writes texts without a model, or counts tokens.
        tuned_by: settings that decide its rank among methods of its kind; without a grid over them a result is marked
            `untuned`.
    """

    controls: tuple[str, ...] = ()
    baseline: bool = False
    tuned_by: str = ""


RELEASED = {"released": {"method.variant": "released"}}

UNTRAINED = {"trainer.steps": 0, "trainer.epochs": 0}

METHODS: dict[str, MethodEntry] = {
    "mle": MethodEntry(
        "bench.models.mle:MLE",
        "cross-entropy on the next token",
        "maximum likelihood",
        variants={
            "decoupled": {"evaluation_variant.distribution": "decoupled"},
            "matched": {"evaluation_variant.matched": "f2softmax"},
            "continued": {"parent": "mle"},
            "untrained": UNTRAINED,
        },
    ),
    "face": MethodEntry(
        "bench.models.face:FACE",
        "cross-entropy weighted by how often the model says a token",
        "Jiang et al. 2019",
        variants=RELEASED,
        controls=("mle.continued",),
    ),
    "ul_token": MethodEntry(
        "bench.models.ul_token:ULToken",
        "unlikelihood of tokens that have already occurred",
        "Welleck et al. 2020",
        variants=RELEASED,
    ),
    "ul_seq": MethodEntry(
        "bench.models.ul_seq:ULSeq",
        "unlikelihood of what the model itself repeats",
        "Welleck et al. 2020",
        variants=RELEASED,
        controls=("mle.continued",),
    ),
    "ul_token_seq": MethodEntry(
        "bench.models.ul_token_seq:ULTokenSeq",
        "both forms of unlikelihood",
        "Welleck et al. 2020",
        variants=RELEASED,
        controls=("mle.continued",),
    ),
    "trime": MethodEntry(
        "bench.models.trime:TRIME",
        "cache language model trained with its cache",
        "Zhong et al. 2022",
        variants=RELEASED,
    ),
    "histalign": MethodEntry(
        "bench.models.histalign:HistAlign",
        "cache language model with an order-informed contrastive term",
        "Wan et al. 2023",
        variants=RELEASED,
        controls=("trime",),
    ),
    "f2softmax": MethodEntry(
        "bench.models.f2softmax:F2Softmax",
        "a frequency class first, then a token of it",
        "Choi et al. 2020",
        variants={
            "released": {"method.classes": "released"},
            "posterior": {"evaluation_variant.distribution": "posterior"},
            "fixed_eq_token": {"method.classes": "fixed_eq_token", "method.number": 8},
            "fixed_eq_freq": {"method.classes": "fixed_eq_freq", "method.number": 8},
        },
        controls=("mle.decoupled", "mle.matched"),
    ),
    "seq2seq": MethodEntry(
        "bench.models.seq2seq:Seq2Seq",
        "BiLSTM with attention and copying",
        "Peng et al. 2019",
        variants={"untrained": UNTRAINED},
        tuned_by="optim.lr",
    ),
    "attexp": MethodEntry(
        "bench.models.attexp:AttExp",
        "Seq2Seq that attends to an exemplar and copies from it",
        "Peng et al. 2019",
        controls=("copy_exemplar", "lead"),
        tuned_by="optim.lr",
    ),
    "adadec": MethodEntry(
        "bench.models.adadec:AdaDec",
        "Seq2Seq whose decoder weights are made for an exemplar",
        "Peng et al. 2019",
        variants={"const": {"backbone.exemplar": "constant"}, "swapped": {"evaluation_variant.exemplars": "swapped"}},
        controls=("adadec.const", "adadec.swapped", "copy_exemplar", "lead"),
        tuned_by="optim.lr",
    ),
    "adadec_attexp": MethodEntry(
        "bench.models.adadec_attexp:AdaDecAttExp",
        "AdaDec and AttExp together",
        "Peng et al. 2019",
        controls=("adadec.const", "copy_exemplar", "lead"),
        tuned_by="optim.lr",
    ),
    "copy_exemplar": MethodEntry(
        "bench.models.baselines:CopyExemplar", "writes the exemplar as it is", "Peng et al. 2019", baseline=True
    ),
    "lead": MethodEntry(
        "bench.models.baselines:Lead",
        "writes the first words of the source",
        "a baseline of summarisation",
        baseline=True,
    ),
    "unigram": MethodEntry(
        "bench.models.unigram:Unigram",
        "how often each token is a training target",
        "a trivial control",
        baseline=True,
    ),
    "bigram": MethodEntry(
        "bench.models.bigram:Bigram",
        "how often each token followed the one before it, smoothed",
        "Witten and Bell 1991",
        baseline=True,
    ),
}

ALIASES: dict[str, tuple[str, ...]] = {"unlikelihood": ("ul_token", "ul_seq", "ul_token_seq")}
"""Names that stand for several methods."""

__all__ = ["ALIASES", "METHODS", "MethodEntry"]
