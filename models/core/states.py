"""States: what every backbone turns a batch into, and the slices of it that objectives work on.

    batch --Backbone.states--> States [B, T, .] --slices--> TokenSlice [n, .] --Objective--> losses [n]

Shapes: B batch rows, T positions (steps), V vocabulary, D width of a state, M memory entries, S source tokens that may
be copied, n positions of a slice, G batch rows that a slice comes from, P positions of each of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from bench.errors import UsageError
from bench.models.core.cpu_copy import Array, CpuTokens, to_device
from bench.models.functional.cache import scaled_similarity

IGNORED = -100
"""The target of a position that carries no loss, and the token where there is none."""


@dataclass(frozen=True)
class History:
    """The texts of a batch as the decoder reads them; nothing is computed before it is read.

    Decoder-only: prompt and text, in one row. Encoder-decoder: the text alone, without the token that decoding starts
    from; the source is in the memory.

    Args:
        tokens: [B, W] the texts, IGNORED where a token is not known.
        ahead: how many tokens stand before position 0.
        mask: [B, W] 0 at padding; None where the tokens there are IGNORED.
        labels: [B, W] of a training batch whose rows hold prompts: the first target ends the prompt.
        prompt: how many columns the prompts take, where there are no labels.
    """

    tokens: Tensor
    ahead: int = 0
    mask: Tensor | None = None
    labels: Tensor | None = None
    prompt: int = 0

    @cached_property
    def prompt_end(self) -> Tensor:
        """Column of the first token behind each row's prompt, [B]; W in a row without targets."""
        if self.labels is None:
            return self.tokens.new_full((len(self.tokens),), self.prompt)
        no_target_yet = (self.labels[:, self.ahead :] != IGNORED).cumsum(1) == 0
        return no_target_yet.sum(1) + self.ahead

    def before(self, rows: Tensor, positions: Tensor) -> tuple[Tensor, Tensor]:
        """Return the tokens before some positions, [n, W], IGNORED elsewhere, and which columns are a prompt, [n, W].

        Args:
            rows: [n] batch row of each position.
            positions: [n] each position within its row.
        """
        columns = torch.arange(self.tokens.shape[1], device=self.tokens.device)
        hidden = columns >= positions[:, None] + self.ahead  # [n, W]
        if self.mask is not None:
            hidden = hidden | (self.mask[rows] == 0)
        return self.tokens[rows].masked_fill(hidden, IGNORED), columns < self.prompt_end[rows][:, None]


@dataclass(frozen=True)
class States:
    """One batch after the backbone.

    Decoder-only: the memory is the row's own earlier states, each labelled with the token that followed it.
    Encoder-decoder: the memory is the encoder's states, labelled with the input tokens. Memory tokens come from
    input ids, never from labels, so that a masked label is still in the cache.
    """

    hidden: Tensor  # [B, T, D] meets the output embedding to predict targets[:, t]
    targets: Tensor  # [B, T] token predicted by each state, IGNORED where there is no loss
    memory: Tensor  # [B, M, D]
    memory_tokens: Tensor  # [B, M]
    readable: Tensor  # [B, T, M] bool: entry m may be read at position t (strictly past, no padding)
    labelled: Tensor  # [B, M] bool: the entry's token is itself a target (the released TRIME compares only those)
    copying: Tensor | None = None  # [B, T, S+1] copying backbones: log-weights of each copy and, last, of generating
    copy_tokens: Tensor | None = None  # [B, S] the tokens that may be copied
    cpu: CpuTokens | None = None  # the tokens as arrays, where the backbone was given them
    history: History | None = None  # what the decoder reads, for `TokenSlice.written`
    reference: Callable[[], States] | None = None  # the batch in a reference model, for `TokenSlice.reference`

    @property
    def differentiable(self) -> list[Tensor]:
        """What gradients flow to: hidden states, memory and, where there are any, copying weights."""
        if self.copying is None:
            return [self.hidden, self.memory]
        return [self.hidden, self.memory, self.copying]

    def detached(self) -> States:
        """Return the same states outside the graph."""
        copying = None if self.copying is None else self.copying.detach()
        return replace(
            self, hidden=self.hidden.detach(), memory=self.memory.detach(), copying=copying, cpu=self.on_cpu()
        )

    def on_cpu(self) -> CpuTokens:
        """Return the tokens as arrays; on a GPU this waits for it, unless the backbone was given them."""
        if self.cpu is not None and self.cpu.source is self.targets:
            return self.cpu
        return self._read

    @cached_property
    def _read(self) -> CpuTokens:
        """The tokens as arrays, read from their tensors."""
        return CpuTokens(
            self.targets,
            self.targets.cpu().numpy(),
            lambda: self.memory_tokens.cpu().numpy(),
            lambda: self.readable.cpu().numpy(),
        )


@dataclass(frozen=True)
class TokenSlice:
    """A slice of n positions that carry a target, taken from G neighbouring batch rows.

    The positions lie in a rectangle of G rows by P places, because a similarity to the memory is one batched product
    over batch rows, not n products with n copies of a memory.
    """

    hidden: Tensor  # [n, D]
    targets: Tensor  # [n]
    position: Tensor  # [n] position within the batch row
    group: Tensor  # [n] which of the G batch rows
    kept: Tensor  # [n] index of each position in the flattened rectangle; the rest of it is padding
    width: int  # P
    whole: bool  # whether the positions are the rectangle, in its order, so that nothing is filling
    memory: Tensor  # [G, M, D]
    group_memory_tokens: Tensor  # [G, M]
    group_readable: Tensor  # [G, T, M] bool
    group_labelled: Tensor  # [G, M] bool
    start: int = 0  # batch row of group 0
    copying: Tensor | None = None  # [n, S+1] log-weights of copying backbones
    group_copy_tokens: Tensor | None = None  # [G, S]
    memory_terms: tuple[Tensor, ...] = ()  # [n] each: what the objective's `memory_terms` gave for these positions
    index: SliceIndex | None = None  # where the slice lies in its batch; None in generation
    cpu: CpuTokens | None = None  # tokens of the whole batch as arrays; None in generation
    history: History | None = None  # of the whole batch
    reference_slice: Callable[[], TokenSlice] | None = None  # the same positions in a reference model

    def __len__(self) -> int:
        return self.hidden.shape[0]

    @cached_property
    def memory_tokens(self) -> Tensor:
        """Token of each memory entry, [n, M]."""
        return self.of_group(self.group_memory_tokens)

    @cached_property
    def labelled(self) -> Tensor:
        """Whether each memory entry's token is itself a target, [n, M]."""
        return self.of_group(self.group_labelled)

    @cached_property
    def readable(self) -> Tensor:
        """Which memory entries each position may read, [n, M] bool."""
        if self.whole and self.group_readable.shape[1] == 1:  # in generation
            return self.group_readable[:, 0]
        if len(self.group_readable) == 1:
            return self.group_readable[0].index_select(0, self.position)
        return self.group_readable[self.group, self.position]

    @cached_property
    def copy_tokens(self) -> Tensor:
        """Tokens that a copying backbone may copy, [n, S]."""
        assert self.group_copy_tokens is not None
        return self.of_group(self.group_copy_tokens)

    def of_group(self, values: Tensor) -> Tensor:
        """Give each position its batch row's values, [G, M] -> [n, M]; a view where there is one batch row."""
        if len(values) == 1:
            return values.expand(len(self), -1)
        return values.index_select(0, self.group)

    @cached_property
    def written(self) -> Tensor:
        """Tokens of the text before each position, in order, IGNORED elsewhere, [n, W].

        What the model has written so far or, in training, would have: the tokens behind the prompt on a decoder-only
        backbone, those of the target on an encoder-decoder. Neither prompt nor source, nor the token that decoding
        starts from, nor padding. The prompt of a training row ends at its first target.

        Raises:
            UsageError: when the backbone does not say what its decoder reads.
        """
        tokens, is_prompt = self._before
        return tokens.masked_fill(is_prompt, IGNORED)

    @cached_property
    def prompt(self) -> Tensor:
        """Tokens of the prompt before each position, in the columns that `written` leaves free, [n, W].

        All IGNORED on an encoder-decoder, whose source is in the memory.

        Raises:
            UsageError: when the backbone does not say what its decoder reads.
        """
        tokens, is_prompt = self._before
        return tokens.masked_fill(~is_prompt, IGNORED)

    @cached_property
    def _before(self) -> tuple[Tensor, Tensor]:
        """Tokens before each position, and which of them are a prompt, both [n, W]."""
        if self.history is None:
            raise UsageError(
                "tokens.written needs a backbone that says what its decoder reads; got none: give `history` to States "
                "in Backbone.states and, in Backbone.extend, that of the step to last_slice"
            )
        return self.history.before(self.start + self.group, self.position)

    @cached_property
    def reference(self) -> TokenSlice:
        """The same positions in the frozen reference model, whose hidden states and head are its own.

        Raises:
            UsageError: when there is no reference model, as in generation.
        """
        if self.reference_slice is None:
            raise UsageError(
                "tokens.reference needs a reference model; got none: name its method in the class attribute "
                "`reference`, take states from objective.states(batch), and generate without it"
            )
        return self.reference_slice()

    def similarity(self) -> Tensor:
        """Scaled dot product with every memory entry, h_t . h_i / sqrt(d), [n, M].

        In float32 even under autocast: in bf16 6 % of the ranking term's hinges flip sign on anisotropic states.
        Source: HistAlign section 3.2 (after TRIME).
        """
        groups, width = len(self.memory), self.hidden.shape[1]
        if groups == 1:
            return scaled_similarity(self.hidden, self.memory[0])
        if self.whole:
            return scaled_similarity(self.hidden.view(groups, self.width, width), self.memory).flatten(0, 1)
        filled = self.hidden.new_zeros((groups * self.width, width)).index_copy(0, self.kept, self.hidden)
        scores = scaled_similarity(filled.view(groups, self.width, width), self.memory)  # [G, P, M]
        return scores.flatten(0, 1).index_select(0, self.kept)

    @cached_property
    def positive(self) -> Tensor:
        """Which readable entries hold the target itself, [n, M]: P_t of HistAlign eq. 4."""
        return self.readable & (self.memory_tokens == self.targets[:, None])

    def take(self, index: Tensor) -> TokenSlice:
        """Return only the positions at `index`, [k]."""
        return replace(
            self,
            reference_slice=None if self.reference_slice is None else lambda: self.reference.take(index),
            hidden=self.hidden.index_select(0, index),
            targets=self.targets.index_select(0, index),
            position=self.position.index_select(0, index),
            group=self.group.index_select(0, index),
            kept=self.kept.index_select(0, index),
            copying=None if self.copying is None else self.copying.index_select(0, index),
            memory_terms=tuple(term.index_select(0, index) for term in self.memory_terms),
            whole=False,
            index=None,
        )


@dataclass(frozen=True)
class SliceIndex:
    """Which positions of which batch rows one slice holds.

    The N positions of a batch that carry a target are numbered row after row; a slice is a run of them.
    """

    batch: slice  # G batch rows
    span: slice  # n of the N positions
    width: int  # P, the most positions of one of the rows
    flat: Tensor  # [n] place of each position in the flattened [B, T]
    targets: Tensor  # [n]
    position: Tensor  # [n] position within the batch row
    group: Tensor  # [n] which of the G batch rows
    kept: Tensor  # [n] place in the flattened rectangle of G x P
    places: Array  # `flat` as an array

    def __len__(self) -> int:
        return self.span.stop - self.span.start


def slice_indices(states: States, limit: int = 256) -> list[SliceIndex]:
    """Cut the positions that carry a target into slices of at most `limit`, once for a batch.

    Neighbouring batch rows share a slice while their rectangle fits; a longer row is cut in time. This is worked out on
    the CPU, and copied to the device in one go.
    """
    return states.on_cpu().once(_slice_indices, limit)


def _slice_indices(cpu: CpuTokens, limit: int) -> list[SliceIndex]:
    """`slice_indices` from the tokens of a batch."""
    known = cpu.targets
    row, position = np.nonzero(known != IGNORED)  # [N], row after row
    starts = np.searchsorted(row, np.arange(len(known) + 1))  # [B+1] number of the first position of each row
    rectangles = list(_rectangles(np.diff(starts).tolist(), starts.tolist(), limit))
    group, kept = row.copy(), position.copy()
    for batch, span, width in rectangles:
        group[span] -= batch.start
        first = np.maximum(starts[row[span]], span.start)  # number of the slice's first position in the same row
        kept[span] = group[span] * width + np.arange(span.start, span.stop) - first
    columns: dict[str, Array] = {
        "flat": row * known.shape[1] + position,
        "targets": known[row, position],
        "position": position,
        "group": group,
        "kept": kept,
    }
    copied = to_device(columns, cpu.device)
    cut = []
    for batch, span, width in rectangles:
        views = {name: column[span] for name, column in copied.items()}
        cut.append(SliceIndex(batch, span, width, **views, places=columns["flat"][span]))
    return cut


def _rectangles(counts: list[int], starts: list[int], limit: int) -> Iterator[tuple[slice, slice, int]]:
    """Yield the batch rows, the run of positions and the width of each slice.

    Args:
        counts: targets of each batch row, [B].
        starts: number of the first position of each row, [B+1].
        limit: most positions in a slice, filling included.
    """
    start = 0
    while start < len(counts):
        widest, stop = counts[start], start + 1
        while stop < len(counts) and (stop + 1 - start) * max(widest, counts[stop]) <= limit:
            widest, stop = max(widest, counts[stop]), stop + 1
        for left in range(starts[start], starts[stop], limit):  # more than once for a single long row only
            right = min(left + limit, starts[stop])
            yield slice(start, stop), slice(left, right), min(widest, right - left)
        start = stop


def slice_of(
    states: States,
    index: SliceIndex,
    leaves: Sequence[Tensor] | None = None,
    memory_terms: tuple[Tensor, ...] = (),
) -> TokenSlice:
    """Return the slice of `states` that `index` names.

    Args:
        states: a batch after the backbone.
        index: which positions.
        leaves: the tensors of `leaves_of` for this slice, when the caller wants gradients of them.
        memory_terms: [n] each, for losses that read them.
    """
    hidden, memory, *copying = leaves or leaves_of(states, index)
    reference = states.reference
    return TokenSlice(
        hidden=hidden,
        targets=index.targets,
        position=index.position,
        group=index.group,
        kept=index.kept,
        width=index.width,
        whole=len(index) == index.width * (index.batch.stop - index.batch.start),
        memory=memory,
        group_memory_tokens=states.memory_tokens[index.batch],
        group_readable=states.readable[index.batch],
        group_labelled=states.labelled[index.batch],
        start=index.batch.start,
        copying=copying[0] if copying else None,
        group_copy_tokens=None if states.copy_tokens is None else states.copy_tokens[index.batch],
        memory_terms=memory_terms,
        index=index,
        cpu=states.on_cpu(),
        history=states.history,
        reference_slice=None if reference is None else lambda: slice_of(reference(), index),
    )


def leaves_of(states: States, index: SliceIndex) -> list[Tensor]:
    """Return a slice's share of `States.differentiable`: states [n, D], memory [G, M, D], copying [n, S+1]."""
    parts = [at_positions(states.hidden, index.flat), states.memory[index.batch]]
    if states.copying is not None:
        parts.append(at_positions(states.copying, index.flat))
    return parts


def at_positions(values: Tensor, index: Tensor) -> Tensor:
    """Return values [B, T, .] at positions of the flattened batch, [n, .]."""
    return values.flatten(0, 1).index_select(0, index)


def slices(states: States, limit: int = 256) -> Iterator[TokenSlice]:
    """Yield the positions that carry a target, at most `limit` at a time."""
    for index in slice_indices(states, limit):
        yield slice_of(states, index)


def last_slice(
    hidden: Tensor,
    memory: Tensor,
    memory_tokens: Tensor,
    readable: Tensor,
    copying: Tensor | None = None,
    copy_tokens: Tensor | None = None,
    history: History | None = None,
) -> TokenSlice:
    """Return one position of each batch row, the one generation continues from; there are no targets.

    Args:
        hidden: [G, D] last state of each row.
        memory: [G, M, D] what that state may read, with memory_tokens [G, M] and readable [G, M].
        copying: [G, S+1] log-weights of a copying backbone, with copy_tokens [G, S].
        history: of the step, all of whose tokens stand before the position.
    """
    rows = torch.arange(len(hidden), device=hidden.device)
    return TokenSlice(
        hidden=hidden,
        targets=rows.new_full((len(rows),), IGNORED),
        position=torch.zeros_like(rows),
        group=rows,
        kept=rows,
        width=1,
        whole=True,
        memory=memory,
        group_memory_tokens=memory_tokens,
        group_readable=readable[:, None],
        group_labelled=readable,
        copying=copying,
        group_copy_tokens=copy_tokens,
        history=history,
    )
