"""Generation: any backbone and objective as a `transformers` model, so that the library's own decoding drives them.

Beam search with length penalty and n-gram blocking are the library's, token for token; plain greedy is
`bench.cells.greedy`, with the library's texts; sampling is `bench.cells.sampling`. The adapter only answers "what are
the log-probabilities of the next token?".
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from transformers import DynamicCache, EncoderDecoderCache, GenerationConfig, GenerationMixin, PreTrainedModel
from transformers.cache_utils import DynamicLayer
from transformers.modeling_outputs import CausalLMOutputWithPast

from bench.cells.greedy import greedy
from bench.cells.growing import Growing, GrowingLayer
from bench.cells.sampling import SeededSampler
from bench.config.decoding import Decoding
from bench.errors import UsageError
from bench.models.backbones.backbone import Backbone, Batch, Step
from bench.models.backbones.causal import positions
from bench.models.core.objective import Objective

__all__ = ["Generator", "RowCache", "SharedByBeams", "generate"]


def generate(
    objective: Objective,
    batch: Batch,
    decoding: Decoding,
    max_new_tokens: int,
    seeds: Sequence[int] = (),
    *,
    processors: Sequence[Any] = (),
) -> list[list[int]]:
    """Continue each row of a batch.

    Runs in evaluation mode without gradients, and leaves every module's mode as it was; under the caller's autocast.

    Args:
        objective: method and backbone.
        batch: `input_ids` and `attention_mask`. Decoder-only: prompts, padded on the left. Encoder-decoder: sources,
            and `exemplar_ids` with `exemplar_mask` where there are exemplars.
        decoding: how; its own `max_new_tokens` comes first.
        max_new_tokens: longest continuation, where the decoding does not say.
        seeds: one per row, for sampling; a row's text depends on its seed and on no other row.
        processors: logits processors of `transformers`, run before a token is drawn.

    Returns:
        The new tokens of each row up to its first end token, which is left out; no prompt and no padding.

    Raises:
        UsageError: for a batch that cannot be continued: right-padded prompts, too few positions, too few seeds.
    """
    decoding = objective.resolved(decoding)
    limit = decoding.max_new_tokens or max_new_tokens
    _check(objective.backbone, batch["attention_mask"], limit)
    settings, steps = _settings(decoding, objective.backbone.model.config, limit), list(processors)
    if decoding.samples:
        if len(seeds) != len(batch["input_ids"]):
            raise UsageError(f"sampling needs one seed per row: {len(batch['input_ids'])} rows, {len(seeds)} seeds")
        steps.append(SeededSampler(decoding, seeds, limit))
    with torch.no_grad(), _evaluating(objective):
        if decoding.mode == "greedy" and not steps and not decoding.no_repeat_ngram:
            cache = cache_of(objective.backbone.model.config)
            texts = greedy(objective, batch, decoding, cache, limit, _ends(settings.eos_token_id))
        else:
            texts = Generator(objective, decoding).continued(batch, settings, steps)
    return [_until_end(row, _ends(settings.eos_token_id)) for row in texts.tolist()]


class RowCache(DynamicCache):
    """Keys and values, plus named tensors of one row per sequence that follow the beams as keys and values do.

    A recurrent model has no keys and values: its configuration says `num_hidden_layers=0`, and all it knows of the past
    is in named tensors. The library asks how long a cache is before the first step only, when either kind is empty.
    """

    is_croppable = False
    layers: list[Any]

    def __init__(self, config: Any) -> None:
        super().__init__(config=config)
        self.layers = [GrowingLayer() if type(layer) is DynamicLayer else layer for layer in self.layers]
        self.rows: dict[str, Tensor] = {}  # [B, ...]
        self._growing: dict[str, Growing] = {}  # buffers of the rows that `append` makes longer

    def append(self, name: str, new: Tensor) -> Tensor:
        """Add steps to a named tensor, [B, N, ...]; return all of it, [B, T, ...]."""
        growing = self._growing.setdefault(name, Growing(dim=1))
        self.rows[name] = growing.appended(self.rows.get(name), new)
        return self.rows[name]

    def put(self, rows: Mapping[str, Tensor]) -> None:
        """Set named tensors, [B, ...], in place of what they held."""
        self.rows.update(rows)

    def reorder_cache(self, beam_idx: Tensor) -> None:
        """Let row i continue from row `beam_idx[i]`."""
        super().reorder_cache(beam_idx)
        self.rows = {name: rows.index_select(0, beam_idx.to(rows.device)) for name, rows in self.rows.items()}

    def batch_select_indices(self, indices: Tensor) -> None:
        """Keep some rows."""
        super().batch_select_indices(indices)
        self.rows = {name: rows[indices] for name, rows in self.rows.items()}

    def batch_repeat_interleave(self, repeats: int) -> None:
        """Repeat each row; inherited, this would forget the named tensors."""
        super().batch_repeat_interleave(repeats)
        self.rows = {name: rows.repeat_interleave(repeats, dim=0) for name, rows in self.rows.items()}

    def reset(self) -> None:
        """Forget everything."""
        super().reset()
        self.rows = {}

    def crop(self, tokens_to_remove: int) -> None:
        """Refuse: named tensors need not be one step per token."""
        raise NotImplementedError("a RowCache cannot be cropped, so assisted decoding is not available")


class SharedByBeams(DynamicCache):
    """Keys and values of the source: equal for all beams of a row, so a beam that moves need not copy them."""

    def reorder_cache(self, beam_idx: Tensor) -> None:
        """Nothing to do: beams never leave their row."""


def cache_of(config: Any) -> Any:
    """Return an empty cache for a model."""
    if config.is_encoder_decoder:
        return EncoderDecoderCache(RowCache(config), SharedByBeams(config=config))
    return RowCache(config)


class Generator(PreTrainedModel, GenerationMixin):
    """An objective as the library wants a model. Built for one call, and never stored on the objective."""

    base_model_prefix = "objective"
    _supports_sdpa = True  # what the backbone's own class has accepted must not be refused here
    _supports_flash_attn = True
    _supports_flex_attn = True
    _supports_attention_backend = True

    def __init__(self, objective: Objective, decoding: Decoding) -> None:
        config = objective.backbone.model.config
        super().__init__(copy.copy(config))  # the library writes into it
        self.objective = objective
        self.decoding = decoding
        # A checkpoint's own beams, lengths and penalties stay out: every setting is in `decoding`.
        self.generation_config = GenerationConfig(**_special_ids(config))

    def continued(self, batch: Batch, settings: GenerationConfig, processors: list[Any]) -> Tensor:
        """Return the new tokens of each row with what the library fills up with behind them, [B, N]."""
        ids, mask, config = batch["input_ids"], batch["attention_mask"], self.objective.backbone.model.config
        given: dict[str, Any]
        if config.is_encoder_decoder:
            # Only a name with this prefix reaches `forward` and not the encoder.
            given, start = {"decoder_source_ids": ids}, 1
            if "exemplar_ids" in batch:
                given["decoder_exemplar_ids"] = batch["exemplar_ids"]
                given["decoder_exemplar_mask"] = batch["exemplar_mask"]
        else:
            given, start = {"position_ids": positions(mask)}, ids.shape[1]
        texts: Tensor = self.generate(
            input_ids=ids,
            attention_mask=mask,
            past_key_values=cache_of(config),
            generation_config=settings,
            logits_processor=processors,
            **given,
        )
        return texts[:, start:]

    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        position_ids: Tensor | None = None,
        past_key_values: Any = None,
        decoder_input_ids: Tensor | None = None,
        decoder_source_ids: Tensor | None = None,
        decoder_exemplar_ids: Tensor | None = None,
        decoder_exemplar_mask: Tensor | None = None,
        encoder_outputs: Any = None,
        use_cache: bool = True,
        return_dict: bool = True,
    ) -> CausalLMOutputWithPast:
        """Log-probabilities of the next token of each row, [B, 1, V]."""
        ids = input_ids if decoder_input_ids is None else decoder_input_ids
        assert ids is not None
        step = Step(
            ids=ids,
            cache=past_key_values,
            mask=attention_mask,
            positions=position_ids,
            source=decoder_source_ids,
            encoded=encoder_outputs,
            exemplar=decoder_exemplar_ids,
            exemplar_mask=decoder_exemplar_mask,
        )
        log_probs = self.objective.decode_log_probs(self.objective.backbone.extend(step), self.decoding)
        return CausalLMOutputWithPast(logits=log_probs[:, None], past_key_values=past_key_values)

    def get_encoder(self, modality: str | None = None) -> nn.Module:
        """Return the backbone's encoder; the library runs it once per call."""
        encoder: nn.Module = self.objective.backbone.model.get_encoder()
        return encoder


@contextmanager
def _evaluating(module: nn.Module) -> Iterator[None]:
    """Put all modules in evaluation mode, and each back in its own afterwards."""
    modes = [(part, part.training) for part in module.modules()]
    module.eval()
    try:
        yield
    finally:
        for part, training in modes:
            part.training = training


def _settings(decoding: Decoding, config: Any, limit: int) -> GenerationConfig:
    """The library's settings; only those of the mode, because it warns about the others."""
    beam: dict[str, Any] = {}
    if decoding.mode == "beam":
        beam = {"length_penalty": decoding.length_penalty, "early_stopping": decoding.early_stopping}
    return GenerationConfig(
        max_new_tokens=limit,
        num_beams=decoding.beams,
        do_sample=False,  # a sampler leaves one token, so that the largest score is the draw
        no_repeat_ngram_size=decoding.no_repeat_ngram,
        **beam,
        **_special_ids(config),
    )


def _special_ids(config: Any) -> dict[str, Any]:
    names = ("bos_token_id", "eos_token_id", "pad_token_id", "decoder_start_token_id")
    return {name: getattr(config, name, None) for name in names}


def _check(backbone: Backbone, mask: Tensor, limit: int) -> None:
    """Refuse a batch that would be continued wrongly or would end in the middle of it."""
    config, prompt = backbone.model.config, 1
    if not config.is_encoder_decoder:
        prompt = int(mask.sum(1).max())
    room = getattr(config, "max_position_embeddings", None)
    if room is not None and prompt + limit - 1 > room:  # the last token is never read
        raise UsageError(f"{prompt} given and {limit} new tokens need more than the backbone's {room} positions")
    if not config.is_encoder_decoder and not bool((mask[:, -1] > 0).all()):
        raise UsageError("prompts of decoder-only backbones end at the last column: pad them on the left")


def _ends(end: int | list[int] | None) -> list[int]:
    """End tokens as a list."""
    if end is None:
        return []
    if isinstance(end, int):
        return [end]
    return end


def _until_end(tokens: list[int], ends: list[int]) -> list[int]:
    """Cut a row at its first end token; behind it there is padding, more end tokens, or what means nothing."""
    for at, token in enumerate(tokens):
        if token in ends:
            return tokens[:at]
    return tokens
