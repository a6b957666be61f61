"""Checks of distributions: they sum to one, see nothing of what comes later, and decoding is told the same ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import torch
from torch import Tensor

from bench.config.decoding import parse
from bench.decodings.greedy import Greedy
from bench.generation.continuation import Continuation, first_new
from bench.models.core.states import Rows
from bench.tasks.encode.codec import Encoded
from bench.testing.report import NotApplicable, near, need
from bench.testing.subject import Subject

NEW_TOKENS = 5
Hook = Callable[[Rows], Tensor]


@torch.no_grad()
def sums_to_one(subject: Subject) -> str:
    """Log-probabilities sum to one, also those that decoding sees, where tokens that are cut away are -inf."""
    objective = subject.objective().eval()
    hooks: dict[str, Hook] = {"log_probs": objective.log_probs}
    for decoding in parse("greedy,topk=3,nucleus=0.9,beam=3"):
        hooks[f"decode_log_probs for {decoding.text}"] = partial(objective.decode_log_probs, decoding=decoding)
    worst = 0.0
    for rows in subject.slices(objective):
        expected = [len(rows), objective.backbone.vocabulary_size]
        for name, hook in hooks.items():
            log_probs = hook(rows)
            came = list(log_probs.shape)
            need(came == expected, f"{name} of shape [n, V] = {expected}", came, "give every token a column")
            bad = bool(log_probs.isnan().any() or (log_probs == torch.inf).any())
            need(not bad, f"{name} without NaN and +inf", "some", "look for 0 * inf, inf - inf and log(-x)")
            off = float((log_probs.double().logsumexp(1).exp() - 1).abs().max())
            near(off, f"rows of exp({name}) that sum to 1", "normalise over the vocabulary, e.g. with log_softmax")
            worst = max(worst, off)
    return f"off by {worst:.0e} at most"


@torch.no_grad()
def no_future(subject: Subject) -> str:
    """Only earlier tokens are used: `log_probs` stands whatever the token it predicts and those behind it are."""
    objective, row = subject.objective().eval(), subject.rows[0]
    length, size = len(row.target), objective.backbone.vocabulary_size

    def told(row: Encoded) -> Tensor:
        return torch.cat([objective.log_probs(rows) for rows in subject.slices(objective, [row])])  # [T, V]

    true = told(row)
    for first in (0, length // 2, length - 1):
        others = tuple(4 + (token + 1) % (size - 4) for token in row.target[first:])
        changed = told(replace(row, target=(*row.target[:first], *others)))
        near(
            difference(changed[: first + 1], true[: first + 1]),
            f"log_probs up to position {first} to stand when targets from it on change",
            "read only what `rows` may read: `written`, `readable`",
        )
    return f"{length} positions"


@torch.no_grad()
def source(subject: Subject) -> str:
    """On an encoder-decoder, tokens of the source do not count as written.

    A method may read the source, but not punish its tokens. So their share of the probability is compared with the
    share they have when every entry of the memory holds a token that is in no source.
    """
    objective = subject.objective().eval()
    if objective.backbone.architecture == "decoder-only":
        raise NotApplicable("on a decoder-only backbone the memory is the text itself")
    if objective.lowers_source:
        raise NotApplicable("it says lowers_source = True")
    hooks: dict[str, Hook] = {
        "log_probs": objective.log_probs,
        "decode_log_probs": partial(objective.decode_log_probs, decoding=Greedy()),
    }
    for rows in subject.slices(objective):
        counts = torch.zeros(len(rows), objective.backbone.vocabulary_size, dtype=torch.long)
        in_source = counts.scatter_add_(1, rows.memory_tokens, rows.readable.long()) > 0  # [n, V]
        unused = in_source.any(0).logical_not().nonzero()[-1]
        relabelled = replace(rows, group_memory_tokens=torch.zeros_like(rows.group_memory_tokens) + unused)
        for name, hook in hooks.items():
            share, unread = ((hook(given).exp() * in_source).sum(1) for given in (rows, relabelled))  # [n]
            near(
                float((unread - share).max()),
                f"{name} to give tokens of the source at least the probability they have when the memory holds others",
                "take what was written from rows.written: on an encoder-decoder memory_tokens are the source; a method "
                "that means to avoid the source says lowers_source = True",
            )
    return "log_probs and decode_log_probs"


@torch.no_grad()
def cache(subject: Subject) -> str:
    """Decoding with a cache equals full forward passes over the text so far, for both hooks that give distributions."""
    objective, rows = subject.objective().eval(), subject.rows[::3]
    prompts: Any = subject.codec.prompt_batch(rows)
    start = first_new(prompts, objective.backbone.model.config)
    second = objective.second_model if objective.has_second else None
    for decoding in parse("greedy,beam=3"):
        hooks: dict[str, Hook] = {
            "log_probs": objective.log_probs,
            f"decode_log_probs for {decoding.text}": partial(objective.decode_log_probs, decoding=decoding),
        }
        texts = Continuation(objective, decoding, prompts, start, [], second)
        for at in range(NEW_TOKENS):
            full = []  # the last position of a full pass; a state never sees the token it predicts, here 0
            for row in rows:
                *_, last = subject.slices(objective, [replace(row, target=(*row.target[:at], 0))])
                full.append(last)
            for name, hook in hooks.items():
                expected = torch.stack([hook(last)[-1] for last in full])
                near(
                    difference(hook(texts.rows), expected),
                    f"{name} to give with a cache what it gives in a full forward pass over the text so far",
                    "let it depend on what `rows` holds when generating: `written`, no targets, positions or `earlier`",
                )
            texts.append(torch.tensor([row.target[at] for row in rows]))
    return f"{NEW_TOKENS} steps"


def difference(first: Tensor, second: Tensor) -> float:
    """Return the largest difference; infinite where only one is -inf.

    >>> difference(torch.tensor([1.0, -torch.inf]), torch.tensor([1.5, -torch.inf]))
    0.5
    """
    return float(torch.where(first == second, 0.0, first.double() - second.double()).abs().max())
