"""Backbones: the models that turn a batch into states. BACKBONES lists them all."""

import inspect
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from bench.base.registry import Entry, Resolved, find
from bench.errors import UsageError

NEEDED = ("name", "texts", "seed")
"""What every factory takes first, in this order."""

FACTORY = "(name, texts, seed, *, options) -> Backbone"

FILES = ("tokenizer", "glove")
"""Options of backbones that name a file."""

SMALL, HUB = "bench.models.backbones.small", "bench.models.backbones.hub:hub"
SCRATCH = "bench.models.backbones.scratch:scratch"


@dataclass(frozen=True)
class BackboneEntry(Entry):
    """A backbone by name; any hub id or folder works as a name too.

    Args:
        architecture: `decoder-only` or `encoder-decoder`; empty where only the model's configuration has it.
        hub: repository of a pretrained backbone; empty for one that is not loaded from the hub.
        converted: whether `bench models get NAME` converts its weights into a folder of the cache.
        tensors_sha256: hash of the converted tensors (`bench.models.backbones.pretrained`), which pins them in keys.
        revision: its commit, where a reference states one; empty for an unpinned one. Its commit is settled when it is
            first downloaded, and recorded with each training.
    """

    architecture: str = "decoder-only"
    hub: str = ""
    revision: str = ""
    converted: bool = False
    tensors_sha256: str = ""


BACKBONES: dict[str, BackboneEntry] = {
    "small-causal": BackboneEntry(f"{SMALL}:small_causal", "2-layer GPT-2, from scratch"),
    "small-encdec": BackboneEntry(
        f"{SMALL}:small_encdec", "2-layer BART, from scratch", architecture="encoder-decoder"
    ),
    "bilstm": BackboneEntry(
        "bench.models.backbones.recurrent.bilstm:bilstm",
        "BiLSTM encoder, LSTM decoder with attention and copying, from scratch",
        "Peng et al. 2019",
        architecture="encoder-decoder",
    ),
    "f2-decoder": BackboneEntry(
        f"{SMALL}:f2_decoder",
        "12-layer post-LN decoder, untied, 69 M at 30,000 tokens, from scratch",
        "Choi et al. 2020",
    ),
    "gpt2": BackboneEntry(HUB, "GPT-2 small, 124 M", "Radford et al. 2019", hub="openai-community/gpt2"),
    "gpt2-large": BackboneEntry(HUB, "GPT-2 large, 774 M", "Radford et al. 2019", hub="openai-community/gpt2-large"),
    "bart-large": BackboneEntry(
        HUB, "BART large, 406 M", "Lewis et al. 2020", architecture="encoder-decoder", hub="facebook/bart-large"
    ),
    "llama2-7b": BackboneEntry(HUB, "LLaMA-2, 6.7 B", "Touvron et al. 2023", hub="meta-llama/Llama-2-7b-hf"),
    "smollm2-135m": BackboneEntry(
        HUB,
        "SmolLM2-135M, 135 M",
        "Ben Allal et al. 2025",
        hub="HuggingFaceTB/SmolLM2-135M",
        revision="93efa2f097d58c2a74874c7e644dbc9b0cee75a2",
    ),
    "smollm2-135m-instruct-q4": BackboneEntry(
        HUB,
        "SmolLM2-135M, instruct, Q4_1 dequantised",
        "Ben Allal et al. 2025",
        converted=True,
        tensors_sha256="c39f9dbb23f0f49cdcdcaf444eaa75f613a626b9df88c4469e909942985a44c7",
    ),
    "gemma3-270m-q4": BackboneEntry(
        HUB,
        "Gemma 3 270M, base, Q4_K_M dequantised",
        "Gemma Team 2025",
        converted=True,
        tensors_sha256="4b6c75c6bd420bd147a71aa628fbe50bb3badb93905f8a21494dda0facfc3d0a",
    ),
    "gpt2-scratch": BackboneEntry(SCRATCH, "GPT-2 small at its size, from scratch", "Radford et al. 2019"),
    "gpt2-large-scratch": BackboneEntry(SCRATCH, "GPT-2 large at its size, from scratch", "Radford et al. 2019"),
    "bart-large-scratch": BackboneEntry(
        SCRATCH, "BART large at its size, from scratch", "Lewis et al. 2020", architecture="encoder-decoder"
    ),
    "llama2-7b-scratch": BackboneEntry(SCRATCH, "LLaMA-2 7B at its size, from scratch", "Touvron et al. 2023"),
}


def find_backbone(name: str) -> Resolved:
    """Return the entry of a backbone: built in, a user's own, a hub id or a folder.

    A user's function `(name, texts, seed, **options) -> Backbone` stands for a decoder-only backbone; a
    `BackboneEntry` describes any other one.

    Raises:
        UsageError: there is no such backbone, or it is neither a function nor an entry.
        MissingError: its module or file is not there.
    """
    if name in BACKBONES:
        return Resolved(name, BACKBONES[name], name, {})
    if ":" not in name and ("/" in name or Path(name).is_dir()):
        return Resolved(name, BackboneEntry(HUB, "a pretrained model", architecture="", hub=name), name, {})
    loaded = find(name, BACKBONES, "backbone", check=check_backbone, also="a hub id or a folder")
    if isinstance(loaded.value, BackboneEntry):
        return loaded
    return replace(loaded, value=BackboneEntry(loaded.code["class"], "a user's backbone"))


def check_backbone(name: str, value: Any) -> None:
    """Refuse what is neither a factory nor an entry of one.

    Raises:
        UsageError: it is neither.
    """
    if isinstance(value, BackboneEntry):
        value = value.load()
    if inspect.isclass(value) or not callable(value):
        raise UsageError(
            f"'{name}' is neither a function {FACTORY} nor a BackboneEntry; see models/backbones/README.md"
        )
    names = tuple(inspect.signature(value).parameters)
    if names[: len(NEEDED)] != NEEDED:
        raise UsageError(f"'{name}' should be a function {FACTORY}; it takes ({', '.join(names)})")


def is_pretrained(name: str) -> bool:
    """Return whether a backbone has weights already: one of the hub or of a folder."""
    entry = find_backbone(name).value
    return bool(entry.hub or entry.converted)


def backbone_factory(name: str) -> Any:
    """Return what builds a backbone: an entry's function, or the hub loader for an id or folder.

    Raises:
        UsageError: when there is no such backbone.
    """
    return find_backbone(name).value.load()


__all__ = [
    "BACKBONES",
    "FILES",
    "BackboneEntry",
    "backbone_factory",
    "check_backbone",
    "find_backbone",
    "is_pretrained",
]
