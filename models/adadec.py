"""The sequence-to-sequence methods of Peng et al. 2019: maximum likelihood on recurrent models that copy.

The models are in `bench.models.backbones.recurrent.bilstm`, the adaptive LSTM in
`bench.models.functional.adaptive_lstm`. An exemplar is the training target whose source is nearest (section 3.2).
"""

from collections.abc import Mapping
from typing import Any, ClassVar

from bench.models.backbones.backbone import Backbone
from bench.models.mle import MLE

LIKELIHOOD = r"\ell_t = -\log p(x_t)"
ADAPTED = r"W = U\, \mathrm{diag}(\lambda)\, V, \quad \lambda = C a"


class Seq2Seq(MLE):
    """Maximum likelihood on the paper's own sequence-to-sequence model, with attention and copying over the source.

    Source: Peng et al. 2019 section 4.1, SEQ2SEQ: BiLSTM encoder, LSTM decoder, Luong attention, copying after See et
    al. 2017, eq. 9, tied embeddings.
    """

    name = "seq2seq"
    equations: ClassVar[tuple[str, ...]] = (
        LIKELIHOOD,
        r"p(w) = p_{\text{gen}}\, \mathrm{softmax}(z)_w + (1 - p_{\text{gen}}) \sum_{i:\, s_i = w} a_i",
    )
    own_backbone = "bilstm"
    settings: ClassVar[Mapping[str, Any]] = {"backbone.exemplar": "none"}


class ReadsExemplar(Seq2Seq):
    """Maximum likelihood on a model that reads an exemplar for each row.

    Args:
        backbone: `bilstm`, with the value of `exemplar` that the method sets.
        equal_targets: whether the exemplar of a training row may equal the row's own target. The paper bans a
            row's "own target as the exemplar" (footnote 7) and does not say whether another row with an equal target
            is banned too. Where a story is told twice, such an exemplar gives the answer away in training but not at
            test time. `true` bans the row itself and rows with an equal source, `false` equal targets too.
    """

    fields = frozenset({"exemplar"})

    def __init__(self, backbone: Backbone, *, equal_targets: bool = True) -> None:
        super().__init__(backbone)
        self.equal_targets = equal_targets


class AttExp(ReadsExemplar):
    """Maximum likelihood on a Seq2Seq that attends to an encoded exemplar and copies from it, as from a second source.

    Source: Peng et al. 2019 section 4.1, ATTEXP.
    """

    name = "attexp"
    equations = (
        LIKELIHOOD,
        r"p(w) = p_{\text{gen}}\, \mathrm{softmax}(z)_w + (1 - p_{\text{gen}}) \sum_{i:\, s_i = w} a_i",
        r"s \text{ the tokens of source and exemplar, } a \text{ the attention to them}",
    )
    settings: ClassVar[Mapping[str, Any]] = {"backbone.exemplar": "attend"}
    defaults: ClassVar[Mapping[str, Any]] = {"backbone.exemplar_width": 64}  # the paper's are in the tasks' recipes


class AdaDec(ReadsExemplar):
    """Maximum likelihood on a Seq2Seq with an adaptive decoder: the exemplar says how, the source says what.

    Source: Peng et al. 2019 section 3, eq. 8, 10 and 11, for all eight maps of an LSTM (section 3.3). The backbone's
    `variant=released` follows the authors' code where it differs.

    Controls: `adadec.const`, the same decoder with one learned lambda for all rows, and `adadec.swapped`, another row's
    exemplar at test time. In the kept runs on Gigaword (10,000 pairs, 1.3M parameters, 1,500 steps, 5 seeds) there is
    no gain over Seq2Seq for them to explain: ROUGE-1 is 22.2 for AdaDec, 22.4 for both controls, 23.1 for Seq2Seq.
    """

    name = "adadec"
    equations = (LIKELIHOOD, ADAPTED)
    settings: ClassVar[Mapping[str, Any]] = {"backbone.exemplar": "adapt"}


class AdaDecAttExp(ReadsExemplar):
    """Maximum likelihood on AdaDec that also attends to its exemplar and copies from it.

    Source: Peng et al. 2019 section 4.3, ADADEC+ATTEXP.
    """

    name = "adadec_attexp"
    equations = (LIKELIHOOD, ADAPTED)
    settings: ClassVar[Mapping[str, Any]] = {"backbone.exemplar": "both"}
