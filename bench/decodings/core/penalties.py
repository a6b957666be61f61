"""Penalties on tokens that were written before.

Shapes: R texts that grow at once, T tokens read and written, V vocabulary.
"""

from __future__ import annotations

import torch
from torch import Tensor
from transformers import LogitsProcessor, NoRepeatNGramLogitsProcessor

from bench.decodings.core.decoding import Decoding

__all__ = ["WrittenPenalty", "blockers"]


class WrittenPenalty(LogitsProcessor):
    """Lower the log-probability of each token by how often it was written before.

    Only what was written counts, on every architecture: no source, prompt or start token.

    - `repetition` multiplies it. Source: Keskar et al. 2019, section 4.1, where g is the list of generated tokens and
      scores are divided. A division would raise a negative score, so the library multiplies those, and
      log-probabilities are never positive. The library's processor counts the prompt of a decoder-only model too.
    - `frequency` is taken from it once for each time, and `presence` once in all. Source: OpenAI's API reference,
      where a count is of the tokens sampled so far.

    Args:
        start: column of the first new token.
        repetition: 1 for none.
        frequency: 0 for none.
        presence: 0 for none.
    """

    def __init__(self, start: int, repetition: float = 1.0, frequency: float = 0.0, presence: float = 0.0) -> None:
        self.start, self.repetition, self.frequency, self.presence = start, repetition, frequency, presence

    def __call__(self, input_ids: Tensor, scores: Tensor) -> Tensor:
        """Return the scores [R, V] after the tokens of input_ids [R, T]."""
        written = input_ids[:, self.start :]
        counts = torch.zeros_like(scores).scatter_add_(1, written, torch.ones_like(written, dtype=scores.dtype))
        before = counts > 0
        scores = torch.where(before, scores * self.repetition, scores)
        return scores - self.frequency * counts - self.presence * before


def blockers(decoding: Decoding, start: int) -> list[LogitsProcessor]:
    """Return the processors of a decoding that look at what was written, in the library's order.

    Args:
        decoding: with its penalties and the size of blocked n-grams.
        start: column of the first new token.
    """
    processors: list[LogitsProcessor] = []
    penalties = (decoding.repetition_penalty, decoding.frequency_penalty, decoding.presence_penalty)
    if penalties != (1.0, 0.0, 0.0):
        processors.append(WrittenPenalty(start, *penalties))
    if decoding.no_repeat_ngram:
        processors.append(NoRepeatNGramLogitsProcessor(decoding.no_repeat_ngram))
    return processors
