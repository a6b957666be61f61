"""Lightning's two base classes; stand-ins for them in a process that only plans.

A plan reads names, options and facts from the classes of methods and tasks. Those are Lightning classes, and importing
Lightning takes longer than the whole rest of a dry run. So the program calls `stand_in` before it imports them, in a
process that trains no model: tasks can be made and read; objectives can be made, to count what they hold, and have no
trainer.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

__all__ = ["LightningDataModule", "LightningModule", "stand_in"]

if TYPE_CHECKING:
    from lightning.pytorch import LightningDataModule, LightningModule

_STANDS_IN = False


def stand_in() -> None:
    """Let this process do without Lightning; without effect once Lightning, or one of our classes, is imported."""
    global _STANDS_IN
    _STANDS_IN = "lightning" not in sys.modules and "LightningModule" not in globals()


def __getattr__(name: str) -> Any:
    """Choose the classes when they are first asked for."""
    if name not in ("LightningModule", "LightningDataModule"):
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    if _STANDS_IN:
        chosen = {"LightningModule": planned_module(), "LightningDataModule": PlannedDataModule}
    else:
        from lightning import pytorch

        chosen = {
            "LightningModule": pytorch.LightningModule,
            "LightningDataModule": pytorch.LightningDataModule,
        }
    globals().update(chosen)
    return chosen[name]


def planned_module() -> type:
    """Return what stands in for LightningModule where nothing is trained: a module of torch without a trainer."""
    import torch

    class PlannedModule(torch.nn.Module):
        """In place of LightningModule; its tensors are on the CPU, or nowhere."""

        device = torch.device("cpu")

        @property
        def trainer(self) -> Any:
            """There is none."""
            raise RuntimeError(f"{type(self).__name__} has no trainer: this process only plans, without Lightning")

    return PlannedModule


class PlannedDataModule:
    """In place of LightningDataModule where nothing is trained: it has rows and no trainer."""

    trainer: None = None
