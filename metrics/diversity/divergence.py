"""How often tokens are generated, beside how often they truly occur: KLD, JSD, entropy, Uniq (F2-Softmax 4.1.6)."""

from __future__ import annotations

import math

from bench.metrics.diversity.ngrams import Integers, Texts, count_ngrams

__all__ = [
    "entropy",
    "jsd",
    "jsd_from_counts",
    "jsd_signature",
    "kld",
    "kld_from_counts",
    "kld_signature",
    "uniq",
    "uniq_signature",
]

MISSING = 1e-10
"""Frequency of a token that one side lacks; the others are not scaled down for it."""


def kld(texts: Texts, references: Texts) -> float | None:
    """Return the Kullback-Leibler divergence KL(true || generated) of the frequencies of tokens, in nats.

    The paper does not say which way round, nor what a token counts that one side lacks; this is its authors' code: its
    frequency there is 1e-10. So a token never generated costs about 23 nats times its true frequency, which is most of
    a poor model's value, and one that is only generated about -2e-9. None when either side has no token.

    Args:
        texts: token ids of the generated texts.
        references: token ids of the true texts.

    >>> round(kld([[1, 1, 2]], [[1, 2, 2]]), 6), round(math.log(2) / 3, 6)
    (0.231049, 0.231049)
    """
    return kld_from_counts(*_token_counts(texts, references))


def kld_from_counts(generated: Integers, true: Integers) -> float | None:
    """Return `kld` from counts of the same tokens on both sides, `[kinds]` each."""
    if not (generated.any() and true.any()):
        return None
    seen = (true > 0) | (generated > 0)
    pairs = zip((true[seen] / true.sum()).tolist(), (generated[seen] / generated.sum()).tolist(), strict=True)
    return math.fsum((p or MISSING) * math.log((p or MISSING) / (q or MISSING)) for p, q in pairs)


def jsd(texts: Texts, references: Texts) -> float | None:
    """Return the Jensen-Shannon divergence of generated and true tokens in nats: 0 for equal, log 2 for disjoint ones.

    Bounded and symmetric, unlike `kld`: the number of tokens never generated does not swamp it. None when either side
    has no token.

    >>> jsd([[1, 2]], [[3, 4]]) == math.log(2), jsd([[1, 2]], [[2, 1]])
    (True, 0.0)
    """
    return jsd_from_counts(*_token_counts(texts, references))


def jsd_from_counts(generated: Integers, true: Integers) -> float | None:
    """Return `jsd` from counts of the same tokens on both sides, `[kinds]` each."""
    if not (generated.any() and true.any()):
        return None
    p, q = (true / true.sum()).tolist(), (generated / generated.sum()).tolist()
    halves = ((a, (a + b) / 2) for pair in zip(p, q, strict=True) for a, b in (pair, pair[::-1]))
    return math.fsum(a * math.log(a / middle) for a, middle in halves if a) / 2


def entropy(texts: Texts) -> float | None:
    """Return the entropy of the tokens of all texts together in nats; None without a token.

    >>> entropy([[1, 2], [3, 4]]) == math.log(4)
    True
    """
    (tokens,) = count_ngrams(texts, 1)
    counts, _ = tokens.sides(tokens.n_texts)
    total = int(counts.sum())
    return math.fsum(-c / total * math.log(c / total) for c in counts.tolist()) if total else None


def uniq(texts: Texts) -> int:
    """Return how many different tokens all texts together have (uniq-seq of Welleck et al. 2020).

    It grows with the number and length of the texts: compare at equal ones.

    >>> uniq([[1, 2, 1], [2, 3]])
    3
    """
    return count_ngrams(texts, 1)[0].kinds


def kld_signature() -> str:
    """Name everything the score depends on but the tokenizer, for the store and the leaderboard."""
    return f"kld|definition:f2_code|of:tokens|from:true|to:generated|missing:{MISSING:g}|unit:nats|version:1"


def jsd_signature() -> str:
    """Name everything the score depends on but the tokenizer, for the store and the leaderboard."""
    return "jsd|of:tokens|weights:equal|unit:nats|version:1"


def uniq_signature() -> str:
    """Name everything the score depends on but the tokenizer, for the store and the leaderboard."""
    return "uniq|of:tokens|texts:pooled|version:1"


def _token_counts(texts: Texts, references: Texts) -> tuple[Integers, Integers]:
    return count_ngrams([*texts, *references], 1)[0].sides(len(texts))
