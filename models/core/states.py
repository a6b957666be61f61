"""States: what every backbone turns a batch into, and the slices of it that objectives work on.

    batch --Backbone.states--> States [B, T, .] --slices--> Rows [n, .] --Objective--> losses [n]

Shapes: B batch rows, T positions (steps), V vocabulary, D width of a state, M memory entries, S source tokens that may
be copied, n positions of a slice, G batch rows that a slice comes from, P positions of each of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial

import torch
from torch import Tensor

from bench.errors import UsageError
from bench.models.core.history import IGNORED as IGNORED  # others import it from here
from bench.models.core.history import History
from bench.models.functional.cache import scaled_similarity


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
    history: History | None = None  # what the decoder reads, for `Rows.written`
    second: Callable[[], States] | None = None  # the batch in a second model, for `Rows.second`

    @property
    def differentiable(self) -> list[Tensor]:
        """What gradients flow to: hidden states, memory and, where there are any, copying weights."""
        if self.copying is None:
            return [self.hidden, self.memory]
        return [self.hidden, self.memory, self.copying]

    def having(self, hidden: Tensor, memory: Tensor, copying: Tensor | None = None) -> States:
        """Return the same states with these tensors in place of those of `differentiable`."""
        return replace(self, hidden=hidden, memory=memory, copying=copying)

    def detached(self) -> States:
        """Return the same states outside the graph."""
        return self.having(*(tensor.detach() for tensor in self.differentiable))


@dataclass(frozen=True)
class Rows:
    """A slice of n positions that carry a target, taken from G neighbouring batch rows.

    `grid` keeps the G x P rectangle the positions were cut from, because a similarity to the memory is one
    batched product over batch rows, not n products with n copies of a memory.
    """

    hidden: Tensor  # [n, D]
    targets: Tensor  # [n]
    grid: Tensor  # [G, P, D]
    kept: Tensor  # [n] index of each position in the flattened grid; the grid's other places are filling
    position: Tensor  # [n] position within the batch row
    group: Tensor  # [n] which of the G batch rows
    memory: Tensor  # [G, M, D]
    group_memory_tokens: Tensor  # [G, M]
    readable: Tensor  # [n, M] bool
    group_labelled: Tensor  # [G, M] bool
    group_targets: Tensor  # [G, T]
    start: int = 0  # batch row of group 0
    copying: Tensor | None = None  # [n, S+1] log-weights of copying backbones
    group_copy_tokens: Tensor | None = None  # [G, S]
    history: History | None = None  # of the whole batch
    second_rows: Callable[[], Rows] | None = None  # the same positions in a second model

    def __len__(self) -> int:
        return self.hidden.shape[0]

    @cached_property
    def memory_tokens(self) -> Tensor:
        """Token of each memory entry, [n, M]."""
        return self._of_group(self.group_memory_tokens)

    @cached_property
    def labelled(self) -> Tensor:
        """Whether each memory entry's token is itself a target, [n, M]."""
        return self._of_group(self.group_labelled)

    @cached_property
    def copy_tokens(self) -> Tensor:
        """Tokens that a copying backbone may copy, [n, S]."""
        assert self.group_copy_tokens is not None
        return self._of_group(self.group_copy_tokens)

    def _of_group(self, values: Tensor) -> Tensor:
        """Give each position its batch row's values, [G, M] -> [n, M]; a view where there is one batch row."""
        if len(values) == 1:
            return values.expand(len(self), -1)
        return values.index_select(0, self.group)

    @cached_property
    def earlier(self) -> Tensor:
        """Targets before each position in its own row, IGNORED elsewhere, [n, T]; generation has no targets.

        For a loss. A distribution, which generation asks for too, reads `written`.
        """
        targets = self.group_targets[self.group]
        steps = torch.arange(targets.shape[1], device=targets.device)
        return targets.masked_fill(steps[None, :] >= self.position[:, None], IGNORED)

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
                "rows.written needs a backbone that says what its decoder reads; got none: give `history` to States in "
                "Backbone.states and, in Backbone.extend, that of the step to last_rows"
            )
        return self.history.before(self.start + self.group, self.position)

    @cached_property
    def second(self) -> Rows:
        """The same positions in the second, frozen model, whose hidden states, head and cache are its own.

        Raises:
            UsageError: when there is no second model.
        """
        if self.second_rows is None:
            raise UsageError(
                "rows.second needs a second model; got none: name its method in the class attribute `second`, and take "
                "states from objective.states(batch)"
            )
        return self.second_rows()

    def similarity(self) -> Tensor:
        """Scaled dot product with every memory entry, h_t . h_i / sqrt(d), [n, M].

        In float32 even under autocast: in bf16 6 % of the ranking term's hinges flip sign on anisotropic states.
        Source: HistAlign section 3.2 (after TRIME).
        """
        if len(self.memory) == 1:
            return scaled_similarity(self.hidden, self.memory[0])
        scores = scaled_similarity(self.grid, self.memory)
        return scores.flatten(0, 1).index_select(0, self.kept)

    @cached_property
    def positive(self) -> Tensor:
        """Which readable entries hold the target itself, [n, M]: P_t of HistAlign eq. 4."""
        return self.readable & (self.memory_tokens == self.targets[:, None])

    def take(self, index: Tensor) -> Rows:
        """Return only the positions at `index`, [k]."""
        copying = self.copying
        if copying is not None:
            copying = copying.index_select(0, index)
        second_rows = self.second_rows
        if second_rows is not None:
            second_rows = partial(_taken, self, index)
        return replace(
            self,
            second_rows=second_rows,
            hidden=self.hidden.index_select(0, index),
            targets=self.targets.index_select(0, index),
            kept=self.kept.index_select(0, index),
            position=self.position.index_select(0, index),
            group=self.group.index_select(0, index),
            readable=self.readable.index_select(0, index),
            copying=copying,
        )


def _taken(rows: Rows, index: Tensor) -> Rows:
    """The positions at `index` in the second model."""
    return rows.second.take(index)


@dataclass(frozen=True)
class Block:
    """Which positions of which batch rows one slice holds."""

    batch: slice
    positions: Tensor  # [G, P] into T; a row with fewer than P targets is filled with positions without one
    kept: Tensor  # [n] index of each position that carries a target in the flattened `positions`


def blocks(targets: Tensor, limit: int = 256) -> Iterator[Block]:
    """Cut the positions that carry a target into slices of at most `limit`.

    Neighbouring batch rows share a slice while their rectangle fits; a longer row is cut in time.

    Args:
        targets: [B, T], IGNORED where there is no loss.
        limit: most positions in a slice.
    """
    real = targets != IGNORED
    counts: list[int] = real.sum(1).tolist()
    order = torch.argsort((~real).to(torch.int8), dim=1, stable=True)  # real positions first, in time order
    start = 0
    while start < len(counts):
        widest, stop = counts[start], start + 1
        while stop < len(counts) and (stop + 1 - start) * max(widest, counts[stop]) <= limit:
            widest, stop = max(widest, counts[stop]), stop + 1
        batch = slice(start, stop)
        for left in range(0, widest, limit):
            positions = order[batch, left : min(left + limit, widest)]
            kept = real[batch].gather(1, positions).flatten().nonzero().squeeze(1)
            if kept.numel():
                yield Block(batch, positions, kept)
        start = stop


def rows_of(states: States, block: Block, leaves: Sequence[Tensor] | None = None) -> Rows:
    """Return the slice of `states` that `block` names.

    Args:
        states: a batch after the backbone.
        block: which positions.
        leaves: the tensors of `parts_of` for this block, when the caller wants gradients of them.
    """
    grid, memory, *copying_grids = leaves or parts_of(states, block)
    copying = copy_tokens = None
    if copying_grids:
        copying = copying_grids[0].flatten(0, 1).index_select(0, block.kept)
    if states.copy_tokens is not None:
        copy_tokens = states.copy_tokens[block.batch]
    second_rows = None
    if states.second is not None:
        second_rows = partial(_second_rows, states.second, block)
    position = block.positions.flatten().index_select(0, block.kept)
    group = block.kept // block.positions.shape[1]
    targets = states.targets[block.batch]
    return Rows(
        hidden=grid.flatten(0, 1).index_select(0, block.kept),
        targets=targets[group, position],
        grid=grid,
        kept=block.kept,
        position=position,
        group=group,
        memory=memory,
        group_memory_tokens=states.memory_tokens[block.batch],
        readable=states.readable[block.batch][group, position],
        group_labelled=states.labelled[block.batch],
        group_targets=targets,
        start=block.batch.start,
        copying=copying,
        group_copy_tokens=copy_tokens,
        history=states.history,
        second_rows=second_rows,
    )


def _second_rows(second: Callable[[], States], block: Block) -> Rows:
    """A block's slice of the states of a second model."""
    return rows_of(second(), block)


def parts_of(states: States, block: Block) -> list[Tensor]:
    """Return a block's share of `States.differentiable`: states [G, P, D], memory [G, M, D], copying [G, P, S+1]."""
    parts = [grid_of(states.hidden, block), states.memory[block.batch]]
    if states.copying is not None:
        parts.append(grid_of(states.copying, block))
    return parts


def grid_of(values: Tensor, block: Block) -> Tensor:
    """Return the rectangle of [B, T, D] values a block is cut from, [G, P, D]."""
    index = block.positions[:, :, None].expand(-1, -1, values.shape[-1])
    return values[block.batch].gather(1, index)


def slices(states: States, limit: int = 256) -> Iterator[Rows]:
    """Yield the positions that carry a target, at most `limit` at a time."""
    for block in blocks(states.targets, limit):
        yield rows_of(states, block)


def last_rows(
    hidden: Tensor,
    memory: Tensor,
    memory_tokens: Tensor,
    readable: Tensor,
    copying: Tensor | None = None,
    copy_tokens: Tensor | None = None,
    history: History | None = None,
) -> Rows:
    """Return one position of each batch row, the one generation continues from; there are no targets.

    Args:
        hidden: [G, D] last state of each row.
        memory: [G, M, D] what that state may read, with memory_tokens [G, M] and readable [G, M].
        copying: [G, S+1] log-weights of a copying backbone, with copy_tokens [G, S].
        history: of the step, all of whose tokens stand before the position.
    """
    rows = torch.arange(len(hidden), device=hidden.device)
    return Rows(
        hidden=hidden,
        targets=rows.new_full((len(rows),), IGNORED),
        grid=hidden[:, None],
        kept=rows,
        position=torch.zeros_like(rows),
        group=rows,
        memory=memory,
        group_memory_tokens=memory_tokens,
        readable=readable,
        group_labelled=readable,
        group_targets=rows.new_full((len(rows), 1), IGNORED),
        copying=copying,
        group_copy_tokens=copy_tokens,
        history=history,
    )
