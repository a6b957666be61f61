"""Stream recipes: what tasks of running text have in common, for each preset."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["F2_METHODS", "f2_korean", "small"]

F2_METHODS = "mle,face,ul_token,ul_token_seq,f2softmax"
"""What F2-Softmax trains (Tables 1 and 2)."""


def small() -> Mapping[str, Any]:
    """Return settings for about half a minute on one thread."""
    return {
        "backbone": "small-causal",
        "decode": "topk=20+max_new_tokens=64",
        "backbone.vocabulary": 2000,
        "backbone.width": 128,
        "backbone.layers": 2,
        "task.columns": 1,
        "trainer.steps": 150,
        "trainer.batch_size": 16,
        "trainer.lr": 2e-3,
        "trainer.warmup": 0.05,
        "trainer.weight_decay": 0.001,
        "trainer.clip": 1.0,
        "trainer.max_source": 100,
        "trainer.max_target": 128,
        "finetuned:trainer.steps": 50,
        "finetuned:trainer.lr": 3e-4,
        "evaluation.rows": 200,
        "evaluation.batch_size": 60,
    }


def f2_korean() -> Mapping[str, Any]:
    """Return the settings of F2-Softmax for Melo-Lyrics (Tables 1, 6 and 7).

    Its epochs are not given; 10 is what F2-Softmax's code has for text generation.
    """
    return {
        "backbone": "f2-decoder",
        "methods": F2_METHODS,
        "decode": "topk=20+max_new_tokens=100,greedy+max_new_tokens=100",
        "backbone.vocabulary": 40000,
        "f2-decoder:backbone.context": 512,
        "trainer.epochs": 10,
        "trainer.batch_size": 16,
        "trainer.lr": 2e-4,
        "trainer.warmup": 0.0,
        "trainer.weight_decay": 0.0,
        "trainer.clip": 0.25,
        "trainer.max_source": 100,
        "trainer.max_target": 511,  # 512 positions with the token that every block begins with
        "finetuned:trainer.steps": 1500,
        "finetuned:trainer.lr": 2e-5,
        "evaluation.batch_size": 20,
    }
