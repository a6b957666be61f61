"""A loss over texts that the model generates in training.

`write` continues each row without gradient, and `scoring_batch` makes a batch whose targets are the generated tokens.
Random choices must depend on `self.run_seed` and `batch["step"]` only, so that all ranks make the same ones.
"""

from bench.models.core.continuations import scoring_batch, without_dropout, write
from bench.models.core.objective import Objective
from bench.models.core.sliced_loss import LossSum, summed


class SelfCritical(Objective):
    """Cross-entropy, and policy gradient of samples with the greedy text as the baseline (equation 8)."""

    name = "self_critical"
    paper = "Rennie et al. 2017"

    def __init__(self, backbone, *, weight: float = 0.1):
        super().__init__(backbone)
        self.weight = weight

    def step_loss(self, batch):
        loss = super().step_loss(batch)
        truth = [self.words(row[row >= 0]) for row in batch["labels"]]
        with without_dropout(self):
            greedy, drawn = write(self, batch), write(self, batch, decoding="sample")
            drawn = [text for text in drawn if text.tokens]
            if not drawn:
                return loss
            best = {text.row: self.share(text, truth) for text in greedy}
            rewards = [self.share(text, truth) - best[text.row] for text in drawn]
            states = self.states(scoring_batch(self, batch, drawn))

        def weighted(tokens):
            nll = -self.log_probs(tokens).gather(1, tokens.targets[:, None]).squeeze(1)
            return self.weight * nll * nll.new_tensor(rewards)[tokens.start + tokens.group], {}

        term = summed(states, weighted, self.head_parameters()).total
        return LossSum(loss.total + term, loss.n_target_tokens, {**loss.terms, "reward": term.detach()})

    def words(self, tokens):
        return set(self.tokenizer.decode(tokens, skip_special_tokens=True).split())

    def share(self, text, truth):
        return len(self.words(text.tokens) & truth[text.row]) / max(1, len(truth[text.row]))
