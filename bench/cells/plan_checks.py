"""Plan checks: what cannot be run is refused, or skipped with a reason, before anything is done."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from bench.base.registry import split_names
from bench.cells.required import decodings_of
from bench.config.arguments import RunArguments
from bench.config.config import PAPER, CellConfig
from bench.config.resolve import Method, recipe_of
from bench.errors import BenchError, StoreError, UsageError
from bench.models import METHODS
from bench.models.backbones import is_pretrained
from bench.models.core.objective import Objective
from bench.tasks.core.task import Task

if TYPE_CHECKING:
    from bench.cells.cell import Cell
    from bench.cells.progress import Progress

__all__ = [
    "check_cell",
    "check_metrics",
    "check_training",
    "confirm",
    "is_to_do",
    "unchoosable",
    "undecodable",
    "unlike_own_files",
    "unshardable",
    "why_unpublished",
    "why_without_data",
]

MANY = 50
"""More runs than these are begun only where somebody says so."""

# Of a command -------------------------------------------------------------------------------------------------------


def check_metrics(arguments: RunArguments, kinds: Sequence[type[Task]]) -> None:
    """Refuse an additional metric that would read nothing.

    Raises:
        UsageError: it is none, or no task of the run has rows of its kind.
        MissingError: its module or file is not there.
    """
    if not arguments.metrics:
        return
    from bench.metrics import find_metric

    evaluations = {evaluation for kind in kinds for evaluation in kind.info.evaluations}
    for name in arguments.metrics:
        metric = find_metric(name)
        if metric.value.kind not in evaluations:
            raise UsageError(
                f"--metrics names '{metric.name}', which reads {metric.value.kind} rows; no task of this run makes them"
            )


# Of a plan ----------------------------------------------------------------------------------------------------------


def confirm(to_do: int, progress: Progress) -> None:
    """Ask once whether many runs that are to be trained or evaluated are to be begun; return if so, or if they are few.

    Raises:
        UsageError: the answer was no, or there is no terminal to ask on.
    """
    if to_do <= MANY:
        return
    if not has_terminal():
        raise UsageError(
            f"{to_do} runs are to be trained or evaluated, and more than {MANY} are begun only with --yes; --dry-run "
            f"shows them and what they cost"
        )
    if progress.ask(f"{to_do} runs are to be trained or evaluated (--dry-run shows what they cost). Begin? [y/N] "):
        return
    raise UsageError(f"nothing was begun: the answer was not y; --yes begins {to_do} runs without asking")


def is_to_do(cell: Cell) -> bool:
    """Return whether a run has to be trained or evaluated; a damaged one counts."""
    try:
        trained = cell.folder.trained()
    except StoreError:
        return True
    if trained is None:
        return True
    if trained["status"] != "ok":
        return False
    return not all(cell.folder.has(cell.folder.rows_path(key).name) for key in cell.evaluations)


def has_terminal() -> bool:
    """Return whether a question can be asked and answered: both stdin and stderr are a terminal."""
    return sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty()


# Of a run -----------------------------------------------------------------------------------------------------------


def check_cell(method: Method, config: CellConfig, arguments: RunArguments) -> None:
    """Refuse a run that could not be trained or evaluated as it was asked for.

    Raises:
        UsageError: naming the option.
    """
    trainer, task = config.trainer, config.task
    starts_from_weights = trainer.init_from or method.parent or is_pretrained(config.asked("backbone"))
    is_trained = trainer.steps or trainer.epochs or method.is_baseline or method.untrained
    if not is_trained and not starts_from_weights:
        raise UsageError(
            f"trainer.steps and trainer.epochs of {task} are both 0, and backbone {config.backbone} has random "
            f"weights: give one of them, or a pretrained backbone"
        )
    n_positions = config.backbone_options.get("context")
    for decoding in config.decodings:
        if n_positions is not None and (decoding.max_new_tokens or 0) > int(n_positions):
            raise UsageError(
                f"{task}: '{decoding.text}' writes up to {decoding.max_new_tokens} tokens, and "
                f"backbone.context={n_positions} has too few positions; lower max_new_tokens or give a larger context"
            )
    check_training(config, arguments)


def check_training(config: CellConfig, arguments: RunArguments) -> None:
    """Refuse more micro-batches than a batch has rows, and precisions that cannot be trained; for reference models too.

    Raises:
        UsageError: naming the option.
    """
    trainer, accumulate = config.trainer, arguments.execution.accumulate
    if trainer.batch_size < arguments.devices * accumulate:
        raise UsageError(
            f"trainer.batch_size={trainer.batch_size} of {config.task} has fewer rows than --devices "
            f"{arguments.devices} x execution.accumulate={accumulate} micro-batches"
        )
    if arguments.strategy == "fsdp" and trainer.precision == "16-mixed":
        raise UsageError(
            "--strategy fsdp does not go with trainer.precision=16-mixed: each process would scale its own share "
            "of the gradients; use bf16-mixed, or --strategy ddp"
        )
    if trainer.precision == "bf16-true":
        raise UsageError(
            f"trainer.precision=bf16-true of {config.task} has weights of 8 bits, and most steps of AdamW are smaller "
            f"than half of the last one, so that most weights would never change; take bf16-mixed, which keeps float32 "
            f"weights and multiplies in bfloat16"
        )


def unlike_own_files(config: CellConfig) -> list[str]:
    """Return a line for each decoding of a run that the files of its pretrained backbone do not have so.

    The library's `generate` would take their settings without a word; here a decoding has the settings that it states.
    """
    if not is_pretrained(config.asked("backbone")):
        return []
    from bench.models.backbones.hub import generation_settings

    options, lines = config.backbone_options, []
    theirs = generation_settings(config.asked("backbone"), str(options["path"]), str(options["revision"]))
    for decoding in config.decodings:
        ours = {
            "num_beams": 1,
            "do_sample": decoding.samples,
            "no_repeat_ngram_size": decoding.no_repeat_ngram,
            "repetition_penalty": decoding.repetition_penalty,
            "min_length": 0,
            **decoding.library(),
        }
        unlike = [
            f"{name}={theirs[name]} (here {ours[name]})"
            for name in theirs
            if ours.get(name, theirs[name]) != theirs[name]
        ]
        if unlike:
            lines.append(
                f"{config.task}: {config.backbone}'s own generation settings are not read; they have "
                f"{', '.join(unlike)}, and this run writes by '{decoding.text}', as --decode or the recipe says"
            )
    return lines


# Why a method is left out -------------------------------------------------------------------------------------------


def undecodable(method: Method, config: CellConfig) -> str | None:
    """Return why a method cannot decode as asked, or None."""
    if not issubclass(method.kind, Objective):
        return None
    try:
        for decoding in decodings_of(config, method.evaluation_variant):
            method.kind.resolved(decoding)
    except UsageError as error:
        return f"cannot decode so: {error}"
    return None


def unchoosable(method: Method, config: CellConfig, task: Task) -> str | None:
    """Return why a method that chooses something on validation text cannot, or None."""
    if not method.chooses_after_training:
        return None
    if config.evaluation.split == "valid":
        return "chooses on the validation split, which evaluation.split=valid would evaluate it on; evaluate on test"
    try:
        rows = task.manifest("valid").rows
    except BenchError as error:
        return f"chooses on the validation split, which cannot be read: {error}"
    if not rows:
        return "chooses on the validation split, which has no rows; give the task validation text"
    return None


def unshardable(method: Method, arguments: RunArguments) -> str | None:
    """Return why a method cannot be trained with a share of the model on each process, or None."""
    if arguments.strategy != "fsdp" or method.is_baseline or not issubclass(method.kind, Objective):
        return None
    if method.kind.step_loss is Objective.step_loss:
        return None
    return "writes texts while it is trained, of another length on each process; --strategy fsdp cannot, ddp can"


def why_unpublished(task: type[Task], method: Method) -> str | None:
    """Return why a method is left out of the preset `paper` of a task, or None.

    The recipe names the methods that its paper trains (`methods`). These run with their variants and controls. Methods
    of the user run everywhere, since the recipe is there to try them, and so do baselines, which train nothing.
    """
    named = str(recipe_of(task, PAPER).get("methods", ""))
    variants = [f"{name}.{variant}" for name, entry in METHODS.items() for variant in entry.variants or {}]
    if not named or method.is_baseline or method.name not in (*METHODS, *variants):
        return None
    trained = split_names([named])
    controls = [control for name in trained for control in METHODS[name].controls]
    every_control = {control for entry in METHODS.values() for control in entry.controls}
    is_variant = method.base in trained and method.name not in every_control
    if method.name in trained or method.name in controls or is_variant:
        return None
    return (
        f"has no recipe of a paper on {task.name}, where papers train {', '.join(trained)}; "
        f"--preset small with --set trainer.* and --backbone runs it at any size"
    )


def why_without_data(task: Task) -> str | None:
    """Return why the preset `paper` cannot train on what is here of a task, or None.

    Rows that `--limit` keeps are a trial, which no leaderboard shows, so the built-in sample will do for it.
    """
    if task.source.folder is not None or task.limit is not None:
        return None
    advice = f"get it from {task.info.source} and say --data-dir"
    if not task.info.source:
        advice = "name yours with --set task.path"
    return (
        f"is to train on the published data of {task.name}, and here is only the {task.source.why}; {advice}, "
        f"or take --preset small; --limit N tries the recipe on sample rows"
    )
