"""Families: a tiny random model of each text family of the installed `transformers`, and what the forward check says.

`python -m tools.regenerate families` writes docs/families.md of it.
"""

import inspect
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from textwrap import fill
from typing import Any

import torch
import transformers
from torch import nn
from transformers import AutoModelForCausalLM, AutoModelForSeq2SeqLM
from transformers.models.auto.configuration_auto import CONFIG_MAPPING
from transformers.models.auto.modeling_auto import (
    MODEL_FOR_CAUSAL_LM_MAPPING_NAMES,
    MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES,
)
from transformers.utils import logging

from bench.generation.row_cache import new_cache
from bench.models.backbones.backbone import Backbone
from bench.models.backbones.exactness import DRAWS, TOLERANCE, cached_difference, forward_differences, why_inexact
from bench.models.backbones.scratch import adapter_of
from tests.models.backbones.family_sizes import NOT_TRIED, OWN, SIZES

PAGE = Path(__file__).parents[3] / "docs" / "families.md"

MAPPINGS = {
    "decoder-only": (MODEL_FOR_CAUSAL_LM_MAPPING_NAMES, AutoModelForCausalLM),
    "encoder-decoder": (MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES, AutoModelForSeq2SeqLM),
}
WIDTH = 120
SPREAD = 0.1
"""Standard deviation of weights that have opinions: fresh ones say nearly the same everywhere."""

HEAD = """# Model families

This page lists which model families of `transformers` can be a backbone (`--backbone HUB-ID` or `--backbone FOLDER`).
For each family a tiny model with random weights was compared with the library. Every pretrained model is compared in
the same way when it is loaded (`models/backbones/exactness.py`), so a family that is not listed may work, too.

A family is **exact** if the log-probabilities of all tokens at all positions equal those of the library's own forward
pass to {tolerance} nats in float32: without padding, padded on either side, with labels shifted by the library, and
token by token with the cache. Otherwise it is **refused**, with the reason that `bench` gives.

Generated with transformers {version} by `python -m tools.regenerate families`; a test compares it with the library.
"""


@dataclass(frozen=True)
class Family:
    """What was found of a family.

    Args:
        name: its `model_type`.
        architecture: `decoder-only` or `encoder-decoder`.
        why: the reason for which it is refused, or None.
        difference: the largest of an exact one, in nats.
    """

    name: str
    architecture: str
    why: str | None
    difference: float

    @property
    def row(self) -> str:
        """A refused family as a row of the table."""
        return f"| {self.name} | {self.architecture} | {str(self.why).replace('|', '/')} |"


def names() -> Iterator[tuple[str, str]]:
    """Yield every family that is tried, with its architecture."""
    for architecture, (mapping, _) in MAPPINGS.items():
        for name in mapping:
            if name not in NOT_TRIED:
                yield name, architecture


def config_of(name: str, architecture: str) -> Any:
    """Return a small configuration of a family."""
    kind = CONFIG_MAPPING[name]
    fields = set(inspect.signature(kind.__init__).parameters)
    for base in kind.__mro__:
        fields.update(getattr(base, "__annotations__", {}))
    values = {field: value for field, value in SIZES.items() if field in fields}
    if architecture == "encoder-decoder":
        values["decoder_start_token_id"] = 2
    values |= OWN.get(name, {})
    return kind(**{field: value for field, value in values.items() if value is not None})


def tiny(name: str, architecture: str) -> Backbone:
    """Return a tiny backbone of a family, with random weights and no tokenizer."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the library, about its own defaults
        logging.set_verbosity_error()
        torch.manual_seed(0)
        model = MAPPINGS[architecture][1].from_config(config_of(name, architecture))
    generator = torch.Generator().manual_seed(0)
    for parameter in model.parameters():
        if parameter.ndim > 1:
            nn.init.normal_(parameter, std=SPREAD, generator=generator)
    return adapter_of(model)(model.eval(), None)


def found(name: str, architecture: str) -> Family:
    """Make a family's tiny model and check it."""
    backbone = tiny(name, architecture)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        why = why_inexact(backbone, new_cache)
        if why is not None:
            return Family(name, architecture, why, torch.inf)
        differences = [largest(backbone, draw) for draw in DRAWS]
    return Family(name, architecture, None, min(differences))


def largest(backbone: Backbone, draw: int) -> float:
    """The largest difference of all situations, on one set of tokens."""
    return max(*forward_differences(backbone, draw).values(), cached_difference(backbone, new_cache, draw))


def page() -> str:
    """Return docs/families.md as made by the installed library."""
    families = [found(name, architecture) for name, architecture in names()]
    exact = [family for family in families if family.why is None]
    refused = [family for family in families if family.why is not None]
    parts = [
        HEAD.format(tolerance=f"{TOLERANCE:.0e}", version=transformers.__version__),
        f"## Exact: {len(exact)}\n",
        f"The largest difference is {max(family.difference for family in exact):.0e} nats.\n",
        *map(listed, MAPPINGS, [exact] * len(MAPPINGS)),
        f"## Refused: {len(refused)}\n",
        "| family | architecture | reason |\n|---|---|---|",
        *sorted(family.row for family in refused),
        f"\n## Not tried: {len(NOT_TRIED)}\n",
        "These read more than text, or the tests have no tiny form of them.\n",
        fill(", ".join(sorted(NOT_TRIED)), WIDTH),
    ]
    return "\n".join(parts) + "\n"


def listed(architecture: str, families: Sequence[Family]) -> str:
    """Return the names of the families with an architecture, as a paragraph."""
    names = sorted(family.name for family in families if family.architecture == architecture)
    return fill(f"**{architecture}**: {', '.join(names)}", WIDTH, break_on_hyphens=False) + "\n"
