"""Forgetting: how far fine-tuning has moved a pretrained model on general text, and what that costs.

Both numbers are averages over the same tokens in nats: the negative log-likelihood under the method's own distribution
P, and the divergence KL(P_start || P) from the distribution before fine-tuning. A method that changes nothing on
general text has a divergence of 0 and the likelihood of the model that it started from.
"""

from collections.abc import Sequence

from bench.metrics import sums
from bench.metrics.score import Counts, Family, Gold, Row, Score, score_of_sums

FIELDS = {"nll": ("nll_sum", "tuned"), "kl": ("kl_sum", "start to tuned")}
"""Part of a column's name -> field of the row, and what it is of."""


def _count(rows: Sequence[Row], gold: Gold) -> list[Counts]:
    return [{name: (float(row[field]), row["n_tokens"]) for name, (field, _) in FIELDS.items()} for row in rows]


def _scores(counts: Sequence[Counts]) -> list[Score]:
    return [
        score_of_sums(
            f"forgetting/{name}",
            sums.ratio(1.0),
            [row[name] for row in counts],
            f"forgetting|{name}|of:{of}|per:token|pooled|base:e|text:wikitext-103 test|version:1",
            unit="nats",
            higher_is_better=False,
            why="the rows have no token",
        )
        for name, (_, of) in FIELDS.items()
    ]


forgetting_scores = Family(_count, _scores)
"""Likelihood and divergence from the start; rows are `{"id", "nll_sum", "kl_sum", "n_tokens"}`, in nats."""
