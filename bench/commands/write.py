"""`bench write`: let a trained cell write for one source, under exemplars of the user's own (AdaDec Figure 3)."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench.base.outward import json_text
from bench.cli_options import data_dir_option, json_option
from bench.config.arguments import collect
from bench.errors import MissingError, UsageError
from bench.store.kept_board import files_at


def options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `bench write`."""
    parser.add_argument("cell", metavar="CELL", help="folder of a trained cell, results/<task>/<method>/<key>")
    parser.add_argument("--row", metavar="ID", help="a row of the evaluation split")
    parser.add_argument("--source", metavar="TEXT", help="a source of your own")
    parser.add_argument("--exemplar", action="append", default=[], metavar="TEXT", help="again for each exemplar")
    parser.add_argument("--decode", metavar="D", help="e.g. beam=5+length_penalty=1.0; default: the cell's")
    data_dir_option(parser)
    json_option(parser)


def run(given: argparse.Namespace) -> int:
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
    if given.exemplar and not cell.method.reads_exemplars:
        raise UsageError(f"{cell.method.name} reads no exemplar; leave --exemplar out")
    exemplars: list[str | None] = [*given.exemplar] or [retrieved or None]
    written = texts(objective, codec, cell, source, exemplars, given.decode)
    if given.json:
        print(json_text({"source": source, "written": written}, indent=1))
        return 0
    print(f"source: {source}")
    for item in written:
        if item["exemplar"]:
            print(f"exemplar: {item['exemplar']}")
        print(f"  -> {item['text']}")
    return 0


def cell_of(folder: Path, data_dir: str | None) -> Any:
    """Return the cell that a folder holds, planned anew from its `config.yaml`."""
    from bench.cells.plan import make_plan
    from bench.cli import parser

    files_at(folder).check_writable()
    file = folder / "config.yaml"
    if not file.is_file():
        raise MissingError(
            f"'{folder}' has no config.yaml; give the folder of a trained cell, results/<task>/<method>/<key>"
        )
    typed = ["run", "--config", str(file), "--results", str(folder.parents[2])]
    if data_dir:
        typed += ["--data-dir", data_dir]
    plan = make_plan(collect(parser().parse_args(typed)))
    for cell in plan.cells:
        if cell.key == folder.name:
            return cell
    raise MissingError(
        f"'{folder}' was trained on other data or by another version than are here now; run it again with "
        f"--config {file}"
    )


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
    if not cell.method.reads_exemplars:
        return text, None
    return text, cell.task.exemplars(split)[row]


def texts(
    objective: Any, codec: Any, cell: Any, source: str, exemplars: Sequence[str | None], decode: str | None
) -> list[dict[str, Any]]:
    """Return what the model writes under each exemplar."""
    from bench.base.seeds import seed_of
    from bench.config.decoding import parse
    from bench.generation.generation import generate

    decoding = cell.config.decodings[0]
    if decode:
        decoding = parse(decode)[0]
    (ids,) = codec.ids([source])
    rows = []
    for number, exemplar in enumerate(exemplars):
        exemplar_ids = None
        if exemplar is not None:
            (exemplar_ids,) = codec.ids([exemplar])
        rows.append(codec.encode(str(number), ids, [], ends=False, exemplar=exemplar_ids))
    seeds = [seed_of(cell.config.seed, "write")] * len(rows)
    generated = generate(objective, codec.prompt_batch(rows), decoding, cell.config.trainer.max_target, seeds)
    written = []
    for exemplar, tokens in zip(exemplars, generated, strict=True):
        text = codec.tokenizer.decode(tokens, skip_special_tokens=True).strip()
        written.append({"exemplar": exemplar, "text": text})
    return written
