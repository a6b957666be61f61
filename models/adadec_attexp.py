"""AdaDec+AttExp: decoder weights made for an exemplar, and attention to it.

    loss = -log p(target), with the weights of AdaDec (eq. 8, 10, 11), attention and copying of AttExp

Peng et al. 2019, section 4.3.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from bench.models.backbones.backbone import Backbone
from bench.models.seq2seq import Seq2Seq


class AdaDecAttExp(Seq2Seq):
    """Maximum likelihood on AdaDec that also attends to its exemplar and copies from it.

    Source: Peng et al. 2019 section 4.3, ADADEC+ATTEXP.

    Args:
        backbone: `bilstm` with `exemplar=both`.
        equal_targets: whether the exemplar of a training row may equal the row's own target. The paper bans a
            row's "own target as the exemplar" (footnote 7) and does not say whether another row with an equal target
            is banned too. Where a story is told twice, such an exemplar gives the answer away in training but not at
            test time. `true` bans the row itself and rows with an equal source, `false` equal targets too.
    """

    name: ClassVar[str] = "adadec_attexp"
    paper: ClassVar[str] = "Peng et al. 2019"
    equations: ClassVar[tuple[str, ...]] = (
        r"\ell_t = -\log p(x_t)",
        r"W = U\, \mathrm{diag}(\lambda)\, V, \quad \lambda = C a",
    )
    settings: ClassVar[Mapping[str, Any]] = {"backbone.exemplar": "both"}
    fields: ClassVar[frozenset[str]] = frozenset({"exemplar"})

    def __init__(self, backbone: Backbone, *, equal_targets: bool = True) -> None:
        super().__init__(backbone)
        self.equal_targets = equal_targets
