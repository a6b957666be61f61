"""History: the tokens that stand before each position of a text, and where its prompt ends.

Shapes: B batch rows, W tokens of a row's text, n positions of a slice.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

IGNORED = -100
"""The target of a position that carries no loss, and the token where there is none."""


@dataclass(frozen=True)
class History:
    """The texts of a batch as the decoder reads them; nothing is computed before a method asks.

    Decoder-only: prompt and text, in one row. Encoder-decoder: the text alone, without the token that decoding starts
    from; the source is in the memory.

    Args:
        tokens: [B, W] the texts, IGNORED where a token is not known.
        ahead: how many tokens stand before position 0.
        mask: [B, W] 0 at padding; None where IGNORED says it.
        labels: [B, W] of a training batch whose rows hold prompts: the first target ends the prompt.
        prompt: how many columns the prompts take, where there are no labels.
    """

    tokens: Tensor
    ahead: int = 0
    mask: Tensor | None = None
    labels: Tensor | None = None
    prompt: int = 0

    @cached_property
    def prompt_end(self) -> Tensor:
        """Column of the first token behind each row's prompt, [B]; W in a row without targets."""
        if self.labels is None:
            return self.tokens.new_full((len(self.tokens),), self.prompt)
        no_target_yet = (self.labels[:, self.ahead :] != IGNORED).cumsum(1) == 0
        return no_target_yet.sum(1) + self.ahead

    def before(self, rows: Tensor, positions: Tensor) -> tuple[Tensor, Tensor]:
        """Return the tokens before some positions, [n, W], IGNORED elsewhere, and which columns are a prompt, [n, W].

        Args:
            rows: [n] batch row of each position.
            positions: [n] each position within its row.
        """
        columns = torch.arange(self.tokens.shape[1], device=self.tokens.device)
        hidden = columns >= positions[:, None] + self.ahead  # [n, W]
        if self.mask is not None:
            hidden = hidden | (self.mask[rows] == 0)
        return self.tokens[rows].masked_fill(hidden, IGNORED), columns < self.prompt_end[rows][:, None]
