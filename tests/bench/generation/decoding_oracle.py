"""Decoding without a cache, a batch or the library: one text at a time, the whole prefix run anew for every token."""

from collections.abc import Callable

import torch
from torch import Tensor

from bench.decodings.core.decoding import Decoding
from bench.decodings.searches import Beam
from bench.models.core.objective import Objective
from bench.models.core.states import IGNORED, slices

NextToken = Callable[[list[int]], Tensor]
"""New tokens so far -> log-probabilities of the next one, [V] float64."""


def next_token(objective: Objective, given: list[int], decoding: Decoding) -> NextToken:
    """Return the distribution behind a prompt (or a source) by teacher forcing."""

    def log_probs(new: list[int]) -> Tensor:
        unknown = [0]  # the token to predict: a state never sees it
        if objective.backbone.architecture == "decoder-only":
            ids = torch.tensor([given + new + unknown])
            labels = torch.tensor([[IGNORED] * len(given) + new + unknown])
        else:
            ids, labels = torch.tensor([given]), torch.tensor([new + unknown])
        batch = {"input_ids": ids, "attention_mask": torch.ones_like(ids), "labels": labels}
        with torch.no_grad():
            *_, rows = slices(objective.states(batch))
            return objective.decode_log_probs(rows, decoding)[-1].double()

    return log_probs


def decode(objective: Objective, given: list[int], decoding: Decoding, limit: int, end: int) -> list[int]:
    """Greedy or beam search; the new tokens before the end token."""
    predict, read = next_token(objective, given, decoding), given  # what n-gram blocking sees before the first token
    if objective.backbone.architecture == "encoder-decoder":
        read = [objective.backbone.model.config.decoder_start_token_id]

    def blocked(new: list[int]) -> Tensor:
        return block(predict(new), read + new, decoding.no_repeat_ngram)

    if isinstance(decoding, Beam):
        found = taken(beam(blocked, decoding, limit, end), objective, decoding.unrepeated_ngram)
    else:
        found = greedy(blocked, decoding, limit, end)
    return found[: found.index(end)] if end in found else found


def block(log_probs: Tensor, text: list[int], size: int) -> Tensor:
    """Rule out tokens that would repeat an n-gram of the text."""
    if size:
        tail = text[len(text) - size + 1 :]
        for start in range(len(text) - size + 1):
            if text[start : start + size - 1] == tail:
                log_probs[text[start + size - 1]] = -torch.inf
    return log_probs


def greedy(predict: NextToken, decoding: Decoding, limit: int, end: int) -> list[int]:
    """The most probable token, again and again."""
    text: list[int] = []
    while len(text) < limit and end not in text:
        text.append(int(predict(text).argmax()))
    return text


def taken(finished: list[list[int]], objective: Objective, size: int) -> list[int]:
    """The best text that says no n-gram of words twice; the best of all where each does, or size is 0."""
    for text in finished:
        words = objective.backbone.tokenizer.decode(text, skip_special_tokens=True).split() if size else []
        ngrams = {" ".join(words[at : at + size]) for at in range(len(words) - size + 1)}
        if len(ngrams) == max(0, len(words) - size + 1) or not size:
            return text
    return finished[0]


def beam(predict: NextToken, decoding: Beam, limit: int, end: int) -> list[list[int]]:
    """Finished texts, the best first. Beam search as the library defines it, with either length penalty.

    Of the 2k best continuations, those among the first k that end are finished, at log-probability over `penalty` of
    their length; the first k that do not end go on. It stops when k are finished and, unless stopping early,
    the best running one, at its present length, does not beat the worst of them.
    """
    width = decoding.beams
    running: list[tuple[float, list[int]]] = [(0.0, [])]
    finished: list[tuple[float, list[int]]] = []
    for length in range(1, limit + 1):
        grown = [best for score, text in running for best in grow(predict(text), score, text, 2 * width)]
        grown = sorted(grown, key=lambda one: -one[0])[: 2 * width]
        ended = [length == limit or text[-1] == end for _, text in grown]
        divisor = penalty(decoding, length)
        finished += [(score / divisor, text) for (score, text), over in zip(grown[:width], ended, strict=False) if over]
        finished = sorted(finished, key=lambda one: -one[0])[:width]
        running = [one for one, over in zip(grown, ended, strict=True) if not over][:width]
        if not running:
            break
        full = len(finished) == width
        if full and (decoding.early_stopping or running[0][0] / divisor <= finished[-1][0]):
            break
    return [text for _, text in finished]


def penalty(decoding: Beam, length: int) -> float:
    """What a text of so many tokens is divided by: a power of its length, or eq. 14 of Wu et al. 2016."""
    if decoding.gnmt is None:
        return float(length**decoding.length_penalty)
    return float((5 + length) ** decoding.gnmt / 6**decoding.gnmt)


def grow(log_probs: Tensor, score: float, text: list[int], count: int) -> list[tuple[float, list[int]]]:
    """The best continuations of one text by one token."""
    values, ids = log_probs.topk(count)
    return [(score + value, [*text, token]) for value, token in zip(values.tolist(), ids.tolist(), strict=True)]
