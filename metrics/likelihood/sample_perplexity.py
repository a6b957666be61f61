"""Sample perplexity: of generated texts under a bigram model of human text, the quality side of a trade-off.

The quality of a text may be judged by a language model of human text (the LM score of Caccia et al. 2020). That model
must be the same for every method and none of the models that are compared, so its counts come from the true
continuations of all rows. They are few (some 10,000 tokens), so longer n-grams would seldom occur again.

    p(w | v) = (c(v, w) + T(v) p(w)) / (c(v) + T(v))         T(v): different tokens that followed v
    p(w) = (c(w) + K / (K + 1)) / (N + K)                    K: different tokens, N: tokens

Witten and Bell 1991, method C. All tokens that do not occur in human text are one kind. The first token of a text has
p(w). A low value is no aim in itself, because texts that loop through common pairs have one too: read it together with
diversity.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

from bench.metrics.diversity.ngrams import Texts
from bench.metrics.diversity.token_rows import NO_REFERENCES, TOO_SHORT, token_rows
from bench.metrics.score import Gold, Row, Score, explained

__all__ = ["BigramCounts", "sample_perplexity", "sample_perplexity_scores"]

SIGNATURE = "sample-ppl|model:bigram of true continuations|smoothing:witten-bell C|unseen:one kind|version:1"


class BigramCounts:
    """Counts of tokens and of pairs of neighbours in texts.

    Args:
        texts: token ids; a pair lies within one text.
    """

    def __init__(self, texts: Texts) -> None:
        self.tokens: Counter[int] = Counter()
        self.pairs: Counter[tuple[int, int]] = Counter()
        for text in texts:
            self.tokens.update(text)
            self.pairs.update(pairwise(text))
        self.before: Counter[int] = Counter()
        self.followers: Counter[int] = Counter()
        for (first, _), count in self.pairs.items():
            self.before[first] += count
            self.followers[first] += 1
        self.n = self.tokens.total()

    def probability(self, token: int, before: int | None = None) -> float:
        """Return the probability of a token after another one, or at the beginning of a text.

        >>> counts = BigramCounts([[1, 2, 1, 2]])
        >>> counts.probability(1), counts.probability(9), counts.probability(2, 1)  # (2 + 2/3)/6, 2/3/6, (2 + 4/9)/3
        (0.4444444444444444, 0.1111111111111111, 0.8148148148148149)
        """
        kinds = len(self.tokens)
        alone = (self.tokens[token] + kinds / (kinds + 1)) / (self.n + kinds)
        if before is None or not self.before[before]:
            return alone
        followers = self.followers[before]
        return (self.pairs[before, token] + followers * alone) / (self.before[before] + followers)

    def nll(self, text: Sequence[int]) -> float:
        """Return the negative log-likelihood of a text in nats."""
        if not text:
            return 0.0
        first = -math.log(self.probability(text[0]))
        return math.fsum([first, *(-math.log(self.probability(token, before)) for before, token in pairwise(text))])


def sample_perplexity(texts: Texts, references: Texts) -> float | None:
    """Return the perplexity of texts under a bigram model of the references; None when either side has no token.

    Args:
        texts: token ids of the generated texts.
        references: token ids of the true texts.

    >>> round(sample_perplexity([[1, 2]], [[1, 2, 1, 2]]), 6)  # 1 / sqrt(4/9 * 22/27)
    1.661735
    """
    n_tokens = sum(map(len, texts))
    if not n_tokens or not any(references):
        return None
    model = BigramCounts(references)
    return math.exp(math.fsum(model.nll(text) for text in texts) / n_tokens)


def sample_perplexity_scores(rows: Sequence[Row], gold: Gold) -> list[Score]:
    """Score generated texts by their perplexity under a bigram model of all rows' true continuations.

    The value is None without a generated token, and for tasks that are not open-ended, whose rows have no true
    continuation. It has no sufficient statistics: the model comes from all rows, so no row has a number of its own.

    Args:
        rows: `{"id", "token_ids", "reference_ids"}`: the generated tokens and those of the true continuation.
        gold: for its ids only.

    Raises:
        ValueError: the ids are not those of `gold`, or `token_rows` refuses the rows.
    """
    tokens = token_rows(rows, gold)
    value = sample_perplexity(tokens.texts, tokens.references or [])
    score = Score("sample-ppl", value, "", False, len(rows), f"{SIGNATURE}|{tokens.tokens}")
    return [explained(score, NO_REFERENCES if tokens.references is None else TOO_SHORT)]
