"""Checks of distributions: they sum to one, see nothing of what comes later, and decoding is told the same ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

import torch
from torch import Tensor

from bench.cells.generation import generate
from bench.config.decoding import parse
from bench.decodings.core.decoding import Decoding
from bench.models.core.objective import Objective
from bench.models.core.states import Rows
from bench.tasks.encode.codec import Encoded
from bench.testing.report import Failed
from bench.testing.subject import Subject

TOLERANCE = 1e-6
"""Of what is exact but for rounding: it leaves room for a step in float32."""

DECODINGS = "greedy,topk=3,nucleus=0.9,beam=3"
SEARCHES = "greedy,beam=3"
STEPS = 5
"""New tokens of each text."""


def sums_to_one(subject: Subject) -> str:
    """`log_probs` gives one distribution over the vocabulary at each position."""
    objective = subject.objective().eval()
    worst = 0.0
    with torch.no_grad():
        for rows in subject.slices(objective):
            worst = max(worst, off_one(objective, objective.log_probs(rows), rows, "log_probs"))
    return f"off by {worst:.0e} at most"


def decoding_sums_to_one(subject: Subject) -> str:
    """`decode_log_probs` gives a distribution in every mode; tokens that are cut away are -inf."""
    objective = subject.objective().eval()
    worst = 0.0
    with torch.no_grad():
        for decoding in parse(DECODINGS):
            for rows in subject.slices(objective):
                log_probs = objective.decode_log_probs(rows, decoding)
                worst = max(worst, off_one(objective, log_probs, rows, f"decode_log_probs in {decoding.text}"))
    return f"off by {worst:.0e} at most"


def off_one(objective: Objective, log_probs: Tensor, rows: Rows, what: str) -> float:
    """Return how far the worst row's sum is from one, after refusing what is no distribution at all."""
    size = objective.backbone.vocabulary_size
    if log_probs.shape != (len(rows), size):
        raise Failed(
            f"{what} of shape [n, V] = [{len(rows)}, {size}]",
            str(list(log_probs.shape)),
            "give one column for every token",
        )
    if log_probs.isnan().any() or (log_probs == torch.inf).any():
        raise Failed(f"{what} without NaN and +inf", "some", "look for 0 * inf, inf - inf and log of a negative number")
    worst = float((log_probs.double().logsumexp(1).exp() - 1).abs().max())
    if not worst <= TOLERANCE:
        raise Failed(
            f"rows of exp({what}) that sum to 1",
            f"{worst:.1e} beside it",
            "normalise over the vocabulary, e.g. with log_softmax",
        )
    return worst


def sees_no_future(subject: Subject) -> str:
    """`log_probs` at a position is the same whatever the token it predicts and those behind it are."""
    objective = subject.objective().eval()
    row = subject.rows[0]
    length, size = len(row.target), objective.backbone.vocabulary_size
    with torch.no_grad():
        true = log_probs_of(subject, objective, row)
        for first in (0, length // 2, length - 1):
            changed = tuple(4 + (token + 1) % (size - 4) for token in row.target[first:])
            told = log_probs_of(subject, objective, replace(row, target=(*row.target[:first], *changed)))
            worst = difference(told[: first + 1], true[: first + 1])
            if not worst <= TOLERANCE:
                raise Failed(
                    f"log_probs up to position {first} to stand when targets from it on change",
                    f"a change of {worst:.1e}",
                    "read only what `rows` may read: `earlier`, `readable`",
                )
    return f"{length} positions"


def log_probs_of(subject: Subject, objective: Objective, row: Encoded) -> Tensor:
    """Log-probabilities at every position of one row, [T, V]."""
    return torch.cat([objective.log_probs(rows) for rows in subject.slices(objective, [row])])


def cached_decoding(subject: Subject) -> str:
    """What generation is told at each step, with its cache, is what a forward pass over the whole text gives."""
    compared = 0
    for decoding in parse(SEARCHES):
        objective, watched = subject.objective().eval(), subject.rows[::3]
        watch = Watch(subject, decoding, watched)
        with recorded(objective, watch.answers):
            generate(objective, subject.codec.prompt_batch(watched), decoding, STEPS, processors=[watch])  # type: ignore[arg-type]
        if not watch.worst <= TOLERANCE:
            raise Failed(
                f"{decoding.text} to be told what a full forward pass gives",
                f"{watch.worst:.1e} beside it",
                "let it depend on what `rows` holds when generating: no targets or positions",
            )
        compared += watch.compared
    return f"{compared} steps"


@dataclass
class Watch:
    """A logits processor that compares the last answer with a full forward pass over each row's text."""

    subject: Subject
    decoding: Decoding
    rows: Sequence[Encoded]
    answers: list[Tensor] = field(default_factory=list)
    worst: float = 0.0
    compared: int = 0

    def __post_init__(self) -> None:
        self.objective = self.subject.objective().eval()
        config = self.objective.backbone.model.config
        self.start = 1 if config.is_encoder_decoder else max(len(row.source) for row in self.rows)
        self.end = config.eos_token_id

    def __call__(self, input_ids: Tensor, scores: Tensor) -> Tensor:
        answer = self.answers.pop()
        for at, (text, told) in enumerate(zip(input_ids[:, self.start :].tolist(), answer, strict=True)):
            if self.end not in text:  # what follows the end is padding
                expected = self.full(self.rows[at // self.decoding.width], text)
                self.worst = max(self.worst, difference(told, expected))
                self.compared += 1
        return scores

    def full(self, row: Encoded, text: Sequence[int]) -> Tensor:
        """Log-probabilities behind a text by a full forward pass, [V]; a state never sees the token it predicts."""
        whole = replace(row, target=(*text, 0))
        *_, last = self.subject.slices(self.objective, [whole])
        return self.objective.decode_log_probs(last, self.decoding)[-1]


@contextmanager
def recorded(objective: Objective, into: list[Tensor]) -> Iterator[None]:
    """Keep what decoding is told, before the library rounds it to float32."""
    ask = objective.decode_log_probs

    def answer(rows: Rows, decoding: Decoding) -> Tensor:
        into.append(ask(rows, decoding))
        return into[-1]

    objective.__dict__["decode_log_probs"] = answer
    try:
        yield
    finally:
        del objective.__dict__["decode_log_probs"]


def difference(first: Tensor, second: Tensor) -> float:
    """Largest difference; infinite where only one is -inf.

    >>> difference(torch.tensor([1.0, -torch.inf]), torch.tensor([1.5, -torch.inf]))
    0.5
    """
    return float(torch.where(first == second, 0.0, first.double() - second.double()).abs().max())
