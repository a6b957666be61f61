"""`bench samples`: the texts that methods generated for the same rows, side by side, the most different first."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.base.registry import all_names, split_names, unknown
from bench.cli_options import METHOD, add_options, positive, say_damaged, stored_names, task_names, tasks_of
from bench.errors import BenchError, MissingError
from bench.models import METHODS
from bench.store.store import Store

if TYPE_CHECKING:
    from bench.board.samples import Held, Sample
    from bench.tasks.core.task import Task
    from bench.tasks.encode.codec import Codec, Encoded


def options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `bench samples`."""
    parser.add_argument("--task", metavar="NAME", help="of this task; default any")
    parser.add_argument("--method", action="append", metavar="NAMES", help="names with commas; default all")
    parser.add_argument("--decode", metavar="D", help="e.g. greedy; default the one that most methods have")
    parser.add_argument("--n", type=positive, default=5, metavar="N", help="rows to show; default 5")
    parser.add_argument("--source", metavar="TEXT", help="let the stored models generate for this text instead")
    parser.add_argument("--format", default="terminal", choices=["terminal", "markdown"], help="default terminal")
    add_options(parser, "--results", "--set", "--data-dir")


def run(given: argparse.Namespace) -> int:
    """Print them; return 0, or 1 where files are damaged."""
    from bench.board.samples import holding, in_markdown, most_different, read, shown, side_by_side

    render = in_markdown if given.format == "markdown" else shown
    store, decoding = Store(Path(given.results)), given.decode or ""
    methods = [method_name(name, store) for name in split_names(given.method)]
    tasks = task_names([given.task or "all"], store)
    stored_decoding = decoding if given.source is None else ""
    side, notes = side_by_side(rows for rows in holding(store, tasks) if rows.fits(methods, stored_decoding))
    if not side:
        say_damaged(store)
        typed = f"--task {','.join(tasks or ['logicnlg'])} --method {','.join(methods) or 'all'}"
        typed += f" --decode {decoding}" if decoding else ""
        raise MissingError(f"no texts in '{given.results}'; bench run {typed} makes some")
    task, preset, split, _, seed, used = next(iter(side.values())).group
    used = decoding or used  # which differ for a typed source
    heading = " · ".join(filter(None, [task, f"{split} split", f"preset {preset}", f"seed {seed}", used]))
    notes = [f"no texts of {name} in '{given.results}'" for name in methods if name not in side] + notes
    if given.source is not None:
        samples = written_for(given.source, side, decoding, notes)
        sys.stdout.write(render([heading], samples, notes))
        return 0 if samples else MissingError.exit_code
    samples, unread = read(store, side, tasks_of(given).of)
    sys.stdout.write(render([heading], most_different(samples)[: given.n], [*notes, *unread]))
    return say_damaged(store)


def written_for(source: str, side: Mapping[str, Held], decoding: str, notes: list[str]) -> list[Sample]:
    """Return what each method writes for a source that the user has typed, as one row, or nothing.

    Args:
        source: the text to write for, or to continue.
        side: the stored texts whose models write, by method.
        decoding: how to decode; as the stored texts where it is empty.
        notes: why a method writes nothing is added here.
    """
    from bench.base.seeds import seed_of
    from bench.board.samples import Sample
    from bench.cells.evaluation import text_of
    from bench.config.arguments import file_values
    from bench.config.decoding import parse
    from bench.generation.generation import generate
    from bench.integrations.folder import trained_objective

    written = {}
    for method, held in side.items():
        config = held.record["config"]
        try:
            if "model" not in held.record:
                raise MissingError("it has no model")
            objective, codec, task = trained_objective(held.cell)
            batch: Any = codec.prompt_batch([prompt_of(source, task, codec)])
            name = held.of["decoding"]["name"]  # of a plug-in, whose file the configuration has
            stored = [one for one in parse(file_values(held.cell.path / "config.yaml")["decode"]) if one.text == name]
            how = (parse(decoding) if decoding else stored or parse(name))[0]
            (tokens,) = generate(
                objective, batch, how, config["trainer"]["max_target"], [seed_of(config["seed"], "write")]
            )
            written[method] = text_of(codec, tokens)
        except BenchError as error:
            notes.append(f"{method} writes nothing: {error}")
    return [Sample("your source", source, "", written)] if written else []


def prompt_of(source: str, task: Task, codec: Codec) -> Encoded:
    """Return the prompt for a typed text, encoded as the task does it; in a chat it is a message of the user."""
    from bench.tasks.core.example import Example

    if "messages" in task.info.fields:
        messages = {"messages": [{"role": "user", "content": source}]}
        return task.encode([Example("0", "", "", fields=messages)], codec)[0]
    if source and task.info.open_ended and not task.training_blocks:
        source = f" {source}"  # as `Task.encode` does
    (ids,) = codec.ids([source])
    return codec.encode("0", ids, [], ends=False)


def method_name(name: str, store: Store) -> str:
    """Return the name that a method is stored under: of a plug-in that of its class, otherwise the same name.

    Raises:
        UsageError: there is no such method, here or in the store.
    """
    built_in, stored = all_names(METHODS), stored_names(store, METHOD)
    if name in built_in or name in stored:
        return name
    if ":" in name:
        from bench.config.resolve import find_method

        return find_method(name).name
    raise unknown(name, [*built_in, *stored], "method")
