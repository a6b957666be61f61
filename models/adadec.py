"""AdaDec: Seq2Seq whose decoder weights are made for an exemplar."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from torch import Tensor

from bench.models.backbones.backbone import Backbone
from bench.models.core.head import Head
from bench.models.core.objective import Objective
from bench.models.core.states import Rows


class AdaDec(Objective):
    """Maximum likelihood on a Seq2Seq with an adaptive decoder: the exemplar says how, the source says what.

    Source: Peng et al. 2019 section 3: every map of the decoder's LSTM is U diag(lambda) V (eq. 8 and 10) with
    lambda = C a (eq. 11), a the last state of an LSTM over the exemplar. The cell is in
    `bench.models.functional.adaptive_lstm`, the model in `bench.models.backbones.bilstm`, whose `variant=released` is
    what the authors' code does otherwise.

    Controls: `adadec.const`, the same cell with one learned lambda, and `adadec.swapped`, another row's exemplar at
    test time. At small scale the first has the whole gain over Seq2Seq on real text: it need not be the exemplar's.

    Args:
        backbone: `bilstm` with `exemplar=adapt`.
        equal_targets: whether the exemplar of a training row may have the row's own target. The paper only bans the
            row itself, and the same story told twice then gives the answer away in training and not at test time; the
            suite also bans rows with an equal source, warns, and `false` bans equal targets too.
    """

    name: ClassVar[str] = "adadec"
    paper: ClassVar[str] = "Peng et al. 2019"
    own_backbone: ClassVar[str] = "bilstm"
    settings: ClassVar[Mapping[str, str]] = {"backbone.exemplar": "adapt"}
    fields: ClassVar[frozenset[str]] = frozenset({"exemplar"})

    def __init__(self, backbone: Backbone, *, equal_targets: bool = True) -> None:
        super().__init__(backbone)
        self.equal_targets = equal_targets

    def head_loss(self, rows: Rows, head: Head) -> tuple[Tensor, dict[str, Tensor]]:
        """-log p of the target, its copies included."""
        return head.lse - head.at(rows.targets), {}
