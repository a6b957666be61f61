"""Objectives that are wrong in one way each: `bench check tests.bench.mutations:OffByAConstant`."""

from collections.abc import Callable
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from bench.decodings.core.decoding import Decoding
from bench.decodings.samplers import TopK
from bench.models.backbones.backbone import Batch
from bench.models.core.head import Head
from bench.models.core.objective import Objective
from bench.models.core.sliced_loss import LossSum
from bench.models.core.states import IGNORED, States, TokenSlice


class Sound(Objective):
    """Breaks nothing: the base of those below."""

    name: ClassVar[str] = "sound"
    paper: ClassVar[str] = "for tests"


class CannotBeMade(Sound):
    """Asks its backbone for what it has not."""

    def __init__(self, backbone: Any) -> None:
        super().__init__(backbone)
        self.rank = backbone.no_such_thing


class OffByAConstant(Sound):
    """Gives every token a little more than its share."""

    def log_probs(self, tokens: TokenSlice) -> Tensor:
        return super().log_probs(tokens) + 1e-3


class CutsWithoutScaling(Sound):
    """Cuts to the most probable tokens in top-k and forgets to normalise."""

    def decode_log_probs(self, tokens: TokenSlice, decoding: Decoding) -> Tensor:
        log_probs = self.log_probs(tokens)
        if not isinstance(decoding, TopK):
            return log_probs
        return log_probs.masked_fill(log_probs < log_probs.topk(decoding.k).values[:, -1:], -torch.inf)


class ReadsItsTarget(Sound):
    """Raises the token it is to predict, which generation does not know."""

    def log_probs(self, tokens: TokenSlice) -> Tensor:
        bonus = (tokens.targets > 0).to(tokens.hidden.dtype)[:, None]
        return (self.logits(tokens).scatter_add(1, tokens.targets.clamp_min(0)[:, None], bonus)).log_softmax(1)


class IdleParameter(Sound):
    """Has a weight that its loss does not use."""

    def __init__(self, backbone: Any) -> None:
        super().__init__(backbone)
        self.idle = nn.Parameter(torch.ones(3))


class RootOfAChance(Sound):
    """The root of the chance of any other token has an infinite slope where the model is certain."""

    def token_loss(self, log_probs: Tensor, tokens: TokenSlice, targets: Tensor) -> Tensor:
        nll = super().token_loss(log_probs, tokens, targets)
        return (1 - torch.exp(-nll)).sqrt() * nll


class DividesByNothing(Sound):
    """Divides by the number of its targets, which may be 0, and multiplies by it again."""

    def batch_terms(self, states: States) -> dict[str, Tensor]:
        sizes = states.hidden[states.targets != IGNORED].square()
        return {"size": sizes.sum() / len(sizes) * len(sizes)}


class CountsFromThePadding(Sound):
    """Later columns of a batch count more, also where the first ones are padding."""

    def token_loss(self, log_probs: Tensor, tokens: TokenSlice, targets: Tensor) -> Tensor:
        return super().token_loss(log_probs, tokens, targets) * (1 + tokens.position / 100)


class FirstRowsCountMore(Sound):
    """The place of a row in its batch is a weight."""

    def token_loss(self, log_probs: Tensor, tokens: TokenSlice, targets: Tensor) -> Tensor:
        return super().token_loss(log_probs, tokens, targets) / (1 + (tokens.start + tokens.group) / 100)


class LogsAMean(Sound):
    """What it logs is a mean, so micro-batches do not add up to it."""

    def position_loss(self, tokens: TokenSlice) -> tuple[Tensor, dict[str, Tensor]]:
        losses, _ = super().position_loss(tokens)
        return losses, {"mean": losses.mean()}


class OtherFastForm(Sound):
    """Its fast form is another loss than its plain one."""

    def token_loss(self, log_probs: Tensor, tokens: TokenSlice, targets: Tensor) -> Tensor:
        return super().token_loss(log_probs, tokens, targets)

    def head_loss(self, tokens: TokenSlice, head: Head) -> tuple[Tensor, dict[str, Tensor]]:
        return 1.01 * (head.lse - head.at(tokens.targets)), {}


class ReachesBehindTheHead(Sound):
    """Uses the head's weight past `head`, so that its fast form has no gradient there."""

    def head_loss(self, tokens: TokenSlice, head: Head) -> tuple[Tensor, dict[str, Tensor]]:
        logits = tokens.hidden @ self.backbone.head_parameters()[0].t()
        return head.lse - head.at(tokens.targets) + 0.01 * logits.square().mean(1), {}


class CancelsInBf16(Sound):
    """Subtracts two large near numbers, one of which autocast rounds."""

    def token_loss(self, log_probs: Tensor, tokens: TokenSlice, targets: Tensor) -> Tensor:
        square = (30 * tokens.hidden).square().sum(1)
        product = ((30 * tokens.hidden)[:, None] @ (30 * tokens.hidden)[:, :, None]).flatten()
        return super().token_loss(log_probs, tokens, targets) + (product - square).abs()


class CountsPositions(Sound):
    """Is surer late in a text, which generation, one position at a time, does not know."""

    def log_probs(self, tokens: TokenSlice) -> Tensor:
        return (self.logits(tokens) * (1 + tokens.position[:, None] / 10)).log_softmax(1)


class CountsInPython(Sound):
    """Keeps the number of steps where no checkpoint looks."""

    taken = 0

    def token_loss(self, log_probs: Tensor, tokens: TokenSlice, targets: Tensor) -> Tensor:
        return super().token_loss(log_probs, tokens, targets) / (1 + self.taken / 10)

    def end_of_step(self, reduce: Callable[[Tensor], Tensor]) -> None:
        self.taken += 1


class WrongSign(Sound):
    """Unlearns."""

    def token_loss(self, log_probs: Tensor, tokens: TokenSlice, targets: Tensor) -> Tensor:
        return -super().token_loss(log_probs, tokens, targets)


class CountsOnOneRank(Sound):
    """Weighs by the tokens seen so far, each process by its own."""

    seen: Tensor

    def __init__(self, backbone: Any) -> None:
        super().__init__(backbone)
        self.register_buffer("seen", torch.zeros((), dtype=torch.float64))
        self.pending = 0.0

    def token_loss(self, log_probs: Tensor, tokens: TokenSlice, targets: Tensor) -> Tensor:
        self.pending += len(targets)
        return super().token_loss(log_probs, tokens, targets) / (1 + self.seen / 100)

    def end_of_step(self, reduce: Callable[[Tensor], Tensor]) -> None:
        self.seen += self.pending
        self.pending = 0.0


class DrawsOnEachRank(Sound):
    """Weighs its rows by numbers that every process draws for itself."""

    def step_loss(self, batch: Batch) -> LossSum:
        loss = super().step_loss(batch)
        return LossSum(loss.total * torch.rand(()).to(loss.total), loss.n_target_tokens, loss.terms)


class NeedsImages(Sound):
    """Fits no task that there is."""

    fields: ClassVar[frozenset[str]] = frozenset({"image"})


class CountsFirstRowsAndSaysSo(FirstRowsCountMore):
    """Depends on which rows share a batch, and says that it means it."""

    batch_invariant = False
