"""Deviations: the settings in which a run differs from its paper, or from the code of the paper.

Nothing here is typed twice: the settings are those of the run's configuration, and the statements are data
(`tasks/papers`). So a change of a recipe appears as a deviation at once.
"""

from collections.abc import Mapping
from dataclasses import asdict

from bench.config.config import CellConfig
from bench.config.resolve import Method
from bench.models.core.objective import Objective
from bench.tasks import find_task
from bench.tasks.core.published_settings import Deviation, as_text, published_settings

OFFICIAL = "official"
"""Status of a split that has the published rows."""
ROW_LENGTHS = ("trainer.max_source", "trainer.max_target")
"""Settings of a training that rows are cut to in an evaluation too."""


def deviations_of(
    config: CellConfig,
    method: Method,
    *,
    decoding: str = "",
    backbone: str = "",
    data: Mapping[str, str] | None = None,
) -> list[Deviation]:
    """Return what of a run differs from its paper or the code of it, in the order of the statements.

    A run that takes no step has no deviations in how it is trained.

    Args:
        config: of the cell.
        method: of the cell.
        decoding: that the compared texts were written with; without one, decodings are left out.
        backbone: that the compared number is of; without one, any that the paper has will do.
        data: by split, its status (`official`, `subset`, `sample`, ...), where that is known.
    """
    settings = settings_in_effect(config, method, decoding)
    if method.untrained:
        of_training = [name for name in settings if name.startswith(("optimizer.", "trainer."))]
        for name in set(of_training) - set(ROW_LENGTHS):
            del settings[name]
    found = []
    for statement in published_settings():
        if not statement.is_of(config.task, config.method, config.backbone) or statement.name not in settings:
            continue
        if statement.name == "backbone" and backbone:
            statement = statement.model_copy(update={"paper": (backbone,)})
        value = settings[statement.name]
        as_in_paper, as_in_code = statement.met(value, statement.paper), statement.met(value, statement.code)
        if as_in_paper and as_in_code:
            continue
        ours, code = statement.in_words([value or "none"]), statement.in_words(statement.code)
        paper = ours if statement.paper and as_in_paper else statement.in_words(statement.paper)
        found.append(Deviation(statement.name, ours, paper, code, statement.where, statement.how))
    for split, status in (data or {}).items():
        if status != OFFICIAL:
            found.append(Deviation(f"data.{split}", status, paper="the published rows"))
    return found


def settings_in_effect(config: CellConfig, method: Method, decoding: str = "") -> dict[str, str]:
    """Return every setting of a run as text, with the facts that no option holds.

    The facts: `backbone`, `decode`; `trainer.length`, its steps or epochs; `optimizer.name` and `optimizer.decays`, the
    tensors that weights decay in; `data.unit`, whether a row is a text of its own or a block of joined texts.
    """
    from bench.models.core.trainable import DECAYED_DIMENSIONS, OPTIMIZER

    task, options = find_task(config.spec("task")).value, dict(config.method_options)
    if issubclass(method.kind, Objective):
        options |= method.kind.options_in_effect(options)
    length = f"{config.trainer.steps} steps" if config.trainer.steps else f"{config.trainer.epochs:g} epochs"
    unit, made = "texts", task(**config.task_options)
    if made.stream is not None or made.training_blocks:
        unit = "blocks"
    facts = {
        "backbone": config.backbone,
        "trainer.length": length,
        "optimizer.name": OPTIMIZER.__name__,
        "optimizer.decays": "matrices" if DECAYED_DIMENSIONS > 1 else "all tensors",
        "data.unit": unit,
    }
    if decoding:
        facts["decode"] = decoding
    sections = {
        "trainer": asdict(config.trainer),
        "evaluation": asdict(config.evaluation),
        "task": config.task_options,
        "method": options,
        "backbone": config.backbone_options,
    }
    settings: dict[str, str] = {}
    for section, part in sections.items():
        settings |= {f"{section}.{name}": as_text(value) for name, value in part.items()}
    return settings | facts
