"""What a run knows reaches an objective in one call; who calls nothing has defaults that a trainer completes."""

import math
from typing import Any

import pytest
import torch
from lightning.pytorch import Trainer

from bench.config.config import TrainerConfig
from bench.errors import UsageError
from bench.models.core.objective import Objective
from bench.models.core.run_context import Optimiser, RunContext
from bench.models.mle import MLE
from bench.tasks.core.task import LoaderConfig
from bench.training.execution import Execution
from bench.training.training import quiet, train
from tests.e2e.tiny import SHORT, fed, small

STEPS, BATCH, ACCUMULATE = 4, 4, 2


def plainly_trained() -> Objective:
    """An objective that was trained by a Trainer of Lightning, without a word from the program."""
    objective, task, codec = small(MLE)
    task.setup_run(LoaderConfig(codec, BATCH))
    with quiet():
        trainer = Trainer(
            max_steps=STEPS,
            accumulate_grad_batches=ACCUMULATE,
            gradient_clip_val=1.0,
            logger=False,
            enable_checkpointing=False,
            enable_progress_bar=False,
            enable_model_summary=False,
            accelerator="cpu",
        )
        trainer.fit(objective, datamodule=task)
    return objective


def test_a_plain_trainer_trains_as_the_program_does() -> None:
    """Its steps end the decay, and its micro-batches are added up."""
    objective, task, codec = small(MLE)
    config: Any = TrainerConfig(steps=STEPS, batch_size=BATCH, **SHORT)
    train(objective, fed(task, codec, config), config, Execution(accumulate=ACCUMULATE))
    plain = plainly_trained()
    for name, tensor in plain.state_dict().items():
        assert torch.equal(tensor, objective.state_dict()[name]), name


def test_without_a_trainer_nothing_decays_and_nothing_is_added_up() -> None:
    objective, _, _ = small(MLE)
    made = objective.configure_optimizers()
    factor = made["lr_scheduler"]["scheduler"].lr_lambdas[0]
    assert [factor(step) for step in (0, 10, 10**6)] == [1.0, 1.0, 1.0]
    assert objective.run_seed == 0


def test_what_a_run_says_is_taken() -> None:
    objective, _, _ = small(MLE)
    optimiser = Optimiser(lr=0.5, warmup=0.5, weight_decay=0.25, steps=4)
    objective.setup_run(RunContext(seed=7, optimiser=optimiser))
    made = objective.configure_optimizers()
    assert objective.run_seed == 7
    assert [group["weight_decay"] for group in made["optimizer"].param_groups] == [0.25, 0.0]
    assert made["optimizer"].param_groups[0]["initial_lr"] == 0.5
    factor = made["lr_scheduler"]["scheduler"].lr_lambdas[0]
    assert [factor(step) for step in range(5)] == [0.5, 1.0, 1.0, 0.5, 0.0]


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"lr": math.nan}, "Optimiser.lr must be a finite number, not 'nan'"),
        ({"warmup": 2}, "Optimiser.warmup must be at least 0 and at most 1, not 2"),
        (
            {"schedule": "Linear"},
            "Optimiser.schedule must be one of linear, constant, steps, not 'Linear'; did",
        ),
    ],
)
def test_an_optimiser_that_could_not_train_is_refused(settings: dict[str, Any], says: str) -> None:
    with pytest.raises(UsageError) as caught:
        Optimiser(**settings)
    assert str(caught.value).startswith(says)
