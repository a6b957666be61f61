"""Blank models: the backbone and objective of a cell over tensors that have shapes and no memory."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode, unset_fake_temporarily
from torch.utils._python_dispatch import TorchDispatchMode

from bench.config.config import CellConfig
from bench.config.resolve import Method
from bench.cost.architectures import configuration
from bench.cost.zipf import zipf_counts
from bench.models.backbones import find_backbone
from bench.models.backbones.backbone import Backbone
from bench.models.backbones.hub import adapter_of
from bench.models.backbones.lora import Lora, adapt
from bench.models.core.objective import Objective
from bench.models.core.run_context import RunContext

__all__ = ["BlankTexts", "BlankWords", "blank_adapters", "blank_backbone", "objective_over"]

ASSUMED = 0.02
"""What a number is taken for that is read from a blank tensor: the usual spread of embeddings."""


class BlankWords:
    """A tokenizer of so many tokens, for models that only ask how many there are.

    Args:
        size: number of tokens.
    """

    pad_token_id, bos_token_id, eos_token_id, unk_token_id = 0, 1, 2, 3
    pad_token = "<pad>"  # noqa: S105

    def __init__(self, size: int) -> None:
        self.size = size

    def __len__(self) -> int:
        return self.size

    def get_vocab(self) -> dict[str, int]:
        """Return the token ids by token."""
        return {str(number): number for number in range(self.size)}


class BlankTexts:
    """A task for a backbone's factory: its tokenizers have as many tokens as are asked for."""

    markers: tuple[str, ...] = ()

    def tokenizer(self, vocabulary: int) -> Any:
        """Return a tokenizer of so many tokens."""
        return BlankWords(vocabulary)

    def word_tokenizer(self, vocabulary: int) -> Any:
        """Return a tokenizer of so many words."""
        return BlankWords(vocabulary)

    def reference_embeddings(self, tokenizer: Any, width: int, seed: int) -> Tensor | None:
        """Return blank vectors, [V, width]."""
        return torch.zeros(len(tokenizer), width)


def blank_backbone(config: CellConfig, markers: int = 0) -> Backbone:
    """Return the backbone of a cell; call it inside a `FakeTensorMode`.

    Args:
        config: of the cell.
        markers: tokens that the task adds to a pretrained tokenizer.

    Raises:
        MissingError: the sizes of a pretrained backbone are not known here.
    """
    entry, options = find_backbone(config.asked("backbone")).value, dict(config.backbone_options)
    if entry.hub:
        return _pretrained(config, markers)
    for option in ("glove", "tokenizer"):  # files, whose content has no part in the sizes
        if option in options:
            options[option] = ""
    backbone: Backbone = entry.load()(config.backbone, BlankTexts(), config.seed, **options)
    if config.backbone_options.get("glove"):
        backbone.embedding().requires_grad_(False)
    return backbone


def _pretrained(config: CellConfig, markers: int) -> Backbone:
    """Return a pretrained backbone without its weights, as `bench.models.backbones.hub` builds it."""
    from transformers import AutoModelForCausalLM, AutoModelForSeq2SeqLM

    options = config.backbone_options
    sizes = configuration(config.asked("backbone"), str(options.get("path", "")))
    kind = AutoModelForSeq2SeqLM if sizes.is_encoder_decoder else AutoModelForCausalLM
    model = kind.from_config(sizes, dtype=torch.float32)
    if markers:
        model.resize_token_embeddings(sizes.vocab_size + markers, mean_resizing=False)
    if options.get("lora_rank"):
        blank_adapters(model, Lora.of(options))
    backbone = adapter_of(model)(model, BlankWords(sizes.vocab_size + markers))
    if options.get("freeze_embeddings"):
        for weight in (backbone.embedding(), *backbone.head_parameters()):
            weight.requires_grad_(False)
    return backbone


def blank_adapters(model: Any, lora: Lora) -> None:
    """Put adapters of blank tensors into a blank model; call it inside a `FakeTensorMode`.

    `peft` cannot move a module of blank tensors, so adapters are made of numbers first: they are small.
    """
    with unset_fake_temporarily() as fake:
        assert isinstance(fake, FakeTensorMode)
        adapt(model, lora)
        _make_blank(model, fake)


def objective_over(
    method: Method, options: Mapping[str, Any], backbone: Backbone, fake: FakeTensorMode, max_target: int = 64
) -> Objective:
    """Return an objective over a blank backbone.

    Args:
        method: which.
        options: of the method.
        backbone: of blank tensors.
        fake: the mode they were made in.
        max_target: most target tokens.
    """
    with fake:
        objective = method.objective(backbone, **options)
    counts = zipf_counts(backbone.vocabulary_size)  # [V]
    objective.setup_run(RunContext(max_target=max_target, token_counts=lambda: counts))
    if objective.uses_token_counts:
        with _AssumedNumbers():
            objective.prepare(counts)
        _make_blank(objective, fake)
    return objective


def _make_blank(module: nn.Module, fake: FakeTensorMode) -> None:
    """Replace tensors that hold numbers by blank ones."""
    for part in module.modules():
        for name, parameter in part._parameters.items():
            if parameter is not None and not isinstance(parameter, FakeTensor):
                with fake:
                    blank = torch.empty(parameter.shape, dtype=parameter.dtype)
                    part._parameters[name] = nn.Parameter(blank, parameter.requires_grad)
        for name, buffer in part._buffers.items():
            if buffer is not None and not isinstance(buffer, FakeTensor):
                with fake:
                    part._buffers[name] = torch.empty(buffer.shape, dtype=buffer.dtype)


class _AssumedNumbers(TorchDispatchMode):
    """Numbers that are read from blank tensors: what a method needs them for has no part in its sizes."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func is torch.ops.aten._local_scalar_dense.default and isinstance(args[0], FakeTensor):
            return args[0].dtype.is_floating_point and ASSUMED
        return func(*args, **(kwargs or {}))
