"""Architectures: the sizes of pretrained backbones that are not on this machine, as their authors published them.

Nothing is downloaded. A folder, or a configuration in the hub's cache, comes first; any other model is unknown.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bench.errors import MissingError
from bench.models.backbones.hub import location

__all__ = ["PUBLISHED", "configuration"]

PUBLISHED: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "openai-community/gpt2": ("GPT2Config", {}),
    "openai-community/gpt2-medium": ("GPT2Config", {"n_embd": 1024, "n_layer": 24, "n_head": 16}),
    "openai-community/gpt2-large": ("GPT2Config", {"n_embd": 1280, "n_layer": 36, "n_head": 20}),
    "openai-community/gpt2-xl": ("GPT2Config", {"n_embd": 1600, "n_layer": 48, "n_head": 25}),
    "facebook/bart-base": (
        "BartConfig",
        {
            "d_model": 768,
            "encoder_layers": 6,
            "decoder_layers": 6,
            "encoder_attention_heads": 12,
            "decoder_attention_heads": 12,
            "encoder_ffn_dim": 3072,
            "decoder_ffn_dim": 3072,
        },  # fmt: skip
    ),
    "facebook/bart-large": ("BartConfig", {}),
    "meta-llama/Llama-2-7b-hf": ("LlamaConfig", {"max_position_embeddings": 4096}),
}
"""By hub id: the configuration class of `transformers` and what differs from its defaults.

The defaults of `GPT2Config`, `BartConfig` and `LlamaConfig` are GPT-2 small (124 M; Radford et al. 2019), BART large
(406 M; Lewis et al. 2020) and LLaMA 7B, whose sizes LLaMA-2 7B has too (6.7 B; Touvron et al. 2023).
"""


def configuration(name: str, path: str = "") -> Any:
    """Return the configuration of a pretrained backbone, without the network.

    Args:
        name: a name of `BACKBONES`, a hub id, or a folder.
        path: a local folder in place of the hub.

    Raises:
        MissingError: it is neither a folder, nor in the hub's cache, nor in the table.
    """
    import transformers

    place = path or location(name)
    try:
        return transformers.AutoConfig.from_pretrained(place, local_files_only=True)
    except (OSError, ValueError) as error:
        if place not in PUBLISHED:
            raise MissingError(
                f"the sizes of '{place}' are not known: it is no folder, its configuration is not in the hub's cache, "
                f"and it is not in the table of bench/cost/architectures.py"
            ) from error
    kind, sizes = PUBLISHED[place]
    return getattr(transformers, kind)(**sizes)
