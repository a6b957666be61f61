"""Backbone: the base class of the models that turn a batch into states.

Shapes: B rows, T positions, S source tokens, E exemplar tokens, N new tokens of a generation step, V vocabulary, D
width of a state.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Protocol, TypedDict

import numpy as np
import torch
from torch import Tensor, nn

from bench.errors import UsageError
from bench.models.backbones.logits import LogitRule, logit_rule
from bench.models.backbones.lora import Lora
from bench.models.backbones.pretrained import Pretrained
from bench.models.core.cpu_copy import CpuBatch, CpuTokens, kept_arrays
from bench.models.core.states import IGNORED, History, States, TokenSlice


class Batch(TypedDict, total=False):
    """A collated batch. Decoder-only: `labels` lie on `input_ids`; encoder-decoder: `labels` are the target."""

    input_ids: Tensor  # [B, T] or, for encoder-decoder, the source [B, S]
    attention_mask: Tensor  # same shape, 1 for a real token
    labels: Tensor  # [B, T], IGNORED where there is no loss
    exemplar_ids: Tensor  # [B, E] of methods that read an exemplar, padded at the right
    exemplar_mask: Tensor  # [B, E], 1 for a real token
    item: int  # micro-batch of this rank, from 0
    step: int  # optimiser step, from 0
    step_rows: int  # rows of the whole optimiser step, over all ranks and micro-batches
    step_tokens: int  # their target tokens
    cpu: CpuBatch  # the arrays that the tensors were copied from


class TextSource(Protocol):
    """What a backbone needs of a task: tokenizers, and vectors of tokens."""

    markers: tuple[str, ...]

    def tokenizer(self, vocabulary: int) -> Any:
        """Return a tokenizer made for the task's training text."""

    def word_tokenizer(self, vocabulary: int) -> Any:
        """Return a tokenizer of whole words, the most frequent ones of the training text."""

    def reference_embeddings(self, tokenizer: Any, width: int, seed: int) -> Tensor | None:
        """Return fixed token embeddings [V, width] with a known geometry, or None."""


@dataclass(frozen=True)
class Step:
    """What generation hands a backbone: new tokens, and all it needs to know of what came before."""

    ids: Tensor  # [B, N] new tokens; the whole prompt in the first step
    cache: Any  # transformers' cache; decoder-only: a RowCache of bench.generation.row_cache
    mask: Tensor | None  # decoder-only: of all tokens so far, [B, T], None if all are real; else of the source, [B, S]
    positions: Tensor | None = None  # [B, N] decoder-only
    source: Tensor | None = None  # [B, S] encoder-decoder
    encoded: Any = None  # output of the encoder
    exemplar: Tensor | None = None  # [B, E], with exemplar_mask [B, E], where the method reads exemplars
    exemplar_mask: Tensor | None = None
    history: History | None = None  # all tokens so far; a backbone hands it on


@dataclass(frozen=True)
class LinearHead:
    """A softmax head that is one matrix product: logits = hidden @ weight.T + bias + offset."""

    weight: Tensor  # [V, D]
    bias: Tensor | None = None  # [V], trained
    offset: Tensor | None = None  # [V], fixed


class Backbone(nn.Module, ABC):
    """A `transformers` model seen as states plus a head.

    Args:
        model: a language model of `transformers` with an output embedding.
        tokenizer: its tokenizer.
    """

    architecture: ClassVar[str]
    copies: ClassVar[bool] = False  # whether states carry copying weights
    pretrained: Pretrained | None = None  # where its weights are from; None for a model from scratch
    added_tokens: int = 0  # markers of the task that its tokenizer did not have, with random vectors
    lora: Lora | None = None  # how it is adapted, where adapters are trained in its place
    frozen_weights: frozenset[str] = frozenset()  # its frozen weights below adapters, which no checkpoint holds

    def __init__(self, model: Any, tokenizer: Any) -> None:
        super().__init__()
        self.model = model
        self.tokenizer = tokenizer

    @abstractmethod
    def states(self, batch: Batch) -> States:
        """Run the model over a batch with the true targets given (teacher forcing)."""

    @abstractmethod
    def extend(self, step: Step) -> TokenSlice:
        """Run the new tokens of a generation step on top of its cache; return the last position of each row.

        The rows hold what `states` would hold at that position, were the text so far given (teacher forcing).
        """

    @cached_property
    def logit_rule(self) -> LogitRule:
        """The scale that `states` and `extend` put on hidden states, and the soft cap that `head` puts on logits."""
        return logit_rule(getattr(self.model, "config", None))

    @cached_property
    def max_positions(self) -> int | None:
        """How many tokens of a row have a position embedding; None where positions are computed."""
        for name, module in self.model.named_modules():
            last = name.rpartition(".")[2]
            if isinstance(module, nn.Embedding) and (last == "wpe" or "position" in last):
                return getattr(getattr(self.model, "config", None), "max_position_embeddings", None)
        return None

    def refuse_longer(self, length: int, what: str) -> None:
        """Refuse a batch with more columns than the model has positions.

        Args:
            length: columns of the batch.
            what: they are, for the message.

        Raises:
            UsageError: naming both numbers and the options that change them.
        """
        if self.max_positions is not None and length > self.max_positions:
            raise UsageError(
                f"a batch has {what} of {length} tokens, and the backbone has positions for {self.max_positions}; "
                f"lower trainer.max_source or trainer.max_target, or give a backbone from scratch a larger "
                f"backbone.context"
            )

    def head(self, hidden: Tensor) -> Tensor:
        """Logits of the softmax head, with the fixed bias that BART and its like have, [..., D] -> [..., V]."""
        logits = self.model.get_output_embeddings()(hidden)
        if self.fixed_bias is not None:
            logits = logits + self.fixed_bias.to(hidden.dtype)
        return self.logit_rule.capped(logits)

    @property
    def fixed_bias(self) -> Tensor | None:
        """A bias [1, V] of the logits that is not trained, or None."""
        return getattr(self.model, "final_logits_bias", None)

    def linear_head(self) -> LinearHead | None:
        """Return the head as one matrix product, or None where `head` is anything else, such as one with a soft cap."""
        if type(self).head is not Backbone.head or self.logit_rule.soft_cap is not None:
            return None
        output = self.model.get_output_embeddings()
        if type(output) is not nn.Linear:
            return None
        offset = None if self.fixed_bias is None else self.fixed_bias.flatten()
        return LinearHead(whole(output.weight), whole(output.bias), offset)

    def layers(self) -> list[nn.Module]:
        """The layers of the model as `transformers` names them; none where it is no model of `transformers`."""
        names = getattr(self.model, "_no_split_modules", None) or ()
        return [module for module in self.model.modules() if type(module).__name__ in names]

    def embedding(self) -> Tensor:
        """Input embedding of every token, [V, D]."""
        return self.model.get_input_embeddings().weight

    def head_parameters(self) -> list[nn.Parameter]:
        """The parameters the head uses."""
        return list(self.model.get_output_embeddings().parameters())

    def freeze_embeddings(self) -> None:
        """Keep token embeddings and head as they are."""
        for weight in (self.embedding(), *self.head_parameters()):
            weight.requires_grad_(False)

    @property
    def vocabulary_size(self) -> int:
        """Number of columns of the head."""
        return int(self.model.get_output_embeddings().weight.shape[0])

    @property
    def width(self) -> int:
        """Width D of the hidden states."""
        return int(self.model.get_output_embeddings().weight.shape[1])


def whole(tensor: Any) -> Any:
    """Return a tensor as this process needs it: of one that FSDP2 has split, all of it."""
    return tensor.full_tensor() if hasattr(tensor, "full_tensor") else tensor


def states_of_source(
    batch: Batch, hidden: Tensor, memory: Tensor, copying: Tensor | None = None, copy_tokens: Tensor | None = None
) -> States:
    """Return the states of an encoder-decoder, whose memory is the source: its real tokens are readable everywhere.

    Args:
        batch: of sources and targets.
        hidden: [B, T, D] of the decoder.
        memory: [B, S, D] of the encoder.
        copying: [B, T, S+1] of copying backbones, with copy_tokens [B, S].
    """
    ids, mask, labels = batch["input_ids"], batch["attention_mask"], batch["labels"]
    cpu = None
    if arrays := kept_arrays(batch, "labels", "input_ids", "attention_mask"):
        known_labels, known_ids, known_mask = arrays
        readable = np.broadcast_to((known_mask > 0)[:, None, :], (*labels.shape, ids.shape[1]))
        cpu = CpuTokens(labels, known_labels, lambda: known_ids, lambda: readable)
    return States(
        hidden=hidden,
        targets=labels,
        memory=memory,
        memory_tokens=ids,
        readable=(mask > 0)[:, None, :].expand(-1, labels.shape[1], -1),
        labelled=torch.ones_like(mask, dtype=torch.bool),
        copying=copying,
        copy_tokens=copy_tokens,
        cpu=cpu,
        history=History(labels),
    )


def decoder_inputs(labels: Tensor, config: Any) -> Tensor:
    """Return what an encoder-decoder reads to predict labels, [B, T]: the labels moved right behind the start token.

    Args:
        labels: [B, T]; padding takes the place of those that carry no loss.
        config: of the model, with `decoder_start_token_id` and `pad_token_id`.
    """
    start = labels.new_full((labels.shape[0], 1), config.decoder_start_token_id)
    earlier = labels[:, :-1]
    return torch.cat([start, earlier.masked_fill(earlier == IGNORED, config.pad_token_id)], dim=1)
