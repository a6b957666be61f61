"""Crossovers: what is asked of other sizes, by papers and by readers, and what a ladder answers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from bench.leaderboards.ladder.transfer import TransferCard
from bench.leaderboards.render.markdown_table import escaped

__all__ = ["CROSSOVERS", "Crossover", "crossover_lines"]

SAID = (
    "What is asked of size, and the word of each metric's card below. They are asked of this ladder's text, not of the "
    "papers' tasks."
)
UNKNOWN = "not within these sizes"


@dataclass(frozen=True)
class Crossover:
    """A question about two methods at other sizes.

    Args:
        better, than: the methods; a positive difference is the first one's.
        asks: in our words.
        said: the paper's sentence with its place, or where the question comes from.
    """

    better: str
    than: str
    asks: str
    said: str


CROSSOVERS = (
    Crossover(
        "tailr.power",
        "mle.continued",
        "Does 1 - p beat -log p only where the model it starts from is strong?",
        "said of Li et al. 2025 in an abstract; no sentence of theirs was at hand, so this is no claim",
    ),
    Crossover("trime", "histalign", "Does the order of the two trained caches change?", "no paper says so"),
    Crossover("f2softmax", "mle.decoupled", "Does training add to decoupled decoding at another size?", "a control"),
    Crossover(
        "histalign",
        "mle",
        "Do larger models gain less from HistAlign?",
        '"And the improvement holds for both model sizes, though with smaller gaps for the large model." (HistAlign, '
        "section 6.1, of Acc@k on Ambiguous Template)",
    ),
)
"""What is asked of a ladder that has both methods."""


def crossover_lines(cards: Sequence[TransferCard]) -> Iterator[str]:
    """Yield the section; nothing where no question has both methods on the ladder."""
    found = [(asked, _answer(asked, cards)) for asked in CROSSOVERS]
    answered = [(asked, answer) for asked, answer in found if answer]
    if not answered:
        return
    yield from ["## Crossovers", "", SAID, ""]
    for asked, answer in answered:
        yield f"- **{escaped(asked.asks)}** {escaped(asked.said)}. {escaped(answer)}"
    yield ""


def _answer(asked: Crossover, cards: Sequence[TransferCard]) -> str:
    """Return the words of all cards on a question, the unknown last; nothing without a card."""
    turned = {(asked.better, asked.than): 1, (asked.than, asked.better): -1}
    words: dict[str, list[str]] = {}
    ahead: dict[str, list[str]] = {"ahead": [], "behind": []}
    for card in cards:
        sign = turned.get((card.question.better, card.question.than))
        if sign is None or card.question.claim:
            continue
        words.setdefault(card.said, []).append(card.question.metric)
        orders = {sign * found.direction for found in card.rungs.values() if found is not None}
        if len(card.rungs) > 1 and orders in ({1}, {-1}) and None not in card.rungs.values():
            ahead["ahead" if orders == {1} else "behind"].append(card.question.metric)
    if not words:
        return ""
    unknown = words.pop(UNKNOWN, [])
    parts = [f"{word}: {', '.join(metrics)}" for word, metrics in words.items()]
    if unknown:
        parts.append(f"{UNKNOWN}: {len(unknown)} metrics")
    parts += [f"{word} on every rung: {', '.join(metrics)}" for word, metrics in ahead.items() if metrics]
    return f"{asked.better} against {asked.than}: {'; '.join(parts)}."
