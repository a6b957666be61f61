"""Generation: what an objective and its backbone write for a batch, by any decoding.

There is one loop over tokens, with a cache. It takes the most probable token of each text or lets a sampler draw one;
beam search and contrastive search have loops of their own. Greedy and beam search write what `transformers` writes with
the same model, token for token, which the tests compare. The library's own loops are not used: they read a prompt once
for each beam, ask the device after each token whether all texts have ended, and know no cache of an objective's memory.
"""

from collections.abc import Sequence
from itertools import takewhile

import torch
from torch import Tensor

from bench.decodings.core.decoding import Decoding
from bench.decodings.core.draws import inverse_cdf, uniforms
from bench.decodings.core.released_classes import draw_as_released
from bench.decodings.core.sampler import Sampler
from bench.errors import UsageError
from bench.generation.continuation import Continuation
from bench.models.backbones.backbone import Backbone, Batch
from bench.models.core.continuations import without_dropout
from bench.models.core.objective import Objective


def generate(
    objective: Objective,
    batch: Batch,
    decoding: Decoding,
    max_new_tokens: int,
    seeds: Sequence[int] = (),
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

    Returns:
        The new tokens of each row up to its first end token, which is left out; no prompt and no padding.

    Raises:
        UsageError: for a batch that cannot be continued: right-padded prompts, too few positions, too few seeds.
    """
    decoding = objective.resolved(decoding)
    limit = decoding.max_new_tokens or max_new_tokens
    _check(objective.backbone, batch["attention_mask"], limit - 1 + decoding.looks_ahead)
    sampler = None
    if isinstance(decoding, Sampler):
        if len(seeds) != len(batch["input_ids"]):
            raise UsageError(f"sampling needs one seed per row: {len(batch['input_ids'])} rows, {len(seeds)} seeds")
        sampler = SeededSampler(
            decoding, seeds, limit, objective.classes if decoding.distribution == "f2_released" else None
        )
    with torch.no_grad(), without_dropout(objective):
        texts = Continuation(objective, decoding, batch)
        if type(decoding).write is not Decoding.write:
            written = decoding.write(texts, limit)
        else:
            for _ in range(limit):
                scores = texts.log_probs()
                texts.append(scores.argmax(1) if sampler is None else sampler(scores))
                if texts.finished:
                    break
            written = texts.new.tolist()
    return [list(takewhile(lambda token: token not in texts.ends, row)) for row in written]


class SeededSampler:
    """Draws a token of each row that depends on the row's own seed alone: not on batch, order, rank or world size.

    Args:
        decoding: with its temperature; a decoupled distribution is already cut.
        seeds: one per row of the batch.
        steps: most tokens that will be drawn.
        classes: [V] class of each token, where the decoding draws classes itself.
    """

    def __init__(self, decoding: Sampler, seeds: Sequence[int], steps: int, classes: Tensor | None = None) -> None:
        self.decoding, self.classes = decoding, classes
        self.uniforms = torch.stack([uniforms(seed, steps) for seed in seeds])  # [B, steps]
        self.step = 0

    def __call__(self, scores: Tensor) -> Tensor:
        """Draw from log-probabilities or logits [B, V] by the next number of each row's generator; return tokens [B].

        Rows that have ended draw too, so that the other rows do not depend on them.
        """
        self.uniforms = self.uniforms.to(scores.device)
        uniform = self.uniforms[:, self.step]
        self.step += 1
        if self.decoding.temperature != 1:
            scores = scores / self.decoding.temperature
        if self.decoding.distribution == "decoupled":  # cut already, within a class
            return inverse_cdf(scores, uniform)
        if self.classes is not None:
            k = (self.decoding.class_cut() or {})["k"]
            return draw_as_released(scores, self.classes.to(scores.device), k, uniform)
        return self.decoding.draw(scores, uniform)


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
            f"{prompt} given and {new + 1} new tokens need more than the backbone's {n_positions} positions: lower "
            f"trainer.max_source, or trainer.max_target or max_new_tokens"
        )
    if not config.is_encoder_decoder and not bool((mask[:, -1] > 0).all()):
        raise UsageError("prompts of decoder-only backbones end at the last column: pad them on the left")
