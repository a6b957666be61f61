"""Seq2Seq: attention and copying over a BiLSTM, the model that AdaDec is compared with.

    loss = -log p(target),    p = p_gen * softmax over the vocabulary + (1 - p_gen) * attention over the source

Peng et al. 2019, section 4.1; copying is that of See et al. 2017, eq. 9.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from torch import Tensor

from bench.models.core.head import Head
from bench.models.core.objective import Objective
from bench.models.core.states import TokenSlice


class Seq2Seq(Objective):
    """Maximum likelihood on the paper's own sequence-to-sequence model.

    Source: Peng et al. 2019 section 4.1, SEQ2SEQ: BiLSTM encoder, LSTM decoder, Luong attention, copying after See et
    al. 2017, tied embeddings. The model is `bench.models.backbones.recurrent.bilstm`.
    """

    name: ClassVar[str] = "seq2seq"
    paper: ClassVar[str] = "Peng et al. 2019"
    equations: ClassVar[tuple[str, ...]] = (
        r"\ell_t = -\log p(x_t)",
        r"p(w) = p_{\text{gen}}\, \mathrm{softmax}(z)_w + (1 - p_{\text{gen}}) \sum_{i:\, s_i = w} a_i",
    )
    own_backbone: ClassVar[str] = "bilstm"
    settings: ClassVar[Mapping[str, Any]] = {"backbone.exemplar": "none"}

    def head_loss(self, tokens: TokenSlice, head: Head) -> tuple[Tensor, dict[str, Tensor]]:
        """-log p of the target, its copies included, [n]."""
        at_target = head.at(tokens.targets)
        return head.lse - at_target, {}
