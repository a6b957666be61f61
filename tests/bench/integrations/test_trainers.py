"""Attached objectives in `transformers.Trainer`: the library's own numbers for maximum likelihood, exact resumes."""

import sys
from types import ModuleType
from typing import Any

import pytest
import torch
from transformers import Trainer, TrainingArguments

from bench.errors import UsageError
from bench.integrations.attach import attach
from bench.integrations.trainer import trainer_for
from tests.bench.integrations.trainers import VOCABULARY, llama

pytest.importorskip("accelerate")


def rows() -> list[dict[str, list[int]]]:
    """Rows of unlike lengths behind a prompt of two tokens."""
    generator = torch.Generator().manual_seed(2)
    made = []
    for length in (9, 5, 7, 9, 6, 8, 9, 4) * 3:
        ids = torch.randint(3, VOCABULARY, (length,), generator=generator).tolist()
        made.append({"input_ids": ids, "labels": [-100, -100, *ids[2:]]})
    return made


def collate(some: list[dict[str, list[int]]]) -> dict[str, torch.Tensor]:
    """Pad on the right."""
    most = max(len(row["input_ids"]) for row in some)
    fill = {"input_ids": 0, "labels": -100, "attention_mask": 0}
    whole = [{**row, "attention_mask": [1] * len(row["input_ids"])} for row in some]
    return {
        key: torch.tensor([row[key] + [pad] * (most - len(row[key])) for row in whole]) for key, pad in fill.items()
    }


def trainer(model: Any, folder: Any, kind: type[Trainer] = Trainer, **options: Any) -> Trainer:
    """A trainer of six steps on a CPU."""
    settings = {"max_steps": 6, "logging_steps": 1, "save_strategy": "no", **options}
    arguments = TrainingArguments(str(folder), per_device_train_batch_size=4, report_to=[], use_cpu=True, seed=3,
                                  disable_tqdm=True, **settings)  # fmt: skip
    return kind(model=model, args=arguments, train_dataset=rows(), eval_dataset=rows()[:4], data_collator=collate)


def losses(made: Trainer) -> list[float]:
    """The logged losses, then that of the evaluation."""
    logged = [entry["loss"] for entry in made.state.log_history if "loss" in entry]
    return [*logged, made.evaluate()["eval_loss"]]


@pytest.mark.parametrize(
    "options",
    [{}, {"gradient_accumulation_steps": 2}, {"bf16": True}, {"activation_checkpointing": True},
     {"torch_compile": True}],
    ids=["plain", "accumulation", "bf16", "checkpointing", "compile"],
)  # fmt: skip
def test_maximum_likelihood_trains_as_the_librarys_own_loss(options: dict[str, Any], tmp_path) -> None:
    ours = trainer(attach(llama(), "mle"), tmp_path, **options)
    own = trainer(llama(), tmp_path, **{name: value for name, value in options.items() if name != "torch_compile"})
    own.train()
    ours.train()
    near = {"rtol": 1e-2, "atol": 1e-3} if "bf16" in options else {"rtol": 1e-6, "atol": 1e-6}
    torch.testing.assert_close(losses(ours), losses(own), **near)


def test_training_goes_on_from_a_checkpoint_and_keeps_the_best_step(tmp_path) -> None:
    options = {"save_strategy": "steps", "eval_strategy": "steps", "save_steps": 3, "eval_steps": 3,
               "load_best_model_at_end": True}  # fmt: skip
    whole = trainer(attach(llama(), "face"), tmp_path / "whole", **options)
    whole.train()
    again = trainer(attach(llama(), "face"), tmp_path / "whole", **options)
    again.train(resume_from_checkpoint=str(tmp_path / "whole" / "checkpoint-3"))
    assert losses(again)[-4:] == losses(whole)[-4:]
    assert whole.evaluate()["eval_loss"] == pytest.approx(whole.state.best_metric)


def test_a_trainer_that_computes_another_loss_is_refused(tmp_path) -> None:
    smoothed = trainer(attach(llama(), "histalign"), tmp_path, label_smoothing_factor=0.1)
    with pytest.raises(UsageError, match="bypasses it"):
        smoothed.train()
    with pytest.raises(UsageError, match="label_smoothing_factor"):
        trainer(llama(), tmp_path, trainer_for(Trainer, "histalign"), label_smoothing_factor=0.1)
    made = {"args": TrainingArguments(str(tmp_path), report_to=[], use_cpu=True), "train_dataset": rows()}
    with pytest.raises(UsageError, match="model_init"):
        trainer_for(Trainer, "histalign")(model_init=llama, **made)
    with pytest.raises(UsageError, match="expected transformers.Trainer"):
        trainer_for(dict, "mle")


@pytest.fixture
def liger(monkeypatch) -> None:
    """In place of Liger's kernels: a forward of the instance with a fused loss over the body's states."""

    def apply(model: Any, fused_linear_cross_entropy: bool = True, **_: Any) -> None:
        if fused_linear_cross_entropy:
            model.forward = lambda input_ids, labels, **_: {"loss": model.model(input_ids)[0].square().mean()}

    kernels = ModuleType("liger_kernel.transformers")
    kernels._apply_liger_kernel_to_instance = apply  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "liger_kernel", ModuleType("liger_kernel"))
    monkeypatch.setitem(sys.modules, "liger_kernel.transformers", kernels)
    monkeypatch.setattr("transformers.integrations.liger.is_liger_kernel_available", lambda: True)


def test_ligers_fused_loss_is_refused_and_its_other_kernels_are_not(liger, tmp_path) -> None:
    with pytest.raises(UsageError, match="bypasses it"):
        trainer(attach(llama(), "histalign"), tmp_path, use_liger_kernel=True).train()
    kind = trainer_for(Trainer, "histalign", seed=0)
    with pytest.raises(UsageError, match="fused_linear_cross_entropy"):
        trainer(llama(), tmp_path, kind, use_liger_kernel=True)
    config = {"fused_linear_cross_entropy": False}
    with_kernels = trainer(llama(), tmp_path, kind, use_liger_kernel=True, liger_kernel_config=config)
    plain = trainer(attach(llama(), "histalign"), tmp_path)
    for made in (with_kernels, plain):
        made.train()
    assert losses(with_kernels) == losses(plain)


def test_copies_of_a_model_in_one_process_are_refused() -> None:
    """torch.nn.DataParallel calls a copy for each GPU, and the objective holds the first alone."""
    replica = attach(llama(), "histalign")._replicate_for_data_parallel()
    with pytest.raises(UsageError, match="DataParallel"):
        replica(**collate(rows()[:2]))


class WithALossOfItsOwn(Trainer):
    """As TRL's trainer: a loss over the body's states, and not the model's."""

    def compute_loss(self, model: Any, inputs: Any, *rest: Any, **named: Any) -> Any:
        states = model.model(input_ids=inputs["input_ids"]).last_hidden_state
        return states.square().mean()


def test_trainer_for_takes_the_objective_in_place_of_a_loss_of_the_trainer(tmp_path) -> None:
    with pytest.raises(UsageError, match="bypasses it"):
        trainer(attach(llama(), "histalign"), tmp_path, WithALossOfItsOwn).train()
    through = trainer(llama(), tmp_path, trainer_for(WithALossOfItsOwn, "histalign"))
    through.train()
    plain = trainer(attach(llama(), "histalign", seed=3), tmp_path)
    plain.train()
    assert losses(through) == losses(plain)
