"""The backbones of models/backbones/README.md are exact, train and generate."""

from __future__ import annotations

import re
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch

from bench.config.decoding import parse
from bench.generation.generation import generate
from bench.generation.row_cache import new_cache
from bench.models.backbones.backbone import Backbone
from bench.models.backbones.exactness import why_inexact
from bench.models.mle import MLE
from tests.models.backbones.families import tiny
from tests.models.backbones.folders import Texts

FOLDER = Path(__file__).parents[3] / "models" / "backbones"
PAGE = (FOLDER / "README.md").read_text(encoding="utf-8")
FILES: dict[str, str] = dict(re.findall(r"```python\n# (\w+)\.py\n(.*?)```", PAGE, re.DOTALL))


def module(name: str) -> ModuleType:
    """Run a file of the page."""
    made = ModuleType(name)
    exec(compile(FILES[name], name, "exec"), vars(made))
    return made


def made(name: str, tmp_path: Path) -> Backbone:
    """Make the backbone of a file."""
    options: dict[str, Any] = {"vocabulary": 300, "width": 16}
    if name == "modern_bert":
        refused = tiny("modernbert-decoder", "decoder-only")
        assert why_inexact(refused, new_cache) is not None
        refused.model.save_pretrained(tmp_path)
        Texts().tokenizer(90).save_pretrained(tmp_path)
        options = {"path": str(tmp_path)}
    backbone: Backbone = getattr(module(name), name)(name, Texts(), 0, **options)
    return backbone


@pytest.mark.parametrize("name", ["tiny_llama", "modern_bert"])
def test_its_backbones_are_exact_train_and_generate(name: str, tmp_path: Path) -> None:
    backbone = made(name, tmp_path)
    why, forward, cached = module("exact").report(backbone)
    assert why is None
    assert max(*forward.values(), cached) < 1e-5
    ids = torch.tensor([[4, 5, 6, 7], [4, 8, 9, 10]])
    loss = MLE(backbone).step_loss({"input_ids": ids, "attention_mask": torch.ones_like(ids), "labels": ids}).total
    loss.backward()
    assert all(weight.grad is not None for weight in backbone.head_parameters())
    prompts: Any = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
    assert all(len(text) <= 3 for text in generate(MLE(backbone), prompts, parse("greedy")[0], 3))
