"""Embedder: sentence embeddings of any transformer encoder on this machine, pooled by the rule of its kind.

SimCSE (Gao et al. 2021): its supervised checkpoints are read at the pooler's output, the unsupervised ones (`unsup` in
the name) at the raw hidden state of [CLS], as the authors' tool does. A folder in the layout of sentence-transformers
says itself whether it wants the mean or the first token. The authors' tool cuts every text to 128 tokens; here only
what the model has no positions for is cut, unless asked, and how many texts were is counted.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import torch
from torch import Tensor

from bench.metrics.faithfulness import checkpoints
from bench.metrics.faithfulness.checkpoints import NoVerifier, find
from bench.metrics.faithfulness.verifiers import batches

__all__ = ["Embedder", "NoVerifier", "Pooling", "embed", "load", "pooling_of"]

Pooling = Literal["pooler", "cls", "mean", "last"]
PLAIN_MODULES = {"Transformer", "Pooling", "Normalize"}
"""Parts of a sentence-transformers folder that leave no weights out; a length of 1 changes no cosine."""
TOKENS = 16_384
"""Of a batch, padding counted."""


@dataclass(frozen=True)
class Embedder:
    """A loaded encoder in float32.

    Args:
        model: of `transformers`, without a task head.
        tokenizer: its tokenizer.
        pooling: which state stands for the text.
        longest: tokens that a text is cut to, its marks counted.
        signature: what was loaded and how it is read.
    """

    model: Any
    tokenizer: Any
    pooling: Pooling
    longest: int
    signature: str


def load(
    checkpoint: str, *, pooling: Pooling | None = None, max_length: int | None = None, device: str | None = None
) -> Embedder:
    """Load an encoder with every weight that its pooling reads.

    Args:
        checkpoint: a folder, or a hub id that is in the cache; nothing is downloaded.
        pooling: by default as `pooling_of` says; `last` is for models that read from left to right.
        max_length: tokens to cut texts to, by default as many as the model has positions.
        device: by default the GPU if there is one.

    Raises:
        NoVerifier: it is not there, cannot be read, lacks weights, or is pooled in a way that is not known here.
    """
    from transformers import AutoModel, AutoTokenizer

    folder, name = find(checkpoint), checkpoints.shown(checkpoint)
    pooling = pooling or pooling_of(name, folder)
    with checkpoints.loading(checkpoint):
        model, info = AutoModel.from_pretrained(
            folder, output_loading_info=True, dtype=torch.float32, local_files_only=True
        )
        tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
    lacking = checkpoints.lacking(info)
    if pooling != "pooler":
        lacking = [key for key in lacking if not key.startswith("pooler.")]  # never read
    elif getattr(model, "pooler", None) is None:
        raise NoVerifier(f"{name} has no pooler, and its name does not say unsup: bench doctor")
    checkpoints.refuse_lacking(checkpoint, lacking)
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token  # always masked
    longest = min(_positions(model), tokenizer.model_max_length, max_length or _positions(model))
    made_of = "|".join(f"{key}:{value}" for key, value in checkpoints.provenance(checkpoint, folder).items())
    cut = f"pooling:{pooling}|max_length:{max_length or 'none'}|positions:{_positions(model)}"
    signature = f"{made_of}|{cut}|dtype:float32"
    return Embedder(model.to(checkpoints.device_of(device)).eval(), tokenizer, pooling, longest, signature)


def pooling_of(name: str, folder: Path) -> Pooling:
    """Return how a checkpoint's states become one: as its folder says, else by SimCSE's rule on its name.

    Raises:
        NoVerifier: the folder asks for something else than the mean or the first token, or has layers on top.

    >>> pooling_of("unsup-simcse-bert", Path("nowhere")), pooling_of("sup-simcse-bert", Path("nowhere"))
    ('cls', 'pooler')
    """
    said = folder / "1_Pooling" / "config.json"
    if not said.is_file():
        if "unsup" in name.lower():
            return "cls"
        return "pooler"
    modes = {key for key, on in json.loads(said.read_text()).items() if key.startswith("pooling_mode_") and on is True}
    parts, kinds = folder / "modules.json", set()
    if parts.is_file():
        kinds = {part["type"].rpartition(".")[2] for part in json.loads(parts.read_text())}
    known: dict[str, Pooling] = {"pooling_mode_mean_tokens": "mean", "pooling_mode_cls_token": "cls"}
    if len(modes) != 1 or not modes <= known.keys() or not kinds <= PLAIN_MODULES:
        asked = ", ".join(sorted(modes | kinds - PLAIN_MODULES))
        raise NoVerifier(f"{name} is pooled by {asked}, expected the mean or the first token alone: bench doctor")
    return known[modes.pop()]


def embed(embedder: Embedder, texts: Sequence[str], tokens: int = TOKENS) -> tuple[Tensor, int]:
    """Return embeddings `[texts, d]` in float32 on the CPU, and how many of the texts were cut.

    Equal texts are read once, and batches are made of the sorted texts, so that the order of the texts changes no bit.

    Args:
        embedder: as loaded.
        texts: in any order; a row of the result is that of the text in its place.
        tokens: most tokens of a batch; a longer text is a batch of its own.

    Raises:
        ValueError: a text without a token, under a tokenizer that adds none.
    """
    if not len(texts):
        return torch.zeros(0, embedder.model.config.hidden_size), 0
    distinct = sorted(set(texts))
    encoded = embedder.tokenizer(distinct, truncation=True, max_length=embedder.longest + 1)["input_ids"]
    cut = {text for text, ids in zip(distinct, encoded, strict=True) if len(ids) > embedder.longest}
    encoded = embedder.tokenizer(distinct, truncation=True, max_length=embedder.longest)
    if not all(encoded["input_ids"]):
        raise ValueError(f"expected texts with a token, got {encoded['input_ids'].count([])} without; drop them first")
    rows: list[Tensor] = [torch.empty(0)] * len(distinct)
    with torch.inference_mode():
        for batch in batches([len(ids) for ids in encoded["input_ids"]], tokens):
            columns = {name: _chosen(encoded[name], batch) for name in encoded}
            padded = embedder.tokenizer.pad(columns, padding_side="right", return_tensors="pt")
            padded = padded.to(embedder.model.device)
            for i, row in zip(batch, _pooled(embedder, padded).cpu(), strict=True):
                rows[i] = row
    places = {text: i for i, text in enumerate(distinct)}
    return torch.stack([rows[places[text]] for text in texts]), sum(text in cut for text in texts)


def _chosen(rows: Sequence[Any], places: Sequence[int]) -> list[Any]:
    return [rows[place] for place in places]


def _pooled(embedder: Embedder, padded: Any) -> Tensor:
    """Return the states that stand for texts, [B, d]."""
    output = embedder.model(**padded)
    if embedder.pooling == "pooler":
        pooled: Tensor = output.pooler_output
        return pooled
    states: Tensor = output.last_hidden_state  # [B, T, d]
    if embedder.pooling == "cls":
        return states[:, 0]
    if embedder.pooling == "last":
        last = padded["attention_mask"].sum(dim=1) - 1
        return states[torch.arange(len(states), device=states.device), last]
    mask = padded["attention_mask"].unsqueeze(-1).to(states.dtype)
    return (states * mask).sum(dim=1) / mask.sum(dim=1)


def _positions(model: Any) -> int:
    """Return the longest text that a model can read; those that number positions from the pad on have fewer."""
    table = getattr(getattr(model, "embeddings", None), "position_embeddings", None)
    padding, positions = getattr(table, "padding_idx", None), int(model.config.max_position_embeddings)
    if padding is None:
        return positions
    return positions - padding - 1
