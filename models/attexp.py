"""AttExp: Seq2Seq that reads an exemplar as a second source.

    loss = -log p(target), as in Seq2Seq, with attention and copying over the source and the exemplar together

Peng et al. 2019, section 4.1. The exemplar is the training target whose source is nearest (section 3.2).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from bench.models.backbones.backbone import Backbone
from bench.models.seq2seq import Seq2Seq


class AttExp(Seq2Seq):
    """Maximum likelihood on a Seq2Seq that attends to an encoded exemplar and copies from it.

    Source: Peng et al. 2019 section 4.1, ATTEXP. The exemplar is the training target whose source is nearest (3.2).

    Args:
        backbone: `bilstm` with `exemplar=attend`.
        equal_targets: whether the exemplar of a training row may equal the row's own target. The paper bans a
            row's "own target as the exemplar" (footnote 7) and does not say whether another row with an equal target
            is banned too. Where a story is told twice, such an exemplar gives the answer away in training but not at
            test time. `true` bans the row itself and rows with an equal source, `false` equal targets too.
    """

    name: ClassVar[str] = "attexp"
    paper: ClassVar[str] = "Peng et al. 2019"
    equations: ClassVar[tuple[str, ...]] = (
        r"\ell_t = -\log p(x_t)",
        r"p(w) = p_{\text{gen}}\, \mathrm{softmax}(z)_w + (1 - p_{\text{gen}}) \sum_{i:\, s_i = w} a_i",
        r"s \text{ the tokens of source and exemplar, } a \text{ the attention to them}",
    )
    settings: ClassVar[Mapping[str, Any]] = {"backbone.exemplar": "attend"}
    defaults: ClassVar[Mapping[str, Any]] = {"backbone.exemplar_width": 64}  # the paper's are in the tasks' recipes
    fields: ClassVar[frozenset[str]] = frozenset({"exemplar"})

    def __init__(self, backbone: Backbone, *, equal_targets: bool = True) -> None:
        super().__init__(backbone)
        self.equal_targets = equal_targets
