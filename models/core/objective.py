"""Objective: the base of every method. A method is a next-token distribution, a loss and, rarely, a model.

The smallest new method fills one hook:

    class Focal(Objective):
        name = "focal"
        paper = "Lin et al. 2017"

        def token_loss(self, log_probs, tokens, targets):
            nll = -log_probs.gather(1, targets[:, None]).squeeze(1)
            return (1 - torch.exp(-nll)) ** 2 * nll

Shapes: n positions of a slice, V vocabulary, D width of a state, T positions of a row.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import torch
from torch import Tensor

from bench.base.options import check_constructor
from bench.errors import UsageError
from bench.models.core.entry import Recipe, RegistryEntry
from bench.models.core.head import Head, slice_size, sum_dtype
from bench.models.core.sliced_loss import HeadLoss, Losses, LossSum, MemoryTerms, summed, summed_by_head
from bench.models.core.states import States, TokenSlice, slices
from bench.models.core.trainable import Trainable
from bench.models.functional.cache import cache_scores, copy_log_probs
from bench.models.functional.decoupled import decoupled_log_probs

if TYPE_CHECKING:
    from bench.decodings.core.decoding import Decoding
    from bench.models.backbones.backbone import Batch, LinearHead


ROW_LOSS = "`row_loss` is now called `token_loss`; rename it, the next version does not know the old name"


class Objective(RegistryEntry, Recipe, Trainable):
    """A training objective over any backbone.

    Hooks work on `TokenSlice`, a slice of some positions that carry a target:

    - `log_probs(tokens) -> [n, V]`: the model's next-token distribution; sums to one for every method.
    - `token_loss(log_probs, tokens, targets) -> [n]`: the one hook a newcomer writes.
    - `head_loss(tokens, head) -> ([n], terms)`: the fast form, for a loss that needs of the logits only what a `Head`
      has, such as their log-sum-exp and a few columns; the same value without ever keeping [n, V].
    - `memory_terms(tokens) -> tuple of [n]`: what `head_loss` needs of the memory, as `tokens.memory_terms`.
    - `position_loss(tokens) -> ([n], terms)`: for a loss on logits whose distribution is not their softmax.
    - `batch_terms(states) -> named scalars`: what a loss adds that is no sum over positions.
    - `loss(states) -> LossSum`: only for a head of its own, or for more than one pass.
    - `step_loss(batch) -> LossSum`: only for a loss on texts that the model itself writes.
    - `decode_log_probs(tokens, decoding) -> [n, V]`: what decoding sees; default `log_probs`.

    Rare ones: `prepare` (shapes that depend on token counts), `warm_start` (from pretrained weights), `end_of_step`
    (what is counted over ranks), `after_training` (what is taken from data behind the last step).

    Keyword-only constructor arguments are options. Their annotations say what they may be (`bench.base.options`), and
    a constructor starts only with options that they allow.

    Args:
        backbone: turns a batch into `States` and hidden states into logits.

    Raises:
        UsageError: for an unknown option or an invalid value.
    """

    two_passes: ClassVar[bool] = False  # `loss` looks at whole rows before it sums: a position alone has another loss
    reads_cache: ClassVar[bool] = False  # predicts by head and memory as trained (eq. 3 of HistAlign), not by the head
    uses_token_counts: bool = False  # then `prepare` is called, and keeps them in a buffer `counts`
    batch_invariant: bool = True  # whether the loss of a row is the same, whichever rows share its micro-batch

    def __init_subclass__(cls, **named: Any) -> None:
        """Check options before a constructor's own first line.

        Raises:
            UsageError: a class attribute has a name of version 0.2 that would be ignored.
        """
        super().__init_subclass__(**named)
        if "second" in vars(cls):
            raise UsageError(f"{cls.__qualname__}.second is now called `reference`: rename the class attribute")
        if "token_loss" in vars(cls):
            cls.row_loss = cls.token_loss
        elif "row_loss" in vars(cls):
            warnings.warn(f"in {cls.__qualname__}: {ROW_LOSS}", DeprecationWarning, stacklevel=2)
            cls.token_loss = vars(cls)["row_loss"]  # type: ignore[method-assign]
        check_constructor(cls, "method")

    # Hooks ------------------------------------------------------------------------------------------------------

    def log_probs(self, tokens: TokenSlice) -> Tensor:
        """Log-probabilities of the next token, [n, V]; each row sums to one."""
        return torch.log_softmax(self.logits(tokens), dim=-1)

    def token_loss(self, log_probs: Tensor, tokens: TokenSlice, targets: Tensor) -> Tensor:
        """Loss of each position in nats, [n]. Default: negative log-likelihood."""
        return -log_probs.gather(1, targets[:, None]).squeeze(1)

    row_loss = token_loss  # its name until version 0.3

    def head_loss(self, tokens: TokenSlice, head: Head) -> Losses:
        """Loss of each position [n] from the head's log-sum-exp and columns, and named parts of it, [n] or summed."""
        raise NotImplementedError(f"{type(self).__name__} has no head_loss, the fast form of a loss; use token_loss")

    def memory_terms(self, tokens: TokenSlice) -> tuple[Tensor, ...]:
        """What `head_loss` needs of the memory, [n] each, made of states, memory and tokens; of no parameter."""
        return ()

    def position_loss(self, tokens: TokenSlice) -> Losses:
        """Loss of each position [n], and named parts of it for the log; over logits in the graph.

        Everything but the fast form goes through it: redefine it where `token_loss` has too little in `log_probs`.
        """
        if self.has_fast_form:
            tokens = replace(tokens, memory_terms=self.memory_terms(tokens))
            return self.head_loss(tokens, Head(self.logits(tokens)))
        losses = self.token_loss(self.log_probs(tokens), tokens, tokens.targets)
        if losses.shape != tokens.targets.shape:
            raise UsageError(
                f"{type(self).__name__}.token_loss should return the loss of each position, of the shape "
                f"{list(tokens.targets.shape)}, got {list(losses.shape)}"
            )
        return losses, {}

    def batch_terms(self, states: States) -> dict[str, Tensor]:
        """Named scalars in the graph that `loss` adds: means multiplied by their number of tokens. Default: none.

        A method with a term that depends on which rows share a micro-batch has `batch_invariant = False`.
        """
        return {}

    def loss(self, states: States) -> LossSum:
        """Sum the loss over all target tokens of a batch, slice by slice, and add the terms of the batch."""
        if self.fused_head(states) is None:
            loss = summed(states, self.position_loss, self.head_parameters(), self.slice_size)
        else:
            reads_memory = type(self).memory_terms is not Objective.memory_terms
            loss = self.summed(states, self.head_loss, self.memory_terms if reads_memory else None)
        added = self.batch_terms(states)
        if not added:
            return loss
        terms = {name: term.detach() for name, term in added.items()}
        return LossSum(loss.total + sum(added.values()), loss.n_target_tokens, {**loss.terms, **terms})

    def step_loss(self, batch: Batch) -> LossSum:
        """Loss of one micro-batch."""
        return self.loss(self.states(batch))

    def decode_log_probs(self, tokens: TokenSlice, decoding: Decoding) -> Tensor:
        """Log-probabilities that decoding sees, [n, V]."""
        log_probs = self.log_probs(tokens)
        if decoding.distribution != "decoupled":
            return log_probs
        classes = self.classes.to(log_probs.device)
        return decoupled_log_probs(log_probs, classes, **decoding.class_cut() or {})

    def prepare(self, counts: Tensor) -> None:
        """Make what depends on how often each token is a training target, [V]; called once, before weights are loaded.

        For methods that say `uses_token_counts`.
        """

    def warm_start(self, batches: Iterable[Batch]) -> None:
        """Fit new weights and buffers of the method to a trained model; called before the first step, only on one.

        `bench.attach` calls it without batches if it was given none and the method has no parameters of its own.
        """

    def after_training(self, train: Sequence[Batch], valid: Sequence[Batch]) -> dict[str, float]:
        """Set buffers from data that no step trains; called once, without gradient, after the last step.

        Args:
            train: every batch of the training split, in order; one is collated whenever it is read.
            valid: likewise those of the validation split, or of as many rows of it as `trainer.validate_rows` says.

        Returns:
            What was chosen, for the record.
        """
        return {}

    def end_of_step(self, reduce: Callable[[Tensor], Tensor]) -> None:
        """Called on every rank before each step of the optimiser; `reduce` sums a tensor over ranks."""

    @property
    def writes_texts(self) -> bool:
        """Whether the loss of a step may be over other texts than those of its batch."""
        return type(self).step_loss is not Objective.step_loss

    # Parts ------------------------------------------------------------------------------------------------------

    def fused_head(self, states: States) -> LinearHead | None:
        """Return the head that `head_loss` runs over, or None where the loss takes the plain form."""
        if not self.has_fast_form or states.copying is not None:
            return None
        return self.backbone.linear_head()

    def summed(self, states: States, head_loss: HeadLoss, memory_terms: MemoryTerms | None = None) -> LossSum:
        """Sum any `head_loss` over a batch, in its fast form where the backbone allows it.

        Args:
            states: of a batch, or of texts that were generated from it.
            head_loss: as the hook of this name.
            memory_terms: as the hook of this name, where the loss reads `tokens.memory_terms`.
        """
        head = self.backbone.linear_head()
        if head is None or states.copying is not None:

            def position_loss(tokens: TokenSlice) -> Losses:
                return head_loss(tokens, Head(self.logits(tokens)))

            return summed(states, position_loss, self.head_parameters(), self.slice_size)
        return summed_by_head(states, head_loss, head, self.own_parameters(), self.slice_size, memory_terms)

    @property
    def has_fast_form(self) -> bool:
        """Whether `head_loss` is the loss.

        It is when a method defines it, unless a class derived from that method redefines the plain form, `token_loss`
        or `log_probs`, without a new `head_loss`. Override this if only some options have a fast form.
        """
        for kind in type(self).__mro__:
            if "head_loss" in vars(kind):
                return vars(kind)["head_loss"] is not Objective.head_loss
            if "token_loss" in vars(kind) or "log_probs" in vars(kind):
                return False
        return False

    @property
    def slice_size(self) -> int:
        """Positions handled at once in training and evaluation."""
        return slice_size(self.backbone.embedding())

    def logits(self, tokens: TokenSlice) -> Tensor:
        """Scores of the next token in at least float32, [n, V], not normalised.

        A copying backbone's are the logarithm of its softmax mixed with its copies.
        """
        scores = self.backbone.head(tokens.hidden)
        if scores.dtype != torch.float64:
            scores = scores.float()
        if tokens.copying is None:
            return scores
        return copy_log_probs(scores, tokens.copying, tokens.copy_tokens)

    def components(self, tokens: TokenSlice) -> dict[str, Tensor]:
        """Log-scores of the next token by where they come from, each [n, V] and not normalised.

        `head` is the softmax head and `cache` the memory alone (-inf for a token it does not hold), which every method
        has. `full` is what the method predicts by: the logarithm of their sum, eq. 3 of HistAlign, where it was trained
        with a cache (`reads_cache`), else its head.
        """
        head = self.logits(tokens)
        cache = cache_scores(tokens.similarity(), tokens.memory_tokens, tokens.readable, head.shape[-1])
        full = torch.logaddexp(head, cache.to(head.dtype)) if self.reads_cache else head
        return {"head": head, "cache": cache, "full": full}

    @cached_property
    def classes(self) -> Tensor:
        """Frequency class of each token by MefMax over `token_counts`, [V]; decoupled decoding draws these first."""
        from bench.models.functional.mefmax import mefmax

        if self.run_context.token_counts is None:
            raise UsageError(
                "decoupled decoding needs how often each token is a training target: call "
                "objective.setup_run(RunContext(token_counts=...))"
            )
        return mefmax(self.run_context.token_counts()).of_token

    def nll(self, states: States) -> Iterator[tuple[TokenSlice, Tensor]]:
        """Yield slices with the negative log-likelihood of their targets in nats, [n]; it need not be the loss."""
        for tokens in slices(states, self.slice_size):
            yield tokens, -self.log_probs(tokens).gather(1, tokens.targets[:, None]).squeeze(1)

    @torch.no_grad()
    def target_nll(self, states: States) -> Tensor:
        """Negative log-likelihood of every target in nats, 0 where there is none, [B, T]; without gradient.

        For a loss that needs whole rows before a slice of them. It is not the loss, and float64 or float32.
        """
        table = torch.zeros(states.targets.shape, dtype=sum_dtype(states.hidden), device=states.targets.device)
        for tokens, nll in self.nll(states.detached()):
            table[tokens.start + tokens.group, tokens.position] = nll.to(table.dtype)
        return table
