"""Trainable: the part of an objective that a Lightning trainer sees, and what it knows of its run."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, ClassVar, Self

import torch
from torch import Tensor, nn

from bench.base.lightning import LightningModule
from bench.base.seeds import seed_of, seed_torch
from bench.errors import UsageError
from bench.models.core.cpu_copy import moved
from bench.models.core.run_context import RunContext, lr_factor

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lightning.pytorch import Trainer

    from bench.models.backbones.backbone import Backbone, Batch
    from bench.models.core.sliced_loss import LossSum
    from bench.models.core.states import States, TokenSlice

MADE_OF = "objective"
"""The part of a Lightning checkpoint that describes its objective."""

OPTIMIZER = torch.optim.AdamW
DECAYED_DIMENSIONS = 2
"""Weights decay in tensors of so many dimensions or more: not in biases and in gains of normalisation."""

PARTS = ("states", "head", "embedding")
"""Attributes by which a backbone is recognised: a bare model has none of them."""


class Trainable(LightningModule):
    """Steps of training, validation, test and prediction, the optimiser, and checkpoints that can be loaded alone.

    Logged are `train/loss` (where the trainer has a logger), and `loss`, `nll` and `ppl` of `val` and `test`, all over
    target tokens of the true texts. `loss` is the objective's own. `nll` is the negative log-likelihood in nats under
    the method's own distribution (`log_probs`), and `ppl` its exponential: compare methods and settings by these.

    Args:
        backbone: turns a batch into `States` and hidden states into logits.

    Raises:
        UsageError: it is no backbone.
    """

    if TYPE_CHECKING:
        name: ClassVar[str]
        reference: ClassVar[str]
        loss: Callable[[States], LossSum]  # these are hooks of `Objective`
        step_loss: Callable[[Batch], LossSum]
        nll: Callable[[States], Iterator[tuple[TokenSlice, Tensor]]]
        end_of_step: Callable[[Callable[[Tensor], Tensor]], None]

        @property
        def writes_texts(self) -> bool: ...

    def __init__(self, backbone: Backbone) -> None:
        super().__init__()
        known = backbone is None or any(hasattr(backbone, name) for name in PARTS)  # None: to try a `token_loss` alone
        if not known:
            raise UsageError(
                f"{type(self).__name__} takes a bench.Backbone, not {type(backbone).__name__}; bench.make makes both "
                f"by their names, and Causal(model, tokenizer) or EncoderDecoder(model, tokenizer) take a model"
            )
        self.backbone = backbone
        if getattr(backbone, "frozen_weights", None):
            self.strict_loading = False  # a checkpoint does not hold frozen weights
        self.run_context = RunContext()
        self.logged: dict[str, Tensor] = {}  # this micro-batch's share of the step's loss and of its named parts
        self._sums = torch.zeros(3, dtype=torch.float64)  # of an evaluation: loss, negative log-likelihood, tokens

    # The run and its models -------------------------------------------------------------------------------------

    def setup_run(self, context: RunContext) -> None:
        """Set the context of the run, in place of the one before."""
        self.run_context = context
        self.__dict__.pop("classes", None)  # `Objective.classes`, made of the counts of the context before
        self.__dict__.pop("_reference", None)
        if context.reference is not None:  # no submodule: not trained, not in the checkpoint, not in `train()`
            self.__dict__["_reference"] = context.reference.requires_grad_(False).eval()

    @property
    def tokenizer(self) -> Any:
        """The tokenizer of the backbone, as `transformers` has it."""
        return self.backbone.tokenizer

    @property
    def has_reference(self) -> bool:
        """Whether there is a reference model."""
        return "_reference" in self.__dict__

    @property
    def reference_model(self) -> Any:
        """The reference model, frozen and in evaluation mode, on the device of this one; no part of its weights.

        Raises:
            UsageError: when the run has none.
        """
        if not self.has_reference:
            named = self.reference or "no method"
            raise UsageError(
                f"{self.name} needs a reference model, and `reference` names {named}: bench run and bench.make give "
                f"it, a training of your own calls objective.setup_run(RunContext(reference=...))"
            )
        reference, device = self.__dict__["_reference"], self.backbone.embedding().device
        if reference.backbone.embedding().device != device:
            reference.to(device)
        return reference

    def states(self, batch: Batch) -> States:
        """Return the states of a batch; those of the reference model are made when they are first used."""
        states = self.backbone.states(batch)
        if not self.has_reference:
            return states
        of_reference = torch.no_grad()(self.reference_model.states)
        return replace(states, reference=cache(lambda: of_reference(batch)))

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Any:
        """Move or cast the reference model with this one."""
        if self.has_reference:
            self.__dict__["_reference"]._apply(fn, recurse)
        return super()._apply(fn, recurse)

    @property
    def run_seed(self) -> int:
        """Seed of the run: what a loss draws is a function of it and of `batch["step"]`."""
        return self.run_context.seed

    def own_parameters(self) -> list[nn.Parameter]:
        """The method's own parameters."""
        return [p for name, p in self.named_parameters() if not name.startswith("backbone.")]

    def head_parameters(self) -> list[nn.Parameter]:
        """Every parameter that hooks may touch: the head's and the method's own."""
        return [*self.backbone.head_parameters(), *self.own_parameters()]

    # Training ---------------------------------------------------------------------------------------------------

    def _attached_trainer(self) -> Trainer | None:
        """Return the Lightning trainer, or None for an objective that is trained by hand."""
        try:
            return self.trainer
        except RuntimeError:
            return None

    def rank_and_world(self) -> tuple[int, int]:
        """Return this process and how many train together: those of the trainer, else of `torch.distributed`."""
        trainer = self._attached_trainer()
        if trainer is not None:
            return trainer.global_rank, trainer.world_size
        if torch.distributed.is_available() and torch.distributed.is_initialized():  # in a trainer of other people
            return torch.distributed.get_rank(), torch.distributed.get_world_size()
        return 0, 1

    def training_step(self, batch: Batch, batch_idx: int) -> Tensor:
        """One micro-batch; its sum is divided by the target tokens of the whole optimiser step.

        What is drawn in it, as for dropout, is a function of seed, rank and item, so that a resumed run draws the same.
        Ranks and micro-batches are averaged by the trainer, where their sum is needed: so a share counts as often as
        there are of both. A batch without `step_tokens` counts as one of a step of equal batches.
        """
        trainer = self._attached_trainer()
        if "item" in batch:
            rank, _ = self.rank_and_world()
            seed_torch(seed_of(self.run_context.seed, "step", rank, batch["item"]))
        loss = self.step_loss(batch)
        share: Any
        if "step_tokens" in batch:
            copies = 1 if trainer is None else trainer.world_size * trainer.accumulate_grad_batches
            share = copies / batch["step_tokens"]
        else:
            share = 1 / loss.n_target_tokens.clamp(min=1)
        sums = {"loss": loss.total.detach(), **loss.terms}
        self.logged = {name: value * share for name, value in sums.items()}
        if trainer is not None and trainer.loggers:
            mean = loss.total.detach() / loss.n_target_tokens.clamp(min=1)
            if self.writes_texts:  # the loss may be over other targets than those it is divided by
                mean = self.logged["loss"]
            self.log("train/loss", mean, batch_size=1)
        return loss.total * share

    def transfer_batch_to_device(self, batch: Any, device: torch.device, dataloader_idx: int) -> Any:
        """Move a batch, and keep the arrays it was made of, so that no loss has to ask the device for them."""
        copied = super().transfer_batch_to_device(batch, device, dataloader_idx)
        if not isinstance(batch, dict):
            return copied
        return moved(batch, copied)

    def on_before_optimizer_step(self, optimizer: Any) -> None:
        """Call the method's `end_of_step`, with a sum over ranks."""
        self.end_of_step(lambda tensor: self.trainer.strategy.reduce(tensor, reduce_op="sum"))

    def configure_optimizers(self) -> Any:
        """AdamW, with weight decay of matrices only; linear warm-up, then the schedule."""
        settings, epoch = self.run_context.optimiser, 0
        trainer = self._attached_trainer()
        if trainer is not None:
            steps = trainer.estimated_stepping_batches
            if settings.schedule == "steps":
                trainer.fit_loop.setup_data()  # or the trainer does not know yet how long an epoch is
                epoch = int(trainer.num_training_batches // trainer.accumulate_grad_batches)
            if not settings.steps and math.isfinite(steps):  # a trainer without an end has no end of a decay either
                settings = replace(settings, steps=int(steps))
        trained = [p for p in self.parameters() if p.requires_grad]
        groups = [
            {"params": [p for p in trained if p.ndim >= DECAYED_DIMENSIONS], "weight_decay": settings.weight_decay},
            {"params": [p for p in trained if p.ndim < DECAYED_DIMENSIONS], "weight_decay": 0.0},
        ]
        optimizer = OPTIMIZER([g for g in groups if g["params"]], lr=settings.lr)
        schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: lr_factor(step, settings, epoch))
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": schedule, "interval": "step"}}

    # Validation, test, prediction -------------------------------------------------------------------------------

    def on_validation_epoch_start(self) -> None:
        """Begin the sums."""
        self._sums = torch.zeros(3, dtype=torch.float64, device=self.device)

    def validation_step(self, batch: Batch | None, batch_idx: int) -> None:
        """Add a batch of true texts; None is the turn of a rank that has no batch left."""
        if batch is None:
            return
        states = self.states(batch)
        loss = self.loss(states)
        nll = sum((part.double().sum() for _, part in self.nll(states)), torch.zeros_like(self._sums[0]))
        self._sums += torch.stack([loss.total.double(), nll, loss.n_target_tokens.double()])

    def on_validation_epoch_end(self) -> None:
        """Log loss, negative log-likelihood and perplexity of the split, over all ranks."""
        loss, nll, tokens = self.trainer.strategy.reduce(self._sums, reduce_op="sum").unbind()
        means = {"loss": loss / tokens, "nll": nll / tokens, "ppl": torch.exp(nll / tokens)}
        split = "test" if self.trainer.testing else "val"
        self.log_dict({f"{split}/{name}": mean for name, mean in means.items()}, rank_zero_only=False)

    def on_test_epoch_start(self) -> None:
        """As for validation, also where a subclass has its own; likewise the next two."""
        self.on_validation_epoch_start()

    def test_step(self, batch: Batch | None, batch_idx: int) -> None:
        self.validation_step(batch, batch_idx)

    def on_test_epoch_end(self) -> None:
        self.on_validation_epoch_end()

    def predict_step(self, batch: Any, batch_idx: int) -> list[dict[str, Any]]:
        """Continue prompts greedily; return id, text and token ids of each row.

        Raises:
            UsageError: the run context does not say how prompts are continued.
        """
        if batch is None:
            return []
        if self.run_context.continue_prompts is None:
            raise UsageError(
                "prediction continues prompts: make the objective with bench.make, or call "
                "objective.setup_run(RunContext(continue_prompts=...))"
            )
        written = self.run_context.continue_prompts(batch, self.run_context.max_target)
        decode = self.backbone.tokenizer.decode
        return [
            {"id": name, "text": decode(ids, skip_special_tokens=True).strip(), "token_ids": ids}
            for name, ids in zip(batch["ids"], written, strict=True)
        ]

    # Checkpoints ------------------------------------------------------------------------------------------------

    @property
    def frozen_weights(self) -> frozenset[str]:
        """Names of pretrained weights that are not trained and in no checkpoint: those below adapters."""
        return frozenset(f"backbone.{name}" for name in self.backbone.frozen_weights)

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Leave out frozen weights, and say what the objective is made of, so that a checkpoint can be loaded alone."""
        for name in self.frozen_weights:
            checkpoint["state_dict"].pop(name, None)
        if self.run_context.made_of is not None:
            checkpoint[MADE_OF] = dict(self.run_context.made_of())

    @classmethod
    def load_from_checkpoint(  # type: ignore[override]
        cls,
        checkpoint_path: str | Path | IO[bytes],
        map_location: Any = "cpu",
        *,
        backbone: Backbone | None = None,
        reference: Trainable | None = None,
        **options: Any,
    ) -> Self:
        """Return the objective of a Lightning checkpoint, with its weights, in evaluation mode.

        Args:
            checkpoint_path: a file that a trainer has saved.
            map_location: the device, as `torch.load` takes it.
            backbone: in place of the one the checkpoint describes; needed where it describes none.
            reference: the reference model of a method that names one, with its weights: it is not in the checkpoint.
            options: in place of the method's options in the checkpoint.

        Raises:
            UsageError: the checkpoint is of another method, does not describe itself, or needs a reference model.
        """
        from bench.models.backbones import backbone_factory
        from bench.models.core.rebuild import StoredText, check_tokens

        checkpoint: Mapping[str, Any] = torch.load(checkpoint_path, map_location=map_location, weights_only=True)
        content: Mapping[str, Any] = checkpoint.get(MADE_OF) or {}
        if content and content["method"] != cls.name:
            raise UsageError(f"the checkpoint is of '{content['method']}', not of '{cls.name}'; load it as that method")
        if cls.reference and reference is None:
            raise UsageError(
                f"{cls.name} uses a reference model, '{cls.reference}', whose weights are not in the checkpoint; give "
                f"load_from_checkpoint reference=..., e.g. `reference_model` of the objective that bench.make gives"
            )
        if backbone is None:
            if not content:
                raise UsageError(
                    "the checkpoint does not say what its objective is made of; give load_from_checkpoint the backbone "
                    "and the options it was made with, or make the objective with bench.make"
                )
            make = backbone_factory(content["backbone"])
            backbone = make(content["backbone"], StoredText(content), content["seed"], **content["backbone_options"])
        objective: Any = cls(backbone, **{**content.get("options", {}), **options})
        if reference is not None:
            check_tokens(objective, reference)
        objective.setup_run(RunContext(seed=content.get("seed", 0), reference=reference, made_of=lambda: content))
        weights = checkpoint["state_dict"]
        if objective.uses_token_counts:
            objective.prepare(weights["counts"].long())
        objective.load_state_dict(weights, strict=objective.strict_loading)
        made: Self = objective.to(map_location).eval()
        return made
