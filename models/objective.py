"""Objective: the base of every method. A method is a next-token distribution, a loss and, rarely, a model.

The smallest new method fills one hook::

    class Focal(Objective):
        name = "focal"
        paper = "Lin et al. 2017"

        def row_loss(self, log_probs, rows, targets):
            nll = -log_probs.gather(1, targets[:, None]).squeeze(1)
            return (1 - torch.exp(-nll)) ** 2 * nll
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import torch
from lightning.pytorch import LightningModule
from torch import Tensor, nn

from bench.errors import UsageError
from bench.models.chunks import LossSum, summed
from bench.models.functional.cache import cache_scores
from bench.models.functional.decoupled import decoupled_log_probs
from bench.models.functional.mefmax import mefmax
from bench.models.states import Rows, States, slices

if TYPE_CHECKING:
    from bench.decoding import Decoding
    from bench.models.backbones.backbone import Backbone, Batch

SLICE = 512
"""Positions handled at once in training and evaluation."""


@dataclass(frozen=True)
class Optimiser:
    """AdamW and its schedule, as a recipe states them."""

    lr: float = 1e-3
    warmup: float = 0.0  # share of the steps
    schedule: str = "linear"  # after the warm-up: linear decay to zero, or constant
    weight_decay: float = 0.0
    steps: int = 1


class Objective(LightningModule):
    """A training objective over any backbone.

    Hooks work on `Rows`, a slice of at most 512 positions that carry a target:

    - `log_probs(rows) -> [n, V]`: the model's next-token distribution; sums to one for every method.
    - `row_loss(log_probs, rows, targets) -> [n]`: the one hook a newcomer writes.
    - `position_loss(rows) -> ([n], terms)`: both of them at once, where a method has a faster form of the same value.
    - `loss(states) -> LossSum`: only for a term that is not a sum over positions (then `batch_invariant = False`).
    - `decode_log_probs(rows, decoding) -> [n, V]`: what decoding sees; default `log_probs`.

    Args:
        backbone: turns a batch into `States` and hidden states into logits.
    """

    name: ClassVar[str]
    paper: ClassVar[str]
    version: ClassVar[int] = 1
    architectures: ClassVar[tuple[str, ...]] = ("decoder-only", "encoder-decoder")
    fields: ClassVar[frozenset[str]] = frozenset()
    batch_invariant: bool = True

    def __init__(self, backbone: Backbone) -> None:
        super().__init__()
        self.backbone = backbone
        self.optimiser = Optimiser()
        self.copies_of_step = 1  # ranks x micro-batches of an optimiser step: both average what must be a sum
        self.token_counts: Tensor | None = None  # [V] training targets, set by the program before decoding
        self.logged: dict[str, Tensor] = {}  # this micro-batch's share of the step's loss and of its named parts

    @classmethod
    def why_not(cls, architecture: str, fields: frozenset[str]) -> str | None:
        """Return why the method does not fit a backbone's architecture or a task's fields, or None."""
        if architecture not in cls.architectures:
            return f"works on {' and '.join(cls.architectures)} backbones, not on {architecture} ones"
        if missing := cls.fields - fields:
            return f"needs the task field {', '.join(sorted(missing))}"
        return None

    # Hooks ------------------------------------------------------------------------------------------------------

    def log_probs(self, rows: Rows) -> Tensor:
        """Log-probabilities of the next token, [n, V]; each row sums to one."""
        return torch.log_softmax(self.logits(rows), dim=-1)

    def row_loss(self, log_probs: Tensor, rows: Rows, targets: Tensor) -> Tensor:
        """Loss of each position in nats, [n]. Default: negative log-likelihood."""
        return -log_probs.gather(1, targets[:, None]).squeeze(1)

    def position_loss(self, rows: Rows) -> tuple[Tensor, dict[str, Tensor]]:
        """Loss of each position [n], and sums of named parts of it for the log."""
        return self.row_loss(self.log_probs(rows), rows, rows.targets), {}

    def loss(self, states: States) -> LossSum:
        """Sum the loss over all target tokens of a batch, slice by slice."""
        return summed(states, self.position_loss, self.head_parameters(), SLICE)

    def decode_log_probs(self, rows: Rows, decoding: Decoding) -> Tensor:
        """Log-probabilities that decoding sees, [n, V]."""
        log_probs = self.log_probs(rows)
        if decoding.distribution != "decoupled":
            return log_probs
        classes = self.classes.to(log_probs.device)
        return decoupled_log_probs(log_probs, classes, decoding.k, decoding.p, decoding.mode == "greedy")

    # Parts ------------------------------------------------------------------------------------------------------

    def logits(self, rows: Rows) -> Tensor:
        """Unnormalised head scores in at least float32, [n, V]."""
        scores = self.backbone.head(rows.hidden)
        return scores if scores.dtype == torch.float64 else scores.float()

    def components(self, rows: Rows) -> dict[str, Tensor]:
        """Unnormalised log-scores of the next token by where they come from, each [n, V].

        `head` is the softmax head, `cache` the memory alone (-inf for a token it does not hold), `full` their sum,
        eq. 3 of HistAlign. Every method has all three, so a probe can ask what an objective changed.
        """
        head = self.logits(rows)
        cache = cache_scores(rows.similarity(), rows.memory_tokens, rows.readable, head.shape[-1])
        return {"head": head, "cache": cache, "full": torch.logaddexp(head, cache.to(head.dtype))}

    @cached_property
    def classes(self) -> Tensor:
        """Frequency class of each token by MefMax over `token_counts`, [V]; decoupled decoding draws these first."""
        if self.token_counts is None:
            raise UsageError("decoupled decoding needs token_counts, how often each token is a training target")
        return mefmax(self.token_counts).of_token

    def head_parameters(self) -> list[nn.Parameter]:
        """Every parameter that hooks may touch: the head's and the method's own."""
        own = [p for name, p in self.named_parameters() if not name.startswith("backbone.")]
        return [*self.backbone.head_parameters(), *own]

    def nll(self, states: States) -> Iterator[tuple[Rows, Tensor]]:
        """Yield slices with the negative log-likelihood of their targets in nats, [n], whatever the loss is."""
        for rows in slices(states, SLICE):
            yield rows, -self.log_probs(rows).gather(1, rows.targets[:, None]).squeeze(1)

    # Lightning --------------------------------------------------------------------------------------------------

    def training_step(self, batch: Batch, batch_idx: int) -> Tensor:
        """One micro-batch; its sum is divided by the target tokens of the whole optimiser step."""
        found = self.loss(self.backbone.states(batch))
        share = self.copies_of_step / batch["step_tokens"]
        self.logged = {name: value * share for name, value in {"loss": found.total.detach(), **found.terms}.items()}
        return found.total * share

    def configure_optimizers(self) -> Any:
        """AdamW; no decay on biases and normalisation; linear warm-up, then linear decay or constant."""
        settings = self.optimiser
        trained = [p for p in self.parameters() if p.requires_grad]
        groups = [
            {"params": [p for p in trained if p.ndim >= 2], "weight_decay": settings.weight_decay},
            {"params": [p for p in trained if p.ndim < 2], "weight_decay": 0.0},
        ]
        optimizer = torch.optim.AdamW([g for g in groups if g["params"]], lr=settings.lr)
        schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: lr_factor(step, settings))
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": schedule, "interval": "step"}}


def lr_factor(step: int, settings: Optimiser) -> float:
    """Return the learning rate of a step as a share of its peak.

    >>> [lr_factor(s, Optimiser(steps=10, warmup=0.2)) for s in (0, 1, 2, 6)]
    [0.5, 1.0, 1.0, 0.5]
    """
    warm = round(settings.warmup * settings.steps)
    if step < warm:
        return (step + 1) / warm
    if settings.schedule == "constant":
        return 1.0
    return max(0.0, (settings.steps - step) / max(1, settings.steps - warm))
