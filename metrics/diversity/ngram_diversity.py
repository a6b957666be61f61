"""N-gram diversity of open-ended text: Meister et al.'s mean (HistAlign, section 5.3) and SimCTG's product.

Both divide the different n-grams of a text by all its n-grams, and put orders and texts together in another way:

`ngram_diversity`: the mean over n = 1 to 4 within a text, then the mean over texts (Meister et al. 2023, "Locally
Typical Sampling"; HistAlign cites it and released no code).

`simctg_diversity`: the product over n = 2 to 4 of ratios pooled over all texts (Su et al. 2022, "A Contrastive
Framework for Neural Text Generation"). `released` follows their code, which never looks at the last n-gram of a text
and rounds the share of repeated n-grams of each order to two decimals of a percentage; `paper` does neither. An n-gram
that two texts share counts for each of them, in both.

The plain columns of stored rows are of words between white space, as SimCTG's code takes them, and compare models with
different tokenizers; `/tokens` are of token ids, where rows have them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import numpy as np

from bench.metrics.diversity.ngrams import Texts, count_ngrams, flatten, lengths_of, n_grams
from bench.metrics.diversity.token_rows import column_name, tokenisation, tokens_of
from bench.metrics.score import Gold, Row, Score, explained, ordered, score_of_sums
from bench.metrics.sums import mean

__all__ = [
    "DEFINITIONS",
    "Definition",
    "ngram_diversity",
    "ngram_diversity_scores",
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
TOO_SHORT = "no text that is long enough"
NO_TOKENS = "not applicable: rows without token_ids"


def ngram_diversity(texts: Texts) -> float | None:
    """Return Meister et al.'s n-gram diversity in percent; higher means more diverse.

    A text shorter than 4 tokens has the mean over the orders that it has n-grams of; an empty one is left out; None
    when all are.

    Args:
        texts: token ids, or words as `whitespace_ids` numbers them.

    >>> round(ngram_diversity([[1, 2, 1, 2, 1], [1, 1]]), 4)  # mean of 2/5 2/4 2/3 2/2, and of 1/2 1/1
    69.5833
    """
    return _mean_column(texts, "", "").value


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
    _check(definition)
    flatten(texts)  # refuses what is no token id, in the last place too
    if definition == "released":
        texts = [text[:-1] for text in texts]
    counts, lengths = count_ngrams(texts, MAX_N), lengths_of(texts)
    product = 1.0
    for n in range(SHORTEST_N, MAX_N + 1):
        kinds, total = int(counts[n - 1].kinds_by_text().sum()), int(n_grams(lengths, n).sum())
        if not total:
            return None
        share = kinds / total
        if definition == "released":
            share = 1 - round(100 * (1 - share), 2) / 100
        product *= share
    return 100.0 * product


def ngram_diversity_scores(rows: Sequence[Row], gold: Gold) -> list[Score]:
    """Score texts by Meister et al.'s n-gram diversity and by SimCTG's, of words and of tokens.

    A value is None where it is not defined: no text that is long enough, or rows without token ids.

    Args:
        rows: `{"id", "text"}`, with `token_ids` and `reference_ids` if the task is open-ended.
        gold: for its ids only.

    Raises:
        ValueError: other ids than the gold's, or `token_ids` in some rows only.
    """
    rows = ordered(rows, gold)
    words, tokens = whitespace_ids([row["text"] for row in rows]), tokens_of(rows, "token_ids")
    columns = _columns(words, "words:whitespace", "")
    if tokens is None:
        return [*columns, *_columns([], NO_TOKENS, "/tokens")]
    return [*columns, *_columns(tokens, tokenisation(tokens_of(rows, "reference_ids")), "/tokens")]


def _columns(texts: Texts, counted: str, ending: str) -> list[Score]:
    columns = [_mean_column(texts, counted, ending)]
    for definition in DEFINITIONS:
        name = column_name("simctg-diversity", definition, DEFINITIONS[0]) + ending
        value, signed = simctg_diversity(texts, definition), simctg_signature(definition, counted)
        columns.append(explained(Score(name, value, "percent", True, len(texts), signed), TOO_SHORT))
    return columns


def _mean_column(texts: Texts, counted: str, ending: str) -> Score:
    """Return the column of Meister et al.'s diversity; `counted` is what the n-grams are of."""
    lengths = lengths_of(texts)
    diversity, there = np.zeros(len(lengths)), lengths > 0
    for n, of_order in enumerate(count_ngrams(texts, MAX_N), start=1):
        diversity += of_order.kinds_by_text() / np.maximum(n_grams(lengths, n), 1)
    diversity /= np.maximum(np.minimum(lengths, MAX_N), 1)  # orders that a text has; an empty one has the value 0
    sums = np.stack([diversity, there], axis=1).tolist()
    name, signed = f"ngram-diversity{ending}", signature(counted)
    score = score_of_sums(name, mean(), sums, signed, higher_is_better=True, why=TOO_SHORT)
    return replace(score, n=int(there.sum()))


def whitespace_ids(texts: Sequence[str]) -> list[list[int]]:
    """Return the words of texts between white space, as SimCTG's code takes them: case and marks kept, each a number.

    >>> whitespace_ids(["the cat the hat", ""])
    [[0, 1, 0, 2], []]
    """
    numbers: dict[str, int] = {}
    ids = []
    for text in texts:
        ids.append([numbers.setdefault(word, len(numbers)) for word in text.split()])
    return ids


def signature(counted: str) -> str:
    """Name everything the score depends on, for the store and the leaderboard.

    Args:
        counted: what the n-grams are of, e.g. `words:whitespace`.

    >>> signature("words:whitespace")
    'ngram-diversity|n:1-4|mean over:n, texts|texts:not empty|scale:percent|version:1|words:whitespace'
    """
    return f"ngram-diversity|n:1-{MAX_N}|mean over:n, texts|texts:not empty|scale:percent|version:1|{counted}"


def simctg_signature(definition: Definition, counted: str) -> str:
    """Name everything the product depends on; `counted` as for `signature`.

    >>> simctg_signature("paper", "words:whitespace")
    'simctg-diversity|n:2-4|definition:paper|product of:pooled ratios|scale:percent|version:1|words:whitespace'
    """
    _check(definition)
    rule = {"paper": "", "released": ", last n-gram left out, rounded"}[definition]
    name = f"simctg-diversity|n:{SHORTEST_N}-{MAX_N}|definition:{definition}"
    return f"{name}|product of:pooled ratios{rule}|scale:percent|version:1|{counted}"


def _check(definition: str) -> None:
    if definition not in DEFINITIONS:
        raise ValueError(f"definition {definition!r} is unknown; there are: {', '.join(DEFINITIONS)}")
