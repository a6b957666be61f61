"""`bench samples`: what methods wrote for the same rows, side by side, the most different first."""

from __future__ import annotations

import argparse
import io
import shutil
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.base.entries import all_names, split_names
from bench.cells.score import Tasks
from bench.cli_options import task_names
from bench.config.config import parse_sets
from bench.errors import BenchError, MissingError, UsageError, did_you_mean
from bench.leaderboards.published.needs import address_of, sample_plans
from bench.leaderboards.published.papers import papers
from bench.leaderboards.render.grid import plain
from bench.leaderboards.samples import Sample, marked, most_different
from bench.models import METHODS
from bench.store.store import TOKENIZER, CellFolder, Store
from bench.tasks.core.example import Example

MODES = ("full", "cache")
FIRST = 3
"""Words of a ranking."""
LONGEST = 600
"""Characters of a prompt."""
STYLES = {(True, False): "red", (False, True): "cyan underline", (True, True): "red underline", (False, False): ""}
BRACKETS = {(True, False): "⟦⟧", (False, True): "‹›", (True, True): "⟦⟧", (False, False): ("", "")}
SIDE_BY_SIDE = 4


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
        return (config["task"], config["preset"], self.of["split"], self.of["split_sha256"], self.of["kind"],
                config["seed"], self.decoding)  # fmt: skip


def samples(given: argparse.Namespace) -> int:
    """Print them."""
    plan = plan_of(given.plan) if given.plan else {}
    methods = split_names(given.methods) or list(plan.get("methods", ()))
    for name in methods:
        if name not in all_names(METHODS) and ":" not in name:
            raise UsageError(f"no method '{name}'{did_you_mean(name, all_names(METHODS))}")
    wanted = task_names([given.task or str(plan.get("task", "all"))])
    decoding = given.decoding or str(plan.get("decoding", ""))
    held = [one for one in holding(Store(Path(given.results)), wanted)
            if fits(one, methods, decoding, tuple(plan.get("modes", ())))]  # fmt: skip
    side, notes = side_by_side(held)
    if not side:
        raise MissingError(how_to(given.results, plan, wanted, methods, decoding))
    notes = [f"no texts of {name} in '{given.results}'" for name in methods if name not in side] + notes
    found, more = read(side, given, tuple(plan.get("modes", MODES)))
    sys.stdout.write(shown(heading(side, plan), *picked(found, given, plan), [*notes, *more]))
    return 0


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
    for cell in store.cells():
        record = cell.trained()
        if record is None or record["status"] != "ok" or (tasks is not None and record["config"]["task"] not in tasks):
            continue
        seen = {one["rows"]: one["of"] for one in cell.all_scores() if "rows" in one}
        for rows, of in seen.items():
            if of["kind"] in ("generation", "probe"):
                yield Held(cell, record, of, rows)


def fits(one: Held, methods: Sequence[str], decoding: str, modes: Sequence[str]) -> bool:
    """Return whether rows are among those asked for."""
    asked = decoding.rpartition(":")[2]
    if methods and one.method not in methods:
        return False
    if modes or not asked:
        return one.of["kind"] == "probe" or not modes
    return asked in (one.decoding, one.decoding.partition("+")[0])


def side_by_side(held: Iterable[Held]) -> tuple[dict[str, Held], list[str]]:
    """Return, by method, rows of the group that most methods are in, texts before rankings; and what is left out."""
    groups: dict[tuple[Any, ...], dict[str, list[Held]]] = {}
    for one in held:
        groups.setdefault(one.group, {}).setdefault(one.method, []).append(one)
    if not groups:
        return {}, []
    best = min(groups, key=lambda g: (-len(groups[g]), g[4] != "generation", str(g)))
    backbones = [one.record["config"]["backbone"] for every in groups[best].values() for one in every]
    common = max(dict.fromkeys(backbones), key=backbones.count)
    chosen, notes = {}, []
    for method in [name for name in all_names(METHODS) if name in groups[best]] or list(groups[best]):
        every = sorted(groups[best][method], key=lambda one: one.record["config"]["backbone"] != common)
        chosen[method] = every[0]
        notes += [f"{method}: {len(every) - 1} more cells of other settings are not shown"] if every[1:] else []
    chosen |= {method: every[0] for method, every in groups[best].items() if method not in chosen}
    return chosen, notes


def how_to(
    results: str, plan: Mapping[str, Any], tasks: Sequence[str] | None, methods: Sequence[str], decoding: str
) -> str:
    """Say that there is nothing to show, and how to make it."""
    typed = f"--task {','.join(tasks or ['logicnlg'])} --method {','.join(methods) or 'all'}"
    typed += f" --decode {decoding}" if decoding else ""
    asked = f" for '{plan['title']}'" if plan else ""
    return f"no texts in '{results}'{asked}; bench run {typed} makes some"


def read(side: Mapping[str, Held], given: argparse.Namespace, modes: Sequence[str]) -> tuple[list[Sample], list[str]]:
    """Return the rows that all have, with what was read and what was to be written where that can be told."""
    tasks = Tasks(Path(given.data_dir) if given.data_dir else None,
                  parse_sets([text for texts in given.sets for text in texts]))  # fmt: skip
    written: dict[str, dict[str, str]] = {}
    asked: dict[str, tuple[str, str]] = {}
    notes: dict[str, None] = {}
    for method, one in side.items():
        stored = one.cell.rows(one.rows)
        if stored is None:
            notes[f"{method}: its rows are not there; bench run makes them again"] = None
            continue
        written |= texts_of(method, one, stored.rows, modes)
        asked |= {row["id"]: (row["prompt"], row.get("reference", "")) for row in stored.rows if "prompt" in row}
        if not asked:
            try:
                task = tasks.of(one.record, stored)
                asked = {e.id: (task.plain_source(e), reference_of(e)) for e in task.split(one.of["split"]).examples}
            except BenchError as error:
                notes[f"sources and references are not shown: {error}"] = None
    shared = sorted(set.intersection(*(set(texts) for texts in written.values()))) if written else []
    return [Sample(name, *asked.get(name, ("", "")), {method: texts[name] for method, texts in written.items()})
            for name in shared], list(notes)  # fmt: skip


def reference_of(example: Example) -> str:
    """Return what was to be written; of a prompt that two words fit, both."""
    return ", ".join(example.fields["words"]) if "words" in example.fields else example.target


def texts_of(
    method: str, one: Held, rows: Sequence[Mapping[str, Any]], modes: Sequence[str]
) -> dict[str, dict[str, str]]:
    """Return texts by method and row; of rankings their first words, by method and what was ranked by."""
    if one.of["kind"] == "generation":
        return {method: {row["id"]: row["text"] for row in rows}}
    words = decoder(one.cell)
    return {f"{method} · {mode}": {row["id"]: ", ".join(words(token) for token in row[mode][:FIRST]) for row in rows}
            for mode in modes if all(mode in row for row in rows)}  # fmt: skip


def decoder(cell: CellFolder) -> Any:
    """Return what turns a token id into its text; the number itself where the tokenizer is not there."""
    path = cell.path / TOKENIZER
    if not path.is_file():
        return str
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(path))
    return lambda token: tokenizer.decode([token]).strip()


def picked(
    found: Sequence[Sample], given: argparse.Namespace, plan: Mapping[str, Any]
) -> tuple[list[Sample], Sequence[str]]:
    """Return the rows to show, and what to say of the choice."""
    if given.row is not None:
        known = {sample.id: sample for sample in found}
        if given.row not in known:
            raise UsageError(f"no row '{given.row}' that all these methods have{near(given.row, list(known))}")
        return [known[given.row]], []
    ordered = most_different(found)
    prompts = [[part.strip() for part in prompt.split(",")] for prompt in plan.get("prompts", ())]
    of_paper = [
        sample
        for sample in ordered
        if any(all(part in f"{sample.prompt} {sample.reference}" for part in parts) for parts in prompts)
    ]
    lacking = "none of the paper's prompts is among the stored rows: these are the most different ones"
    said = [] if of_paper or not prompts else [lacking]
    return (of_paper or ordered)[: given.n], said


def near(name: str, names: Sequence[str]) -> str:
    """Return the nearest name, or one that there is."""
    import difflib

    close = difflib.get_close_matches(name, names, n=1)
    return did_you_mean(name, close) if close else f"; there is, for example, '{names[0]}'" if names else ""


def heading(side: Mapping[str, Held], plan: Mapping[str, Any]) -> list[str]:
    """Say what is shown, and what the paper's table shows."""
    one = next(iter(side.values()))
    task, preset, split, _, _, seed, decoding = one.group
    said = [" · ".join(filter(None, [task, f"{split} split", f"preset {preset}", f"seed {seed}", decoding]))]
    if plan:
        said += [f"the paper: {plan['title']}; {', '.join(plan['methods'])} on {plan['backbone']}"
                 + (f", {plan['decoding']}" if plan.get("decoding") else ""),
                 f"its prompts: {'; '.join(plan['prompts'])}"]  # fmt: skip
    return said


def shown(said: Sequence[str], found: Sequence[Sample], remarks: Sequence[str], notes: Sequence[str]) -> str:
    """Render samples for a terminal; without colours, marks are brackets."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    colours, stream = sys.stdout.isatty(), io.StringIO()
    width = max(120, shutil.get_terminal_size((150, 24)).columns)
    console = Console(file=stream, force_terminal=colours, width=width, highlight=False)
    for line in (*said, *remarks):
        console.print(Text(clean(line), style="bold"))
    repeated, copied = ("red", "underlined") if colours else ("⟦ ⟧", "‹ ›")
    console.print(Text(f"{repeated}: four words that came before; {copied}: four words or more of the prompt"))
    for sample in found:
        console.print()
        console.print(Text(clean(sample.id), style="bold"))
        for label, text in (("prompt", sample.prompt), ("reference", sample.reference)):
            if text:
                console.print(Text(f"{label}: {cut(clean(text))}", style="dim"))
        texts = {name: painted(text, sample.prompt, colours) for name, text in sample.texts.items()}
        beside = len(texts) <= SIDE_BY_SIDE
        grid = Table(show_header=beside, pad_edge=False, expand=beside, show_lines=not beside)
        for heading in texts if beside else ("method", "text"):
            grid.add_column(Text(clean(heading)), overflow="fold", ratio=1 if beside else None)
        for cells in [list(texts.values())] if beside else [[Text(clean(n)), t] for n, t in texts.items()]:
            grid.add_row(*cells)
        console.print(grid)
    for note in notes:
        console.print(Text(clean(note)))
    return stream.getvalue()


def painted(text: str, source: str, colours: bool) -> Any:
    """Return a text with its marks as styles or brackets."""
    from rich.text import Text

    made = Text()
    for span in marked(clean(text), clean(source)):
        kind = (span.repeated, span.copied)
        left, right = ("", "") if colours else BRACKETS[kind]
        made.append(f"{left}{span.text}{right}", style=STYLES[kind])
    return made


def clean(text: str) -> str:
    """Return a text in one line without anything a terminal would obey: models write what they like.

    >>> clean("a\\n\\tb\\x1b[31m \\u202ec")
    'a b[31m c'
    """
    return plain(" ".join(text.split()))


def cut(text: str) -> str:
    """Return beginning and end of a long text."""
    return text if len(text) <= LONGEST else f"{text[: LONGEST * 2 // 3]} … {text[-LONGEST // 3 :]}"
