"""Searches: decodings that look for a probable text instead of drawing one: greedy, beam and contrastive search.

The loops of transformers know no method's own distribution; its beams took 1.6 times as long for the same texts.

Shapes: B rows, k beams or candidates of each, V vocabulary, T tokens so far, D width of a state.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from bench.base.options import OMIT_IF_DEFAULT, Range, Share
from bench.decodings.core.decoding import Decoding, Texts
from bench.errors import UsageError

if TYPE_CHECKING:  # `bench list` reads this file, without torch
    from torch import Tensor

Grown = tuple[float, int, int]
"""A text with one more token: its log-probability, the place of the text that it continues, and the token."""


@dataclass(frozen=True, kw_only=True)
class Greedy(Decoding):
    """The most probable token, again and again; token for token what the library's search writes.

    >>> Greedy().as_dict()
    {'mode': 'greedy', 'no_repeat_ngram': 0, 'max_new_tokens': None, 'distribution': 'model'}
    """

    name: ClassVar[str] = "greedy"

    def class_cut(self) -> Mapping[str, Any]:
        """The most probable class, then its most probable token."""
        return {"greedy": True}


@dataclass(frozen=True, kw_only=True)
class Beam(Decoding):
    """Continue the k best texts; of those that end take the best one for its length.

    The search of `transformers`, which has neither `gnmt` nor `unrepeated_ngram`. A text of n tokens, its end token
    among them, is scored by log p / n^length_penalty or, after Wu et al. 2016, eq. 14, by log p / ((5 + n) / 6)^gnmt;
    their coverage penalty is no part of it.

    Of the 2k best continuations, those among the first k that end are finished, and the first k that do not end go on.
    A row is done when k texts are finished and its best running one, at its present length, does not beat the worst of
    them. Of these k the best is taken; with `unrepeated_ngram`, the best of those in whose words no n-gram of that size
    stands twice, or the best of all where each has one that does: with 3 this is the choice of the released AdaDec,
    which passes over texts with an unknown word too.

    Args:
        beams: how many texts are continued.
        length_penalty: power of the length.
        gnmt: power of Wu et al.'s form of the length, in place of `length_penalty`; None for that one.
        unrepeated_ngram: words of the n-grams that do not stand twice in the text that is taken; 0 takes the best text.
        early_stopping: stop as soon as there are `beams` finished texts.

    >>> Beam(beams=4, length_penalty=2.0).text
    'beam=4+length_penalty=2.0'
    """

    name: ClassVar[str] = "beam"
    main_option: ClassVar[str] = "beams"

    beams: Annotated[int, Range(2)]
    length_penalty: Annotated[float, Range(-100, 100)] = 1.0
    gnmt: Annotated[float | None, OMIT_IF_DEFAULT] = None
    unrepeated_ngram: Annotated[int, Range(0), OMIT_IF_DEFAULT] = 0
    early_stopping: bool = False

    def check(self) -> None:
        """Refuse two length penalties."""
        if self.gnmt is not None and self.length_penalty != 1:
            raise UsageError("beam takes length_penalty or gnmt, not both: gnmt is another form of the length penalty")

    def class_cut(self) -> Mapping[str, Any]:
        """The most probable class, as in greedy search."""
        return {"greedy": True}

    def length(self, tokens: int) -> float:
        """What the log-probability of a text of so many tokens is divided by."""
        if self.gnmt is None:
            return float(tokens**self.length_penalty)
        return float(((5 + tokens) / 6) ** self.gnmt)

    def write(self, texts: Texts, limit: int) -> list[list[int]]:
        """The search as it is described above."""
        rows = [Finished(self) for _ in range(len(texts.ids))]
        texts.repeat(self.beams)
        scores = texts.ids.new_full((len(rows), self.beams), -(10**9)).float()  # [B, k] of the running texts
        scores[:, 0] = 0.0  # all k are equal at first: only one may go on
        for tokens in range(1, limit + 1):
            is_last, running = tokens == limit, list[Grown]()
            for row, best in zip(rows, self.continuations(texts, scores), strict=True):
                running += self.step(row, best, texts, is_last)
            if is_last or all(row.done for row in rows):
                break
            scores = scores.new_tensor([score for score, _, _ in running]).view_as(scores)
            texts.keep([place for _, place, _ in running])
            texts.append(texts.ids.new_tensor([token for _, _, token in running]))
        return [self.chosen([text for _, text in row.texts], texts) for row in rows]

    def chosen(self, finished: list[list[int]], texts: Texts) -> list[int]:
        """Return the text that is taken of those of a row that are finished, the best first."""
        for text in finished:
            if not self.unrepeated_ngram or not repeats(texts.words(text), self.unrepeated_ngram):
                return text
        return finished[0]

    def continuations(self, texts: Texts, scores: Tensor) -> list[list[Grown]]:
        """Return each row's best continuations, the best first.

        Args:
            texts: B k of them.
            scores: [B, k] their log-probabilities.
        """
        log_probs = texts.log_probs()  # [B k, V]
        total = (log_probs.unflatten(0, scores.shape) + scores[:, :, None]).flatten(1)  # [B, k V]
        found = total.topk(max(2, 1 + len(texts.ends)) * self.beams)
        size = log_probs.shape[1]
        rows = []
        for at, (values, places) in enumerate(zip(found.values.tolist(), found.indices.tolist(), strict=True)):
            starts, tokens = [at * self.beams + place // size for place in places], [place % size for place in places]
            rows.append(list(zip(values, starts, tokens, strict=True)))
        return rows

    def step(self, row: Finished, best: list[Grown], texts: Texts, is_last: bool) -> list[Grown]:
        """Take up the continuations of one row that end, and return those that go on."""
        running = []
        for rank, (score, place, token) in enumerate(best):
            ends = is_last or token in texts.ends
            if ends and rank < self.beams:
                row.add(score, [*texts.ids[place, texts.start :].tolist(), token])
            if not ends:
                running.append((score, place, token))
        if running:
            row.look(running[0][0], texts.ids.shape[1] + 1 - texts.start)
        return running[: self.beams]


def repeats(words: Sequence[str], size: int) -> bool:
    """Return whether an n-gram of this size stands twice among words; they may overlap.

    >>> repeats("a b a b a".split(), 3), repeats("a b c a b".split(), 3)
    (True, False)
    """
    ngrams = [tuple(words[start : start + size]) for start in range(len(words) - size + 1)]
    return len(set(ngrams)) < len(ngrams)


@dataclass
class Finished:
    """The best finished texts of one row, and whether there can be a better one."""

    search: Beam
    texts: list[tuple[float, list[int]]] = field(default_factory=list)  # the best first
    done: bool = False

    def add(self, log_prob: float, tokens: list[int]) -> None:
        """Take up a text that has ended, if it is among the best."""
        if self.done:
            return
        self.texts.append((log_prob / self.search.length(len(tokens)), tokens))
        self.texts.sort(key=lambda text: -text[0])
        del self.texts[self.search.beams :]

    def look(self, log_prob: float, tokens: int) -> None:
        """Decide whether the row is done, given its best running text and how many tokens that has."""
        if len(self.texts) < self.search.beams:
            return
        best = log_prob / self.search.length(tokens)
        self.done = self.done or self.search.early_stopping or best <= self.texts[-1][0]


@dataclass(frozen=True, kw_only=True)
class ContrastiveSearch(Decoding):
    """Of the k most probable tokens v the one with the largest (1 - alpha) p(v) - alpha max_j cos(h_v, h_j).

    h_v is the state of the model after it has read v, and j goes over all tokens before: those of the prompt and of the
    text on decoder-only models; the start token and those of the text, not the source, on encoder-decoders. Equal
    scores go to the more probable token. k = 1 and alpha = 0 are greedy search.

    Source: Su et al. 2022, eq. 5; they use k of 5 to 8 and alpha 0.6.

    Args:
        k: how many tokens are tried; each costs a forward pass.
        alpha: weight of the degeneration penalty.
    """

    name: ClassVar[str] = "contrastive_search"
    main_option: ClassVar[str] = "k"
    looks_ahead: ClassVar[bool] = True

    k: Annotated[int, Range(1)]
    alpha: Share = 0.6

    def write(self, texts: Texts, limit: int) -> list[list[int]]:
        """Try k tokens at each step and go on with one."""
        rows = len(texts.ids)
        for _ in range(limit):
            if texts.finished:
                break
            log_probs = texts.log_probs()
            k = min(self.k, log_probs.shape[1])
            candidates = log_probs.topk(k)  # [B, k], the most probable first
            before, real = texts.states, texts.real  # [B, T, D], [B, T]
            texts.repeat(k)
            texts.append(candidates.indices.flatten())
            tried = texts.states[:, -1].unflatten(0, (rows, k))  # [B, k, D]
            likeness = largest_cosine(tried, before, real)
            scores = (1 - self.alpha) * candidates.values.exp() - self.alpha * likeness
            ruled_out = candidates.values == -math.inf  # where fewer than k tokens have a probability
            best = scores.masked_fill(ruled_out, -math.inf).argmax(1).tolist()
            texts.keep([row * k + place for row, place in enumerate(best)])
        written: list[list[int]] = texts.ids[:, texts.start :].tolist()
        return written


def largest_cosine(tried: Tensor, before: Tensor, real: Tensor) -> Tensor:
    """Return the largest cosine of each candidate's state with those before it, [B, k].

    Args:
        tried: [B, k, D].
        before: [B, T, D].
        real: [B, T] bool: the others do not count.
    """
    if tried.element_size() < 4:
        tried, before = tried.float(), before.float()
    tried = tried / tried.norm(dim=-1, keepdim=True).clamp(min=1e-12)
    before = before / before.norm(dim=-1, keepdim=True).clamp(min=1e-12)
    cosines = tried @ before.transpose(1, 2)  # [B, k, T]
    return cosines.masked_fill(~real[:, None], -math.inf).amax(2)
