"""Reference reader: a reference model that reads the texts which another one writes, with a cache of its own.

Shapes: B texts, W tokens of each so far, N of them new.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from torch import Tensor

from bench.generation.row_cache import RowCache, new_cache
from bench.models.backbones.backbone import Step
from bench.models.backbones.causal import positions
from bench.models.core.objective import Objective
from bench.models.core.states import TokenSlice

__all__ = ["ReferenceReader", "new_caches"]


class ReferenceReader:
    """Answers `tokens.reference` in generation. Until it is asked it does nothing, and then it reads all that is new.

    Args:
        model: the reference model, of the architecture and vocabulary of the first.
        cache: an empty one of its own; beams that move must move there too.
    """

    def __init__(self, model: Objective, cache: Any) -> None:
        self.model, self.cache = model, cache
        self.encoded: Any = None  # output of its encoder
        self.n_read = 0
        self.last: TokenSlice | None = None

    def rows(self, step: Step, tokens: Tensor) -> TokenSlice:
        """Return the last position of each text.

        Args:
            step: of the first model.
            tokens: [B, W] what its decoder has read so far.
        """
        if self.last is None or self.n_read < tokens.shape[1]:
            self.last = self.model.backbone.extend(self.own_step(step, tokens))
            self.n_read = tokens.shape[1]
        return self.last

    def own_step(self, step: Step, tokens: Tensor) -> Step:
        """Return a step over the tokens it has not read, [B, N]."""
        places = None
        if step.source is not None and self.encoded is None:
            encode = self.model.backbone.model.get_encoder()
            self.encoded = encode(input_ids=step.source, attention_mask=step.mask, return_dict=True)
        if step.source is None and step.mask is not None:
            places = positions(step.mask)[:, self.n_read :]
        return replace(step, ids=tokens[:, self.n_read :], cache=self.cache, positions=places, encoded=self.encoded)


def new_caches(config: Any, reference: Objective | None) -> tuple[Any, ReferenceReader | None]:
    """Return an empty cache for a model and the reader of a reference model, whose cache follows it.

    Args:
        config: of the model.
        reference: None where no other model reads along; there is no reader then.
    """
    own, reader = RowCache(config), None
    if reference is not None:
        reader = ReferenceReader(reference, new_cache(reference.backbone.model.config))
        own.followers.append(reader.cache)
    return new_cache(config, own), reader
