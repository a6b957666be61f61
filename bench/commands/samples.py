"""`bench samples`: what methods wrote for the same rows, side by side, the most different first."""

from __future__ import annotations

import argparse
import difflib
import io
import shutil
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.base.entries import all_names, split_names, unknown
from bench.base.outward import plain, write_styled
from bench.cli_options import (
    METHOD,
    data_options,
    positive,
    results_option,
    say_damaged,
    stored_names,
    task_names,
    tasks_of,
)
from bench.errors import BenchError, MissingError, UsageError, did_you_mean
from bench.leaderboards.published.needs import sample_plans
from bench.leaderboards.published.paper_files import address_of
from bench.leaderboards.published.papers import papers
from bench.models import METHODS
from bench.store.reading import read_cells, readable_rows_of
from bench.store.store import TOKENIZER, CellFolder, Store
from bench.tasks.core.example import Example

if TYPE_CHECKING:
    from bench.leaderboards.samples import Sample
    from bench.tasks.core.task import Task

MODES = ("full", "cache")
"""What next words are ranked by."""

FIRST = 3
"""Words shown of a ranking."""

LONGEST = 600
"""Characters of a prompt."""

STYLES = {(True, False): "red", (False, True): "cyan underline", (True, True): "red underline", (False, False): ""}
BRACKETS = {(True, False): "⟦⟧", (False, True): "‹›", (True, True): "⟦⟧", (False, False): ("", "")}
"""How (repeated, copied) spans are marked, with colours and without."""

SIDE_BY_SIDE = 4
"""Most methods that stand in columns; more stand below each other."""


@dataclass(frozen=True)
class Held:
    """Rows that a cell holds: one method's texts, or its rankings of next words."""

    cell: CellFolder
    record: Mapping[str, Any]
    of: Mapping[str, Any]
    rows: str

    @property
    def method(self) -> str:
        """The method they are shown under."""
        return str(self.of.get("shown_as") or self.record["config"]["method"])

    @property
    def decoding(self) -> str:
        """How texts were decoded, empty for rankings; a control that reads another distribution has the same."""
        return str((self.of["decoding"] or {}).get("name", "")).rpartition(":")[2]

    @property
    def group(self) -> tuple[Any, ...]:
        """What rows must share to stand side by side."""
        config = self.record["config"]
        split = (self.of["split"], self.of["split_sha256"])
        return (config["task"], config["preset"], *split, self.of["kind"], config["seed"], self.decoding)

    @property
    def backbone(self) -> str:
        """The backbone of the cell."""
        return str(self.record["config"]["backbone"])


def options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `bench samples`."""
    parser.add_argument("plan", nargs="?", metavar="PAPER/TABLE", help="a paper's table of samples")
    parser.add_argument("--task", metavar="NAME", help="of this task; default that of the table, or any")
    parser.add_argument("--methods", action="append", metavar="NAMES", help="names with commas; default all there are")
    parser.add_argument("--decoding", metavar="D", help="e.g. greedy; default the one that most methods have")
    parser.add_argument("--n", type=positive, default=5, metavar="N", help="rows to show; default 5")
    parser.add_argument("--row", metavar="ID", help="this row only")
    results_option(parser)
    data_options(parser)


def run(given: argparse.Namespace) -> int:
    """Print them; return 0, or 1 where files are damaged."""
    plan: Mapping[str, Any] = {}
    if given.plan:
        plan = plan_of(given.plan)
    methods = split_names(given.methods) or list(plan.get("methods", ()))
    store = Store(Path(given.results))
    methods = [method_name(name, store) for name in methods]
    tasks = task_names([given.task or str(plan.get("task", "all"))], store)
    decoding = given.decoding or str(plan.get("decoding", ""))
    modes = tuple(plan.get("modes", ()))
    held = [rows for rows in holding(store, tasks) if fits(rows, methods, decoding, modes)]
    side, more_cells = side_by_side(held)
    if not side:
        say_damaged(store)
        raise MissingError(how_to(given.results, plan, tasks, methods, decoding))
    notes = [f"no texts of {name} in '{given.results}'" for name in methods if name not in side] + more_cells
    samples, unread = read(store, side, given, modes or MODES)
    chosen, remarks = picked(samples, given, plan)
    write_styled(shown([*heading(side, plan), *remarks], chosen, [*notes, *unread]))
    return say_damaged(store)


def method_name(asked: str, store: Store) -> str:
    """Return the name that a method is stored under: built in, of one that the store has, or as its class says it.

    Raises:
        UsageError: there is no such method, here or in the store.
    """
    built_in, stored = all_names(METHODS), stored_names(store, METHOD)
    if asked in built_in or asked in stored:
        return asked
    if ":" in asked:
        from bench.config.resolve import find_method

        return find_method(asked).name
    raise unknown(asked, [*built_in, *stored], "method")


# What there is to show ----------------------------------------------------------------------------------------------


def plan_of(address: str) -> Mapping[str, Any]:
    """Return what a paper's table of samples shows.

    Raises:
        UsageError: there is none of this address.
    """
    known = {address_of(short, plan["name"]): plan for short, plans in sample_plans().items() for plan in plans}
    name = address.lower()
    if name in known:
        return known[name]
    if name in {table.address for paper in papers() for table in paper.tables}:
        raise UsageError(f"'{name}' is a table of numbers; bench reproduce {name} shows ours")
    raise UsageError(f"no table of samples '{address}'{did_you_mean(name, known)}")


def holding(store: Store, tasks: Sequence[str] | None) -> Iterable[Held]:
    """Yield the texts and rankings of every cell that ended well."""
    for cell in read_cells(store, tasks):
        record = cell.trained
        if record is None or record["status"] != "ok":
            continue
        seen = {score["rows"]: score["of"] for score in cell.scores if "rows" in score}
        for rows, of in seen.items():
            if of["kind"] in ("generation", "probe"):
                yield Held(cell.folder, record, of, rows)


def fits(rows: Held, methods: Sequence[str], decoding: str, modes: Sequence[str]) -> bool:
    """Return whether rows are among those asked for."""
    if methods and rows.method not in methods:
        return False
    asked = decoding.rpartition(":")[2]
    if modes or not asked:
        return rows.of["kind"] == "probe" or not modes
    return asked in (rows.decoding, rows.decoding.partition("+")[0])


def side_by_side(held: Iterable[Held]) -> tuple[dict[str, Held], list[str]]:
    """Return, by method, rows of the group that most methods are in, texts before rankings; and what is left out."""
    groups: dict[tuple[Any, ...], dict[str, list[Held]]] = {}
    for rows in held:
        groups.setdefault(rows.group, {}).setdefault(rows.method, []).append(rows)
    if not groups:
        return {}, []
    best = min(groups, key=lambda group: (-len(groups[group]), group[4] != "generation", str(group)))
    by_method = groups[best]
    backbones = [rows.backbone for every in by_method.values() for rows in every]
    common = max(dict.fromkeys(backbones), key=backbones.count)
    built_in = [name for name in all_names(METHODS) if name in by_method]
    chosen, notes = {}, []
    for method in dict.fromkeys([*built_in, *by_method]):
        every = sorted(by_method[method], key=lambda rows: rows.backbone != common)
        chosen[method] = every[0]
        if every[1:]:
            notes.append(f"{method}: {len(every) - 1} more cells of other settings are not shown")
    return chosen, notes


def how_to(
    results: str, plan: Mapping[str, Any], tasks: Sequence[str] | None, methods: Sequence[str], decoding: str
) -> str:
    """Say that there is nothing to show, and how to make it."""
    typed = f"--task {','.join(tasks or ['logicnlg'])} --method {','.join(methods) or 'all'}"
    if decoding:
        typed += f" --decode {decoding}"
    purpose = ""
    if plan:
        purpose = f" for '{plan['title']}'"
    return f"no texts in '{results}'{purpose}; bench run {typed} makes some"


# What methods wrote -------------------------------------------------------------------------------------------------


def read(
    store: Store, side: Mapping[str, Held], given: argparse.Namespace, modes: Sequence[str]
) -> tuple[list[Sample], list[str]]:
    """Return the rows that all have, with what was read and what was to be written where that can be told."""
    from bench.leaderboards.samples import Sample

    tasks = tasks_of(given)
    written: dict[str, dict[str, str]] = {}
    sources: dict[str, tuple[str, str]] = {}
    notes: dict[str, None] = {}
    for method, held in side.items():
        stored = readable_rows_of(store, held.cell, held.rows)
        if stored is None:
            notes[f"{method}: its rows are not there or damaged; bench run makes them again"] = None
            continue
        written |= texts_of(method, held, stored.rows, modes)
        for row in stored.rows:
            if "prompt" in row:
                sources[row["id"]] = (row["prompt"], row.get("reference", ""))
        if not sources:
            try:
                sources = sources_of(tasks.of(held.record, stored), held.of["split"])
            except BenchError as error:
                notes[f"sources and references are not shown: {error}"] = None
    samples = []
    for name in shared_ids(written):
        texts = {method: by_id[name] for method, by_id in written.items()}
        samples.append(Sample(name, *sources.get(name, ("", "")), texts))
    return samples, list(notes)


def shared_ids(written: Mapping[str, Mapping[str, str]]) -> list[str]:
    """Return the rows that every method wrote for, in order."""
    if not written:
        return []
    first, *rest = written.values()
    return sorted(set(first).intersection(*rest))


def sources_of(task: Task, split: str) -> dict[str, tuple[str, str]]:
    """Return what was read and what was to be written, by row, from the data of a task."""
    examples = task.split(split).examples
    return {example.id: (task.plain_source(example), reference_of(example)) for example in examples}


def reference_of(example: Example) -> str:
    """Return what was to be written; of a prompt that two words fit, both."""
    if "words" in example.fields:
        return ", ".join(example.fields["words"])
    return example.target


def texts_of(
    method: str, held: Held, rows: Sequence[Mapping[str, Any]], modes: Sequence[str]
) -> dict[str, dict[str, str]]:
    """Return texts by method and row; of rankings their first words, by method and what was ranked by."""
    if held.of["kind"] == "generation":
        return {method: {row["id"]: row["text"] for row in rows}}
    decode = decoder(held.cell)
    ranked: dict[str, dict[str, str]] = {}
    for mode in modes:
        if not all(mode in row for row in rows):
            continue
        column = ranked.setdefault(f"{method} · {mode}", {})
        for row in rows:
            column[row["id"]] = ", ".join(map(decode, row[mode][:FIRST]))
    return ranked


def decoder(cell: CellFolder) -> Callable[[int], str]:
    """Return what turns a token id into its text; the number itself where the tokenizer is not there."""
    path = cell.path / TOKENIZER
    if not path.is_file():
        return str
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(path))
    return lambda token: str(tokenizer.decode([token])).strip()


def picked(
    samples: Sequence[Sample], given: argparse.Namespace, plan: Mapping[str, Any]
) -> tuple[list[Sample], list[str]]:
    """Return the rows to show, and what to say of the choice."""
    from bench.leaderboards.samples import most_different

    if given.row is not None:
        known = {sample.id: sample for sample in samples}
        if given.row not in known:
            raise UsageError(f"no row '{given.row}' that all these methods have{near(given.row, list(known))}")
        return [known[given.row]], []
    ordered = most_different(samples)
    prompts = plan.get("prompts", ())
    if not prompts:
        return ordered[: given.n], []
    of_paper = [sample for sample in ordered if has_any(sample, prompts)]
    if of_paper:
        return of_paper[: given.n], []
    remark = "none of the paper's prompts is among the stored rows: these are the most different ones"
    return ordered[: given.n], [remark]


def has_any(sample: Sample, prompts: Sequence[str]) -> bool:
    """Whether a sample holds one of a paper's prompts."""
    text = f"{sample.prompt} {sample.reference}"
    return any(has_parts(text, prompt) for prompt in prompts)


def has_parts(text: str, prompt: str) -> bool:
    """Whether a text holds every part of a prompt, whose parts stand between commas."""
    return all(part.strip() in text for part in prompt.split(","))


def near(name: str, names: Sequence[str]) -> str:
    """Return the nearest name, or one that there is."""
    if not names:
        return ""
    if close := difflib.get_close_matches(name, names, n=1):
        return did_you_mean(name, close)
    return f"; there is, for example, '{names[0]}'"


# How it is shown ----------------------------------------------------------------------------------------------------


def heading(side: Mapping[str, Held], plan: Mapping[str, Any]) -> list[str]:
    """Say what is shown, and what the paper's table shows."""
    first = next(iter(side.values()))
    task, preset, split, _, _, seed, decoding = first.group
    settings = [task, f"{split} split", f"preset {preset}", f"seed {seed}", decoding]
    lines = [" · ".join(filter(None, settings))]
    if plan:
        paper = f"the paper: {plan['title']}; {', '.join(plan['methods'])} on {plan['backbone']}"
        if plan.get("decoding"):
            paper += f", {plan['decoding']}"
        lines += [paper, f"its prompts: {'; '.join(plan['prompts'])}"]
    return lines


def shown(headings: Sequence[str], samples: Sequence[Sample], notes: Sequence[str]) -> str:
    """Render samples for a terminal; without colours, marks are brackets."""
    from rich.console import Console
    from rich.text import Text

    colours, stream = sys.stdout.isatty(), io.StringIO()
    width = max(120, shutil.get_terminal_size((150, 24)).columns)
    console = Console(file=stream, force_terminal=colours, width=width, highlight=False)
    for line in headings:
        console.print(Text(clean(line), style="bold"))
    repeated, copied = "⟦ ⟧", "‹ ›"
    if colours:
        repeated, copied = "red", "underlined"
    console.print(Text(f"{repeated}: four words that came before; {copied}: four words or more of the prompt"))
    for sample in samples:
        console.print()
        console.print(Text(clean(sample.id), style="bold"))
        for label, text in (("prompt", sample.prompt), ("reference", sample.reference)):
            if text:
                console.print(Text(f"{label}: {cut(clean(text))}", style="dim"))
        console.print(grid_of(sample, colours))
    for note in notes:
        console.print(Text(clean(note)))
    return stream.getvalue()


def grid_of(sample: Sample, colours: bool) -> Any:
    """Return a rich table of what methods wrote: a column for each, or a line where they are many."""
    from rich.table import Table
    from rich.text import Text

    texts = {name: painted(text, sample.prompt, colours) for name, text in sample.texts.items()}
    if len(texts) <= SIDE_BY_SIDE:
        grid = Table(pad_edge=False, expand=True)
        for name in texts:
            grid.add_column(Text(clean(name)), overflow="fold", ratio=1)
        grid.add_row(*texts.values())
        return grid
    grid = Table(show_header=False, pad_edge=False, show_lines=True)
    for name in ("method", "text"):
        grid.add_column(name, overflow="fold")
    for name, text in texts.items():
        grid.add_row(Text(clean(name)), text)
    return grid


def painted(text: str, source: str, colours: bool) -> Any:
    """Return a text with its marks as styles or brackets."""
    from rich.text import Text

    from bench.leaderboards.samples import marked

    painted_text = Text()
    for span in marked(clean(text), clean(source)):
        kind = (span.repeated, span.copied)
        left, right = BRACKETS[kind]
        if colours:
            left = right = ""
        painted_text.append(f"{left}{span.text}{right}", style=STYLES[kind])
    return painted_text


def clean(text: str) -> str:
    """Return a text in one line without anything a terminal would obey: models write what they like.

    >>> clean("a\\n\\tb\\x1b[31m \\u202ec")
    'a b c'
    """
    return plain(" ".join(text.split()))


def cut(text: str) -> str:
    """Return beginning and end of a long text."""
    if len(text) <= LONGEST:
        return text
    return f"{text[: LONGEST * 2 // 3]} … {text[-LONGEST // 3 :]}"
