"""Codec: examples to token ids and batches, for either architecture."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor

from bench.base.keys import key_of
from bench.errors import UsageError
from bench.tasks.encode.token_store import Array, Encoded, Part, TokenStore

__all__ = ["IGNORED", "Codec", "Encoded", "byte_count", "tokenizer_hash"]

IGNORED = -100


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
        """Return the token ids of texts, without special tokens."""
        if not texts:
            return []
        encoding = self.tokenizer(list(texts), add_special_tokens=False, return_attention_mask=False)
        return list(encoding["input_ids"])

    @cached_property
    def identity(self) -> str:
        """The hash of everything that decides what rows become."""
        special = [getattr(self.tokenizer, f"{kind}_token_id", None) for kind in ("bos", "eos", "pad")]
        return key_of([tokenizer_hash(self.tokenizer), special, self.architecture, self.max_source, self.max_target])

    @cached_property
    def frame(self) -> tuple[list[int], list[int]]:
        """Special tokens the tokenizer itself puts before and after a text, e.g. `<s>` and `</s>` of BART."""
        bare, whole = self.ids(["a"])[0], self.tokenizer(["a"])["input_ids"][0]
        at = next(i for i in range(len(whole) - len(bare) + 1) if whole[i : i + len(bare)] == bare)
        return whole[:at], whole[at + len(bare) :]

    def encode(
        self,
        name: str,
        source: list[int],
        target: list[int],
        *,
        ends: bool,
        truncated: int = 0,
        exemplar: list[int] | None = None,
        n_words: int = 0,
        n_bytes: int = 0,
    ) -> Encoded:
        """Cut, count and frame one row.

        Args:
            name: the row's id.
            source: source tokens without special tokens; cut at the right end.
            target: target tokens without special tokens; cut at the right end, then without its end token.
            ends: whether an end token follows the target and is learned.
            truncated: what the task has already dropped by its own rule.
            exemplar: its tokens; cut as a target is, and at least one token, the end, so that it can be read.
            n_words: words of the target's text; of a text that is cut, the share of its tokens that are left counts.
            n_bytes: its bytes, likewise.
        """
        over = max(0, len(source) - self.max_source) + max(0, len(target) - self.max_target)
        ends = ends and len(target) <= self.max_target
        kept, whole_length = min(len(target), self.max_target), max(1, len(target))
        n_words, n_bytes = n_words * kept // whole_length, n_bytes * kept // whole_length
        source, target = source[: self.max_source], target[: self.max_target]
        if self.architecture == "encoder-decoder":
            before, after = self.frame
            whole, labels = [*before, *source, *after], [*before, *target]
        else:
            whole, labels = [self.bos, *source], [*target]
        if ends:
            labels.append(self.eos)
        read = None
        if exemplar is not None:
            read = (*exemplar[: self.max_target], self.eos)
        return Encoded(name, tuple(whole), tuple(labels), truncated + over, read, n_words, n_bytes)

    @cached_property
    def bos(self) -> int:
        """The token that begins a row: the end token where the tokenizer has no other, as that of Qwen 2."""
        token: int | None = self.tokenizer.bos_token_id
        return self.eos if token is None else token

    @cached_property
    def eos(self) -> int:
        """The token that ends a target.

        Raises:
            UsageError: the tokenizer has none.
        """
        token: int | None = self.tokenizer.eos_token_id
        if token is None:
            raise UsageError(f"the tokenizer {type(self.tokenizer).__name__} has no end token; set its eos_token first")
        return token

    @cached_property
    def pad(self) -> int:
        """Padding id; a tokenizer without one pads with the end token, which the mask hides."""
        token: int | None = self.tokenizer.pad_token_id
        return self.eos if token is None else token

    def train_batch(self, rows: Sequence[Encoded]) -> dict[str, Tensor]:
        """Collate rows with their targets: `input_ids`, `attention_mask`, `labels`, padded at the right."""
        return self.picked(TokenStore.of(rows), np.arange(len(rows)))

    def picked(self, rows: TokenStore, numbers: Array) -> dict[str, Tensor]:
        """Collate some rows of a split, as `train_batch` does; no row is looked at on its own.

        Args:
            rows: of a split.
            numbers: which of them, [B].

        Returns:
            `input_ids` and `attention_mask` [B, S], `labels` [B, T] and, where rows have exemplars, `exemplar_ids` and
            `exemplar_mask` [B, E]; S = T for decoder-only models.
        """
        if self.architecture == "encoder-decoder":
            batch = self._padded(rows, numbers, "source")
            labels, _ = rows.matrix(numbers, "target", IGNORED)  # [B, T]
        else:
            ids, lengths = rows.matrix(numbers, "both", self.pad)  # [B, T], [B]
            batch, labels = tensors(ids, lengths), ids.copy()
            before, sizes = rows.n_source(numbers), lengths.tolist()  # source tokens of each row, and all its tokens
            labels[:, : before.min()] = IGNORED
            if before.min() < before.max() or min(sizes) < ids.shape[1]:
                at = np.arange(ids.shape[1])  # [T]
                labels[(at < before[:, None]) | (at >= lengths[:, None])] = IGNORED
        return {**batch, "labels": torch.from_numpy(labels), **self._exemplars(rows, numbers)}

    def prompt_batch(self, rows: Sequence[Encoded]) -> dict[str, Tensor]:
        """Collate what generation starts from: sources, left padded for decoder-only models."""
        store, numbers = TokenStore.of(rows), np.arange(len(rows))
        if self.architecture == "encoder-decoder":
            sources = self._padded(store, numbers, "source")
        else:
            reversed_rows = TokenStore.of(Encoded(row.id, row.source[::-1], ()) for row in rows)
            padded = self._padded(reversed_rows, numbers, "source")
            sources = {name: value.flip(1) for name, value in padded.items()}
        return {**sources, **self._exemplars(store, numbers)}

    def _exemplars(self, rows: TokenStore, numbers: Array) -> dict[str, Tensor]:
        """Return `exemplar_ids` and `exemplar_mask`, [B, E], where rows have exemplars."""
        if not rows.have_exemplars(numbers):
            return {}
        padded = self._padded(rows, numbers, "exemplar")
        return {"exemplar_ids": padded["input_ids"], "exemplar_mask": padded["attention_mask"]}

    def _padded(self, rows: TokenStore, numbers: Array, part: Part) -> dict[str, Tensor]:
        return tensors(*rows.matrix(numbers, part, self.pad))


def tensors(ids: Array, lengths: Array) -> dict[str, Tensor]:
    """Return padded ids and the mask that is 0 where they are padded, [B, T] both."""
    mask = np.ones_like(ids)
    if min(lengths.tolist()) < ids.shape[1]:
        mask[np.arange(ids.shape[1]) >= lengths[:, None]] = 0
    return {"input_ids": torch.from_numpy(ids), "attention_mask": torch.from_numpy(mask)}


def tokenizer_hash(tokenizer: Any) -> str:
    """Return a hash of a tokenizer's whole content, without the padding and cutting that its last call has set."""
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is None:
        return key_of(sorted(tokenizer.get_vocab().items()))
    return key_of({**json.loads(backend.to_str()), "padding": None, "truncation": None})


def byte_count(text: str) -> int:
    """Return how many bytes a text has in UTF-8."""
    return len(text.encode("utf-8", "surrogatepass"))
