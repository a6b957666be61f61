"""FLOPs: floating-point operations of training, 6 P T plus attention.

Each token takes 2 operations for each parameter of a matrix product in the forward pass and 4 in the backward pass.
Attention takes 4 more for each pair of positions, layer and width in the forward pass, and 8 in the backward pass; a
causal mask halves what is needed, but not what most kernels do, and is not counted. So does torch's `FlopCounterMode`.

Source: Kaplan et al. 2020, section 2.1; Narayanan et al. 2021, appendix.

Shapes: S source tokens, T target tokens, V vocabulary, D width of a state.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from torch import nn

from bench.cells.cell import Cell
from bench.cost.memory import Lengths, Shares
from bench.models.backbones.backbone import Backbone

__all__ = ["Products", "flops_of_row", "products_of", "shares_of", "trained_share"]

CROSS = ("encoder_attn", "EncDecAttention")
"""What `transformers` calls the attention of a decoder over its encoder."""
KEYS = ("k_proj", "v_proj", "k", "v")
"""What it calls the products that make keys and values: here, of the source."""


@dataclass(frozen=True)
class Products:
    """Parameters of the matrix products that each token goes through.

    Args:
        source: for each source token of an encoder; 0 for a decoder-only model.
        target: for each token of a decoder, without the head.
        head: of the softmax, for each position with a loss.
        layers: of the decoder, or the only ones.
        encoder_layers: of the encoder.
        width: of the queries of all heads together.
    """

    source: int
    target: int
    head: int
    layers: int
    encoder_layers: int
    width: int

    @property
    def in_layers(self) -> int:
        """Those of all layers, without embeddings and head."""
        return self.source + self.target

    @staticmethod
    def of(content: Mapping[str, int]) -> Products:
        """Return it from plain content."""
        return Products(**content)


def products_of(backbone: Backbone) -> Products:
    """Count the parameters of a backbone's matrix products."""
    config = backbone.model.config
    is_pair = backbone.architecture == "encoder-decoder"
    layers, heads = int(getattr(config, "num_hidden_layers", 0)), int(getattr(config, "num_attention_heads", 0))
    encoder_layers = 0
    if is_pair and layers:
        encoder_layers = int(getattr(config, "encoder_layers", 0) or layers)
        layers = int(getattr(config, "decoder_layers", 0) or getattr(config, "num_decoder_layers", 0) or layers)
    width = int(getattr(config, "head_dim", 0) or 0) * heads or backbone.width
    embeddings = {id(part.weight) for part in backbone.modules() if isinstance(part, nn.Embedding)}
    embeddings |= {id(parameter) for parameter in backbone.head_parameters()}
    source = target = 0
    for name, parameter in backbone.named_parameters():
        if parameter.ndim < 2 or id(parameter) in embeddings:
            continue
        if is_pair and _is_of_source(name):
            source += parameter.numel()
        else:
            target += parameter.numel()
    return Products(
        source=source,
        target=target,
        head=backbone.vocabulary_size * backbone.width,
        layers=layers,
        encoder_layers=encoder_layers,
        width=width,
    )


def shares_of(products: Products, ranks: int) -> Shares:
    """Return the shares of a backbone on so many ranks; biases and norms of its layers are counted outside of them."""
    layers = products.layers + products.encoder_layers
    return Shares(ranks, products.in_layers // max(1, layers), layers)


def trained_share(cell: Cell) -> float:
    """Return the operations of a training step over those where every weight is trained.

    With adapters (LoRA) weights have no gradient of their own, which saves 2 of 6 operations of each.
    """
    if cell.config.backbone_options.get("lora_rank"):
        return 2 / 3
    return 1.0


def _is_of_source(name: str) -> bool:
    """Return whether source tokens go through a parameter."""
    parts = name.split(".")
    if any(part in CROSS for part in parts):
        return any(part in KEYS for part in parts)
    return "encoder" in parts


def flops_of_row(products: Products, lengths: Lengths) -> float:
    """Return the operations of training on one row, forward and backward.

    Args:
        products: of the backbone.
        lengths: tokens of the row.
    """
    head = 6.0 * products.head * lengths.target
    if not products.source:
        tokens = lengths.source + lengths.target
        return head + 6.0 * products.target * tokens + 12.0 * products.layers * products.width * tokens**2
    attention = products.layers * (lengths.target**2 + lengths.target * lengths.source)
    attention += products.encoder_layers * lengths.source**2
    passes = products.source * lengths.source + products.target * (lengths.target + lengths.exemplar)
    return head + 6.0 * passes + 12.0 * products.width * attention
