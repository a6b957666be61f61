"""Trainer: a subclass of any trainer of `transformers` or TRL that trains its model by an objective of this suite."""

from typing import Any

from bench.cells.make import name_of
from bench.errors import UsageError
from bench.integrations.attach import attach, inner_model
from bench.models.core.objective import Objective


def trainer_for(kind: type[Any], method: str | type[Objective], **options: Any) -> type[Any]:
    """Return a subclass of a trainer that attaches an objective to its model and trains it by the model's own loss.

    TRL's trainers compute a loss of their own from the model's body; the subclass does not.

    Args:
        kind: `transformers.Trainer` or a class derived from it, such as `trl.SFTTrainer`.
        method: as for `attach`, and so are the options, `reference` and `token_counts` among them.

    Raises:
        UsageError: it is no trainer of `transformers`.
    """
    from transformers import Trainer

    name = name_of(method, "method")
    if not (isinstance(kind, type) and issubclass(kind, Trainer)):
        raise UsageError(f"expected transformers.Trainer or a class derived from it, got {kind!r}")

    class WithObjective(kind):
        def __init__(self, *values: Any, **named: Any) -> None:
            super().__init__(*values, **named)
            refuse_other_losses(self, name)
            inner = inner_model(self.model)
            if not hasattr(inner, "_hf_hook"):
                inner.__dict__.pop("forward", None)  # the fused loss that TRL puts there
            self.model_accepts_loss_kwargs = True
            tokenizer = getattr(self.processing_class, "tokenizer", self.processing_class)
            attach(self.model, name, tokenizer, **{"seed": self.args.seed, **options})

        def compute_loss(
            self, model: Any, inputs: Any, return_outputs: bool = False, num_items_in_batch: Any = None
        ) -> Any:
            return Trainer.compute_loss(self, model, inputs, return_outputs, num_items_in_batch)

        def prediction_step(self, *values: Any, **named: Any) -> Any:
            if getattr(self.args, "predict_with_generate", False):
                return super().prediction_step(*values, **named)
            return Trainer.prediction_step(self, *values, **named)

    WithObjective.__name__ = WithObjective.__qualname__ = f"{kind.__name__}WithObjective"
    return WithObjective


def refuse_other_losses(trainer: Any, method: str) -> None:
    """Refuse settings of a trainer that ask for another loss or unread batches, by a UsageError that names them."""
    args = trainer.args
    if trainer.model_init is not None or trainer.optimizer is not None:
        raise UsageError(
            f"'{method}' goes into a model before its optimiser is made: give model=, no model_init, no optimizers"
        )
    other = args.label_smoothing_factor or trainer.compute_loss_func
    if other or getattr(args, "loss_type", "nll") != "nll":
        raise UsageError(
            f"'{method}' is the loss: leave label_smoothing_factor, loss_type and compute_loss_func out (the methods "
            f"`label_smoothing` and `tailr.dft` are of this suite)"
        )
    config = getattr(args, "liger_kernel_config", None) or {}
    if getattr(args, "use_liger_kernel", False) and config.get("fused_linear_cross_entropy") is not False:
        raise UsageError(
            f"Liger's fused cross-entropy would be trained in place of '{method}': leave use_liger_kernel out, or set "
            f"liger_kernel_config={{'fused_linear_cross_entropy': False}} for the other kernels"
        )
    if getattr(args, "packing", False) or getattr(args, "padding_free", False):
        raise UsageError(f"'{method}' has no packed rows: set packing=False and padding_free=False")
