"""Trace: parameters, matrix products and live bytes of a cell, found once for each model, length and method.

What is found is kept in the cache folder under the hash of what decides it. The recipes of this package are kept in
`kept.json` beside this file, so that their plans need no library of models.
"""

from __future__ import annotations

import importlib.metadata
import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import cache
from importlib import resources
from typing import Any

from torch._subclasses.fake_tensor import FakeTensorMode

from bench.base.cache import cache_root
from bench.base.files import write_atomic
from bench.base.keys import key_of
from bench.cells.cell import Cell, without
from bench.config.resolve import find_method
from bench.cost.blank import blank_backbone, objective_over
from bench.cost.disk import takes_steps
from bench.cost.flops import Products, products_of
from bench.cost.memory import Lengths, Memory
from bench.cost.parameters import Parameters, count
from bench.cost.passes import BackbonePass, Where, backbone_passes, traced
from bench.errors import BenchError, StoreError
from bench.models.backbones.recomputing import recomputed

__all__ = ["Trace", "Tracer", "kept_traces", "trace_key"]

VERSION = 1
"""Of what a trace holds; a change makes every one anew."""
MLE_NOTE = "its own loss cannot be run without numbers: memory is that of maximum likelihood"
FILES = ("tokenizer", "glove")
"""Options of backbones that name a file: whether there is one counts, not which."""


@dataclass(frozen=True)
class Trace:
    """What a cell's model holds and multiplies.

    Args:
        parameters: of the objective.
        products: of its backbone.
        memory: of a training step.
        note: what a reader must know; may be empty.
    """

    parameters: Parameters
    products: Products
    memory: Memory
    note: str = ""

    @staticmethod
    def of(content: Mapping[str, Any]) -> Trace:
        """Return a trace from plain content."""
        return Trace(
            Parameters.of(content["parameters"]),
            Products.of(content["products"]),
            Memory.of(content["memory"]),
            content["note"],
        )


class Tracer:
    """Traces cells; a backbone that several methods share is run once.

    Args:
        kind: of device, `cuda` or `cpu`.
    """

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self._known: dict[str, Trace] = {}
        self._backbones: dict[str, tuple[Any, Where, list[BackbonePass]]] = {}

    def trace(self, cell: Cell, lengths: Lengths, most: int, recomputes: bool = False) -> Trace:
        """Return the trace of a cell.

        Args:
            cell: of any method with a model.
            lengths: the most of its recipe.
            most: rows of its largest micro-batch.
            recomputes: whether activations are computed again in the backward pass.

        Raises:
            MissingError: the sizes of its backbone are not known here.
        """
        key = self.key(cell, lengths, most, recomputes)
        if key not in self._known:
            self._known[key] = self._found(key, cell, lengths, most, recomputes)
        return self._known[key]

    def key(self, cell: Cell, lengths: Lengths, most: int, recomputes: bool = False) -> str:
        """Return the hash of what decides a trace; arguments as for `trace`."""
        return trace_key({**backbone_content(cell, lengths, most, self.kind, recomputes), **method_content(cell)})

    def _found(self, key: str, cell: Cell, lengths: Lengths, most: int, recomputes: bool) -> Trace:
        """Return a trace that is kept, or make and keep it."""
        if key in kept_traces():
            return Trace.of(kept_traces()[key])
        versions = key_of([importlib.metadata.version(name) for name in ("torch", "transformers")])
        file = cache_root() / "cost" / versions / f"{key}.json"
        with suppress(OSError, ValueError, KeyError, TypeError):  # none, or not as it was written: it is made again
            return Trace.of(json.loads(file.read_bytes()))
        made = self.make(cell, lengths, most, recomputes)
        with suppress(StoreError):
            write_atomic(file, json.dumps(asdict(made)).encode(), replace=True, synced=False)
        return made

    def make(self, cell: Cell, lengths: Lengths, most: int, recomputes: bool = False) -> Trace:
        """Run the model of a cell over blank tensors."""
        backbone, where, passes = self._backbone(cell, lengths, most, recomputes)
        trained = {name: parameter.requires_grad for name, parameter in backbone.named_parameters()}
        target, note = cell.config.trainer.max_target, ""
        try:
            objective = objective_over(cell.method, cell.config.method_options, backbone, where.fake, target)
            parameters = count(objective)
            if not takes_steps(cell):  # it has no loss, and no number of its memory is read
                objective = objective_over(find_method("mle"), {}, backbone, where.fake, target)
            try:
                memory = traced(objective, where, passes)
            except (BenchError, RuntimeError, TypeError, ValueError, NotImplementedError):
                mle, note = find_method("mle"), MLE_NOTE
                memory = traced(objective_over(mle, {}, backbone, where.fake, target), where, passes)
        finally:
            for name, parameter in backbone.named_parameters():
                parameter.requires_grad_(trained[name])
        return Trace(parameters, products_of(backbone), memory, note)

    def _backbone(
        self, cell: Cell, lengths: Lengths, most: int, recomputes: bool
    ) -> tuple[Any, Where, list[BackbonePass]]:
        """Return a backbone of blank tensors with its passes; the last one is remembered."""
        key = trace_key(backbone_content(cell, lengths, most, self.kind, recomputes))
        if key not in self._backbones:
            where = Where(FakeTensorMode(), cell.config.trainer.precision, self.kind)
            with where.fake:
                backbone = blank_backbone(cell.config, len(cell.task.markers))
            with recomputed(backbone, recomputes):
                passes = backbone_passes(backbone, where, lengths, most)
            self._backbones = {key: (backbone, where, passes)}
        return self._backbones[key]


def backbone_content(cell: Cell, lengths: Lengths, most: int, kind: str, recomputes: bool) -> dict[str, Any]:
    """Return what decides what a backbone holds."""
    config = cell.config
    options = without(config.backbone_options, FILES)
    options["files"] = [name for name in FILES if config.backbone_options.get(name)]
    found = {
        "version": VERSION,
        "backbone": config.backbone,
        "own": config.own_code().get("backbone", {}),
        "options": options,
        "markers": len(cell.task.markers),
        "lengths": asdict(lengths),
        "rows": most,
        "precision": config.trainer.precision,
        "kind": kind,
    }
    if recomputes:
        found["recomputes"] = True
    return found


def method_content(cell: Cell) -> dict[str, Any]:
    """Return what decides what a loss holds."""
    return {"method": dict(cell.method.code), "method_options": dict(cell.config.method_options)}


def trace_key(content: Mapping[str, Any]) -> str:
    """Return the name of a trace."""
    return key_of(dict(content))


@cache
def kept_traces() -> Mapping[str, Any]:
    """Return the traces of this package's own recipes, by key."""
    file = resources.files("bench.cost").joinpath("kept.json")
    if not file.is_file():
        return {}
    content: Mapping[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return content
