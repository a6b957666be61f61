"""LoRA: a pretrained model stays as it is, and small matrices parallel to its projections are trained instead.

Source: Hu et al. 2021, "LoRA: Low-Rank Adaptation of Large Language Models"; the layers are those of `peft`.

The adapters are never merged into the weights: checkpoints hold what was trained, and loading one takes the pretrained
weights from where they came from. Tokens that a task adds keep the vectors they start with, a function of the seed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

import torch

from bench.errors import MissingError, UsageError

PROJECTIONS = (("q_proj", "v_proj"), ("q", "v"), ("c_attn",), ("query_key_value",), ("qkv_proj",), ("Wqkv",))
"""What queries and values are made by, as families name it; the first that a model has is adapted by default."""


@dataclass(frozen=True)
class Lora:
    """How a model is adapted.

    Args:
        rank: of each matrix.
        alpha: the matrices' product counts `alpha / rank` times.
        dropout: rate, of their inputs.
        targets: names of the layers that have some, with commas; empty for the projections of queries and values.
    """

    rank: int
    alpha: int = 16
    dropout: float = 0.0
    targets: str = ""

    @staticmethod
    def of(options: Mapping[str, Any]) -> Lora:
        """Return what the options of a pretrained backbone say; those at their default may be left out."""
        names = [part.name for part in fields(Lora)]
        return Lora(**{name: options[f"lora_{name}"] for name in names if f"lora_{name}" in options})

    def as_dict(self) -> dict[str, Any]:
        """Return plain content for a record."""
        return {**asdict(self), "merged": False}


def check_lora(options: Mapping[str, Any]) -> None:
    """Refuse options of adapters without adapters."""
    if options.get("lora_rank", 0):
        return
    for part in fields(Lora)[1:]:
        option = f"lora_{part.name}"
        if options.get(option, part.default) != part.default:
            raise UsageError(
                f"backbone.{option} is for LoRA, which backbone.lora_rank turns on; say backbone.lora_rank=8"
            )


def adapt(model: Any, lora: Lora) -> Lora:
    """Put adapters into a model, in place, by torch's generator; nothing else of it is trained any more.

    Args:
        model: of `transformers`.
        lora: how.

    Returns:
        `lora` with the layers that were adapted.

    Raises:
        MissingError: `peft` is not installed.
        UsageError: the model has no such layers.
    """
    try:
        from peft import LoraConfig, inject_adapter_in_model
    except ImportError as error:
        raise MissingError(
            f"backbone.lora_rank={lora.rank} needs the package peft, which is not there ({error}): "
            f"pip install 'objective-bench[lora]'"
        ) from error
    from transformers.pytorch_utils import Conv1D

    targets = _targets(model, lora.targets)
    config = LoraConfig(
        r=lora.rank,
        lora_alpha=lora.alpha,
        lora_dropout=lora.dropout,
        target_modules=targets,
        fan_in_fan_out=any(isinstance(module, Conv1D) for module in model.modules()),
    )
    inject_adapter_in_model(config, model)
    return replace(lora, targets=",".join(targets))


def _targets(model: Any, chosen: str) -> list[str]:
    """Return the names of the layers to adapt.

    Raises:
        UsageError: the model has none of them.
    """
    from transformers.pytorch_utils import Conv1D

    kinds = (torch.nn.Linear, Conv1D)
    names = {name.rpartition(".")[2] for name, module in model.named_modules() if isinstance(module, kinds)}
    if chosen:
        targets = [name.strip() for name in chosen.split(",") if name.strip()]
        if missing := [name for name in targets if name not in names]:
            raise UsageError(
                f"backbone.lora_targets names '{missing[0]}', which {type(model).__name__} does not have; its layers "
                f"are {', '.join(sorted(names))}"
            )
        return targets
    for group in PROJECTIONS:
        if names.issuperset(group):
            return list(group)
    raise UsageError(
        f"{type(model).__name__} names the projections of queries and values in its own way; say which layers to adapt "
        f"with backbone.lora_targets: {', '.join(sorted(names))}"
    )
