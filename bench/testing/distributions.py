"""Checks of distributions: they sum to one, see nothing of what comes later, and decoding is told the same ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial

import torch
from torch import Tensor

from bench.config.decoding import parse
from bench.decodings.core.decoding import Decoding
from bench.decodings.greedy import Greedy
from bench.generation.generation import generate
from bench.models.core.objective import Objective
from bench.models.core.states import Rows
from bench.tasks.encode.codec import Encoded
from bench.testing.report import Failed, NotApplicable
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
                    "read only what `rows` may read: `written`, `readable`",
                )
    return f"{length} positions"


def log_probs_of(subject: Subject, objective: Objective, row: Encoded) -> Tensor:
    """Log-probabilities at every position of one row, [T, V]."""
    return torch.cat([objective.log_probs(rows) for rows in subject.slices(objective, [row])])


def source_is_not_written(subject: Subject) -> str:
    """On an encoder-decoder a method may read the source, but not punish its tokens as if they were written.

    The tokens of the source have a share of the probability. It is compared with what they have when every entry of the
    memory holds another token: a cache raises the share, a penalty on what was written lowers it if it is given the
    source.
    """
    objective = subject.objective().eval()
    if objective.backbone.architecture == "decoder-only":
        raise NotApplicable("on a decoder-only backbone the memory is the text itself")
    if objective.lowers_source:
        raise NotApplicable("it says lowers_source = True")
    asked: dict[str, Callable[[Rows], Tensor]] = {
        "log_probs": objective.log_probs,
        "decode_log_probs": partial(objective.decode_log_probs, decoding=Greedy()),
    }
    compared = 0
    with torch.no_grad():
        for rows in subject.slices(objective):
            is_source = source_tokens(rows, objective.backbone.vocabulary_size)
            relabelled = with_other_memory(rows, is_source)
            for name, ask in asked.items():
                share = (ask(rows).exp() * is_source).sum(1)  # [n]
                unread = (ask(relabelled).exp() * is_source).sum(1)
                worst = int((unread - share).argmax())
                if not unread[worst] - share[worst] <= TOLERANCE:
                    raise Failed(
                        f"{name} that gives the tokens of the source at least the {unread[worst]:.3f} they have when "
                        f"the memory holds others",
                        f"{share[worst]:.3f}",
                        "take what was written from rows.written: on an encoder-decoder memory_tokens are the source; "
                        "a method that means to avoid the source says lowers_source = True",
                    )
            compared += len(rows)
    return f"{compared} positions"


def source_tokens(rows: Rows, size: int) -> Tensor:
    """Whether each token of the vocabulary is in a position's memory, [n, V]."""
    counts = torch.zeros(len(rows), size, dtype=torch.long, device=rows.hidden.device)
    return counts.scatter_add_(1, rows.memory_tokens, rows.readable.long()) > 0


def with_other_memory(rows: Rows, is_source: Tensor) -> Rows:
    """Return rows with a token in every entry of their memory that none of their sources has."""
    unused = is_source.any(0).logical_not().nonzero()[-1]
    return replace(rows, group_memory_tokens=torch.zeros_like(rows.group_memory_tokens) + unused)


def cached_decoding(subject: Subject) -> str:
    """What generation is told at each step, with its cache, is what a forward pass over the whole text gives.

    That is true of what decoding sees, and of `log_probs`, which training sees. Both get rows with written tokens.
    """
    compared = 0
    for decoding in parse(SEARCHES):
        objective, watched = subject.objective().eval(), subject.rows[::3]
        watch = Watch(subject, decoding, watched)
        with recorded(objective, watch.answers):
            generate(objective, subject.codec.prompt_batch(watched), decoding, STEPS, processors=[watch])  # type: ignore[arg-type]
        for name, worst in watch.worst.items():
            if worst <= TOLERANCE:
                continue
            raise Failed(
                f"{name} to give {decoding.text} what it gives in a full forward pass over the text so far",
                f"{worst:.1e} beside it",
                "let it depend on what `rows` holds when generating: `written`, but no targets, positions or `earlier`",
            )
        compared += watch.compared
    return f"{compared} steps"


Answers = dict[str, Tensor]
"""Log-probabilities by the name of the hook that gives them."""


@dataclass
class Watch:
    """A logits processor that compares the last answers with a full forward pass over each row's text."""

    subject: Subject
    decoding: Decoding
    rows: Sequence[Encoded]
    answers: list[Answers] = field(default_factory=list)
    worst: dict[str, float] = field(default_factory=dict)
    compared: int = 0

    def __post_init__(self) -> None:
        self.objective = self.subject.objective().eval()
        config = self.objective.backbone.model.config
        self.start = 1 if config.is_encoder_decoder else max(len(row.source) for row in self.rows)
        self.end = config.eos_token_id

    def __call__(self, input_ids: Tensor, scores: Tensor) -> Tensor:
        told = self.answers.pop()
        for at, text in enumerate(input_ids[:, self.start :].tolist()):
            if self.end not in text:  # what follows the end is padding
                expected = self.full(self.rows[at // self.decoding.width], text)
                for name, log_probs in told.items():
                    worst = difference(log_probs[at], expected[name])
                    self.worst[name] = max(self.worst.get(name, 0.0), worst)
                self.compared += 1
        return scores

    def full(self, row: Encoded, text: Sequence[int]) -> Answers:
        """Log-probabilities behind a text by a full forward pass, [V]; a state never sees the token it predicts."""
        whole = replace(row, target=(*text, 0))
        *_, last = self.subject.slices(self.objective, [whole])
        return {
            "decode_log_probs": self.objective.decode_log_probs(last, self.decoding)[-1],
            "log_probs": self.objective.log_probs(last)[-1],
        }


@contextmanager
def recorded(objective: Objective, into: list[Answers]) -> Iterator[None]:
    """Keep what decoding is told, before the library rounds it to float32."""
    ask = objective.decode_log_probs

    def answer(rows: Rows, decoding: Decoding) -> Tensor:
        told = ask(rows, decoding)
        into.append({"decode_log_probs": told, "log_probs": objective.log_probs(rows)})
        return told

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
