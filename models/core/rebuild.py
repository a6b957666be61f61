"""Rebuild an objective from a checkpoint alone, without its task: backbone, tokenizer, options and weights."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from bench.errors import UsageError
from bench.models.backbones import backbone_factory
from bench.models.core.run_context import RunContext

if TYPE_CHECKING:
    from bench.models.backbones.backbone import Backbone

PLACES = ("tokenizer", "glove")
"""Options of backbones that name files: what those hold is in the checkpoint."""


def made_of(
    objective: Any,
    backbone: str,
    backbone_options: Mapping[str, Any],
    options: Mapping[str, Any],
    seed: int,
    markers: tuple[str, ...] = (),
) -> dict[str, Any]:
    """Return what an objective is made of, as plain content for a checkpoint.

    Args:
        objective: made.
        backbone: name of its backbone.
        backbone_options: of the backbone.
        options: of the method.
        seed: of the run.
        markers: the task's own tokens.
    """
    return {
        "method": objective.name,
        "options": dict(options),
        "backbone": backbone,
        "backbone_options": {name: value for name, value in backbone_options.items() if name not in PLACES},
        "seed": seed,
        "markers": list(markers),
        "tokenizer": tokenizer_content(objective.backbone.tokenizer),
    }


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
        content: from `made_of`.
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


def rebuilt(
    kind: Any,
    checkpoint: Mapping[str, Any],
    where: str,
    backbone: Backbone | None,
    reference: Any,
    options: Mapping[str, Any],
) -> Any:
    """Return the objective that a checkpoint describes, with its weights.

    Args:
        kind: its class, a subclass of Objective.
        checkpoint: as a trainer saves it.
        where: the name of the part that describes the objective.
        backbone: in place of the one it describes.
        reference: its reference model, where its method names one, else None; no checkpoint holds its weights.
        options: in place of those it describes.

    Raises:
        UsageError: it is of another method, does not say what it is made of, or needs a reference model.
    """
    content: Mapping[str, Any] = checkpoint.get(where) or {}
    if content and content["method"] != kind.name:
        raise UsageError(f"the checkpoint is of '{content['method']}', not of '{kind.name}'; load it as that method")
    if kind.reference and reference is None:
        raise UsageError(
            f"{kind.name} uses a reference model, '{kind.reference}', whose weights are not in the checkpoint; "
            f"give load_from_checkpoint reference=..., e.g. `reference_model` of the objective that bench.make gives"
        )
    if backbone is None:
        if not content:
            raise UsageError(
                "the checkpoint does not say what its objective is made of; give load_from_checkpoint the backbone and "
                "the options it was made with, or make the objective with bench.make"
            )
        make = backbone_factory(content["backbone"])
        backbone = make(content["backbone"], StoredText(content), content["seed"], **content["backbone_options"])
    objective = kind(backbone, **{**content.get("options", {}), **options})
    if reference is not None:
        check_tokens(objective, reference)
    objective.setup_run(RunContext(seed=content.get("seed", 0), reference=reference, made_of=lambda: content))
    weights = checkpoint["state_dict"]
    if objective.uses_token_counts:
        objective.prepare(weights["counts"].long())
    objective.load_state_dict(weights, strict=objective.strict_loading)
    return objective


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
