"""On a GPU: whole trainings, alone and as one rank of a group, taken up again, and twice the same."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import torch
from lightning.fabric.plugins.environments.lightning import LightningEnvironment
from lightning.pytorch import Callback, Trainer
from lightning.pytorch.strategies import DDPStrategy

import bench

pytestmark = pytest.mark.gpu

STEPS = 6
Weights = dict[str, torch.Tensor]
METHODS = ("mle", "trime", "histalign", "f2softmax", "ul_token")


class SavesHalfWay(Callback):
    """Keeps the state of a training after half its steps."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def on_train_batch_end(self, trainer: Trainer, *_: Any) -> None:
        """Keep it once."""
        if trainer.global_step == STEPS // 2 and not self.path.exists():
            trainer.save_checkpoint(self.path)


def trained(method: str, device: torch.device, folder: Path, state: Path | None = None, **options: Any) -> Weights:
    """Return the weights after some steps of a small training, from a state if one is given."""
    given = {"trainer.batch_size": 4, "trainer.steps": STEPS}
    objective, task = bench.make("logicnlg", method, set=given, limit=32, results=folder / "results")
    if state is not None:  # or a training that forgets the state would end with the same weights
        torch.nn.init.zeros_(objective.backbone.embedding())
    begun = {name: tensor.detach().cpu().clone() for name, tensor in objective.state_dict().items()}
    settings: dict[str, Any] = {
        "max_steps": STEPS,
        "accelerator": device.type,
        "devices": 1,
        "plugins": [LightningEnvironment()],
        "callbacks": [SavesHalfWay(folder / "state.ckpt")],
        "logger": False,
        "enable_progress_bar": False,
        "enable_model_summary": False,
        "enable_checkpointing": False,
    }
    Trainer(**{**settings, **options}).fit(objective, task, ckpt_path=state)
    ended = {name: tensor.detach().cpu().clone() for name, tensor in objective.state_dict().items()}
    assert largest_difference(begun, ended) > 0
    return ended


def largest_difference(first: Weights, second: Weights) -> float:
    """Return the largest difference of any weight."""
    assert first.keys() == second.keys()
    return max(float((first[name].double() - second[name].double()).abs().max()) for name in first)


@pytest.mark.parametrize("method", METHODS)
def test_one_rank_of_a_group(method: str, device: torch.device, tmp_path: Path) -> None:
    """With NCCL (in a rehearsal gloo) and one rank the weights are those without a group."""
    torch.use_deterministic_algorithms(True, warn_only=True)
    backend = "nccl" if device.type == "cuda" else "gloo"
    group = DDPStrategy(process_group_backend=backend, timeout=timedelta(seconds=60), find_unused_parameters=False)
    alone = trained(method, device, tmp_path)
    ranked = trained(method, device, tmp_path, strategy=group)
    if torch.distributed.is_initialized():
        torch.distributed.destroy_process_group()
    assert largest_difference(alone, ranked) <= 1e-5


@pytest.mark.parametrize("precision", ["32-true", "bf16-mixed", "16-mixed"])
@pytest.mark.parametrize("method", ["ul_token", "histalign"])
def test_taken_up_again(method: str, precision: str, device: torch.device, tmp_path: Path) -> None:
    """From the state after half the steps a training ends as the undisturbed one."""
    if precision == "16-mixed" and device.type == "cpu":
        pytest.skip("Lightning has 16-mixed for GPUs only")
    torch.use_deterministic_algorithms(True, warn_only=True)
    whole = trained(method, device, tmp_path, precision=precision)
    again = trained(method, device, tmp_path, tmp_path / "state.ckpt", precision=precision)
    assert largest_difference(whole, again) == 0
