"""How often tokens are generated, compared with how often they truly occur: KLD, JSD and Uniq (F2-Softmax 4.1.6)."""

import math

from bench.metrics.diversity.ngrams import Integers, NgramCounts
from bench.metrics.score import Score

MISSING = 1e-10
"""Frequency of a token that one side lacks; the other frequencies are not scaled down for it."""


def kld(generated: Integers, true: Integers) -> float | None:
    """Return the Kullback-Leibler divergence KL(true || generated) of the frequencies of tokens, in nats.

    The paper does not state the direction, nor the frequency of a token that one side lacks; this is F2-Softmax's code
    (the first commit of a later repository: tasks/papers/f2softmax.toml), where it is 1e-10. So a token that is never
    generated adds about 23 nats times its true frequency, which is most of a poor model's value, and one that is only
    generated about -2e-9. None when either side has no token.

    Args:
        generated: counts of the same tokens on both sides, `[kinds]`.
        true: likewise.

    >>> from numpy import array
    >>> round(kld(array([2, 1]), array([1, 2])), 6), round(math.log(2) / 3, 6)
    (0.231049, 0.231049)
    """
    if not (generated.any() and true.any()):
        return None
    seen = (true > 0) | (generated > 0)
    pairs = zip((true[seen] / true.sum()).tolist(), (generated[seen] / generated.sum()).tolist(), strict=True)
    return math.fsum((p or MISSING) * math.log((p or MISSING) / (q or MISSING)) for p, q in pairs)


def jsd(generated: Integers, true: Integers) -> float | None:
    """Return the Jensen-Shannon divergence of generated and true tokens in nats; arguments as for `kld`.

    It is 0 for equal and log 2 for disjoint tokens: bounded and symmetric, unlike `kld`, so that tokens which are never
    generated do not dominate it. None when either side has no token.

    >>> from numpy import array
    >>> jsd(array([1, 1, 0, 0]), array([0, 0, 1, 1])) == math.log(2), jsd(array([1, 1]), array([2, 2]))
    (True, 0.0)
    """
    if not (generated.any() and true.any()):
        return None
    terms = []
    for p, q in zip((true / true.sum()).tolist(), (generated / generated.sum()).tolist(), strict=True):
        middle = (p + q) / 2
        terms += [share * math.log(share / middle) for share in (p, q) if share]
    return math.fsum(terms) / 2


def divergence_columns(counts: NgramCounts, n_texts: int, tokens: str) -> list[Score]:
    """Return the columns `kld` and `jsd`.

    Args:
        counts: of order 1 over all texts and then all true continuations.
        n_texts: how many of them are texts.
        tokens: part of the signature that names the tokens.
    """
    generated, true = counts.sides(n_texts)
    of_kld = f"kld|definition:f2_code|of:tokens|from:true|to:generated|missing:{MISSING:g}|unit:nats|version:1|{tokens}"
    of_jsd = f"jsd|of:tokens|weights:equal|unit:nats|version:1|{tokens}"
    return [
        Score("kld", kld(generated, true), "nats", False, n_texts, of_kld),
        Score("jsd", jsd(generated, true), "nats", False, n_texts, of_jsd),
    ]


def uniq_column(counts: NgramCounts, tokens: str) -> Score:
    """Return the column `uniq`: the number of different tokens of all texts (uniq-seq of Welleck et al. 2020).

    It grows with the number and length of the texts, so compare it at equal ones.

    Args:
        counts: of order 1 of the texts.
        tokens: part of the signature that names the tokens.
    """
    signature = f"uniq|of:tokens|texts:pooled|version:1|{tokens}"
    return Score("uniq", float(counts.kinds), "count", True, counts.n_texts, signature)
