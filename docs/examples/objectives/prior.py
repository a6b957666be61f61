"""A distribution of its own: `log_probs` is what is trained, evaluated and decoded.

`prepare` is called once, before weights are loaded, and makes parameters whose form depends on the training data.
"""

from torch import nn

from bench.models.core.objective import Objective


class Prior(Objective):
    """Cross-entropy under a softmax with a trained bias that starts at the log frequency of each token."""

    name = "prior"
    paper = "Meister et al. 2023"
    uses_token_counts = True

    def prepare(self, counts):
        frequency = (counts + 1) / (counts + 1).sum()
        self.bias = nn.Parameter(frequency.log().to(self.backbone.embedding()))

    def log_probs(self, tokens):
        return (self.logits(tokens) + self.bias).log_softmax(1)
