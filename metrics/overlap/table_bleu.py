"""LogicNLG's BLEU-1/2/3 on both published scales, counted here because nltk gives no sufficient statistics of a row.

Two numbers have this name. LogicNLG and PLOG print the mean of sentence BLEU; HistAlign's Table 7 is on the scale of
corpus BLEU (inferred from its values), which is 2 to 6 points higher. They share everything else: lower case,
hypotheses split at white space, references split at single spaces, all sentences of the same table as references, no
smoothing, and the weights of the official script, (1, 0, 0), (.5, .5, 0) and (.33, .33, .33); the last sum to .99.

A hypothesis without a word counts as zero words with its shortest reference. Without one shared word the value is 0.
With shared words but no shared pair or triple, the precision of those is the smallest positive float, as in the
official script: the value is then positive and below 1e-100. Values equal nltk's in every bit.

Checked against published outputs: `GPT_gpt2_12.65` gives 48.84/27.14/12.65 by sentence and 50.64/30.85/19.49 by corpus.
"""

from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from importlib.metadata import version

from bench.metrics.score import Counts, Family, Gold, Row, Score, score_of_sums, texts_and_references
from bench.metrics.sums import bleu, mean, value_of

ORDERS = (1, 2, 3)
WEIGHTS = ((1.0, 0.0, 0.0), (0.5, 0.5, 0.0), (0.33, 0.33, 0.33))
FORMS = tuple(bleu(weights, "tiny") for weights in WEIGHTS)


def bleu_counts(hypothesis: str, references: Sequence[str]) -> tuple[int, ...]:
    """Return what corpus BLEU sums up: three numbers of matches, three totals, two lengths.

    A total is at least 1 even when the hypothesis has fewer words than the n-gram, as in nltk and the official script.

    >>> bleu_counts("the river", ["the long river", "a river"])
    (2, 0, 0, 2, 1, 1, 2, 2)
    """
    words = hypothesis.lower().split()
    allowed, lengths = _reference_side(tuple(references))
    grams = [_grams(words, n) for n in ORDERS]
    matches = [(of_order & most).total() for of_order, most in zip(grams, allowed, strict=True)]
    nearest = min((abs(length - len(words)), length) for length in lengths)[1]
    return (*matches, *(max(1, of_order.total()) for of_order in grams), len(words), nearest)


@lru_cache(maxsize=256)  # a table's sentences share their references and come one after the other
def _reference_side(references: tuple[str, ...]) -> tuple[list[Counter[tuple[str, ...]]], list[int]]:
    """Return how often each 1-, 2- and 3-gram may match, and the lengths of the references."""
    split = [reference.lower().split(" ") for reference in references]
    allowed = [Counter[tuple[str, ...]]() for _ in ORDERS]
    for words in split:
        for n in ORDERS:
            allowed[n - 1] |= _grams(words, n)
    return allowed, [len(words) for words in split]


def _grams(words: Sequence[str], n: int) -> Counter[tuple[str, ...]]:
    return Counter(tuple(words[i : i + n]) for i in range(len(words) - n + 1))


def _signature(scale: str) -> str:
    return f"logicnlg-bleu|scale:{scale}|weights:.33|lc|split:space|refs:table|smooth:none|nltk:{version('nltk')}"


def _count(rows: Sequence[Row], gold: Gold) -> list[Counts]:
    counts = [bleu_counts(*pair) for pair in zip(*texts_and_references(rows, gold), strict=True)]
    return [{"corpus": of_text, "sentence": [value_of(of_text, form) for form in FORMS]} for of_text in counts]


def _scores(counts: Sequence[Counts]) -> list[Score]:
    corpus, sentences = [], []
    for n, form in zip(ORDERS, FORMS, strict=True):
        of_corpus, of_sentences = [row["corpus"] for row in counts], [(row["sentence"][n - 1], 1) for row in counts]
        corpus.append(score_of_sums(f"bleu-{n}", form, of_corpus, _signature("corpus"), higher_is_better=True))
        name, signature = f"sentence-bleu-{n}", _signature("sentence")
        sentences.append(score_of_sums(name, mean(1), of_sentences, signature, higher_is_better=True))
    return [*corpus, *sentences]


table_bleu_scores = Family(_count, _scores)
"""LogicNLG's BLEU-1/2/3 of rows `{"id", "text"}` against the `references` of their gold, all sentences of the table."""
