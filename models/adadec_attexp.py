"""AdaDec+AttExp: adaptive decoder, and attention to the exemplar."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from torch import Tensor

from bench.models.backbones.backbone import Backbone
from bench.models.core.head import Head
from bench.models.core.objective import Objective
from bench.models.core.states import Rows


class AdaDecAttExp(Objective):
    """Maximum likelihood on AdaDec that also attends to its exemplar and copies from it.

    Source: Peng et al. 2019 section 4.3, ADADEC+ATTEXP.

    Args:
        backbone: `bilstm` with `exemplar=both`.
        equal_targets: whether the exemplar of a training row may have the row's own target. The paper only bans the
            row itself, and the same story told twice then gives the answer away in training and not at test time; the
            suite also bans rows with an equal source, warns, and `false` bans equal targets too.
    """

    name: ClassVar[str] = "adadec_attexp"
    paper: ClassVar[str] = "Peng et al. 2019"
    own_backbone: ClassVar[str] = "bilstm"
    settings: ClassVar[Mapping[str, str]] = {"backbone.exemplar": "both"}
    fields: ClassVar[frozenset[str]] = frozenset({"exemplar"})

    def __init__(self, backbone: Backbone, *, equal_targets: bool = True) -> None:
        super().__init__(backbone)
        self.equal_targets = equal_targets

    def head_loss(self, rows: Rows, head: Head) -> tuple[Tensor, dict[str, Tensor]]:
        """-log p of the target, its copies included."""
        return head.lse - head.at(rows.targets), {}
