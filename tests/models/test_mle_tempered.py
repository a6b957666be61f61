"""mle.tempered: the distribution of a trained model at a temperature; the control of GEM."""

from __future__ import annotations

import pytest
import torch

from bench.base.options import options_of
from bench.config.resolve import find_method
from bench.decodings.greedy import Greedy
from bench.decodings.sample import Sample
from bench.models import METHODS
from bench.models.core.states import slices
from bench.models.gem import GEM
from bench.models.mle import MLE
from bench.models.mle_controls import MLETempered
from tests.models import still
from tests.models.still import KINDS, batch


@torch.no_grad()
@pytest.mark.parametrize("kind", KINDS)
def test_is_the_model_at_a_temperature(kind: str) -> None:
    """Likelihoods and samples are of softmax(z / T), T = 1 / beta; what is greedy stays."""
    backbone = still.backbone(kind)
    likelihood, tempered = MLE(backbone), MLETempered(backbone, beta=0.7)
    (rows,) = slices(backbone.states(batch(kind)), 999)
    expected = (backbone.head(rows.hidden) / (1 / 0.7)).log_softmax(1)
    torch.testing.assert_close(tempered.log_probs(rows), expected)
    torch.testing.assert_close(tempered.decode_log_probs(rows, Sample()), expected)
    best = [objective.decode_log_probs(rows, Greedy()).argmax(1) for objective in (likelihood, tempered)]
    assert torch.equal(*best)


def test_it_takes_the_weights_of_maximum_likelihood() -> None:
    method = find_method("mle.tempered")
    assert (method.kind, method.parent) == (MLETempered, "mle")
    assert MLETempered.training_free
    assert "mle.tempered" in METHODS["gem"].controls
    assert options_of(MLETempered)["beta"] == options_of(GEM)["beta"]
