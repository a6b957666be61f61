"""Modules with a user's own method, written where a test may import them."""

import sys
from pathlib import Path

FOCAL = """
import torch
from bench.models.core.objective import Objective


class Focal(Objective):
    name = "focal"
    paper = "Lin et al. 2017"

    def __init__(self, backbone, *, gamma: float = 2, mode="plain"):
        super().__init__(backbone)
        self.gamma, self.mode = gamma, mode

    def token_loss(self, log_probs, tokens, targets):
        nll = -log_probs.gather(1, targets[:, None]).squeeze(1)
        return (1 - torch.exp(-nll)) ** self.gamma * nll
"""


class Own:
    """A folder on the import path."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.written = folder, set[str]()

    def write(self, module: str, text: str) -> None:
        """Write a module; the one imported before under this name is forgotten."""
        (self.folder / f"{module}.py").write_text(text)
        sys.modules.pop(module, None)
        self.written.add(module)

    def forget(self) -> None:
        """Forget every module that was written."""
        for module in self.written:
            sys.modules.pop(module, None)
