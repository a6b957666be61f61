"""What decodings write with tiny models, for tests."""

from collections.abc import Sequence
from typing import Any

import torch

from bench.config.decoding import parse
from bench.decodings.core.decoding import Decoding
from bench.generation.generation import generate
from bench.models.core.objective import Objective
from bench.models.core.run_context import RunContext
from tests.bench.generation.tiny_decoders import END, VOCABULARY, collate

NEW = 10
SEARCHES = [
    "greedy",
    "beam=4+length_penalty=2",
    "beam=4+length_penalty=0.6+no_repeat_ngram=3",
    "beam=3+early_stopping",
    "greedy+no_repeat_ngram=2",
]
SAMPLES = ["topk=5", "nucleus=0.9+temperature=1.3", "sample"]


def one(text: str) -> Decoding:
    return parse(text)[0]


def run(
    objective: Objective, given: list[list[int]], decoding: str, limit: int = NEW, **options: Any
) -> list[list[int]]:
    return generate(objective, collate(objective.backbone, given), one(decoding), limit, **options)


def cut(row: list[int], ends: Sequence[int] = (END,)) -> list[int]:
    """The tokens before the first end token."""
    return row[: next((at for at, token in enumerate(row) if token in ends), len(row))]


def counted(objective: Objective) -> Objective:
    objective.setup_run(RunContext(token_counts=lambda: 1000 / (1 + torch.arange(VOCABULARY))))
    return objective
