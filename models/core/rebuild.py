"""Rebuild: what takes the place of a task and of its data where an objective is made from a checkpoint alone."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from bench.errors import UsageError


def tokenizer_content(tokenizer: Any) -> dict[str, Any] | None:
    """Return a tokenizer as plain content, or None for one that has no such form."""
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is None:
        return None
    special = {name: str(token) for name, token in tokenizer.special_tokens_map.items() if isinstance(token, str)}
    return {"backend": backend.to_str(), "special": special}


class StoredText:
    """Takes the place of a task where a backbone is made from a stored tokenizer.

    Args:
        content: has its `tokenizer`, as `bench.cells.build.parts_of` gives it, and its `markers`.
    """

    def __init__(self, content: Mapping[str, Any]) -> None:
        self.content = content["tokenizer"]
        self.markers: tuple[str, ...] = tuple(content["markers"])

    def tokenizer(self, vocabulary: int) -> Any:
        """Return the stored tokenizer."""
        from tokenizers import Tokenizer
        from transformers import PreTrainedTokenizerFast

        if self.content is None:
            raise UsageError("the checkpoint has no tokenizer; give load_from_checkpoint a backbone=...")
        backend = Tokenizer.from_str(self.content["backend"])
        return PreTrainedTokenizerFast(tokenizer_object=backend, **self.content["special"])

    def word_tokenizer(self, vocabulary: int) -> Any:
        """Return the stored tokenizer."""
        return self.tokenizer(vocabulary)

    def reference_embeddings(self, tokenizer: Any, width: int, seed: int) -> Tensor | None:
        """Return zeros [V, width]: the true ones are among the weights."""
        return torch.zeros(len(tokenizer), width)


def check_tokens(objective: Any, reference: Any) -> None:
    """Refuse a reference model that has other tokens than the first.

    Raises:
        UsageError: naming the method and both numbers of tokens.
    """
    sizes = objective.backbone.vocabulary_size, reference.backbone.vocabulary_size
    if sizes[0] != sizes[1] or objective.tokenizer.get_vocab() != reference.tokenizer.get_vocab():
        raise UsageError(
            f"the reference model of {objective.name} should have the tokens of the first; got {sizes[1]} tokens of "
            f"another tokenizer in place of {sizes[0]}; give the model that it was trained with"
        )
