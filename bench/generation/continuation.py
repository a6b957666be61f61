"""Continuation: the texts of a batch while they are written, with the cache of the model that reads them.

A decoding gets log-probabilities from it and gives it tokens. The model reads a token only when a result depends on it,
so the last token of a text costs no forward pass.

Shapes: B rows, R texts that grow at once, T tokens read and written, N new tokens, V vocabulary, D width of a state.
"""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from transformers import LogitsProcessor, NoRepeatNGramLogitsProcessor, RepetitionPenaltyLogitsProcessor

from bench.decodings.core.decoding import Decoding
from bench.generation.row_cache import RowCache, new_cache
from bench.models.backbones.backbone import Batch, Step
from bench.models.backbones.causal import positions
from bench.models.core.continuations import special_tokens
from bench.models.core.objective import Objective
from bench.models.core.states import History, TokenSlice

CHECK_EVERY = {"cpu": 1}
"""Tokens between two checks whether all texts have ended, by device; 16 on all others, which have to be waited for."""


class Continuation:
    """Texts that grow token by token; `bench.decodings.core.decoding.Texts` is what decodings may use of it.

    Args:
        objective: method and backbone, in evaluation mode.
        decoding: decides which distribution the objective gives, and the penalties on it.
        batch: as `bench.generation.generation.generate` takes it.
    """

    def __init__(self, objective: Objective, decoding: Decoding, batch: Batch) -> None:
        self.objective, self.decoding = objective, decoding
        config = objective.backbone.model.config
        self.row_cache = RowCache(config)
        self.cache = new_cache(config, self.row_cache)
        self.reads_source = bool(config.is_encoder_decoder)
        ids, self.mask = batch["input_ids"], batch["attention_mask"]
        self.given: dict[str, Any] = {}  # what each step of an encoder-decoder has in addition to the new tokens
        if self.reads_source:
            encoder = objective.backbone.model.get_encoder()
            self.given = {
                "source": ids,
                "encoded": encoder(input_ids=ids, attention_mask=self.mask, return_dict=True),
                "exemplar": batch.get("exemplar_ids"),
                "exemplar_mask": batch.get("exemplar_mask"),
            }
            start = config.bos_token_id if config.decoder_start_token_id is None else config.decoder_start_token_id
            ids = ids.new_full((len(ids), 1), int(start))
        self.ids = ids  # [R, T]
        self.start = ids.shape[1]
        self.processors: list[LogitsProcessor] = []
        if decoding.repetition_penalty != 1:
            penalty = RepetitionPenaltyLogitsProcessor(decoding.repetition_penalty, prompt_ignore_length=self.start)
            self.processors.append(penalty)
        if decoding.no_repeat_ngram:
            self.processors.append(NoRepeatNGramLogitsProcessor(decoding.no_repeat_ngram))
        self.ends = frozenset(special_tokens(objective.backbone, "eos"))
        self.end_ids = ids.new_tensor(sorted(self.ends))
        self.ended = torch.zeros_like(ids[:, 0], dtype=torch.bool)  # [R]
        self.copies = 1  # copies of each text, which are next to each other and belong to one row
        self.n_read = 0
        self.last: TokenSlice | None = None  # the last position of each text, when it was read last

    @property
    def rows(self) -> TokenSlice:
        """The last position of each text, after the model has read all tokens."""
        if self.last is None or self.n_read < self.ids.shape[1]:
            self.last = self._read(self.ids[:, self.n_read :])
            self.n_read = self.ids.shape[1]
        return self.last

    def _read(self, new: Tensor) -> TokenSlice:
        """Run the model over new tokens, [R, N]; return the last position of each text."""
        places = None if self.reads_source else positions(self.mask)[:, -new.shape[1] :]
        history = History(self.ids, ahead=self.ids.shape[1], mask=self.mask, prompt=self.start)
        if self.reads_source:
            history = History(self.ids[:, 1:], ahead=self.ids.shape[1] - 1)
        step = Step(ids=new, cache=self.cache, mask=self.mask, positions=places, history=history, **self.given)
        tokens = self.objective.backbone.extend(step)
        if self.reads_source:
            self.row_cache.append("written_states", tokens.hidden[:, None])
        return tokens

    @property
    def states(self) -> Tensor:
        """The last state of the model after each token that it has read, [R, T, D], of the prompt too."""
        rows = self.rows
        if self.reads_source:
            return self.row_cache.rows["written_states"]
        return torch.cat([rows.memory.index_select(0, rows.group), rows.hidden[:, None]], 1)

    @property
    def real(self) -> Tensor:
        """Which tokens are no padding, [R, T] bool."""
        last = torch.ones_like(self.ids[:, :1], dtype=torch.bool)
        if self.reads_source:
            return last.expand(self.states.shape[:2])
        return torch.cat([self.rows.readable, last], 1)

    @property
    def new(self) -> Tensor:
        """What was written, [R, N]; after the first end token of a text it means nothing."""
        return self.ids[:, self.start :]

    @property
    def finished(self) -> bool:
        """Whether every text has an end token; a GPU is asked after every 16th token, and between these it is False."""
        due = self.new.shape[1] % CHECK_EVERY.get(self.ids.device.type, 16) == 0
        return due and bool(self.ended.all())

    def log_probs(self) -> Tensor:
        """Log-probabilities of the next token, [R, V] float32, after blocked n-grams and penalties.

        A text in which all tokens with a probability are blocked, as may happen with exact zeros, has none blocked.
        """
        scores = self.objective.decode_log_probs(self.rows, self.decoding).float()
        for processor in self.processors:
            processed = processor(self.ids, scores)
            scores = torch.where(processed.isfinite().any(1, keepdim=True), processed, scores)
        return scores

    def words(self, tokens: Sequence[int]) -> list[str]:
        """Return the words of a text, between white space, without special tokens."""
        text: str = self.objective.backbone.tokenizer.decode(list(tokens), skip_special_tokens=True)
        return text.split()

    def append(self, tokens: Tensor) -> None:
        """Add a token to each text, [R]."""
        new = tokens[:, None]
        self.ids = torch.cat([self.ids, new], 1)
        self.ended = self.ended | torch.isin(tokens, self.end_ids)
        if not self.reads_source:
            self.mask = torch.cat([self.mask, torch.ones_like(new)], 1)

    def repeat(self, times: int) -> None:
        """Put copies of each text next to it."""
        _ = self.rows  # a prompt is read once, not once for each copy
        self.cache.batch_repeat_interleave(times)
        self.copies *= times
        self._move(lambda rows: rows.repeat_interleave(times, dim=0))

    def keep(self, places: Sequence[int]) -> None:
        """Go on with the texts at these places, in this order; a place may come twice."""
        index = torch.tensor(places, device=self.ids.device)
        within_rows = len(places) == len(self.ids) and all(
            place // self.copies == at // self.copies for at, place in enumerate(places)
        )
        if within_rows:  # what belongs to the source need not move
            self.cache.reorder_cache(index)
        else:
            self.cache.batch_select_indices(index)
            self.copies = 1
        self._move(lambda rows: rows.index_select(0, index), source_too=not within_rows)

    def _move(self, moved: Callable[[Tensor], Tensor], source_too: bool = True) -> None:
        """Move everything that belongs to a text to where the text now is."""
        texts = moved(torch.arange(len(self.ids), device=self.ids.device))
        self.ids, self.ended = moved(self.ids), moved(self.ended)
        if source_too or not self.reads_source:
            self.mask = moved(self.mask)
        if source_too:
            self.given = {name: moved_part(part, moved) for name, part in self.given.items()}
        if self.last is not None:
            self.last = self.last.take(texts)


def moved_part(part: Any, moved: Callable[[Tensor], Tensor]) -> Any:
    """Move a tensor, or the tensors of an encoder's output; None stays."""
    if part is None:
        return None
    if isinstance(part, Tensor):
        return moved(part)
    return type(part)(**{name: moved_part(value, moved) for name, value in part.items()})
