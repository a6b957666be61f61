"""A loss that needs the logits themselves: `position_loss` returns losses [n] and sums of named parts."""

from bench.models.core.objective import Objective


class ZLoss(Objective):
    """Cross-entropy plus a small multiple of the squared log-sum-exp, which keeps logits small (section 5)."""

    name = "z_loss"
    paper = "Chowdhery et al. 2022"

    def __init__(self, backbone, *, weight: float = 1e-4):
        super().__init__(backbone)
        self.weight = weight

    def position_loss(self, tokens):
        logits = self.logits(tokens)  # [n, V]
        lse = logits.logsumexp(1)
        drift = self.weight * lse.square()
        return lse - logits.gather(1, tokens.targets[:, None]).squeeze(1) + drift, {"drift": drift.sum()}
