"""AttExp: Seq2Seq that reads an exemplar as a second source."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from torch import Tensor

from bench.models.backbones.backbone import Backbone
from bench.models.core.head import Head
from bench.models.core.objective import Objective
from bench.models.core.states import Rows


class AttExp(Objective):
    """Maximum likelihood on a Seq2Seq that attends to an encoded exemplar and copies from it.

    Source: Peng et al. 2019 section 4.1, ATTEXP. The exemplar is the training target whose source is nearest (3.2).

    Args:
        backbone: `bilstm` with `exemplar=attend`.
        equal_targets: whether the exemplar of a training row may have the row's own target. The paper only bans the
            row itself, and the same story told twice then gives the answer away in training and not at test time; the
            suite also bans rows with an equal source, warns, and `false` bans equal targets too.
    """

    name: ClassVar[str] = "attexp"
    paper: ClassVar[str] = "Peng et al. 2019"
    own_backbone: ClassVar[str] = "bilstm"
    settings: ClassVar[Mapping[str, str | int]] = {"backbone.exemplar": "attend", "backbone.exemplar_width": 64}
    fields: ClassVar[frozenset[str]] = frozenset({"exemplar"})

    def __init__(self, backbone: Backbone, *, equal_targets: bool = True) -> None:
        super().__init__(backbone)
        self.equal_targets = equal_targets

    def head_loss(self, rows: Rows, head: Head) -> tuple[Tensor, dict[str, Tensor]]:
        """-log p of the target, its copies included."""
        return head.lse - head.at(rows.targets), {}
