"""Samples: the texts that methods generated for the same rows of a store, side by side, the most different first."""

import io
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import TYPE_CHECKING, Any

from rich.table import Table
from rich.text import Text

from bench.base.keys import canonical
from bench.base.printable import number_of, one_line
from bench.base.registry import all_names
from bench.errors import BenchError
from bench.leaderboards.render.text_table import console_of, escaped, markdown_table
from bench.metrics.diversity.copying import words_of
from bench.models import METHODS
from bench.store.reading import is_imported, read_cells
from bench.store.store import CellFolder, Store

if TYPE_CHECKING:
    from bench.store.files import StoredRows
    from bench.tasks.core.task import Task

TaskOf = Callable[[Mapping[str, Any], "StoredRows", CellFolder], "Task | None"]
"""Returns the task that predictions of a run were made on, by its record, the predictions and its folder."""
LONGEST = 600
"""Characters of a prompt."""
NARROWEST_COLUMN = 30
"""Least characters of a column of texts; where there is less room, each method has a line."""


@dataclass(frozen=True)
class Sample:
    """One row: what was read, what was to be written, and what each method wrote, by name."""

    id: str
    prompt: str
    reference: str
    texts: Mapping[str, str]


@dataclass(frozen=True)
class Held:
    """Predictions of a run: the texts of one method.

    Args:
        cell: folder of the run.
        record: of its training.
        of: the header of the predictions.
        rows: their key.
    """

    cell: CellFolder
    record: Mapping[str, Any]
    of: Mapping[str, Any]
    rows: str

    @property
    def method(self) -> str:
        """The name of the method in tables."""
        return str(self.of.get("shown_as") or self.record["config"]["method"])

    @property
    def decoding(self) -> str:
        """The decoding, without the distribution that a control reads."""
        return str(self.of["decoding"]["name"]).rpartition(":")[2]

    @property
    def group(self) -> tuple[Any, ...]:
        """The properties that predictions must share to be shown side by side."""
        config = self.record["config"]
        return (config["task"], config["preset"], *self.split, config["seed"], self.decoding)

    @property
    def split(self) -> tuple[str, str]:
        """Name and hash of the split."""
        return self.of["split"], self.of["split_sha256"]

    def fits(self, methods: Sequence[str], decoding: str) -> bool:
        """Return whether these predictions are of given methods and decoding; empty ones fit all."""
        wanted = decoding.rpartition(":")[2]
        of_decoding = is_imported(self.record) or wanted in ("", self.decoding, self.decoding.partition("+")[0])
        return of_decoding and (not methods or self.method in methods)


def holding(store: Store, tasks: Collection[str] | None) -> Iterator[Held]:
    """Yield the texts of every run that ended well; of several samplings that of the run's seed, or of the lowest."""
    for cell in read_cells(store, tasks):
        if cell.trained is None or cell.trained["status"] != "ok":
            continue
        texts = {score["rows"]: score["of"] for score in cell.scores if "rows" in score}
        found: dict[bytes, Held] = {}
        for rows, of in sorted(texts.items(), key=lambda of_rows: of_rows[1].get("sampling_seed", -1)):
            if of["kind"] == "generation":
                found.setdefault(canonical({**of, "sampling_seed": None}), Held(cell.folder, cell.trained, of, rows))
        yield from found.values()


def side_by_side(found: Iterable[Held]) -> tuple[dict[str, Held], list[str]]:
    """Return the predictions of the group that most methods are in.

    Texts of other systems join every group of the same split.

    Returns:
        Predictions by method, and notes about runs that are not shown.
    """
    groups: dict[tuple[Any, ...], dict[str, list[Held]]] = {}
    for rows in sorted(found, key=lambda rows: is_imported(rows.record)):
        joined = [rows.group]
        if is_imported(rows.record):
            joined = [group for group in groups if (group[0], *group[2:4]) == (rows.group[0], *rows.split)] or joined
        for group in joined:
            groups.setdefault(group, {}).setdefault(rows.method, []).append(rows)
    if not groups:
        return {}, []
    by_method = groups[min(groups, key=lambda group: (-len(groups[group]), str(group)))]
    backbones = Counter(rows.record["config"]["backbone"] for every in by_method.values() for rows in every)
    common = max(backbones, key=backbones.__getitem__)
    chosen, notes = {}, []
    for method in dict.fromkeys([*filter(by_method.__contains__, all_names(METHODS)), *by_method]):
        first, *others = sorted(by_method[method], key=lambda rows: rows.record["config"]["backbone"] != common)
        chosen[method] = first
        n_others = len({rows.record["key"] for rows in others} - {first.record["key"]})  # two folders may have one run
        if n_others:
            notes.append(f"{method}: {number_of(n_others, 'more runs of other settings are not shown')}")
    return chosen, notes


def read(store: Store, side: Mapping[str, Held], task_of: TaskOf) -> tuple[list[Sample], list[str]]:
    """Return the rows that all methods have, with source and reference where the data is there; and notes.

    Args:
        store: of the predictions.
        side: predictions by method, from `side_by_side`.
        task_of: returns the task of a record for sources and references, such as `Tasks().of`; None to do without.
    """
    texts: dict[str, dict[str, str]] = {}
    sources: dict[str, tuple[str, str]] = {}
    notes, unread = dict[str, None](), list[str]()
    for method, held in side.items():
        stored = store.readable(partial(held.cell.rows, held.rows))
        if stored is None:
            unread.append(method)
            continue
        texts[method] = {row["id"]: row["text"] for row in stored.rows}
        sources |= {row["id"]: (row["prompt"], row.get("reference", "")) for row in stored.rows if "prompt" in row}
        if not sources:
            try:
                task = task_of(held.record, stored, held.cell)
                sources = {} if task is None else task.readable(held.of["split"])
            except BenchError as error:
                notes[f"sources and references are not shown: {error}"] = None
    if unread:
        why = "are not in a snapshot" if store.files.is_snapshot else "are missing or damaged"
        notes[f"predictions of {', '.join(unread)} {why}; bench run makes them again"] = None
    shared = set.intersection(*map(set, texts.values())) if texts else set[str]()
    samples = [
        Sample(name, *sources.get(name, ("", "")), {method: by_id[name] for method, by_id in texts.items()})
        for name in sorted(shared)
    ]
    return samples, list(notes)


def most_different(samples: Sequence[Sample]) -> list[Sample]:
    """Return samples by how unlike their methods' texts are, the most unlike first, ties by id.

    >>> alike = Sample("a", "", "", {"x": "a dog", "y": "a dog"})
    >>> unlike = Sample("b", "", "", {"x": "a dog", "y": "cats"})
    >>> [sample.id for sample in most_different([alike, unlike])]
    ['b', 'a']
    """
    return sorted(samples, key=lambda sample: (-difference(list(sample.texts.values())), sample.id))


def difference(texts: Sequence[str]) -> float:
    """Return the mean over pairs of texts of 1 less the share of words they share, counted as often as they occur.

    >>> difference(["a dog ran", "a dog ran"]), difference(["a dog", "two cats"]), difference(["a dog", "a cat"])
    (0.0, 1.0, 0.6666666666666667)
    """
    pairs = list(combinations(map(Counter, words_of(texts)), 2))
    unlike = [1 - (one & other).total() / (one | other).total() for one, other in pairs if one or other]
    return sum(unlike) / len(pairs) if pairs else 0.0


# Forms ----------------------------------------------------------------------------------------------------------------


def shown(headings: Sequence[str], samples: Sequence[Sample], notes: Sequence[str]) -> str:
    """Render samples for a terminal."""
    stream = io.StringIO()
    console = console_of(stream)
    for line in headings:
        console.print(Text(_clean(line), style="bold"))
    for sample in samples:
        console.print()
        console.print(Text(_clean(sample.id), style="bold"))
        for label, text in (("prompt", sample.prompt), ("reference", sample.reference)):
            if text:
                console.print(Text(f"{label}: {_cut(text)}", style="dim"))
        console.print(_grid(sample, console.width))
    for note in notes:
        console.print(Text(_clean(note)))
    return stream.getvalue()


def in_markdown(headings: Sequence[str], samples: Sequence[Sample], notes: Sequence[str]) -> str:
    """Render samples as one table in Markdown: a column for each prompt, a line for each method."""
    rows = [["**prompt**", *(escaped(_cut(sample.prompt)) for sample in samples)]]
    if any(sample.reference for sample in samples):
        rows.append(["**reference**", *(escaped(_cut(sample.reference)) for sample in samples)])
    for name in dict.fromkeys(name for sample in samples for name in sample.texts):
        texts = [escaped(_clean(sample.texts.get(name, ""))) for sample in samples]
        rows.append([escaped(_clean(name)), *texts])
    table = markdown_table(["", *(escaped(_clean(sample.id)) for sample in samples)], rows)
    return "\n".join([*map(_clean, headings), "", *table, "", *map(_clean, notes)]) + "\n"


def _grid(sample: Sample, width: int) -> Table:
    """Return what methods wrote: a column for each, or a line where there is no room for all in a line's characters."""
    texts = {_clean(name): Text(_clean(text)) for name, text in sample.texts.items()}
    by_columns = len(texts) * NARROWEST_COLUMN <= width
    grid = Table(show_header=by_columns, pad_edge=False, show_lines=not by_columns, expand=by_columns)
    if by_columns:
        for name in texts:
            grid.add_column(Text(name), overflow="fold", ratio=1)
        grid.add_row(*texts.values())
    else:
        grid.add_column("method", overflow="fold", max_width=width // 3)
        grid.add_column("text", overflow="fold")
        for name, text in texts.items():
            grid.add_row(Text(name), text)
    return grid


def _clean(text: str) -> str:
    """Return a text in one line without anything a terminal would obey: models write what they like.

    >>> _clean("a\\n\\tb\\x1b[31m \\u202ec")
    'a b c'
    """
    return one_line(" ".join(text.split()))


def _cut(text: str) -> str:
    """Return beginning and end of a long text, cleaned."""
    text = _clean(text)
    return text if len(text) <= LONGEST else f"{text[: LONGEST * 2 // 3]} … {text[-LONGEST // 3 :]}"
