"""GOLD: policy gradient on the true texts, where a token counts more if the rest of its text is likely.

The functions are in `bench.models.functional.token_losses`.

Shapes: n positions of a slice, B rows, T positions of a row.
"""

from typing import Literal

from torch import Tensor

from bench.base.options import Amount, Share
from bench.models.backbones.backbone import Backbone
from bench.models.core.head import Head
from bench.models.core.objective import Objective
from bench.models.core.sliced_loss import Losses, LossSum
from bench.models.core.states import IGNORED, States, TokenSlice
from bench.models.functional.head_losses import nll_of
from bench.models.functional.token_losses import discounted_returns, off_policy_nll, rewards

RELEASED_HORIZON = 5
"""How many later rewards the released code adds."""


class GOLD(Objective):
    """Off-policy policy gradient from demonstrations: cross-entropy weighted by policy and by later rewards.

    Source: Pang and He 2021 (arXiv 2009.07839), read in the released code (label_smoothed_cross_entropy.py) and its
    scripts. The body of the paper was not read: that its sum runs to the end of a text rests on memory, so no claim of
    the paper is tested.

    The rewards come from a frozen model of maximum likelihood, the one that training starts from. The released code
    weighs by a copy of the policy that is some thousand updates old; here it is the policy itself. Its label smoothing
    of 0.1 is left out.

    Variants: `paper` adds the rewards to the end of a text. `released` adds those of the next 5 tokens and, behind the
    end, that of a token with p = 1. Positions without a target are skipped in both. `gold.p` has the reward `p`.

    Its settings for XSum: floor 0.15, least 0.1, and baseline -10 with the reward `p`.

    Without rewards and floor it is DFT. Control: `mle.continued`.

    Args:
        reward: `s` of probabilities, `p` of their logarithms.
        floor: smallest weight by the policy, 0 to 1.
        least: smallest reward, at least 0.
        baseline: what is taken from a log-probability; with the reward `p` only.
        gamma: discount of a reward for each token it comes later, 0 to 1.
        variant: how far rewards are added.
    """

    name = "gold"
    equations = (
        r"\ell_t = -w_t Q_t \log p(x_t)",
        r"w_t = \mathrm{sg}(\max(p(x_t), \text{floor})), \quad Q_t = \sum_k \gamma^k r_{t+k}",
        r"\text{s:}\quad r_t = \max(p_{\text{MLE}}(x_t), \text{least})",
        r"\text{p:}\quad r_t = \max(\log p_{\text{MLE}}(x_t) - \text{baseline}, \text{least})",
    )
    version = 1
    parent = "mle"
    reference = "mle"
    two_passes = True

    def __init__(
        self,
        backbone: Backbone,
        *,
        reward: Literal["s", "p"] = "s",
        floor: Share = 0.15,
        least: Amount = 0.1,
        baseline: float = -10.0,
        gamma: Share = 1.0,
        variant: Literal["paper", "released"] = "paper",
    ) -> None:
        super().__init__(backbone)
        self.reward, self.floor, self.least, self.baseline = reward, floor, least, baseline
        self.gamma, self.variant = gamma, variant
        self.returns: Tensor | None = None  # [B, T] of the batch whose loss is being summed

    def head_loss(self, tokens: TokenSlice, head: Head) -> Losses:
        """-log p of the target, times the policy's weight and the return of its place, [n]."""
        nll = nll_of(head, tokens.targets)
        if self.returns is None:
            return nll, {}
        returns = self.returns[tokens.start + tokens.group, tokens.position]
        return off_policy_nll(nll, self.policy(tokens, nll), returns, self.floor), {}

    def loss(self, states: States) -> LossSum:
        """Sum over target tokens; the frozen model reads whole rows first, since a weight needs what comes later."""
        self.returns = self._returns(states)
        try:
            return super().loss(states)
        finally:
            self.returns = None

    def policy(self, tokens: TokenSlice, nll: Tensor) -> Tensor:
        """Probability of the target under the model that weighs, without gradient, [n]: that of this model."""
        return (-nll).exp().detach()

    def mle_probabilities(self, states: States) -> Tensor:
        """Probability of each target under the frozen model, [B, T] float64, 1 where there is none."""
        reference = self.reference_model
        assert states.reference is not None
        return (-reference.target_nll(states.reference()).double()).exp()

    def _returns(self, states: States) -> Tensor:
        """Q of each position with a target, [B, T] float64."""
        values = rewards(self.mle_probabilities(states), self.reward, self.least, self.baseline)
        is_target = states.targets != IGNORED
        if self.variant == "paper":
            return discounted_returns(values, is_target, self.gamma)
        of_certain = {"s": 1.0, "p": -self.baseline}[self.reward]  # the reward of p = 1
        return discounted_returns(values, is_target, self.gamma, RELEASED_HORIZON, max(of_certain, self.least))
