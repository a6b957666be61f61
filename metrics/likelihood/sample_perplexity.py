"""Sample perplexity: of generated texts under a bigram model of human text; the quality side of a trade-off.

A text's quality may be judged by a language model that was made of human text (the LM score of Caccia et al. 2020). The
judge must be the same for every method, and none of the models that are compared. So it is counted from the true
continuations of all rows. They are few (some 10,000 tokens), and longer n-grams would seldom be seen again.

    p(w | v) = (c(v, w) + T(v) p(w)) / (c(v) + T(v))         T(v) kinds of tokens that followed v
    p(w) = (c(w) + K / (K + 1)) / (N + K)                    K kinds of tokens, N tokens

Witten and Bell 1991, method C. All tokens that human text lacks are one kind. The first token of a text has p(w).
A low value is no aim in itself: texts that loop through common pairs have one too. Read it beside diversity.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

from bench.metrics.diversity.ngrams import Texts
from bench.metrics.diversity.token_rows import TOO_SHORT, token_rows
from bench.metrics.score import Gold, Row, Score, explained

__all__ = ["BigramCounts", "sample_perplexity", "sample_perplexity_scores"]

NO_REFERENCES = "rows without reference_ids"
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
    return _column(texts, references, "").value


def sample_perplexity_scores(rows: Sequence[Row], gold: Gold) -> list[Score]:
    """Score generated texts by their perplexity under a bigram model of all rows' true continuations.

    No value without a generated token, or for rows of a task that is not open-ended: they have no continuations.

    Args:
        rows: `{"id", "token_ids", "reference_ids"}`: the generated tokens and those of the true continuation.
        gold: for its ids only.

    Raises:
        ValueError: other ids than the gold's, a row without `token_ids`, or `reference_ids` in some rows only.
    """
    given = token_rows(rows, gold)
    if given.references is None:
        signed = f"{SIGNATURE}|{given.tokens}"
        return [explained(Score("sample-ppl", None, "", False, len(rows), signed), NO_REFERENCES)]
    return [_column(given.texts, given.references, given.tokens)]


def _column(texts: Texts, references: Texts, tokenisation: str) -> Score:
    """Return the column; `tokenisation` is what the signature says of the tokens.

    It has no sums: the judge is made of all rows, so the number of one row is not its own.
    """
    n_tokens = sum(map(len, texts))
    value = None
    if n_tokens and any(references):
        judge = BigramCounts(references)
        value = math.exp(math.fsum(judge.nll(text) for text in texts) / n_tokens)
    score = Score("sample-ppl", value, "", False, len(texts), f"{SIGNATURE}|{tokenisation}")
    return explained(score, TOO_SHORT)
