"""Let stored models write for a source that the user has typed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bench.base.seeds import seed_of
from bench.board.samples import Held
from bench.cells.build import build
from bench.cells.cell import Cell
from bench.cells.plan import make_plan
from bench.config.arguments import RunArguments, file_values
from bench.config.decoding import parse
from bench.decodings.core.decoding import Decoding
from bench.errors import BenchError, MissingError
from bench.generation.generation import generate
from bench.leaderboards.samples import Sample
from bench.models.core.objective import Objective
from bench.store.checkpoints import load_checkpoint, load_verified
from bench.store.store import CellFolder
from bench.tasks.encode.codec import Codec

__all__ = ["sample_of"]


def sample_of(
    source: str, side: Mapping[str, Held], decoding: str, data_dir: str | None
) -> tuple[list[Sample], list[str]]:
    """Return what each method writes for a source, and why a method writes nothing.

    Args:
        source: the text to write for, or to continue.
        side: the stored outputs whose models write, by method, from `side_by_side`.
        decoding: how to decode; the first decoding of each run where it is empty.
        data_dir: a folder with the data that the runs were trained on.
    """
    written, notes = {}, []
    for method, held in side.items():
        if "model" not in held.record:
            notes.append(f"{method} writes nothing: it has no model")
            continue
        try:
            cell = planned_again(held.cell, data_dir)
            objective, codec = loaded_model(cell)
            used = parse(decoding)[0] if decoding else cell.config.decodings[0]
            written[method] = text_of(objective, codec, cell, source, used)
        except BenchError as error:
            notes.append(f"{method} writes nothing: {error}")
    if not written:
        return [], notes
    return [Sample("your source", source, "", written)], notes


def planned_again(folder: CellFolder, data_dir: str | None) -> Cell:
    """Return the run that a folder holds, planned again from its `config.yaml`.

    Raises:
        MissingError: the folder has no configuration, or its data or code have changed.
    """
    file = folder.path / "config.yaml"
    if not file.is_file():
        raise MissingError(f"'{folder.path}' has no config.yaml, which every trained run has; run it again")
    arguments = RunArguments(**file_values(file), results=str(folder.path.parents[2]), data_dir=data_dir or "")
    for cell in make_plan(arguments).cells:
        if cell.key == folder.path.name:
            return cell
    raise MissingError(
        f"'{folder.path}' was trained on other data or by another version; run it again: bench run --config {file}"
    )


def loaded_model(cell: Cell) -> tuple[Objective, Codec]:
    """Return the objective of a run with its stored weights, and the codec of its texts.

    Raises:
        MissingError: the run holds no checkpoint.
        StoreError: the checkpoint is damaged.
    """
    content = cell.folder.trained()
    if content is None or content["status"] != "ok" or "model" not in content:
        raise MissingError(f"'{cell.folder.path}' holds no trained model; run it again")
    objective, codec = build(cell)
    load_checkpoint(objective, load_verified(cell.folder, content), cell.folder.path)
    return objective, codec


def text_of(objective: Objective, codec: Codec, cell: Cell, source: str, decoding: Decoding) -> str:
    """Return what a model writes for a source."""
    (ids,) = codec.ids([source])
    batch: Any = codec.prompt_batch([codec.encode("0", ids, [], ends=False)])
    seeds = [seed_of(cell.config.seed, "write")]
    (tokens,) = generate(objective, batch, decoding, cell.config.trainer.max_target, seeds)
    return str(codec.tokenizer.decode(tokens, skip_special_tokens=True)).strip()
