"""Lightning's two base classes; stand-ins for them in a process that only plans.

A plan reads names, options and facts from the classes of methods and tasks. Those are Lightning classes, and importing
Lightning takes longer than the whole rest of a dry run. So the program calls `stand_in` before it imports them, in a
process that makes no model: tasks can be made and read, objectives cannot be made.
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
        chosen = {"LightningModule": PlannedModule, "LightningDataModule": PlannedDataModule}
    else:
        from lightning import pytorch

        chosen = {
            "LightningModule": pytorch.LightningModule,
            "LightningDataModule": pytorch.LightningDataModule,
        }
    globals().update(chosen)
    return chosen[name]


class PlannedModule:
    """In place of LightningModule where nothing is trained."""

    def __init__(self) -> None:
        raise RuntimeError(f"{type(self).__name__} cannot be made here: this process only plans, without Lightning")


class PlannedDataModule:
    """In place of LightningDataModule where nothing is trained: it has rows and no trainer."""

    trainer: None = None
