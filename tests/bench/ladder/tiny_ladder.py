"""A ladder that is run in seconds: two tiny rungs on a small text."""

from __future__ import annotations

import random
from pathlib import Path

SIZES = (0.013, 0.05)
SETS = ("backbone.vocabulary=300", "backbone.context=160", "trainer.batch_size=8", "evaluation.batch_size=8")


def write_text(folder: Path) -> None:
    """Write a small text with all three splits, 40 words a line."""
    draws = random.Random(0)
    words = ["sea", "ship", "wind", "sail", "star", "gull", "rope", "mast", "wave", "port"]
    folder.mkdir(parents=True)
    for split, lines in {"train": 48, "valid": 8, "test": 8}.items():
        rows = [" ".join(draws.choices(words, k=40)) for _ in range(lines)]
        (folder / f"{split}.txt").write_text("\n".join(rows), encoding="utf-8")
