"""Generation: any backbone and objective as a `transformers` model, so that the library's own decoding drives them.

Beam search with length penalty and n-gram blocking are the library's, token for token; plain greedy is
`bench.generation.greedy`, with the library's texts; sampling is `bench.generation.sampling`. The adapter only answers
"what are the log-probabilities of the next token?". A decoding with a loop of its own asks the same of
`bench.generation.continuation`.
"""

from __future__ import annotations

import copy
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from transformers import GenerationConfig, GenerationMixin, PreTrainedModel
from transformers.modeling_outputs import CausalLMOutputWithPast

from bench.decodings.core.decoding import Decoding
from bench.decodings.core.penalties import blockers
from bench.decodings.core.sampler import Sampler
from bench.decodings.greedy import Greedy
from bench.errors import UsageError
from bench.generation.continuation import Continuation, end_tokens, first_new, history_of
from bench.generation.greedy import greedy
from bench.generation.reference_reader import ReferenceReader, new_caches
from bench.generation.row_cache import RowCache, SharedByBeams
from bench.generation.sampling import SeededSampler
from bench.models.backbones.backbone import Backbone, Batch, Step
from bench.models.backbones.cache_keyword import library_keyword
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
    reference: Objective | None = None,
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
        reference: a frozen model that reads along, as `tokens.reference`; the objective's own where none is given.

    Returns:
        The new tokens of each row up to its first end token, which is left out; no prompt and no padding.

    Raises:
        UsageError: for a batch that cannot be continued: right-padded prompts, too few positions, too few seeds.
    """
    decoding = objective.resolved(decoding)
    limit, config = decoding.max_new_tokens or max_new_tokens, objective.backbone.model.config
    _check(objective.backbone, batch["attention_mask"], limit - 1 + decoding.looks_ahead)
    start = first_new(batch, config)
    steps = [*blockers(decoding, start), *processors]
    if isinstance(decoding, Sampler):
        if len(seeds) != len(batch["input_ids"]):
            raise UsageError(f"sampling needs one seed per row: {len(batch['input_ids'])} rows, {len(seeds)} seeds")
        classes = objective.classes if decoding.distribution == "f2_released" else None
        steps.append(SeededSampler(decoding, seeds, limit, classes))
    if reference is None and objective.has_reference:
        reference = objective.reference_model
    with torch.no_grad(), _evaluating(objective), _evaluating(reference):
        if decoding.own_loop:
            texts = decoding.write(Continuation(objective, decoding, batch, start, steps, reference), limit)
        elif type(decoding) is Greedy and not steps:
            texts = greedy(objective, decoding, batch, limit, reference).tolist()
        else:
            settings = _settings(decoding, config, limit)
            texts = Generator(objective, decoding, reference).continued(batch, start, settings, steps).tolist()
    ends = end_tokens(config)
    return [_until_end(row, ends) for row in texts]


class Generator(PreTrainedModel, GenerationMixin):
    """An objective as the library wants a model. Built for one call, and never stored on the objective."""

    base_model_prefix = "objective"
    _supports_sdpa = True  # what the backbone's own class has accepted must not be refused here
    _supports_flash_attn = True
    _supports_flex_attn = True
    _supports_attention_backend = True

    def __init__(self, objective: Objective, decoding: Decoding, reference: Objective | None = None) -> None:
        config = objective.backbone.model.config
        super().__init__(copy.copy(config))  # the library writes into it
        self.objective = objective
        self.decoding = decoding
        self.prompt = 0  # columns of the prompts
        self.reference = reference
        self.reader: ReferenceReader | None = None
        # A checkpoint's own beams, lengths and penalties stay out: every setting is in `decoding`.
        self.generation_config = GenerationConfig(**_special_ids(config))

    def continued(self, batch: Batch, start: int, settings: GenerationConfig, processors: list[Any]) -> Tensor:
        """Return the new tokens of each row with what the library fills up with behind them, [B, N]."""
        ids, mask, config = batch["input_ids"], batch["attention_mask"], self.objective.backbone.model.config
        cache, self.reader = new_caches(config, self.reference)
        given: dict[str, Any]
        if config.is_encoder_decoder:
            # Only a name with this prefix reaches `forward` and not the encoder.
            given = {"decoder_source_ids": ids}
            if "exemplar_ids" in batch:
                given["decoder_exemplar_ids"] = batch["exemplar_ids"]
                given["decoder_exemplar_mask"] = batch["exemplar_mask"]
        else:
            given = {"position_ids": positions(mask)}
            self.prompt = start
        texts: Tensor = self.generate(
            input_ids=ids,
            attention_mask=mask,
            generation_config=settings,
            logits_processor=processors,
            **{library_keyword(): cache},
            **given,
        )
        return texts[:, start:]

    def prepare_inputs_for_generation(self, input_ids: Tensor, *args: Any, **kwargs: Any) -> dict[str, Any]:
        """Add all tokens so far: of these the library hands on the new ones only. It looks for the name `kwargs`."""
        inputs: dict[str, Any] = super().prepare_inputs_for_generation(input_ids, *args, **kwargs)
        return {**inputs, "so_far": input_ids}

    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        position_ids: Tensor | None = None,
        past_key_values: Any = None,
        cache: Any = None,
        decoder_input_ids: Tensor | None = None,
        decoder_source_ids: Tensor | None = None,
        decoder_exemplar_ids: Tensor | None = None,
        decoder_exemplar_mask: Tensor | None = None,
        encoder_outputs: Any = None,
        so_far: Tensor | None = None,
        use_cache: bool = True,
        return_dict: bool = True,
    ) -> CausalLMOutputWithPast:
        """Log-probabilities of the next token of each row, [B, 1, V]; the cache comes by either of its names."""
        if cache is None:
            cache = past_key_values
        ids = input_ids if decoder_input_ids is None else decoder_input_ids
        assert ids is not None
        history = None
        if so_far is not None:
            history = history_of(so_far, attention_mask, self.prompt, reads_source=self.config.is_encoder_decoder)
        step = Step(
            ids=ids,
            cache=cache,
            mask=attention_mask,
            positions=position_ids,
            source=decoder_source_ids,
            encoded=encoder_outputs,
            exemplar=decoder_exemplar_ids,
            exemplar_mask=decoder_exemplar_mask,
            history=history,
        )
        rows = self.objective.backbone.extend(step)
        if self.reader is not None and so_far is not None:
            rows = replace(rows, reference_slice=partial(self.reader.rows, step, so_far))
        log_probs = self.objective.decode_log_probs(rows, self.decoding)
        return CausalLMOutputWithPast(logits=log_probs[:, None], **{library_keyword(): cache})

    def get_encoder(self, modality: str | None = None) -> nn.Module:
        """Return the backbone's encoder; the library runs it once per call."""
        encoder: nn.Module = self.objective.backbone.model.get_encoder()
        return encoder


@contextmanager
def _evaluating(module: nn.Module | None) -> Iterator[None]:
    """Put all modules in evaluation mode, and each back in its own afterwards."""
    if module is None:
        yield
        return
    modes = [(part, part.training) for part in module.modules()]
    module.eval()
    try:
        yield
    finally:
        for part, training in modes:
            part.training = training


def _settings(decoding: Decoding, config: Any, limit: int) -> GenerationConfig:
    """The library's settings; only those of the decoding, because it warns about the others."""
    return GenerationConfig(
        max_new_tokens=limit,
        do_sample=False,  # a sampler leaves one token, so that the largest score is the draw
        **{"num_beams": 1, **decoding.library()},
        **_special_ids(config),
    )


def _special_ids(config: Any) -> dict[str, Any]:
    names = ("bos_token_id", "eos_token_id", "pad_token_id", "decoder_start_token_id")
    return {name: getattr(config, name, None) for name in names}


def _check(backbone: Backbone, mask: Tensor, new: int) -> None:
    """Refuse a batch that would be continued wrongly or would end in the middle of it.

    Args:
        backbone: with so many positions.
        mask: [B, T] of prompts, or [B, S] of sources.
        new: most tokens that the model reads behind the prompt.
    """
    config, prompt = backbone.model.config, 1
    if not config.is_encoder_decoder:
        prompt = int(mask.sum(1).max())
    n_positions = getattr(config, "max_position_embeddings", None)
    if n_positions is not None and prompt + new > n_positions:
        raise UsageError(
            f"{prompt} given and {new + 1} new tokens need more than the backbone's {n_positions} positions"
        )
    if not config.is_encoder_decoder and not bool((mask[:, -1] > 0).all()):
        raise UsageError("prompts of decoder-only backbones end at the last column: pad them on the left")


def _until_end(tokens: list[int], ends: Collection[int]) -> list[int]:
    """Cut a row at its first end token; behind it there is padding, more end tokens, or what means nothing."""
    for at, token in enumerate(tokens):
        if token in ends:
            return tokens[:at]
    return tokens
