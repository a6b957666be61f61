"""Training objectives, one LightningModule per file. Reading METHODS answers: what is there?"""

from bench.entries import Entry

METHODS: dict[str, Entry] = {
    "mle": Entry("bench.models.mle:MLE", "cross-entropy on the next token", "maximum likelihood"),
    "trime": Entry(
        "bench.models.trime:TRIME",
        "cache language model trained with its cache",
        "Zhong et al. 2022",
        variants={"released": {"variant": "released"}},
    ),
    "histalign": Entry(
        "bench.models.histalign:HistAlign",
        "cache language model with an order-informed contrastive term",
        "Wan et al. 2023",
        variants={"released": {"variant": "released"}},
    ),
}

__all__ = ["METHODS"]
