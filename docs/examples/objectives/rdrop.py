"""A training step with two forward passes.

`step_loss` is called in training only: validation sums `loss`, and evaluation uses `log_probs`.
"""

from bench.models.core.objective import Objective
from bench.models.core.sliced_loss import LossSum
from bench.models.core.states import slices


class RDrop(Objective):
    """Cross-entropy of two passes with dropout, and a divergence between their distributions (equation 4)."""

    name = "rdrop"
    paper = "Liang et al. 2021"
    settings = {"backbone.dropout": 0.1}

    def step_loss(self, batch):
        states, again = self.states(batch), self.states(batch)
        first, second = self.loss(states), self.loss(again)
        apart = states.hidden.new_zeros(())
        for one, other in zip(slices(states), slices(again), strict=True):
            p, q = self.log_probs(one), self.log_probs(other)
            apart = apart + ((p.exp() - q.exp()) * (p - q)).sum()  # KL(p||q) + KL(q||p)
        total = (first.total + second.total) / 2 + apart / 4
        return LossSum(total, first.n_target_tokens, {**first.terms, "apart": apart.detach()})
