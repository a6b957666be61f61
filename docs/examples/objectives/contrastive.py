"""A method with a frozen reference model.

The run that `reference` names is trained first, and its key is part of this method's key. `tokens.reference` are the
same positions in that model.
"""

import math

from bench.models.core.objective import Objective


class Contrastive(Objective):
    """Maximum likelihood, decoded by log p - log p_small, with a smaller model (equations 2 and 4)."""

    name = "contrastive"
    paper = "Li et al. 2023"
    reference = "mle"
    reference_settings = {"backbone.width": 32, "backbone.layers": 1}

    def __init__(self, backbone, *, alpha: float = 0.1, temperature: float = 0.5):
        super().__init__(backbone)
        self.alpha, self.temperature = alpha, temperature

    def decode_log_probs(self, tokens, decoding):
        small = self.reference_model.log_probs(tokens.reference)
        return contrast(self.log_probs(tokens), small, self.alpha, self.temperature).log_softmax(1)


def contrast(expert, amateur, alpha, temperature):
    """Score tokens by two models' log-probabilities, [n, V]; -inf below a share alpha of the expert's best."""
    plausible = expert >= expert.amax(1, keepdim=True) + math.log(alpha)
    scores = expert - (amateur / temperature).log_softmax(1)
    return scores.masked_fill(~plausible, -math.inf)
