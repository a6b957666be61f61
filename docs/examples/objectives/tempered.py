"""A control that trains nothing: a trained model with a temperature that is fitted to the validation data.

`after_training` is called once, without gradient, and returns what is stored in the record of the run.
"""

import torch

from bench.models.core.objective import Objective
from bench.models.core.states import slices


class Tempered(Objective):
    """A trained model with its logits divided by the temperature that fits the validation data best (section 2)."""

    name = "tempered"
    paper = "Guo et al. 2017"
    parent = "mle"
    training_free = True

    def __init__(self, backbone):
        super().__init__(backbone)
        self.register_buffer("temperature", torch.ones(1))

    def log_probs(self, tokens):
        return (self.logits(tokens) / self.temperature).log_softmax(1)

    def after_training(self, train, valid):
        slices_of_text = [tokens for batch in valid for tokens in slices(self.states(batch))]
        sums = {}
        for temperature in (0.8, 0.9, 1.0, 1.1, 1.25):
            self.temperature.fill_(temperature)
            at_targets = [self.log_probs(tokens).gather(1, tokens.targets[:, None]).sum() for tokens in slices_of_text]
            sums[temperature] = float(sum(at_targets))
        best = max(sums, key=sums.get)
        self.temperature.fill_(best)
        return {"temperature": best}
