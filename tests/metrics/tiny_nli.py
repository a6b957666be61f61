"""A tiny NLI-Acc checkpoint, as a user would have it: the authors' file of weights beside BERT's configuration."""

import torch
from transformers import BertConfig

from bench.metrics.faithfulness.nli_model import NLIModel
from tests.metrics import tiny_verifiers

FILE = "model_ep4.pt"


def unused(size):
    """Keys of the authors' file that no logit depends on."""
    square = ("gnn._self_node_fc", "gnn._dd_node_fc_left", "gnn._dd_node_fc_right", "BASE.pooler.dense")
    return {
        "gnn._node_weight_fc.weight": torch.randn(1, size),
        **{f"{name}.weight": torch.randn(size, size) for name in square},
        "embedding.weight": torch.randn(13, size),
    }


def nli(folder):
    """Random weights large enough that both answers occur; every scale and shift of a norm is its own."""
    config = BertConfig(vocab_size=len(tiny_verifiers.vocabulary()), max_position_embeddings=512,
                        **tiny_verifiers.SIZES)  # fmt: skip
    torch.manual_seed(5)
    weights = NLIModel(config).state_dict()
    for name, one in weights.items():
        scale = name.endswith(("LayerNorm.weight", "a_2"))
        one.copy_(torch.randn_like(one) * (0.2 if scale else 0.5) + (1 if scale else 0))
    config.save_pretrained(folder)
    torch.save(weights | unused(config.hidden_size), folder / FILE)
    return tiny_verifiers.with_words(folder)


def changed(folder, change):
    """Rewrite the weights of a folder by a function of their dict."""
    weights = torch.load(folder / FILE, weights_only=True)
    torch.save(change(weights), folder / FILE)
    return folder
