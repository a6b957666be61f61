"""Repeated spans: texts that repeat a span of training text, made for losses on repetition.

Shapes: B batch rows, T tokens of a row.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from bench.models.backbones.backbone import Batch
from bench.models.core.continuations import Written, texts
from bench.models.core.objective import Objective
from bench.models.core.special_tokens import special_tokens
from bench.models.core.states import IGNORED


@dataclass(frozen=True)
class RepeatedSpan:
    """A text that repeats a span of `period` tokens, behind a prompt."""

    written: Written
    period: int


def repeated_spans(objective: Objective, batch: Batch, most: int, place: float) -> list[RepeatedSpan]:
    """Make of each row of a batch a text that repeats a span of it, at least twice; of a row that is too short none.

    Args:
        objective: whose `run_context` has the most target tokens.
        batch: a training batch.
        most: tokens of a span.
        place: in [0, 1), where in a row the span lies.
    """
    made = []
    for row, front, text, has_source in split_rows(objective, batch):
        if has_source:
            length = objective.run_context.max_target
            period = min(most, length // 2, len(text))
            start = int(place * (len(text) - period + 1))
            prefix = front
        else:
            period = min(most, len(text) // 3)
            length = len(text) - period
            start = period + int(place * (len(text) - 2 * period + 1))
            prefix = front + text[start - period : start]
        if period:
            span = text[start : start + period]
            made.append(RepeatedSpan(Written(row, prefix, (span * (length // period + 1))[:length]), period))
    return made


def split_rows(objective: Objective, batch: Batch) -> Iterator[tuple[int, list[int], list[int], bool]]:
    """Yield the rows of a batch: index, tokens before the text, text without its end token, whether it has a source."""
    ends = special_tokens(objective.backbone, "eos")
    if objective.backbone.architecture == "encoder-decoder":
        for row, labels in enumerate(batch["labels"].tolist()):
            yield row, [], [token for token in labels if token != IGNORED and token not in ends], True
        return
    for row, tokens, start in texts(batch):
        text = tokens[start:]
        if start > 1 and text[-1] in ends:
            text = text[:-1]
        yield row, tokens[:start], text, start > 1
