"""A distribution that reads the text before each position, `tokens.written` [n, W], in training and in generation."""

from bench.models.core.objective import Objective


class FrequencyPenalty(Objective):
    """Cross-entropy under a softmax whose logits fall with the number of times that a token was written."""

    name = "frequency_penalty"
    paper = "after Keskar et al. 2019"

    def __init__(self, backbone, *, penalty: float = 0.3):
        super().__init__(backbone)
        self.penalty = penalty

    def log_probs(self, tokens):
        logits = self.logits(tokens)
        was_written = (tokens.written >= 0).to(logits)  # [n, W]
        return logits.scatter_add(1, tokens.written.clamp_min(0), -self.penalty * was_written).log_softmax(1)
