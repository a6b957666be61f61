"""Record: what is stored of a trained run with its weights, and the configuration that repeats it here or elsewhere."""

from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

from bench.base.files import write_atomic
from bench.base.keys import sha256
from bench.cells.cell import Cell, described, is_validated
from bench.cells.plan import make_plan
from bench.config.arguments import RunArguments, set_texts_of
from bench.config.config import PAPER, joined
from bench.config.deviations import deviations_of
from bench.errors import BenchError
from bench.models.core.objective import Objective
from bench.store.checkpoints import save_checkpoint
from bench.store.provenance import provenance
from bench.store.store import TOKENIZER
from bench.tasks.core.progress import OnRows, no_progress
from bench.tasks.encode.codec import Codec, tokenizer_hash
from bench.training.execution import Execution


def store_trained(
    cell: Cell, objective: Objective, codec: Codec, result: Mapping[str, Any], execution: Execution, started: float
) -> None:
    """Store the checkpoint, then the record that names its hash.

    The record of a paper's recipe has the deviations from the paper and its code. How texts were decoded is in their
    predictions, and what the data is in its manifests.
    """
    folder = cell.folder
    data = save_checkpoint(objective)
    digest = sha256(data)
    write_atomic(folder.checkpoint(digest), data, replace=True)
    write_atomic(folder.path / "config.yaml", config_yaml(cell).encode(), replace=True)
    backend = getattr(codec.tokenizer, "backend_tokenizer", None)
    if backend is not None:
        write_atomic(folder.path / TOKENIZER, backend.to_str().encode(), replace=True)
    content = {
        **about(cell),
        "batch_invariant": objective.batch_invariant,
        "status": result["status"],
        "train": {name: value for name, value in result.items() if name != "status"},
        "model": {
            "parameters": sum(p.numel() for p in objective.parameters()),
            "trained_parameters": sum(p.numel() for p in objective.parameters() if p.requires_grad),
            "architecture": codec.architecture,
            "tokenizer_sha256": tokenizer_hash(codec.tokenizer),
            "checkpoint_sha256": digest,
        },
    }
    if cell.config.preset == PAPER:
        content["deviations"] = [deviation.as_dict() for deviation in deviations_of(cell.config, cell.method)]
    if remarks := objective.remarks():
        content["remarks"] = remarks
    pretrained = objective.backbone.pretrained
    if pretrained is not None and pretrained.repository:
        content["model"]["hub"] = pretrained.as_dict()
    if objective.backbone.lora is not None:
        content["model"]["lora"] = objective.backbone.lora.as_dict()
    recorded = execution.recorded()
    recorded["float32_products"] = cell.config.trainer.float32_products
    folder.write_trained(content, {**provenance(started), **recorded})


def about(cell: Cell) -> dict[str, Any]:
    """Return the part of a record that runs of every method have."""
    splits = ["train", cell.config.evaluation.split]
    if is_validated(cell.config, cell.method):
        splits.append("valid")
    content = {
        "key": cell.key,
        "config": described(cell),
        "method": dict(cell.method.code),
        "start": origin(cell.parent),
        "seed_scheme": "sha256-counter/1",
        "data": {name: cell.task.manifest(name).as_dict() for name in splits},
    }
    if unpinned := cell.task.unpinned():
        content["unpinned"] = unpinned
    if cell.config.plugins:
        own: dict[str, Any] = cell.config.plugin_code()
        content["own"] = own
        if "task" in own:  # so that no reader of the record needs its code
            own["task"] |= {"columns": list(cell.task.info.columns), "primary": cell.task.info.primary}
    if cell.task.title:
        content["title"] = cell.task.title
    if cell.reference is not None:
        content["second"] = origin(cell.reference)
    return content


def origin(cell: Cell | None) -> dict[str, Any] | None:
    """Return the part of a record about the run of the first weights or of the reference model; or None."""
    record = None if cell is None else cell.folder.trained()
    if record is None:
        return None
    config = {name: value for name, value in record["config"].items() if name not in ("decodings", "evaluation")}
    content = {
        "key": record["key"],
        "config": config,
        "method": record["method"],
        "data": {"train": record["data"]["train"]},
        "start": record.get("start"),
    }
    if "own" in record:
        content["own"] = record["own"]
    return content


def config_yaml(cell: Cell) -> str:
    """Return the file that repeats a run: `--config` reads it back to the same keys.

    A control that only reads the run of another method has that run's file.
    """
    import yaml

    config, method = cell.config.as_dict(), cell.method
    content = {
        "task": cell.config.spec("task"),
        "method": method.trained_name if method.only_reads else method.spec,
        "seeds": [cell.config.seed],
        "preset": config["preset"],
        "backbone": cell.config.spec("backbone"),
        "decode": ",".join(decoding.spec for decoding in cell.config.decodings),
        "set": as_sets(cell),
    }
    return yaml.safe_dump(content, sort_keys=False)


SECTIONS = {
    "task": "task_options",
    "method": "method_options",
    "backbone": "backbone_options",
    "trainer": "trainer",
    "evaluation": "evaluation",
}
"""Sections of `--set`, and the part of a configuration that holds each."""


def as_sets(cell: Cell) -> dict[str, Any]:
    """Return a configuration as `section.name: value` lines that `--config` reads back.

    The lines of the run it is fine-tuned from come first and hold for both, unless a line for its method follows. Those
    of its reference model come last, for the method of that model.
    """
    lines = lines_of(cell)
    if cell.reference is not None:
        reference = lines_of(cell.reference).items()  # both have the options of the task in common
        scope = cell.reference.config.method
        lines |= {f"{scope}:{line}": value for line, value in reference if not line.startswith("task.")}
    return lines


def lines_of(cell: Cell) -> dict[str, Any]:
    """Return the lines of a run and of those it is fine-tuned from."""
    config = cell.config.as_dict()
    lines = {}
    for section, part in SECTIONS.items():
        for name, value in config[part].items():
            lines[f"{section}.{name}"] = joined(f"{section}.{name}", value)
    if cell.parent is None:
        return lines
    sets = lines_of(cell.parent)
    for name, value in lines.items():
        older = [known for line, known in sets.items() if line.rpartition(":")[2] == name]
        if not older or any(known != value for known in older):
            sets[f"{cell.config.method}:{name}"] = value
    return sets


# For another process -----------------------------------------------------------------------------------------------


def job_of(cell: Cell, arguments: RunArguments) -> dict[str, Any]:
    """Return a run as content for JSON; `cell_of` undoes it.

    Args:
        cell: the run.
        arguments: of the command; those that decide what is run are replaced by the configuration of this run.
    """
    config, sets = cell.config, zip(arguments.sets, arguments.overrides, strict=True)
    alone = replace(
        arguments,
        tasks=(config.spec("task"),),
        methods=(cell.method.spec,),
        seeds=(config.seed,),
        backbone=config.spec("backbone"),
        preset=config.preset,  # type: ignore[arg-type]  # it was checked when the run was planned
        sets=(*set_texts_of(as_sets(cell)), *(text for text, given in sets if given.section == "execution")),
        decode=",".join(decoding.spec for decoding in config.decodings) or None,
        limit=None,  # a setting of the trainer
        kinds=(),
    )
    return {"arguments": asdict(alone), "key": cell.key, "evaluations": list(cell.evaluations)}


def cell_of(job: Mapping[str, Any], on_rows: OnRows = no_progress) -> Cell:
    """Plan the run of a job.

    Raises:
        BenchError: the plan here has not the keys that the job names: code or data have changed since.
    """
    plan = make_plan(RunArguments(**job["arguments"]), on_rows=on_rows)
    (method,) = job["arguments"]["methods"]
    for cell in plan.cells:
        if (cell.key, cell.method.spec) == (job["key"], method) and set(job["evaluations"]) <= set(cell.evaluations):
            return replace(cell, evaluations={key: cell.evaluations[key] for key in job["evaluations"]})
    found = [f"{cell.label}: {cell.key}" for cell in plan.cells] + [skip.reason for skip in plan.skips]
    raise BenchError(
        f"the run {job['key']} of {method} is not what is planned here ({'; '.join(found)}): code or data have changed "
        f"since it was planned, so start it again"
    )
