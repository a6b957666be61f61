"""Training objectives, which are LightningModules. METHODS lists them all."""

from dataclasses import dataclass
from functools import partial
from typing import Literal

from bench.base.registry import Entry


@dataclass(frozen=True)
class MethodEntry(Entry):
    """A method, its variants and its controls.

    Args:
        variants: named settings of the same class, `section.name` to value. With `evaluation_variant.*` nothing is
            trained: the variant evaluates the run of the method itself in another way. `parent` starts from the run of
            another method. `class` is another class, which starts from it and trains nothing. Each has a `summary`,
            one line about it.
        controls: names of methods that would explain its gain away; `--method all` runs them too.
        baseline: whether no weight is trained for it: it writes texts without a model, or counts tokens.
        tuned_by: settings that decide its rank among methods of its kind; without a grid over them a result is marked
            `untuned`.
        group: `papers` of the methods of the papers that are reproduced here and what they are compared with, `modern`
            of the others.
        source: what its equations were read in. What rests on memory carries no claim of a paper.
    """

    controls: tuple[str, ...] = ()
    baseline: bool = False
    tuned_by: str = ""
    group: Literal["papers", "modern"] = "papers"
    source: Literal["paper body", "released code", "secondary", "memory"] = "paper body"


AS_RELEASED = "as the authors' released code has it"
RELEASED = {"released": {"method.variant": "released", "summary": AS_RELEASED}}
MEAN = {
    "mean": {
        "method.variant": "mean",
        "summary": "the mean over pairs of memories in place of the sum of equation 5: our own, not published",
    }
}
RELEASED_BILSTM = {
    "released": {"backbone.variant": "released", "summary": "with the model of the authors' released code"}
}
"""Of methods whose difference is in their model."""

MEMORIES = ("mle.cache", "mle.knn")
"""What explains the gain of a trained cache: memories that nothing was trained for."""

DECODERS = ("mle.penalty", "mle.min_p", "mle.typical")
"""What explains less repetition and more diversity: decoders that nothing was trained for."""

MODERN = partial(MethodEntry, group="modern", source="released code")
BASELINE = partial(MethodEntry, baseline=True)

EXTERNAL = "mle.external"
"""The method of a model that was trained elsewhere."""

UNTRAINED = {"trainer.steps": 0, "trainer.epochs": 0, "summary": "with the weights that it has before the first step"}

METHODS: dict[str, MethodEntry] = {
    "mle": MethodEntry(
        "bench.models.mle:MLE",
        "cross-entropy on the next token",
        "maximum likelihood",
        variants={
            "decoupled": {
                "evaluation_variant.distribution": "decoupled",
                "summary": "generates as F2-Softmax does: first a class of tokens, then a token of it",
            },
            "matched": {
                "evaluation_variant.matched": "f2softmax",
                "summary": "top-k sampling with the k that is as diverse as F2-Softmax",
            },
            "continued": {"parent": "mle", "summary": "the extra steps of a fine-tuned method, with the old loss"},
            "cache": {
                "class": "bench.models.interpolated:MLECache",
                "summary": "with a continuous cache (Grave et al. 2017)",
            },
            "knn": {
                "class": "bench.models.interpolated:MLEKNN",
                "summary": "with nearest neighbours among its training states (Khandelwal et al. 2020)",
            },
            "penalty": {
                "class": "bench.models.mle_decoded:MLEPenalty",
                "summary": "with a penalty on tokens that it has generated (Keskar et al. 2019)",
            },
            "min_p": {"class": "bench.models.mle_decoded:MLEMinP", "summary": "min-p sampling (Nguyen et al. 2024)"},
            "typical": {
                "class": "bench.models.mle_decoded:MLETypical",
                "summary": "locally typical sampling (Meister et al. 2023)",
            },
            "contrastive": {
                "class": "bench.models.mle_controls:MLEContrastive",
                "summary": "contrastive search (Su et al. 2022)",
            },
            "tempered": {"class": "bench.models.mle_controls:MLETempered", "summary": "sampled at temperature 1 / 0.7"},
            "calibrated": {
                "class": "bench.models.mle_controls:MLECalibrated",
                "summary": "at the temperature that fits validation text best (Guo et al. 2017)",
            },
            "untrained": UNTRAINED,
            "external": {**UNTRAINED, "summary": "a model that was trained elsewhere, with the weights that it has"},
        },
    ),
    "face": MethodEntry(
        "bench.models.face:FACE",
        "cross-entropy weighted by how often the model predicts a token",
        "Jiang et al. 2019",
        variants=RELEASED,
        controls=("mle.continued", *DECODERS),
    ),
    "ul_token": MethodEntry(
        "bench.models.ul_token:ULToken",
        "unlikelihood of tokens that have already occurred",
        "Welleck et al. 2020",
        variants=RELEASED,
        controls=DECODERS,
    ),
    "ul_seq": MethodEntry(
        "bench.models.ul_seq:ULSeq",
        "unlikelihood of what the model repeats in texts that it generates",
        "Welleck et al. 2020",
        variants=RELEASED,
        controls=("mle.continued", *DECODERS),
    ),
    "ul_token_seq": MethodEntry(
        "bench.models.ul_seq:ULTokenSeq",
        "both forms of unlikelihood",
        "Welleck et al. 2020",
        variants=RELEASED,
        controls=("mle.continued", *DECODERS),
    ),
    "trime": MethodEntry(
        "bench.models.trime:TRIME",
        "cache language model trained with its cache",
        "Zhong et al. 2022",
        variants={"released": {"method.variant": "released", "summary": "as HistAlign's released code has it"}},
        controls=MEMORIES,
    ),
    "histalign": MethodEntry(
        "bench.models.histalign:HistAlign",
        "cache language model with an order-informed contrastive term",
        "Wan et al. 2023",
        variants={**RELEASED, **MEAN},
        controls=MEMORIES,
    ),
    "f2softmax": MethodEntry(
        "bench.models.f2softmax:F2Softmax",
        "a frequency class first, then a token of it",
        "Choi et al. 2020",
        variants={
            "released": {
                "method.classes": "released",
                "summary": "classes cut as another group's published code cuts them",
            },
            "posterior": {
                "evaluation_variant.distribution": "posterior",
                "summary": "generates from one distribution over all tokens (section 4.4.2)",
            },
            "fixed_eq_token": {
                "method.classes": "fixed_eq_token",
                "method.number": 8,
                "summary": "8 classes of equally many tokens (section 4.4.1)",
            },
            "fixed_eq_freq": {
                "method.classes": "fixed_eq_freq",
                "method.number": 8,
                "summary": "8 classes of equal frequency (section 4.4.1)",
            },
        },
        controls=("mle.decoupled", "mle.matched", *DECODERS),
    ),
    "seq2seq": MethodEntry(
        "bench.models.adadec:Seq2Seq",
        "BiLSTM with attention and copying",
        "Peng et al. 2019",
        variants={**RELEASED_BILSTM, "untrained": UNTRAINED},
        tuned_by="trainer.lr",
    ),
    "attexp": MethodEntry(
        "bench.models.adadec:AttExp",
        "Seq2Seq that attends to an exemplar and copies from it",
        "Peng et al. 2019",
        variants=RELEASED_BILSTM,
        controls=("copy_exemplar", "lead"),
        tuned_by="trainer.lr",
    ),
    "adadec": MethodEntry(
        "bench.models.adadec:AdaDec",
        "Seq2Seq whose decoder weights are made for an exemplar",
        "Peng et al. 2019",
        variants={
            **RELEASED_BILSTM,
            "const": {"backbone.exemplar": "constant", "summary": "one learned vector in place of the exemplar"},
            "swapped": {"evaluation_variant.exemplars": "swapped", "summary": "with the exemplar of another row"},
        },
        controls=("adadec.const", "adadec.swapped", "copy_exemplar", "lead"),
        tuned_by="trainer.lr",
    ),
    "adadec_attexp": MethodEntry(
        "bench.models.adadec:AdaDecAttExp",
        "AdaDec and AttExp together",
        "Peng et al. 2019",
        variants=RELEASED_BILSTM,
        controls=("adadec.const", "copy_exemplar", "lead"),
        tuned_by="trainer.lr",
    ),
    "simctg": MODERN(
        "bench.models.simctg:SimCTG",
        "cross-entropy with a contrastive term that spreads the states of a text",
        "Su et al. 2022",
        variants=RELEASED,
        controls=("mle.contrastive", *DECODERS),
    ),
    "ct": MODERN(
        "bench.models.ct:CT",
        "cross-entropy, and the target above each of the preceding tokens",
        "Jiang et al. 2022",
        variants=RELEASED,
        controls=DECODERS,
    ),
    "label_smoothing": MODERN(
        "bench.models.label_smoothing:LabelSmoothing",
        "cross-entropy with a share of the target spread over the vocabulary",
        "Szegedy et al. 2016",
        variants={
            "others": {"method.distribution": "others", "summary": "the share spread over all tokens but the target"},
            "unigram": {
                "method.distribution": "unigram",
                "summary": "the share spread by how often a token is a training target",
            },
        },
        controls=("mle.calibrated",),
        source="secondary",
    ),
    "confidence_penalty": MODERN(
        "bench.models.confidence_penalty:ConfidencePenalty",
        "cross-entropy less a share of the model's entropy",
        "Pereyra et al. 2017",
        controls=("label_smoothing", "mle.calibrated"),
        source="secondary",
    ),
    "gem": MODERN(
        "bench.models.gem:GEM",
        "the target raised against a sharpened copy of the model",
        "Li et al. 2025",
        variants={
            "log_sigmoid": {"method.h": "log_sigmoid", "summary": "h is the log-sigmoid, as in the equation"},
            "released": {"method.h": "log_sigmoid", "method.scale": 0.01, "summary": AS_RELEASED},
        },
        controls=("mle.tempered", *DECODERS),
    ),
    "entmax": MODERN(
        "bench.models.entmax:Entmax",
        "a distribution with exact zeros, and the loss that belongs to it",
        "Peters et al. 2019",
        variants={"sparsemax": {"method.alpha": 2.0, "summary": "the sparsest of its kind, at alpha 2"}},
        controls=DECODERS,
    ),
    "emo": MODERN(
        "bench.models.emo:EMO",
        "wrong tokens cost less the nearer their embedding is to the target's",
        "Ren et al. 2024",
        variants={
            **RELEASED,
            "shuffled": {"method.embedding": "shuffled", "summary": "each token has another token's embedding"},
        },
        controls=("mle.continued", "emo.shuffled"),
    ),
    "mtp": MODERN(
        "bench.models.mtp:MTP",
        "the next tokens too, by heads that are there in training only",
        "Gloeckle et al. 2024",
        source="memory",
    ),
    "ditto": MODERN(
        "bench.models.ditto:Ditto",
        "a repeated span should be less likely than one repetition before",
        "Xu et al. 2022",
        variants=RELEASED,
        controls=("mle.continued", *DECODERS),
    ),
    "gold": MODERN(
        "bench.models.gold:GOLD",
        "off-policy policy gradient on the true texts",
        "Pang and He 2021",
        variants={**RELEASED, "p": {"method.reward": "p", "summary": "rewards are log-probabilities"}},
        controls=("mle.continued",),
    ),
    "scalegrad": MODERN(
        "bench.models.scalegrad:ScaleGrad",
        "tokens that are new in a text get a larger gradient",
        "Lin et al. 2021",
        variants=RELEASED,
        controls=DECODERS,
    ),
    "tailr": MODERN(
        "bench.models.tailr:TaiLr",
        "a token counts less the less likely the model finds it",
        "Ji et al. 2023",
        variants={
            "mixce": {
                "method.form": "mixce",
                "method.eta": 0.3,
                "summary": "a mixture of both cross-entropies (Zhang et al. 2023)",
            },
            "power": {
                "method.form": "power",
                "method.k": 1.0,
                "summary": "1 - p in place of -log p (Li et al. 2025)",
            },
            "power10": {
                "method.form": "power",
                "method.k": 10.0,
                "summary": "(1 - p^10) / 10 in place of -log p (Li et al. 2025)",
            },
            "dft": {
                "method.form": "tailr",
                "method.gamma": 1.0,
                "method.floor": 0.0,
                "summary": "-log p times p, dynamic fine-tuning (Wu et al. 2025)",
            },
        },
        controls=("mle.continued", *DECODERS),
    ),
    "eaft": MODERN(
        "bench.models.eaft:EAFT",
        "a token counts less the more certain the model is",
        "Diao et al. 2026",
    ),
    "asft": MODERN(
        "bench.models.asft:ASFT",
        "dynamic fine-tuning, held near the model before fine-tuning",
        "Zhu et al. 2025",
        controls=("mle.continued", "tailr.dft"),
    ),
    "loss_truncation": MODERN(
        "bench.models.loss_truncation:LossTruncation",
        "rows with the largest losses, which may be noise, are left out",
        "Kang and Hashimoto 2020",
        variants=RELEASED,
        controls=("mle.min_p", "mle.typical"),
        source="secondary",
    ),
    "copy_exemplar": BASELINE(
        "bench.models.baselines:CopyExemplar", "writes the exemplar as it is", "Peng et al. 2019"
    ),
    "lead": BASELINE(
        "bench.models.baselines:Lead",
        "writes the first words of the source",
        "a baseline of summarisation",
    ),
    "unigram": BASELINE(
        "bench.models.ngrams:Unigram",
        "how often each token is a training target",
        "a trivial control",
    ),
    "bigram": BASELINE(
        "bench.models.ngrams:Bigram",
        "how often each token followed the one before it, smoothed",
        "Witten and Bell 1991",
    ),
}

GROUPS = ("papers", "modern")


ALIASES: dict[str, tuple[str, ...]] = {"unlikelihood": ("ul_token", "ul_seq", "ul_token_seq")}
"""Names that stand for several methods."""

__all__ = ["ALIASES", "DECODERS", "EXTERNAL", "GROUPS", "METHODS", "MethodEntry"]
