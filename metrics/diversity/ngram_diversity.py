"""N-gram diversity of open-ended text: Meister et al.'s mean (HistAlign, section 5.3) and SimCTG's product.

Both divide the different n-grams of a text by all its n-grams, and put orders and texts together in another way:

`ngram_diversity`: the mean over n = 1 to 4 within a text, then the mean over texts (Meister et al. 2023, "Locally
Typical Sampling"; HistAlign cites it and released no code).

`simctg_diversity`: the product over n = 2 to 4 of ratios pooled over all texts (Su et al. 2022, "A Contrastive
Framework for Neural Text Generation"). `released` follows their code, which never looks at the last n-gram of a text
and rounds the share of repeated n-grams of each order to two decimals of a percentage; `paper` does neither. An n-gram
that two texts share counts for each of them, in both.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

import numpy as np

from bench.metrics.diversity.ngrams import Integers, Texts, count_ngrams, flatten, lengths_of, n_grams

__all__ = [
    "DEFINITIONS",
    "Definition",
    "kinds_and_lengths",
    "mean_of",
    "ngram_diversity",
    "pooled",
    "product_of",
    "signature",
    "simctg_diversity",
    "simctg_signature",
    "whitespace_ids",
]

Definition = Literal["released", "paper"]
DEFINITIONS: tuple[Definition, ...] = ("released", "paper")
MAX_N = 4
SHORTEST_N = 2
"""Smallest order of SimCTG's product."""


def ngram_diversity(texts: Texts) -> float | None:
    """Return Meister et al.'s n-gram diversity in percent; higher means more diverse.

    A text shorter than 4 tokens has the mean over the orders that it has n-grams of; an empty one is left out; None
    when all are.

    Args:
        texts: token ids, or words as `whitespace_ids` numbers them.

    >>> round(ngram_diversity([[1, 2, 1, 2, 1], [1, 1]]), 4)  # mean of 2/5 2/4 2/3 2/2, and of 1/2 1/1
    69.5833
    """
    return mean_of(kinds_and_lengths(texts))


def simctg_diversity(texts: Texts, definition: Definition = "released") -> float | None:
    """Return SimCTG's diversity in percent; higher means more diverse.

    None when no text is long enough for an n-gram of some order (their code divides by zero).

    Args:
        texts: token ids, or words as `whitespace_ids` numbers them.
        definition: `released` or `paper`.

    >>> texts = [[1, 2, 1, 2, 1], [3, 4, 5, 6]]
    >>> round(simctg_diversity(texts, "paper"), 4)  # 5/7 * 4/5 * 3/3
    57.1429
    >>> round(simctg_diversity(texts), 4)  # 4/5 * 3/3 * 1/1
    80.0
    """
    return product_of(pooled(texts, definition), definition)


def kinds_and_lengths(texts: Texts) -> Integers:
    """Return of each text its different n-grams for n = 1 to 4, and its length, `[texts, 5]`."""
    kinds = [of_order.kinds_by_text() for of_order in count_ngrams(texts, MAX_N)]
    return np.stack([*kinds, lengths_of(texts)], axis=1)


def mean_of(counts: Integers) -> float | None:
    """Return `ngram_diversity` of texts known by `kinds_and_lengths`; their order does not matter to the last bit."""
    found = counts[counts[:, MAX_N] > 0]
    return 100.0 * math.fsum(by_text(found)) / len(found) if len(found) else None


def by_text(counts: Integers) -> list[float]:
    """Return the n-gram diversity of each text from 0 to 1; an empty text has none, and 0 stands here."""
    values = np.zeros(len(counts))
    for n in range(1, MAX_N + 1):
        values += counts[:, n - 1] / np.maximum(n_grams(counts[:, MAX_N], n), 1)
    found: list[float] = (values / np.maximum(np.minimum(counts[:, MAX_N], MAX_N), 1)).tolist()
    return found


def pooled(texts: Texts, definition: Definition) -> Integers:
    """Return different n-grams and n-grams of orders 2 to 4, each summed over texts, `[2, 3]`; add them up freely."""
    _check(definition)
    flatten(texts)  # refuses what is no token id, in the last place too
    counted = texts if definition == "paper" else [text[:-1] for text in texts]
    counts, lengths = count_ngrams(counted, MAX_N), lengths_of(counted)
    orders = range(SHORTEST_N, MAX_N + 1)
    return np.array(
        [[counts[n - 1].kinds_by_text().sum() for n in orders], [n_grams(lengths, n).sum() for n in orders]],
        dtype=np.int64,
    )


def product_of(sums: Integers, definition: Definition) -> float | None:
    """Return `simctg_diversity` of texts known by `pooled`."""
    _check(definition)
    kinds, totals = sums.tolist()
    if not all(totals):
        return None
    shares = [kind / total for kind, total in zip(kinds, totals, strict=True)]
    if definition == "released":
        shares = [1 - round(100 * (1 - share), 2) / 100 for share in shares]
    return 100.0 * math.prod(shares)


def whitespace_ids(texts: Sequence[str]) -> list[list[int]]:
    """Return the words of texts between white space, as SimCTG's code takes them: case and marks kept, each a number.

    >>> whitespace_ids(["the cat the hat", ""])
    [[0, 1, 0, 2], []]
    """
    numbers: dict[str, int] = {}
    return [[numbers.setdefault(word, len(numbers)) for word in text.split()] for text in texts]


def signature(tokenisation: str) -> str:
    """Name everything the score depends on, for the store and the leaderboard.

    Args:
        tokenisation: what the n-grams are of, e.g. `words:whitespace`.

    >>> signature("words:whitespace")
    'ngram-diversity|n:1-4|mean over:n, texts|texts:not empty|scale:percent|version:1|words:whitespace'
    """
    return f"ngram-diversity|n:1-{MAX_N}|mean over:n, texts|texts:not empty|scale:percent|version:1|{tokenisation}"


def simctg_signature(definition: Definition, tokenisation: str) -> str:
    """Name everything the product depends on; `tokenisation` as for `signature`.

    >>> simctg_signature("paper", "words:whitespace")
    'simctg-diversity|n:2-4|definition:paper|product of:pooled ratios|scale:percent|version:1|words:whitespace'
    """
    _check(definition)
    rule = "" if definition == "paper" else ", last n-gram left out, rounded"
    name = f"simctg-diversity|n:{SHORTEST_N}-{MAX_N}|definition:{definition}"
    return f"{name}|product of:pooled ratios{rule}|scale:percent|version:1|{tokenisation}"


def _check(definition: str) -> None:
    if definition not in DEFINITIONS:
        raise ValueError(f"definition {definition!r} is unknown; there are: {', '.join(DEFINITIONS)}")
