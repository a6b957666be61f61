"""How often tokens are generated, beside how often they truly occur: KLD, JSD, entropy, Uniq (F2-Softmax 4.1.6)."""

from __future__ import annotations

import math

from bench.metrics.diversity.ngrams import Integers, NgramCounts, Texts, count_ngrams
from bench.metrics.score import Score

__all__ = [
    "divergence_columns",
    "entropy",
    "jsd",
    "jsd_from_counts",
    "jsd_signature",
    "kld",
    "kld_from_counts",
    "kld_signature",
    "uniq",
    "uniq_column",
    "uniq_signature",
]

MISSING = 1e-10
"""Frequency of a token that one side lacks; the others are not scaled down for it."""


def kld(texts: Texts, references: Texts) -> float | None:
    """Return the Kullback-Leibler divergence KL(true || generated) of the frequencies of tokens, in nats.

    The paper does not say which way round, nor what a token counts that one side lacks; this is F2-Softmax's code (the
    first commit of a later repository: tasks/papers/f2softmax.toml): its frequency there is 1e-10. So a token never
    generated costs about 23 nats times its true frequency, which is most of a poor model's value, and one that is only
    generated about -2e-9. None when either side has no token.

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
    terms = []
    for p, q in zip((true / true.sum()).tolist(), (generated / generated.sum()).tolist(), strict=True):
        middle = (p + q) / 2
        terms += [share * math.log(share / middle) for share in (p, q) if share]
    return math.fsum(terms) / 2


def entropy(texts: Texts) -> float | None:
    """Return the entropy of the tokens of all texts together in nats; None without a token.

    >>> entropy([[1, 2], [3, 4]]) == math.log(4)
    True
    """
    (tokens,) = count_ngrams(texts, 1)
    counts, _ = tokens.sides(tokens.n_texts)
    total = int(counts.sum())
    if not total:
        return None
    return math.fsum(-count / total * math.log(count / total) for count in counts.tolist())


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


def divergence_columns(tokens: NgramCounts, n_texts: int, tokenisation: str) -> list[Score]:
    """Return the columns `kld` and `jsd`.

    Args:
        tokens: counts of order 1 over all texts and then all true continuations.
        n_texts: how many of them are texts.
        tokenisation: what the signature says of the tokens.
    """
    generated, true = tokens.sides(n_texts)
    by_kld, by_jsd = kld_from_counts(generated, true), jsd_from_counts(generated, true)
    return [
        Score("kld", by_kld, "nats", False, n_texts, f"{kld_signature()}|{tokenisation}"),
        Score("jsd", by_jsd, "nats", False, n_texts, f"{jsd_signature()}|{tokenisation}"),
    ]


def uniq_column(tokens: NgramCounts, tokenisation: str) -> Score:
    """Return the column `uniq`, from counts of order 1 of the texts."""
    signed = f"{uniq_signature()}|{tokenisation}"
    return Score("uniq", float(tokens.kinds), "count", True, tokens.n_texts, signed)


def _token_counts(texts: Texts, references: Texts) -> tuple[Integers, Integers]:
    return count_ngrams([*texts, *references], 1)[0].sides(len(texts))
