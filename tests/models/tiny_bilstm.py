"""Tiny recurrent models with peaked distributions, and batches for them."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn
from transformers import PretrainedConfig

from bench.models.backbones.backbone import Batch
from bench.models.backbones.recurrent.bilstm import BiLSTM, BiLSTMModel
from bench.models.backbones.recurrent.lstm import Design

VOCABULARY, WIDTH, END = 41, 16, 2
EXEMPLARS = ["none", "attend", "adapt", "both", "constant"]


def pad_right(rows: Sequence[Sequence[int]], fill: int) -> Tensor:
    """Rows of unequal length as one tensor."""
    return nn.utils.rnn.pad_sequence([torch.tensor(row, dtype=torch.int64) for row in rows], True, fill)


def design(**options: Any) -> Design:
    """A small design; rank and exemplar width are unlike every other width, so that no two can be mixed up."""
    plain = {
        "width": WIDTH, "layers": 2, "embedding_width": WIDTH, "dropout": 0.0, "exemplar": "none", "exemplar_width": 5,
        "rank": 11, "norm": 4.0, "input_feeding": False, "copy": True, "tied": True, "released": False,
    }  # fmt: skip
    return Design(**{**plain, **options})


def tiny(seed: int = 0, dtype: torch.dtype = torch.float64, **options: Any) -> BiLSTM:
    """A model whose weights are large enough for its distributions to have a clear winner."""
    config = PretrainedConfig(
        is_encoder_decoder=True, vocab_size=VOCABULARY, num_hidden_layers=0, decoder_start_token_id=1, pad_token_id=0,
        bos_token_id=1, eos_token_id=END,
    )  # fmt: skip
    torch.manual_seed(seed)
    model = BiLSTMModel(config, design(**options))
    for parameter in model.parameters():
        if parameter.ndim > 1:
            nn.init.normal_(parameter, std=0.35)
        else:
            nn.init.normal_(parameter, std=0.1)
    return BiLSTM(model.to(dtype), None).eval()


def texts(count: int, seed: int = 0, longest: int = 9) -> list[list[int]]:
    """Token lists of uneven length, with tokens that repeat."""
    generator = torch.Generator().manual_seed(seed)
    lengths = torch.randint(2, longest + 1, (count,), generator=generator).tolist()
    return [torch.randint(4, 25, (length,), generator=generator).tolist() for length in lengths]


def collate(
    sources: Sequence[list[int]], exemplars: Sequence[list[int]] | None, targets: Sequence[list[int]] | None = None
) -> Batch:
    """Pad everything on the right."""
    batch: Batch = {"input_ids": pad_right(sources, 0), "attention_mask": mask_of(sources)}
    if exemplars is not None:
        batch |= {"exemplar_ids": pad_right(exemplars, 0), "exemplar_mask": mask_of(exemplars)}
    if targets is not None:
        batch["labels"] = pad_right(targets, -100)
    return batch


def mask_of(rows: Sequence[list[int]]) -> Tensor:
    return pad_right([[1] * len(row) for row in rows], 0)
