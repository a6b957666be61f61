"""What turns a batch into states: GPT-2, LLaMA, BART and small models trained from scratch."""

from bench.entries import Entry

BACKBONES: dict[str, Entry] = {
    "small-causal": Entry("bench.models.backbones.small:small_causal", "2-layer GPT-2 from scratch"),
    "small-encdec": Entry("bench.models.backbones.small:small_encdec", "2-layer BART from scratch"),
    "gpt2": Entry("bench.models.backbones.hub:hub", "GPT-2 small, 124 M", "openai-community/gpt2"),
    "gpt2-large": Entry("bench.models.backbones.hub:hub", "GPT-2 large, 774 M", "openai-community/gpt2-large"),
    "bart-large": Entry("bench.models.backbones.hub:hub", "BART large, 406 M", "facebook/bart-large"),
    "llama2-7b": Entry("bench.models.backbones.hub:hub", "LLaMA-2, 6.7 B", "meta-llama/Llama-2-7b-hf"),
}
"""For a pretrained backbone, `paper` holds its hub id; a hub id or a folder works as a name too."""

__all__ = ["BACKBONES"]
