"""Codec: examples to token ids and batches, for either architecture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

IGNORED = -100


@dataclass(frozen=True, slots=True)
class Encoded:
    """Token ids of one row as the model sees them, special tokens included."""

    id: str
    source: tuple[int, ...]
    target: tuple[int, ...]  # every one of them carries loss
    truncated: int = 0  # tokens, cells or whatever the task counts, dropped by rule
    exemplar: tuple[int, ...] | None = None  # of methods that read one


@dataclass(frozen=True)
class Codec:
    """How rows become batches.

    Args:
        tokenizer: a `transformers` tokenizer.
        architecture: `decoder-only` puts source and target in one row, loss on the target;
            `encoder-decoder` keeps them apart.
        max_source: most source tokens, special tokens not counted.
        max_target: most target tokens, special tokens not counted.
    """

    tokenizer: Any
    architecture: str
    max_source: int
    max_target: int

    def ids(self, texts: Sequence[str]) -> list[list[int]]:
        """Token ids of texts without special tokens."""
        if not texts:
            return []
        found = self.tokenizer(list(texts), add_special_tokens=False, return_attention_mask=False)
        return list(found["input_ids"])

    @cached_property
    def frame(self) -> tuple[list[int], list[int]]:
        """Special tokens the tokenizer itself puts before and after a text, e.g. `<s>` and `</s>` of BART."""
        bare, whole = self.ids(["a"])[0], self.tokenizer(["a"])["input_ids"][0]
        at = next(i for i in range(len(whole) - len(bare) + 1) if whole[i : i + len(bare)] == bare)
        return whole[:at], whole[at + len(bare) :]

    def encode(
        self, name: str, source: list[int], target: list[int], *, ends: bool, truncated: int = 0,
        exemplar: list[int] | None = None,
    ) -> Encoded:  # fmt: skip
        """Cut, count and frame one row.

        Args:
            name: the row's id.
            source: source tokens without special tokens; cut at the right end.
            target: target tokens without special tokens; cut at the right end, then without its end token.
            ends: whether an end token follows the target and is learned.
            truncated: what the task has already dropped by its own rule.
            exemplar: its tokens; cut as a target is, and at least one token, the end, so that it can be read.
        """
        over = max(0, len(source) - self.max_source) + max(0, len(target) - self.max_target)
        ends = ends and len(target) <= self.max_target
        source, target = source[: self.max_source], target[: self.max_target]
        eos = [self.tokenizer.eos_token_id] if ends else []
        if self.architecture == "encoder-decoder":
            before, after = self.frame
            whole, labels = [*before, *source, *after], [*before, *target, *eos]
        else:
            whole, labels = [self.tokenizer.bos_token_id, *source], [*target, *eos]
        read = None if exemplar is None else (*exemplar[: self.max_target], self.tokenizer.eos_token_id)
        return Encoded(name, tuple(whole), tuple(labels), truncated + over, read)

    @property
    def pad(self) -> int:
        """Padding id; a tokenizer without one pads with the end token, which the mask hides."""
        tokenizer = self.tokenizer
        return int(tokenizer.eos_token_id if tokenizer.pad_token_id is None else tokenizer.pad_token_id)

    def train_batch(self, rows: Sequence[Encoded]) -> dict[str, Any]:
        """Collate rows with their targets: `input_ids`, `attention_mask`, `labels`, padded at the right."""
        exemplars = self._exemplars(rows)
        if self.architecture == "encoder-decoder":
            labels: list[Sequence[int]] = [r.target for r in rows]
            return {**self._padded([r.source for r in rows]), "labels": pad_right(labels, IGNORED), **exemplars}
        labels = [[*[IGNORED] * len(r.source), *r.target] for r in rows]
        whole = [[*r.source, *r.target] for r in rows]
        return {**self._padded(whole), "labels": pad_right(labels, IGNORED), **exemplars}

    def prompt_batch(self, rows: Sequence[Encoded]) -> dict[str, Any]:
        """Collate what generation starts from: sources, left padded for decoder-only models."""
        if self.architecture == "encoder-decoder":
            return {**self._padded([r.source for r in rows]), **self._exemplars(rows)}
        flipped = {name: value.flip(1) for name, value in self._padded([r.source[::-1] for r in rows]).items()}
        return {**flipped, **self._exemplars(rows)}

    def _exemplars(self, rows: Sequence[Encoded]) -> dict[str, Tensor]:
        """`exemplar_ids` and `exemplar_mask`, where rows have exemplars."""
        if any(row.exemplar is None for row in rows):
            return {}
        return {f"exemplar_{name.removeprefix('input_').removeprefix('attention_')}": value
                for name, value in self._padded([row.exemplar or () for row in rows]).items()}  # fmt: skip

    def _padded(self, rows: Sequence[Sequence[int]]) -> dict[str, Tensor]:
        return {
            "input_ids": pad_right(rows, self.pad),
            "attention_mask": pad_right([[1] * len(ids) for ids in rows], 0),
        }


def pad_right(rows: Sequence[Sequence[int]], fill: int) -> Tensor:
    """Stack rows of unequal length, [B, longest].

    >>> pad_right([[1, 2], [3]], 0).tolist()
    [[1, 2], [3, 0]]
    """
    longest = max(len(row) for row in rows)
    return torch.tensor([[*row, *([fill] * (longest - len(row)))] for row in rows], dtype=torch.long)
