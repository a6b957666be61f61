"""Embedder: embeddings of texts by any transformer on this machine, pooled by the rule of its kind.

SimCSE (Gao et al. 2021): its supervised checkpoints are read at the pooler's output, the unsupervised ones (`unsup` in
the name) at the raw hidden state of [CLS], as in the authors' tool. A folder in the layout of sentence-transformers
names its pooling itself: the mean or the first token. The authors' tool cuts every text to 128 tokens; here a text is
cut only to the positions of the model, and the cut texts are counted.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import torch
from torch import Tensor

from bench.metrics.faithfulness import checkpoints
from bench.metrics.faithfulness.checkpoints import NotApplicable
from bench.metrics.faithfulness.verifiers import TOKENS, batches
from bench.metrics.requirements import public_name

Pooling = Literal["pooler", "cls", "mean", "last"]
KNOWN_MODULES = {"Transformer", "Pooling", "Normalize"}
"""Parts of a sentence-transformers folder without further weights; a length of 1 changes no cosine."""


@dataclass(frozen=True)
class Embedder:
    """A loaded transformer in float32.

    Args:
        model: of `transformers`, without a task head.
        tokenizer: its tokenizer.
        pooling: the state that becomes the embedding.
        longest: tokens that a text is cut to, special tokens counted.
        signature: what was loaded and how it is read.
    """

    model: Any
    tokenizer: Any
    pooling: Pooling
    longest: int
    signature: str


def load(checkpoint: str, *, pooling: Pooling | None = None) -> Embedder:
    """Load a transformer with every weight that its pooling reads.

    Args:
        checkpoint: a folder, or a hub id that is in the cache; nothing is downloaded.
        pooling: by default from `pooling_of`; `last` is for models that read from left to right.

    Raises:
        NotApplicable: it is not there, cannot be read, lacks weights, or has an unknown pooling.
    """
    from transformers import AutoModel, AutoTokenizer

    folder, name = checkpoints.find(checkpoint), public_name(checkpoint)
    pooling = pooling or pooling_of(name, folder)
    with checkpoints.loading(checkpoint):
        model, info = AutoModel.from_pretrained(
            folder, output_loading_info=True, dtype=torch.float32, local_files_only=True
        )
        tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
    if pooling == "pooler" and getattr(model, "pooler", None) is None:
        raise NotApplicable(f"{name} has no pooler, and its name does not contain unsup: bench doctor")
    checkpoints.check_weights(checkpoint, info, () if pooling == "pooler" else ("pooler.",))
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token  # always masked
    positions = _positions(model)
    longest = min(positions, tokenizer.model_max_length)
    made_of = "|".join(f"{key}:{value}" for key, value in checkpoints.provenance(checkpoint, folder).items())
    cut = f"pooling:{pooling}|max_length:none|positions:{positions}"
    model = model.to(checkpoints.device()).eval()
    return Embedder(model, tokenizer, pooling, longest, f"{made_of}|{cut}|dtype:float32")


def pooling_of(name: str, folder: Path) -> Pooling:
    """Return the pooling of a checkpoint: the one in its folder, else by SimCSE's rule on its name.

    Raises:
        NotApplicable: the folder names another pooling than the mean or the first token, or has layers on top.

    >>> pooling_of("unsup-simcse-bert", Path("nowhere")), pooling_of("sup-simcse-bert", Path("nowhere"))
    ('cls', 'pooler')
    """
    file = folder / "1_Pooling" / "config.json"
    if not file.is_file():
        return "cls" if "unsup" in name.lower() else "pooler"
    modes = {key for key, on in json.loads(file.read_text()).items() if key.startswith("pooling_mode_") and on is True}
    parts, kinds = folder / "modules.json", set()
    if parts.is_file():
        kinds = {part["type"].rpartition(".")[2] for part in json.loads(parts.read_text())}
    known: dict[str, Pooling] = {"pooling_mode_mean_tokens": "mean", "pooling_mode_cls_token": "cls"}
    if len(modes) != 1 or not modes <= known.keys() or not kinds <= KNOWN_MODULES:
        found = ", ".join(sorted(modes | kinds - KNOWN_MODULES))
        raise NotApplicable(f"{name} is pooled by {found}, expected the mean or the first token alone: bench doctor")
    return known[modes.pop()]


def embed(embedder: Embedder, texts: Sequence[str], tokens: int = TOKENS) -> tuple[Tensor, int]:
    """Return embeddings `[texts, d]` in float32 on the CPU, and how many of the texts were cut.

    Equal texts are read once, and batches are made of the sorted texts, so that the order of the texts changes no bit.

    Args:
        embedder: as loaded.
        texts: in any order; row i of the result belongs to text i.
        tokens: largest number of tokens of a batch; a longer text is a batch of its own.

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
    rows: dict[str, Tensor] = {}
    with torch.inference_mode():
        for batch in batches([len(ids) for ids in encoded["input_ids"]], tokens):
            columns = {name: [encoded[name][place] for place in batch] for name in encoded}
            padded = embedder.tokenizer.pad(columns, padding_side="right", return_tensors="pt")
            pooled = _pooled(embedder, padded.to(embedder.model.device)).cpu()
            rows.update(zip([distinct[place] for place in batch], pooled, strict=True))
    return torch.stack([rows[text] for text in texts]), sum(text in cut for text in texts)


def _pooled(embedder: Embedder, padded: Any) -> Tensor:
    """Return the embeddings of a batch, [B, d]."""
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
    """Return the longest text that a model can read; models that number positions from the pad on have fewer."""
    table = getattr(getattr(model, "embeddings", None), "position_embeddings", None)
    padding, positions = getattr(table, "padding_idx", None), int(model.config.max_position_embeddings)
    return positions if padding is None else positions - padding - 1
