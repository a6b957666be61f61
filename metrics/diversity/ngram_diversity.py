"""N-gram diversity of open-ended text: Meister et al.'s mean (HistAlign, section 5.3) and SimCTG's product.

Both divide the different n-grams of a text by all its n-grams, and combine orders and texts in different ways:

`ngram-diversity`: the mean over n = 1 to 4 within a text, then the mean over texts (Meister et al. 2023, "Locally
Typical Sampling"; HistAlign cites it and released no code). A text shorter than 4 tokens has the mean over the orders
that it has n-grams of; an empty text is left out.

`simctg-diversity`: the product over n = 2 to 4 of ratios pooled over all texts (Su et al. 2022, "A Contrastive
Framework for Neural Text Generation"). `released` follows their code, which never looks at the last n-gram of a text
and rounds the share of repeated n-grams of each order to two decimals of a percentage; `paper` does neither. An n-gram
that two texts share counts for each of them, in both.

The plain columns are of words between white space, as in SimCTG's code, and compare models with different tokenizers;
`/tokens` are of token ids, where rows have them.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import numpy as np

from bench.metrics.diversity.ngrams import Texts, count_ngrams, flatten, lengths_of, n_grams
from bench.metrics.diversity.token_names import column_name, tokenisation
from bench.metrics.score import NOT_APPLICABLE, Gold, Row, Score, explained, field_of_all, ordered, score_of_sums
from bench.metrics.sums import mean

Definition = Literal["released", "paper"]
RULES: dict[Definition, str] = {"released": ", last n-gram left out, rounded", "paper": ""}
"""Definitions of SimCTG's product, with what the signature says of them."""
MAX_N = 4
SIMCTG_MIN_N = 2
TOO_SHORT = "no text that is long enough"
NO_TOKENS = f"{NOT_APPLICABLE}rows without token_ids"


def simctg_diversity(texts: Texts, definition: Definition = "released") -> float | None:
    """Return SimCTG's diversity in percent; higher means more diverse.

    None when no text is long enough for an n-gram of some order, where their code divides by zero.

    Args:
        texts: token ids, or words as `whitespace_ids` numbers them.
        definition: `released` or `paper`.

    >>> texts = [[1, 2, 1, 2, 1], [3, 4, 5, 6]]
    >>> round(simctg_diversity(texts, "paper"), 4)  # 5/7 * 4/5 * 3/3
    57.1429
    >>> round(simctg_diversity(texts), 4)  # 4/5 * 3/3 * 1/1
    80.0
    """
    flatten(texts)  # refuses what is no token id, in the last place too
    if definition == "released":
        texts = [text[:-1] for text in texts]
    counts, lengths = count_ngrams(texts, MAX_N), lengths_of(texts)
    product = 1.0
    for n in range(SIMCTG_MIN_N, MAX_N + 1):
        kinds, total = int(counts[n - 1].kinds_by_text().sum()), int(n_grams(lengths, n).sum())
        if not total:
            return None
        share = kinds / total
        if definition == "released":
            share = 1 - round(100 * (1 - share), 2) / 100
        product *= share
    return 100.0 * product


def ngram_diversity_column(texts: Texts, counted: str, ending: str) -> Score:
    """Return the column of Meister et al.'s diversity, None when all texts are empty.

    Args:
        texts: token ids, or words as `whitespace_ids` numbers them.
        counted: part of the signature that names what the n-grams are of.
        ending: what the column's name has at its end.

    >>> round(ngram_diversity_column([[1, 2, 1, 2, 1], [1, 1]], "", "").value, 4)  # 2/5 2/4 2/3 2/2, and 1/2 1/1
    69.5833
    """
    lengths = lengths_of(texts)
    diversity, scored = np.zeros(len(lengths)), lengths > 0
    for n, of_order in enumerate(count_ngrams(texts, MAX_N), start=1):
        diversity += of_order.kinds_by_text() / np.maximum(n_grams(lengths, n), 1)
    diversity /= np.maximum(np.minimum(lengths, MAX_N), 1)  # orders that a text has; an empty one has the value 0
    sums = np.stack([diversity, scored], axis=1).tolist()
    signature = f"ngram-diversity|n:1-{MAX_N}|mean over:n, texts|texts:not empty|scale:percent|version:1|{counted}"
    score = score_of_sums(f"ngram-diversity{ending}", mean(), sums, signature, higher_is_better=True, why=TOO_SHORT)
    return replace(score, n=int(scored.sum()))


def ngram_diversity_scores(rows: Sequence[Row], gold: Gold) -> list[Score]:
    """Score texts by Meister et al.'s n-gram diversity and by SimCTG's, of words and of tokens.

    A value is None where it is undefined: no text is long enough, or rows have no token ids.

    Args:
        rows: `{"id", "text"}`, with `token_ids` and `reference_ids` if the task is open-ended.
        gold: for its ids only.

    Raises:
        ValueError: the ids are not those of `gold`, or `token_ids` in some rows only.
    """
    rows = ordered(rows, gold)
    words, tokens = whitespace_ids([row["text"] for row in rows]), field_of_all(rows, "token_ids")
    columns = _columns(words, "words:whitespace", "")
    if tokens is None:
        return [*columns, *_columns([], NO_TOKENS, "/tokens")]
    return [*columns, *_columns(tokens, tokenisation(field_of_all(rows, "reference_ids")), "/tokens")]


def _columns(texts: Texts, counted: str, ending: str) -> list[Score]:
    columns = [ngram_diversity_column(texts, counted, ending)]
    for definition, rule in RULES.items():
        name = column_name("simctg-diversity", definition, "released") + ending
        options = f"n:{SIMCTG_MIN_N}-{MAX_N}|definition:{definition}|product of:pooled ratios{rule}"
        signature = f"simctg-diversity|{options}|scale:percent|version:1|{counted}"
        score = Score(name, simctg_diversity(texts, definition), "percent", True, len(texts), signature)
        columns.append(explained(score, TOO_SHORT))
    return columns


def whitespace_ids(texts: Sequence[str]) -> list[list[int]]:
    """Return the words between white space as numbers, with case and punctuation kept, as in SimCTG's code.

    >>> whitespace_ids(["the cat the hat", ""])
    [[0, 1, 0, 2], []]
    """
    numbers: dict[str, int] = {}
    return [[numbers.setdefault(word, len(numbers)) for word in text.split()] for text in texts]
