"""spaCy models: which one is here, as a package or in a folder; it is loaded once, and its version is in signatures."""

import importlib
import json
from functools import lru_cache
from importlib.metadata import version
from typing import Any

from bench.metrics.requirements import model_folder

TAGGER = "en_core_web_lg"
"""The model that finds named entities. Another one finds others, so none takes its place unless it is named."""
TAGGER_VARIABLE = "BENCH_NER"


@lru_cache(maxsize=2)
def load(model: str, unused: tuple[str, ...]) -> Any:
    """Return the pipeline of a model without its unused parts.

    Raises:
        ImportError, OSError: spaCy or the model is not installed.
    """
    return importlib.import_module("spacy").load(model_folder(model) or model, exclude=list(unused))


def versioned(model: str) -> str:
    """Return a model's name with its version."""
    folder = model_folder(model)
    if folder is None:
        return f"{model}-{version(model)}"
    return f"{model}-{json.loads((folder / 'meta.json').read_text(encoding='utf-8'))['version']}"
