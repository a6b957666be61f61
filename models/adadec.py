"""AdaDec: Seq2Seq with decoder weights made for an exemplar. The exemplar says how, the source says what.

    W      = U diag(lambda) V    eq. 8 and 10, for an Elman network; here for all eight maps of an LSTM (section 3.3)
    lambda = C a                 eq. 11, scaled to norm sqrt(d) (A.1); a is the last state of a BiLSTM over the exemplar
    loss   = -log p(target)      as in Seq2Seq

Peng et al. 2019, section 3. The exemplar is the training target whose source is nearest (section 3.2).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from bench.models.backbones.backbone import Backbone
from bench.models.seq2seq import Seq2Seq


class AdaDec(Seq2Seq):
    """Maximum likelihood on a Seq2Seq with an adaptive decoder: the exemplar says how, the source says what.

    Source: Peng et al. 2019 section 3. The LSTM with adaptive weights is in `bench.models.functional.adaptive_lstm`,
    the model in `bench.models.backbones.recurrent.bilstm`; its `variant=released` is what the authors' code does
    otherwise.

    Controls: `adadec.const`, the same decoder with one learned lambda for all rows, and `adadec.swapped`, another row's
    exemplar at test time. In the kept runs on Gigaword (10,000 pairs, 1.3M parameters, 1,500 steps, 5 seeds) there is
    no gain over Seq2Seq for them to explain: ROUGE-1 is 22.2 for AdaDec, 22.4 for both controls, 23.1 for Seq2Seq.

    Args:
        backbone: `bilstm` with `exemplar=adapt`.
        equal_targets: whether the exemplar of a training row may equal the row's own target. The paper bans a
            row's "own target as the exemplar" (footnote 7) and does not say whether another row with an equal target
            is banned too. Where a story is told twice, such an exemplar gives the answer away in training but not at
            test time. `true` bans the row itself and rows with an equal source, `false` equal targets too.
    """

    name: ClassVar[str] = "adadec"
    paper: ClassVar[str] = "Peng et al. 2019"
    equations: ClassVar[tuple[str, ...]] = (
        r"\ell_t = -\log p(x_t)",
        r"W = U\, \mathrm{diag}(\lambda)\, V, \quad \lambda = C a",
    )
    settings: ClassVar[Mapping[str, Any]] = {"backbone.exemplar": "adapt"}
    fields: ClassVar[frozenset[str]] = frozenset({"exemplar"})

    def __init__(self, backbone: Backbone, *, equal_targets: bool = True) -> None:
        super().__init__(backbone)
        self.equal_targets = equal_targets
