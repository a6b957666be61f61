"""MS-Jaccard: how much two sets of texts share, as multisets of n-grams (Alihosseini et al. 2019).

For each order the smaller count of every n-gram, summed, over the larger, summed; MS-Jaccard-n is the geometric mean of
orders 1 to n, in percent: 100 for equal sets, 0 without a shared n-gram (`f2_code`: nearly 0). The value is None from
the first order on that no text or no reference is long enough for, where nothing is compared (F2-Softmax's and the
inventors' code divide by zero, or compare padding). The two sets need not have equally many texts.

Definitions, which differ in what a count is relative to:

`original`: the number of texts, so that longer texts count as unlike. `f2_code`: all n-grams of the side. Also, as in
F2-Softmax's code (the first commit of a later repository: tasks/papers/f2softmax.toml), each text is padded with n-1
symbols at both ends, leaves n-1 shorter and n-1 empty slices of padding behind, equal for all texts, and an n-gram that
a side lacks has frequency 1e-10. That padding raises MS-Jaccard-3 of 100-token texts by several points.
"""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from bench.metrics.diversity.ngrams import NgramCounts, Texts, count_ngrams, flatten
from bench.metrics.diversity.token_names import column_name
from bench.metrics.score import Score

MAX_N = 3
MISSING = 1e-10
RELATIVE_TO = {"original": "per text", "f2_code": f"share, padded, missing {MISSING:g}"}


def ms_jaccard(counts: Sequence[NgramCounts], n_texts: int) -> list[float | None]:
    """Return MS-Jaccard for n = 1, 2, ... by the original definition.

    Args:
        counts: of orders 1, 2, ... in turn, over all texts and then all references.
        n_texts: how many of them are texts.

    >>> ms_jaccard(count_ngrams([[1, 2, 3, 4], [1, 2, 3, 5]], 2), 1)  # 3/5 of the tokens, 2/4 of the pairs
    [60.0, 54.77225575051661]
    """
    ratios = []
    for of_order in counts:
        ours, theirs = of_order.sides(n_texts)
        if not (ours.any() and theirs.any()):
            break
        ours, theirs = ours * (of_order.n_texts - n_texts), theirs * n_texts  # per text, both times both numbers: exact
        ratios.append(int(np.minimum(ours, theirs).sum()) / int(np.maximum(ours, theirs).sum()))
    return _geometric_means(ratios, len(counts))


def ms_jaccard_f2(texts: Texts, references: Texts, max_n: int = MAX_N) -> list[float | None]:
    """Return MS-Jaccard for n = 1 to `max_n` by the definition of F2-Softmax's code.

    Args:
        texts: token ids of the generated texts.
        references: token ids of the true texts.
        max_n: largest order.
    """
    sides = (texts, references)
    longest = [max(map(len, side), default=0) for side in sides]
    padding = [1 + int(flatten([*texts, *references])[0].max(initial=-1))] * (max_n - 1)  # larger than all tokens
    counts = count_ngrams([[*padding, *text, *padding] for side in sides for text in side], max_n)
    ratios = []
    for n, of_order in enumerate(counts[: min(longest)], start=1):
        ours, theirs = (
            _f2_frequencies(*pair, n, max_n) for pair in zip(of_order.sides(len(texts)), sides, strict=True)
        )
        known = (ours > 0) | (theirs > 0)
        ours, theirs = (np.where(side[known] > 0, side[known], MISSING) for side in (ours, theirs))
        ratios.append(math.fsum(np.minimum(ours, theirs).tolist()) / math.fsum(np.maximum(ours, theirs).tolist()))
    return _geometric_means(ratios, max_n)


def _f2_frequencies(counts: NDArray[np.int64], side: Texts, n: int, max_n: int) -> NDArray[np.float64]:
    """Return the frequency of every n-gram of a side, and of its slices of padding, `[kinds + n]`."""
    counts = counts.copy()
    if n < max_n:  # the last is padding only: the largest order's makes too many, n-1 of an empty text are right
        counts[-1] = (n - 1) * sum(not len(text) for text in side)
    slices = [len(side)] * (n - 1)  # of n-1, n-2, ... 1 symbols; and n-1 empty ones
    everything = np.concatenate([counts, slices, [len(side) * (n - 1)]])
    return everything / everything.sum()


def _geometric_means(ratios: Sequence[float], max_n: int) -> list[float | None]:
    """Return the mean of the first 1, 2, ... ratios in percent; None for orders without one."""
    means: list[float | None] = [100.0 * math.prod(ratios[:n]) ** (1 / n) for n in range(1, len(ratios) + 1)]
    return means + [None] * (max_n - len(means))


def ms_jaccard_columns(counts: Sequence[NgramCounts], texts: Texts, references: Texts, tokens: str) -> list[Score]:
    """Return the columns of MS-Jaccard-1 to -3 by both definitions.

    Args:
        counts: of orders 1, 2, ... in turn, at least 3, over all texts and then all references.
        texts: token ids of the generated texts.
        references: token ids of the true texts.
        tokens: part of the signature that names the tokens.
    """
    values = {"original": ms_jaccard(counts[:MAX_N], len(texts)), "f2_code": ms_jaccard_f2(texts, references)}
    columns = []
    for definition, relative in RELATIVE_TO.items():
        for n, value in enumerate(values[definition], start=1):
            name = column_name(f"ms-jaccard-{n}", definition, "original")
            options = f"n:{n}|definition:{definition}|counts:{relative}|mean:geometric 1..n|scale:percent|version:1"
            columns.append(Score(name, value, "percent", True, len(texts), f"ms-jaccard|{options}|{tokens}"))
    return columns
