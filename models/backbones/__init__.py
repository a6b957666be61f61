"""Backbones: the models that turn a batch into states. BACKBONES lists them all."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.base.entries import Entry, load
from bench.errors import UsageError, did_you_mean

SMALL, HUB = "bench.models.backbones.small", "bench.models.backbones.hub:hub"


@dataclass(frozen=True)
class BackboneEntry(Entry):
    """A backbone by name; any hub id or folder works as a name too.

    Args:
        architecture: `decoder-only` or `encoder-decoder`.
        hub: repository of a pretrained backbone.
        revision: its commit, where a reference states one; empty for an unpinned one. Its commit is settled when it is
            first downloaded, and recorded with each trained cell.
    """

    architecture: str = "decoder-only"
    hub: str = ""
    revision: str = ""


BACKBONES: dict[str, BackboneEntry] = {
    "small-causal": BackboneEntry(f"{SMALL}:small_causal", "2-layer GPT-2, from scratch"),
    "small-encdec": BackboneEntry(
        f"{SMALL}:small_encdec", "2-layer BART, from scratch", architecture="encoder-decoder"
    ),
    "bilstm": BackboneEntry(
        "bench.models.backbones.bilstm:bilstm",
        "BiLSTM encoder, LSTM decoder with attention and copying, from scratch",
        "Peng et al. 2019",
        architecture="encoder-decoder",
    ),
    "f2-decoder": BackboneEntry(
        "bench.models.backbones.f2_decoder:f2_decoder",
        "12-layer post-LN decoder, untied, 69 M at 30,000 tokens, from scratch",
        "Choi et al. 2020",
    ),
    "gpt2": BackboneEntry(HUB, "GPT-2 small, 124 M", "Radford et al. 2019", hub="openai-community/gpt2"),
    "gpt2-large": BackboneEntry(HUB, "GPT-2 large, 774 M", "Radford et al. 2019", hub="openai-community/gpt2-large"),
    "bart-large": BackboneEntry(
        HUB, "BART large, 406 M", "Lewis et al. 2020", architecture="encoder-decoder", hub="facebook/bart-large"
    ),
    "llama2-7b": BackboneEntry(HUB, "LLaMA-2, 6.7 B", "Touvron et al. 2023", hub="meta-llama/Llama-2-7b-hf"),
}


def is_pretrained(name: str) -> bool:
    """Return whether a backbone has weights already: one of the hub or of a folder."""
    return name not in BACKBONES or bool(BACKBONES[name].hub)


def backbone_factory(name: str) -> Any:
    """Return what builds a backbone: an entry's function, or the hub loader for an id or folder.

    Raises:
        UsageError: when there is no such backbone.
    """
    if name in BACKBONES:
        return BACKBONES[name].load()
    if "/" in name or Path(name).is_dir():
        return load("bench.models.backbones.hub:hub")
    raise UsageError(f"no backbone '{name}'{did_you_mean(name, BACKBONES)}; a hub id or a folder works too")


__all__ = ["BACKBONES", "BackboneEntry", "backbone_factory", "is_pretrained"]
