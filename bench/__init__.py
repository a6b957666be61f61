"""Compare training objectives for text generation: the same metrics on every task.

`bench.run` trains, evaluates and scores; `bench.load` reads stored results; `bench.make` returns an objective and a
task for your own Lightning trainer; `bench.attach` puts an objective into a model of `transformers`, and `bench.losses`
has the objectives as functions of tensors. Your own methods,
tasks, backbones and decodings derive from `Objective`, `Task`, `Backbone` and `Decoding`; your own metric is a function
of stored predictions and a `Metric` that names it. A name is imported when it is first used.
"""

import importlib
from typing import TYPE_CHECKING, Any

from bench.base.version import __version__

if TYPE_CHECKING:
    from bench.board.board import Board, load
    from bench.board.run import run
    from bench.cells.make import make
    from bench.decodings.core.decoding import Decoding
    from bench.integrations.attach import attach, detach
    from bench.integrations.folder import evaluate
    from bench.integrations.trainer import trainer_for
    from bench.metrics import MetricEntry as Metric
    from bench.models.backbones.backbone import Backbone
    from bench.models.core.objective import Objective
    from bench.tasks.core.task import Task

__all__ = [
    "Backbone",
    "Board",
    "Decoding",
    "Metric",
    "Objective",
    "Task",
    "__version__",
    "attach",
    "detach",
    "evaluate",
    "load",
    "make",
    "run",
    "trainer_for",
]

PLACES = {
    "Backbone": "bench.models.backbones.backbone:Backbone",
    "Board": "bench.board.board:Board",
    "Decoding": "bench.decodings.core.decoding:Decoding",
    "Metric": "bench.metrics:MetricEntry",
    "Objective": "bench.models.core.objective:Objective",
    "Task": "bench.tasks.core.task:Task",
    "attach": "bench.integrations.attach:attach",
    "detach": "bench.integrations.attach:detach",
    "evaluate": "bench.integrations.folder:evaluate",
    "load": "bench.board.board:load",
    "make": "bench.cells.make:make",
    "run": "bench.board.run:run",
    "trainer_for": "bench.integrations.trainer:trainer_for",
}
"""Where the public names are."""


def __getattr__(name: str) -> Any:
    """Import what is heavy when it is first asked for."""
    if name not in PLACES:
        raise AttributeError(f"module 'bench' has no attribute '{name}'")
    module, _, inside = PLACES[name].partition(":")
    return getattr(importlib.import_module(module), inside)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
