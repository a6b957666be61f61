"""`bench write`: let a trained cell write for one source, under exemplars of the user's own (AdaDec Figure 3)."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench.errors import MissingError, UsageError


def write(given: argparse.Namespace) -> int:
    """Print what the model writes for each exemplar; return the exit code."""
    from bench.cells.build import build
    from bench.store.checkpoints import load_checkpoint, load_verified

    cell = cell_of(Path(given.cell), given.data_dir)
    content = cell.folder.trained()
    if content is None or content["status"] != "ok" or "model" not in content:
        raise MissingError(f"'{given.cell}' holds no trained model; give a folder results/<task>/<method>/<key>")
    objective, codec = build(cell)
    load_checkpoint(objective, load_verified(cell.folder, content), cell.folder.path)
    source, retrieved = source_of(cell, given.row, given.source)
    exemplars = [*given.exemplar] or ([retrieved] if retrieved else [])
    if given.exemplar and not cell.method.reads_exemplars:
        raise UsageError(f"{cell.method.name} reads no exemplar; leave --exemplar out")
    found = texts(objective, codec, cell, source, exemplars or [None], given.decode)
    if given.json:
        print(json.dumps({"source": source, "written": found}, indent=1, ensure_ascii=False))
        return 0
    print(f"source: {source}")
    for one in found:
        print(*([f"exemplar: {one['exemplar']}"] if one["exemplar"] else []), f"  -> {one['text']}", sep="\n")
    return 0


def cell_of(folder: Path, data_dir: str | None) -> Any:
    """Return the cell that a folder holds, planned anew from its `config.yaml`."""
    from bench.cells.plan import make_plan
    from bench.cli import parser
    from bench.commands.run import collect

    file = folder / "config.yaml"
    if not file.is_file():
        raise MissingError(f"'{folder}' has no config.yaml; give the folder of a trained cell, results/<task>/<method>/"
                           f"<key>")  # fmt: skip
    typed = ["run", "--config", str(file), "--results", str(folder.parents[2])]
    plan = make_plan(collect(parser().parse_args([*typed, *(["--data-dir", data_dir] if data_dir else [])])))
    for cell in plan.cells:
        if cell.key == folder.name:
            return cell
    raise MissingError(f"'{folder}' was trained on other data or by another version than are here now; "
                       f"run it again with --config {file}")  # fmt: skip


def source_of(cell: Any, row: str | None, source: str | None) -> tuple[str, str | None]:
    """Return the source to write for and the exemplar that goes with it: a row's, or the user's own text."""
    from bench.tasks.encode.codec import Codec

    if (row is None) == (source is None):
        raise UsageError("say what to write for: --row ID of the evaluation split, or --source TEXT")
    if source is not None:
        return source, None
    split = cell.config.evaluation.split
    examples = {example.id: example for example in cell.task.split(split).examples}
    if row not in examples:
        raise UsageError(f"no row '{row}' in the {split} split, whose rows are named like '{next(iter(examples))}'")
    text, _ = cell.task.source_text(examples[row], Codec(None, "encoder-decoder", 10**6, 10**6))
    return text, cell.task.exemplars(split)[row] if cell.method.reads_exemplars else None


def texts(
    objective: Any, codec: Any, cell: Any, source: str, exemplars: Sequence[str | None], decode: str | None
) -> list[dict[str, Any]]:
    """Return what the model writes under each exemplar."""
    from bench.base.seeds import seed_of
    from bench.cells.generation import generate
    from bench.config.decoding import parse

    decoding = parse(decode)[0] if decode else cell.config.decodings[0]
    (ids,) = codec.ids([source])
    read = [None if text is None else codec.ids([text])[0] for text in exemplars]
    rows = [codec.encode(str(i), ids, [], ends=False, exemplar=one) for i, one in enumerate(read)]
    seeds = [seed_of(cell.config.seed, "write")] * len(rows)
    found = generate(objective, codec.prompt_batch(rows), decoding, cell.config.trainer.max_target, seeds)
    return [{"exemplar": exemplar, "text": codec.tokenizer.decode(new, skip_special_tokens=True).strip()}
            for exemplar, new in zip(exemplars, found, strict=True)]  # fmt: skip
