"""Corpus BLEU and chrF by sacrebleu, with sufficient statistics of each text and a whole signature.

sacrebleu counts and scores each text on its own here, so a text may have any number of references (its own interface
cuts or pads them silently), and its signature gets the order of BLEU's n-grams, which it leaves out. A corpus whose
hypotheses have no 4-gram at all has BLEU 0, even where hypotheses and references are alike: sacrebleu's rule, kept.
chrF is 100 there.

BLEU's tokenizer is chosen by the script of the references and named in the signature: 13a, or single characters
(`char`) where more than half of their letters are Korean, Chinese, Japanese, Thai, Lao, Burmese or Khmer. (sacrebleu's
ko-mecab and ja-mecab need dictionaries of their own.)
"""

import re
from collections.abc import Sequence
from typing import Any, Literal

from bench.metrics.score import Gold, Row, Score, ordered, score_of_sums, texts_and_references
from bench.metrics.sums import bleu

BleuTokenizer = Literal["13a", "char"]
BLEU_ORDER = 4
ASCII = re.compile(r"[\x00-\x7f]+")
BY_CHARACTER = (
    (0x0E00, 0x0EFF),  # Thai, Lao
    (0x1000, 0x109F),  # Burmese
    (0x1100, 0x11FF),  # Korean letters
    (0x1780, 0x17FF),  # Khmer
    (0x3040, 0x318F),  # kana, Chinese phonetic letters, Korean letters
    (0x31A0, 0x31FF),
    (0x3400, 0x9FFF),  # Chinese characters
    (0xA960, 0xA97F),
    (0xAC00, 0xD7FF),  # Korean syllables
    (0xF900, 0xFAFF),
    (0xFF66, 0xFFDC),
    (0x20000, 0x3FFFF),
)


def bleu_tokenizer(references: Sequence[Sequence[str]]) -> BleuTokenizer:
    """Return the tokenizer for the script that most letters of the references belong to.

    >>> bleu_tokenizer([["강이 길다 (Han)"]]), bleu_tokenizer([["река длинная"]])
    ('char', '13a')
    """
    letters = by_character = 0
    for text in (text for texts in references for text in texts):
        letters += sum(map(str.isalpha, text))
        for c in ASCII.sub("", text):
            by_character += c.isalpha() and any(first <= ord(c) <= last for first, last in BY_CHARACTER)
    return "char" if 2 * by_character > letters else "13a"


def statistics(metric: Any, texts: Sequence[str], references: Sequence[Sequence[str]]) -> list[list[int]]:
    """Return what sacrebleu's corpus score sums up, for each text.

    Args:
        metric: sacrebleu's BLEU or CHRF. chrF counts each text with the reference that it scores best with.
        texts: one for each row.
        references: for each of them, one or more texts.

    >>> from sacrebleu.metrics.bleu import BLEU
    >>> statistics(BLEU(), ["a b c"], [["a b", "b c"]])  # two lengths; matches and n-grams of orders 1 to 4
    [[3, 2, 3, 2, 0, 0, 3, 2, 1, 0]]
    """
    counts = []
    for text, of_text in zip(texts, references, strict=True):
        known = metric._extract_reference_info([metric._preprocess_segment(reference) for reference in of_text])
        counts.append(list(metric._compute_segment_statistics(metric._preprocess_segment(text), known)))
    return counts


def _signature(metric: Any, references: Sequence[Sequence[str]]) -> str:
    """Return sacrebleu's own signature for these numbers of references."""
    numbers = {len(of_text) for of_text in references}
    metric.num_refs = numbers.pop() if len(numbers) == 1 else -1
    return str(metric.get_signature())


def overlap_scores(rows: Sequence[Row], gold: Gold) -> list[Score]:
    """Score texts by corpus BLEU-4 and by corpus chrF2 (characters up to 6-grams, no words), in percent.

    BLEU's tokenizer depends on the references of all rows, so this is a plain function of them. chrF has no sufficient
    statistics, because it is no form of `bench.metrics.sums`.

    Args:
        rows: `{"id", "text"}`.
        gold: `{id: {"references"}}`: one or more texts.

    Raises:
        ValueError: the ids are not those of `gold`, no row, or a row without a reference.
    """
    from sacrebleu.metrics.bleu import BLEU
    from sacrebleu.metrics.chrf import CHRF

    texts, references = texts_and_references(ordered(rows, gold), gold)
    if not texts:
        raise ValueError("BLEU of no texts is undefined; expected at least one row")
    # `force` only silences a warning about texts that look tokenized.
    by_words = BLEU(tokenize=bleu_tokenizer(references), max_ngram_order=BLEU_ORDER, force=True)
    # sacrebleu has the lengths first, `bleu()` takes matches, totals and then lengths.
    sums = [(*row[2:], *row[:2]) for row in statistics(by_words, texts, references)]
    by_characters = CHRF()
    total = [sum(column) for column in zip(*statistics(by_characters, texts, references), strict=True)]
    chrf = float(by_characters._compute_score_from_stats(total).score)
    words_signature = f"sacrebleu-bleu|order:{BLEU_ORDER}|{_signature(by_words, references)}"
    characters_signature = f"sacrebleu-chrf|beta:{by_characters.beta}|{_signature(by_characters, references)}"
    return [
        score_of_sums("bleu", bleu(smoothing="exp"), sums, words_signature, higher_is_better=True),
        Score("chrf", chrf, "percent", True, len(rows), characters_signature),
    ]
