"""Perf of generation: how long a method takes for many samples, beside MLE."""

from __future__ import annotations

from time import perf_counter
from typing import Any

import torch

from bench.base.autocast import autocast
from bench.config.decoding import parse
from bench.generation.generation import generate
from bench.models.core.objective import Objective
from bench.perf.heads import Size, synchronise, zipf
from bench.perf.steps import Place, objective_over_body

__all__ = ["measure_samples"]

PROMPT = 50
"""Tokens of a prompt, as in WritingPrompts (HistAlign A.2)."""


def measure_samples(
    names: list[str], size: Size, layers: int, place: Place, *, samples: int, tokens: int, decoding: str
) -> list[dict[str, Any]]:
    """Return one line for each method: seconds for all samples, and their ratio to those of `mle`.

    Args:
        names: methods.
        size: width and vocabulary of the body; `batch` is the number of texts written at once.
        layers: of the body.
        place: device and precision.
        samples: texts in all; a last batch may be smaller.
        tokens: of each text; no token ends a text.
        decoding: e.g. `nucleus=0.95`.
    """
    lines: list[dict[str, Any]] = []
    longest = Size(size.batch, PROMPT + tokens + 1, size.width, size.vocabulary)
    for name in dict.fromkeys(["mle", *names]):
        objective = objective_over_body(name, longest, layers, place)
        seconds = time_of(objective, longest, place, samples, tokens, decoding)
        lines.append(
            {
                "what": name,
                "samples": samples,
                "tokens": tokens,
                "decoding": decoding,
                "seconds": seconds,
                "tokens_per_second": samples * tokens / seconds,
            }
        )
        lines[-1]["of_mle"] = seconds / lines[0]["seconds"]
    return lines


def time_of(objective: Objective, size: Size, place: Place, samples: int, tokens: int, decoding: str) -> float:
    """Return the seconds for all samples, after one short warm-up."""
    generator = torch.Generator().manual_seed(0)
    (chosen,) = parse(decoding)
    objective.backbone.model.config.eos_token_id = None

    def write(rows: int, first: int, new: int) -> None:
        ids = zipf((rows, PROMPT), size.vocabulary, generator).clamp_min(3).to(place.device)
        batch: Any = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
        with autocast(place.precision, place.device):
            written = generate(objective, batch, chosen, new, range(first, first + rows))
        if any(len(text) != new for text in written):
            raise AssertionError(f"expected texts of {new} tokens; a model without an end wrote shorter ones")

    write(min(size.batch, samples), 0, min(tokens, 8))
    synchronise()
    started = perf_counter()
    for first in range(0, samples, size.batch):
        write(min(size.batch, samples - first), first, tokens)
    synchronise()
    return perf_counter() - started
