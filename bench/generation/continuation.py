"""Continuation: the texts of a batch as they grow, with the cache behind them, for decodings with a loop of their own.

Shapes: B rows, R texts that grow at once, T tokens read and written, S source tokens, N new tokens, V vocabulary, D
width of a state.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import torch
from torch import Tensor

from bench.decodings.core.decoding import Decoding
from bench.generation.reference_reader import new_caches
from bench.models.backbones.backbone import Batch, Step
from bench.models.backbones.causal import positions
from bench.models.core.objective import Objective
from bench.models.core.states import History, TokenSlice

__all__ = ["Continuation", "end_tokens", "first_new", "history_of"]

FOLLOWING = ("ids", "mask", "states", "real", "ended")
"""Tensors of one row a text that follow a text wherever it goes; the source and its like are in `given`."""


class Continuation:
    """Texts that grow token by token; what a decoding may ask of them is `bench.decodings.core.decoding.Texts`.

    Args:
        objective: method and backbone, in evaluation mode.
        decoding: how the objective is asked for its distribution.
        batch: as `generate` has it.
        start: column of the first new token.
        processors: logits processors of `transformers`.
        reference: a frozen model that reads along, as `tokens.reference`.
    """

    def __init__(
        self,
        objective: Objective,
        decoding: Decoding,
        batch: Batch,
        start: int,
        processors: Sequence[Any],
        reference: Objective | None = None,
    ) -> None:
        self.objective, self.decoding, self.processors, self.start = objective, decoding, processors, start
        config = objective.backbone.model.config
        self.ends = end_tokens(config)
        self.cache, self.reader = new_caches(config, reference)
        self.reads_source = bool(config.is_encoder_decoder)
        ids, self.mask = batch["input_ids"], batch["attention_mask"]
        self.given: dict[str, Any] = {}  # of encoder-decoders: what each step is told beside the new tokens
        if self.reads_source:
            encoder = objective.backbone.model.get_encoder()
            self.given = {
                "source": ids,
                "encoded": encoder(input_ids=ids, attention_mask=self.mask, return_dict=True),
                "exemplar": batch.get("exemplar_ids"),
                "exemplar_mask": batch.get("exemplar_mask"),
            }
            ids = ids.new_full((len(ids), 1), start_token(config))
        self.ids = ids  # [R, T]
        self.ended = torch.zeros_like(ids[:, 0], dtype=torch.bool)  # [R]
        self.rows = self._read(ids)
        self.states, self.real = self._states_of_prompt()

    def _read(self, new: Tensor) -> TokenSlice:
        """Run the model over new tokens, [R, N]; return the last position of each text.

        A reference model reads at once, not when it is asked: texts move from one step to the next.
        """
        places = None
        if not self.reads_source:
            places = positions(self.mask)[:, -new.shape[1] :]
        history = history_of(self.ids, self.mask, self.start, reads_source=self.reads_source)
        step = Step(ids=new, cache=self.cache, mask=self.mask, positions=places, history=history, **self.given)
        tokens = self.objective.backbone.extend(step)
        if self.reader is not None:
            tokens = replace(tokens, reference_slice=partial(_same, self.reader.rows(step, self.ids)))
        return tokens

    def _states_of_prompt(self) -> tuple[Tensor, Tensor]:
        """Return the states behind the tokens read so far, and which of them are real.

        The memory of a decoder-only model is its own earlier states, of an encoder-decoder those of the source.
        """
        last = self.rows.hidden[:, None]  # [R, 1, D]
        real = torch.ones_like(self.ids[:, :1], dtype=torch.bool)
        if self.reads_source:
            return last, real
        return torch.cat([self.rows.memory, last], 1), torch.cat([self.rows.readable, real], 1)

    @property
    def finished(self) -> bool:
        """Whether every text has an end token."""
        return bool(self.ended.all())

    def log_probs(self) -> Tensor:
        """Log-probabilities of the next token, [R, V] float32, after blocked n-grams and penalties."""
        scores = self.objective.decode_log_probs(self.rows, self.decoding).float()
        for processor in self.processors:
            scores = processor(self.ids, scores)
        return scores

    def words(self, tokens: Sequence[int]) -> list[str]:
        """Return the words of a text, between white space, without special tokens."""
        text: str = self.objective.backbone.tokenizer.decode(list(tokens), skip_special_tokens=True)
        return text.split()

    def append(self, tokens: Tensor) -> None:
        """Add a token to each text, [R], and run the model over it."""
        new = tokens[:, None]
        self.ids = torch.cat([self.ids, new], 1)
        self.ended = self.ended | torch.isin(tokens, tokens.new_tensor(sorted(self.ends)))
        if not self.reads_source:
            self.mask = torch.cat([self.mask, torch.ones_like(new)], 1)
        self.rows = self._read(new)
        self.states = torch.cat([self.states, self.rows.hidden[:, None]], 1)
        self.real = torch.cat([self.real, torch.ones_like(new, dtype=torch.bool)], 1)

    def repeat(self, times: int) -> None:
        """Put copies of each text beside it."""
        self.cache.batch_repeat_interleave(times)
        self._follow(lambda rows: rows.repeat_interleave(times, dim=0))

    def keep(self, places: Sequence[int]) -> None:
        """Go on with the texts at these places, in this order; a place may come twice."""
        index = torch.tensor(places, device=self.ids.device)
        self.cache.batch_select_indices(index)
        self._follow(lambda rows: rows.index_select(0, index))

    def _follow(self, moved: Callable[[Tensor], Tensor]) -> None:
        """Move everything that belongs to a text to where the text now is."""
        for name in FOLLOWING:
            setattr(self, name, moved(getattr(self, name)))
        self.given = {name: moved_part(part, moved) for name, part in self.given.items()}
        if self.reader is not None:
            self.reader.encoded = moved_part(self.reader.encoded, moved)
        texts = torch.arange(len(self.rows), device=self.ids.device)
        self.rows = self.rows.take(moved(texts))


def _same(tokens: TokenSlice) -> TokenSlice:
    return tokens


def history_of(tokens: Tensor, mask: Tensor | None, start: int, *, reads_source: bool) -> History:
    """Return the tokens so far as the history of their next position.

    Args:
        tokens: [R, T] prompt and text; of encoder-decoders start token and text.
        mask: [R, T] of decoder-only models, 0 at padding.
        start: columns of the prompts.
        reads_source: whether it is an encoder-decoder.
    """
    if reads_source:
        return History(tokens[:, 1:], ahead=tokens.shape[1] - 1)
    return History(tokens, ahead=tokens.shape[1], mask=mask, prompt=start)


def moved_part(part: Any, moved: Callable[[Tensor], Tensor]) -> Any:
    """Move a tensor, or the tensors of an encoder's output; None stays."""
    if part is None:
        return None
    if isinstance(part, Tensor):
        return moved(part)
    return type(part)(**{name: moved_part(value, moved) for name, value in part.items()})


def first_new(batch: Batch, config: Any) -> int:
    """Return the column at which new tokens begin: behind the prompts or the start token."""
    if config.is_encoder_decoder:
        return 1
    return int(batch["input_ids"].shape[1])


def start_token(config: Any) -> int:
    """Return what an encoder-decoder reads first, as the library decides it."""
    if config.decoder_start_token_id is not None:
        return int(config.decoder_start_token_id)
    return int(config.bos_token_id)


def end_tokens(config: Any) -> frozenset[int]:
    """Return the tokens that end a text; none, one or several."""
    ends = getattr(config, "eos_token_id", None)
    if ends is None:
        return frozenset()
    if isinstance(ends, int):
        return frozenset([ends])
    return frozenset(ends)
