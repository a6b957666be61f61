"""Lightning's two base classes, which a process of the program imports only when it makes a model.

A plan reads names, options and facts from the classes of methods and tasks. Those are Lightning classes, and importing
Lightning takes longer than everything else that a run does when all of its results are stored. So the program calls
`postpone` before it imports them: the classes get plain base classes, and `use_lightning` replaces these by Lightning's
before the first model with weights is built. In any other process the classes have Lightning's from the start.
"""

import sys
from typing import TYPE_CHECKING, Any

__all__ = ["LightningDataModule", "LightningModule", "postpone", "use_lightning"]

if TYPE_CHECKING:
    from lightning.pytorch import LightningDataModule, LightningModule

NAMES = ("LightningModule", "LightningDataModule")
_POSTPONED = False


def postpone() -> None:
    """Let this process import Lightning late; without effect once Lightning, or one of our classes, is imported."""
    global _POSTPONED
    _POSTPONED = "lightning" not in sys.modules and "LightningModule" not in globals()


def use_lightning() -> None:
    """Give the classes that were postponed Lightning's base classes; without effect where they have them already.

    Tasks that were made before have the attributes of Lightning's class once `setup_run` was called.
    """
    global _POSTPONED
    if not _POSTPONED:
        return
    _POSTPONED = False
    from lightning import pytorch

    for name in NAMES:
        plain, real = globals().get(name), getattr(pytorch, name)
        globals()[name] = real
        for derived in plain.__subclasses__() if plain is not None else ():
            derived.__bases__ = tuple(real if base is plain else base for base in derived.__bases__)


def __getattr__(name: str) -> Any:
    """Choose the classes when they are first asked for."""
    if name not in NAMES:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    if _POSTPONED:
        globals()[name] = plain_module() if name == "LightningModule" else PlainDataModule
    else:
        from lightning import pytorch

        globals()[name] = getattr(pytorch, name)
    return globals()[name]


def plain_module() -> type:
    """Return the base class of objectives before Lightning is imported: a module of torch without a trainer."""
    import torch

    class PlainModule(torch.nn.Module):
        """A module without a trainer, whose sizes can be counted; its tensors are on the CPU, or nowhere."""

        device = torch.device("cpu")

        @property
        def trainer(self) -> Any:
            """There is none."""
            raise RuntimeError(f"{type(self).__name__} has no trainer: this process only plans, without Lightning")

    return PlainModule


class PlainDataModule:
    """The base class of tasks before Lightning is imported: it has rows and no trainer."""

    trainer: None = None
