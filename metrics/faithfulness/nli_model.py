"""NLI model: BERT over a statement and a table, then an encoder over statement and cells (Chen et al. 2020, ACL).

BERT reads the statement, the title and the rows at once under a mask: the statement sees everything, the title itself,
a row the statement, the title and itself. A cell is the mean of its pieces' states. Three layers then read the pieces
of the statement together with the cells; every position sees the statement, only the statement sees cells. The logits
come from the first piece. Parameters have the names of the authors' file. Their layer norm is not PyTorch's: it divides
by the standard deviation with n - 1 degrees of freedom plus epsilon.
"""

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

HEADS = 4
LAYERS = 3
UNUSED = ("gnn.", "embedding.", "BASE.pooler.", "BASE.embeddings.position_ids")
"""Keys of the authors' file, or of other versions of BERT, that no logit depends on."""
PAD = -1
"""Block of a padding position."""
NO_CELL = -1
"""Cell of a position outside of the cells."""


class NLIModel(nn.Module):
    """Logits of (refuted, entailed) for statements of linked tables.

    Args:
        config: a `BertConfig`; the layers on top are as wide as it.
    """

    def __init__(self, config: Any) -> None:
        from transformers import BertModel

        super().__init__()
        self.BASE = BertModel(config, add_pooling_layer=False)
        self.biflow = _JointEncoder(config.hidden_size)
        self.classifier = nn.Linear(config.hidden_size, 2)

    @property
    def device(self) -> torch.device:
        """Device of the parameters."""
        return self.classifier.weight.device

    def forward(self, input_ids: Tensor, block: Tensor, cell: Tensor) -> Any:
        """Return an output with `logits` [B, 2].

        Args:
            input_ids: word pieces [B, T]: statement, title, rows.
            block: [B, T], 0 in the statement, 1 in the title, 2 and up in a row, `PAD` after the end.
            cell: [B, T], number of the cell of a piece, `NO_CELL` outside of the cells.
        """
        from transformers.modeling_outputs import SequenceClassifierOutput

        # Only a mask that is added is obeyed by every kind of attention in BERT.
        hidden = (~mask_of(block)).to(torch.float32)[:, None] * -1e4
        read = self.BASE(input_ids=input_ids, token_type_ids=(block > 0).long(), attention_mask=hidden)
        states: Tensor = read.last_hidden_state  # [B, T, d]
        belongs = cell[:, None] == torch.arange(int(cell.max()) + 1, device=cell.device)[:, None]  # [B, cells, T]
        sizes = belongs.sum(dim=-1, keepdim=True)
        cells = (belongs.to(states.dtype) @ states) / sizes.clamp(min=1)
        is_statement = (block == 0)[:, : int((block == 0).sum(dim=1).max())]
        joint = self.biflow(states[:, : is_statement.shape[1]], is_statement, cells, sizes[..., 0] > 0)
        return SequenceClassifierOutput(logits=self.classifier(joint[:, 0]))


def mask_of(block: Tensor) -> Tensor:
    """Return which positions see which, [B, T, T], from their blocks [B, T].

    >>> mask_of(torch.tensor([[0, 1, 2, 3, PAD]])).int()[0].tolist()
    [[1, 1, 1, 1, 0], [0, 1, 0, 0, 0], [1, 1, 1, 0, 0], [1, 1, 0, 1, 0], [0, 0, 0, 0, 0]]
    """
    by, of = block[:, :, None], block[:, None, :]
    return (of != PAD) & ((by == 0) | (by == of) | ((by >= 2) & (of <= 1)))


class _JointEncoder(nn.Module):
    """Reads the statement and the cells together."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(2, size)  # statement, cell
        self.encoders = nn.ModuleList([_Layer(size) for _ in range(LAYERS)])

    def forward(self, statement: Tensor, is_statement: Tensor, cells: Tensor, is_cell: Tensor) -> Tensor:
        """Return [B, S + C, d] for statements [B, S, d] and cells [B, C, d]; False in the masks is padding."""
        kinds = self.embedding.weight
        states = torch.cat([statement + kinds[0], cells + kinds[1]], dim=1)
        from_statement = torch.cat([is_statement, is_cell], dim=1)[:, None].expand(-1, statement.shape[1], -1)
        of_cell = torch.cat([is_statement, torch.zeros_like(is_cell)], dim=1)
        from_cell = of_cell[:, None].expand(-1, cells.shape[1], -1)
        seen = torch.cat([from_statement, from_cell], dim=1)[:, None]
        for layer in self.encoders:
            states = layer(states, seen)
        return states


class _Layer(nn.Module):
    """Self-attention, then two linear layers, each with a residual connection and a norm."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.mhatt = _Attention(size)
        inner = nn.ModuleDict({"linear": nn.Linear(size, 4 * size)})
        self.ffn = nn.ModuleDict({"mlp": nn.ModuleDict({"fc": inner, "linear": nn.Linear(4 * size, size)})})
        self.norm1, self.norm2 = _Norm(size), _Norm(size)

    def forward(self, states: Tensor, seen: Tensor) -> Tensor:
        states = self.norm1(states + self.mhatt(states, seen))
        mlp: Any = self.ffn["mlp"]
        normed: Tensor = self.norm2(states + mlp["linear"](mlp["fc"]["linear"](states).relu()))
        return normed


class _Attention(nn.Module):
    def __init__(self, size: int) -> None:
        super().__init__()
        self.linear_v, self.linear_k = nn.Linear(size, size), nn.Linear(size, size)
        self.linear_q, self.linear_merge = nn.Linear(size, size), nn.Linear(size, size)

    def forward(self, states: Tensor, seen: Tensor) -> Tensor:
        q, k, v = (_by_head(linear(states)) for linear in (self.linear_q, self.linear_k, self.linear_v))
        mixed = functional.scaled_dot_product_attention(q, k, v, attn_mask=seen)  # [B, heads, T, d / heads]
        merged: Tensor = self.linear_merge(mixed.transpose(1, 2).flatten(-2))
        return merged


def _by_head(states: Tensor) -> Tensor:
    """Return [B, T, d] as [B, heads, T, d / heads]."""
    return states.unflatten(-1, (HEADS, -1)).transpose(1, 2)


class _Norm(nn.Module):
    def __init__(self, size: int) -> None:
        super().__init__()
        self.a_2, self.b_2 = nn.Parameter(torch.ones(size)), nn.Parameter(torch.zeros(size))

    def forward(self, states: Tensor) -> Tensor:
        spread = states.std(dim=-1, keepdim=True) + 1e-6
        return self.a_2 * (states - states.mean(dim=-1, keepdim=True)) / spread + self.b_2
