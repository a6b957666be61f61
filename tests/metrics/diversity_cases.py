"""Golden sets, drawn sets and slow obvious computations that the tests of diversity share, and values of plain texts.

The slow ones follow the description of the F2-Softmax authors' code step by step, with dictionaries and loops.
"""

import json
import math
import random
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from bench.metrics.diversity import distinct as of_distinct
from bench.metrics.diversity import divergence
from bench.metrics.diversity import ms_jaccard as of_ms_jaccard
from bench.metrics.diversity import repetition as of_repetition
from bench.metrics.diversity import self_bleu as of_self_bleu
from bench.metrics.diversity.ngram_diversity import ngram_diversity_column
from bench.metrics.diversity.ngrams import count_ngrams, lengths_of

FOLDER = Path(__file__).parents[1] / "golden" / "metrics"
GOLDEN = {path.stem.removeprefix("metrics_"): json.loads(path.read_text()) for path in sorted(FOLDER.glob("*.json"))}
RAISES = "raises:"

Text = Sequence[int]
TEXT = st.lists(st.integers(0, 4), max_size=9)
TEXTS = st.lists(TEXT, max_size=6)


def golden(name: str) -> tuple[list[list[int]], list[list[int]], dict[str, Any]]:
    """Generated texts, true texts and what the authors' codes make of them."""
    case = GOLDEN[name]
    return case["inputs"]["hyp"], case["inputs"]["ref"], case["outputs"]


def zipf_texts(n: int, length: int, seed: int = 0, types: int = 2000, shortest: int | None = None) -> list[list[int]]:
    """Texts of independent tokens, id r with probability proportional to 1 / (r + 1)."""
    rng = random.Random(seed)
    weights = [1 / (rank + 1) for rank in range(types)]
    lengths = [rng.randint(length if shortest is None else shortest, length) for _ in range(n)]
    return [rng.choices(range(types), weights, k=k) for k in lengths]


def grams(text: Text, n: int) -> Counter[tuple[int, ...]]:
    return Counter(tuple(text[i : i + n]) for i in range(len(text) - n + 1))


def plain_bleu(text: Text, references: Sequence[Text], n: int, definition: str) -> float:
    """Sentence BLEU with equal weights up to n, from its definition."""
    if not len(text):
        return 0.0
    logs = 0.0
    for order in range(1, n + 1):
        mine, best = grams(text, order), Counter[tuple[int, ...]]()
        for reference in references:
            best |= grams(reference, order)
        matches, total = (mine & best).total(), max(1, mine.total())
        if definition == "original" and order == 1 and not matches:
            return 0.0
        logs += math.log((matches or {"f2_code": 1e-100, "original": 0.1}[definition]) / total)
    nearest = min((abs(len(r) - len(text)), len(r)) for r in references)[1]
    return min(1.0, math.exp(1 - nearest / len(text))) * math.exp(logs / n)


def plain_self_bleu(texts: Sequence[Text], n: int, definition: str) -> float:
    """As a percentage."""
    others = [[*texts[:i], *texts[i + 1 :]] for i in range(len(texts))]
    return 100 * sum(plain_bleu(t, rest, n, definition) for t, rest in zip(texts, others, strict=True)) / len(texts)


def plain_ms_jaccard(texts: Sequence[Text], references: Sequence[Text], n: int, definition: str) -> float:
    """As a percentage; orders that neither side has raise ZeroDivisionError, as the authors' codes do."""
    product = 1.0
    for order in range(1, n + 1):
        if definition == "original":
            ours, theirs = ({g: c / len(side) for g, c in sum((grams(t, order) for t in side), Counter()).items()}
                            for side in (texts, references))  # fmt: skip
            missing = 0.0
        else:
            ours, theirs = (f2_frequencies(side, order) for side in (texts, references))
            missing = 1e-10
        pairs = [(ours.get(g, missing), theirs.get(g, missing)) for g in {**ours, **theirs}]
        product *= sum(map(min, pairs)) / sum(map(max, pairs))
    return 100 * product ** (1 / n)


def f2_frequencies(side: Sequence[Text], n: int) -> dict[tuple[int, ...], float]:
    """Every slice of n from every place of the padded text, shorter and empty ones at its end too."""
    found = Counter[tuple[int, ...]]()
    for text in side:
        padded = [-1] * (n - 1) + [*text] + [-1] * (n - 1)
        found.update(tuple(padded[i : i + n]) for i in range(len(padded) + n - 1))
    return {gram: count / found.total() for gram, count in found.items()}


def plain_loop(text: Text) -> bool:
    """Whether a text ends in a loop, phrase by phrase."""
    backward = [*reversed(text)]
    repeats = []
    for n in range(1, 101):
        times = 1
        while len(part := backward[n * times : n * (times + 1)]) == n and part == backward[:n]:
            times += 1
        repeats.append(times)
    most = repeats.index(max(repeats))
    return repeats[most] > 1 and (most + 1 >= 3 or repeats[most] > 50)


# Values of texts, as the columns have them ------------------------------------------------------------------------

Values = list[float | None]


def distinct(texts: Sequence[Text], n: int, definition: Any = "f2_code") -> float | None:
    return of_distinct.distinct_column(count_ngrams(texts, n)[-1], lengths_of(texts), n, definition, "").value


def seq_rep(texts: Sequence[Text], n: int = 4) -> float | None:
    return of_distinct.seq_rep_column(count_ngrams(texts, n)[-1], lengths_of(texts), n, "").value


def kld(texts: Sequence[Text], references: Sequence[Text]) -> float | None:
    return divergence.kld(*count_ngrams([*texts, *references], 1)[0].sides(len(texts)))


def jsd(texts: Sequence[Text], references: Sequence[Text]) -> float | None:
    return divergence.jsd(*count_ngrams([*texts, *references], 1)[0].sides(len(texts)))


def uniq(texts: Sequence[Text]) -> float | None:
    return divergence.uniq_column(count_ngrams(texts, 1)[0], "").value


def ms_jaccard(
    texts: Sequence[Text], references: Sequence[Text], max_n: int = 3, definition: str = "original"
) -> Values:
    if definition == "f2_code":
        return of_ms_jaccard.ms_jaccard_f2(texts, references, max_n)
    return of_ms_jaccard.ms_jaccard(count_ngrams([*texts, *references], max_n), len(texts))


def self_bleu(texts: Sequence[Text], max_n: int = 4, definition: Any = "f2_code") -> Values:
    return of_self_bleu.self_bleu(count_ngrams(texts, max_n), lengths_of(texts), definition)


def repetition(texts: Sequence[Text]) -> float | None:
    return of_repetition.repetition_column(texts, "").value


def ngram_diversity(texts: Sequence[Text]) -> float | None:
    return ngram_diversity_column(texts, "", "").value
