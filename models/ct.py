"""CT: the target is to score higher than each of the tokens that stand before it.

    loss_t = -log p(x_t) + log(1 + sum over c in S_t of exp(z_c - z_(x_t)))
    S_t    = {x_(t-M), ..., x_(t-1)} without x_t, the M preceding targets of the row

Jiang et al. 2022.

Shapes: n positions of a slice, N of its batch, M preceding tokens, B batch rows, K most targets of a row.
"""

from __future__ import annotations

import math
from typing import Annotated, ClassVar, Literal, NamedTuple

import numpy as np
import torch
from torch import Tensor

from bench.base.options import Range
from bench.models.backbones.backbone import Backbone
from bench.models.core.head import Head
from bench.models.core.host import Array, HostTokens, to_device
from bench.models.core.objective import Objective
from bench.models.core.states import IGNORED, Rows


class CT(Objective):
    """-log p of the target + log(1 + sum of exp(z_c - z_target)) over the preceding tokens c that are not the target.

    Source: Jiang et al. 2022, "A Simple Contrastive Learning Objective for Alleviating Neural Text Degeneration", read
    in the released loss (`ct/functional/ct_loss.py`). The paper's numbers for GPT-2, a window of 60 tokens on the first
    150, are from memory. Only targets are preceding tokens, never a prompt or a source.

    Variants:

    - `paper`: S_t is a set; a token counts once, however often it stands in the window.
    - `released`: a token counts each time.

    The code takes the mean of the contrastive term over its own positions, those up to `length`, and adds it to the
    mean cross-entropy. Here it is that mean in each row, times the row's targets, so that both weigh the same and the
    loss of a row does not depend on its batch. Two things of the code are not here: its exponentials overflow, and with
    its default padding id the real token 0 is neither target nor preceding token.

    Controls: decoders that repeat less without training.

    Args:
        backbone: any.
        window: M, at least 1.
        length: how many of the first targets of a row have the contrastive term, at least 2.
        variant: what a repeated token counts.
    """

    name: ClassVar[str] = "ct"
    paper: ClassVar[str] = "Jiang et al. 2022"
    version: ClassVar[int] = 1

    def __init__(
        self,
        backbone: Backbone,
        *,
        window: Annotated[int, Range(1)] = 60,
        length: Annotated[int, Range(2)] = 150,
        variant: Literal["paper", "released"] = "paper",
    ) -> None:
        super().__init__(backbone)
        self.window, self.length, self.variant = window, length, variant

    def head_loss(self, rows: Rows, head: Head) -> tuple[Tensor, dict[str, Tensor]]:
        """-log p of the target and the contrastive term, [n]."""
        tokens, left_out, number, n_targets = preceding(rows, self.window, self.length, self.variant == "paper")
        at_target, at_tokens = head.at(rows.targets), head.at(tokens)  # [n], [n, M]
        nll = head.lse - at_target
        above = (at_tokens - at_target[:, None]).masked_fill(left_out, -math.inf)
        contrastive = torch.cat([torch.zeros_like(nll)[:, None], above], 1).logsumexp(1)
        weight = n_targets.to(nll.dtype) / n_targets.clamp_max(self.length)
        contrastive = contrastive * weight * (number < self.length)
        return nll + contrastive, {"mle": nll, "contrastive": contrastive}


def preceding(rows: Rows, window: int, length: int, distinct: bool) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Find the preceding tokens of each position of a slice.

    M is the window, or less where no position of the slice has as many.

    Returns:
        Tokens [n, M], the nearest first; which of them are none, [n, M]; how many targets of its row stand before each
        position, [n]; how many targets its row has, [n].
    """
    assert rows.block is not None
    assert rows.host is not None
    table, span = rows.host.once(TargetTable.of), rows.block.span
    number = table.number[span]  # [n]
    most = min(window, length - 1, int(table.most[span].max(initial=0)))
    places = number[:, None] - 1 - table.steps[:most]  # [n, M]
    row = (rows.start + rows.group)[:, None]  # [n, 1]
    inside = places.clamp_min(0)
    tokens = table.tokens[row, inside]
    left_out = (places < 0) | (tokens == rows.targets[:, None])
    if distinct:
        left_out = left_out | (table.again[row, inside] < number[:, None])
    return tokens, left_out, number, table.counts[row.squeeze(1)]


class TargetTable(NamedTuple):
    """The targets of a batch without what stands between them, on its device, and of each of its N positions."""

    tokens: Tensor  # [B, K]
    again: Tensor  # [B, K] number of the next target of the row with the same token; K where there is none
    counts: Tensor  # [B] targets of each row
    number: Tensor  # [N] how many targets stand before each in its row
    steps: Tensor  # [K] 0, 1, 2, ...
    most: Array  # [N] `number` on the host

    @classmethod
    def of(cls, host: HostTokens) -> TargetTable:
        """Make the table of a batch."""
        real = host.targets != IGNORED
        row, counts = np.nonzero(real)[0], real.sum(1)
        number = (real.cumsum(1) - 1)[real]
        tokens = np.zeros((len(counts), counts.max(initial=0)), np.int64)
        tokens[row, number] = host.targets[real]
        again = np.full_like(tokens, tokens.shape[1])
        in_groups = np.lexsort((number, tokens[row, number], row))  # equal tokens of a row stand together, in order
        first, second = in_groups[:-1], in_groups[1:]
        same = (row[first] == row[second]) & (host.targets[real][first] == host.targets[real][second])
        again[row[first[same]], number[first[same]]] = number[second[same]]
        columns = {"tokens": tokens, "again": again, "counts": counts, "number": number}
        columns["steps"] = np.arange(tokens.shape[1])
        return cls(**to_device(columns, host.device), most=number)
