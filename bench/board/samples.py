"""Samples: what methods wrote for the same rows of a store, side by side."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bench.base.entries import all_names
from bench.errors import BenchError, UsageError, did_you_mean
from bench.leaderboards.samples import Sample, most_different
from bench.models import METHODS
from bench.store.fields import is_imported
from bench.store.reading import read_cells, readable_rows_of
from bench.store.store import TOKENIZER, CellFolder, Store
from bench.tasks.core.readable import sources_of

if TYPE_CHECKING:
    from bench.cells.score import Tasks

__all__ = ["MODES", "Held", "fits", "holding", "picked", "read", "side_by_side"]

MODES = ("full", "cache")
"""What next words are ranked by."""

FIRST = 3
"""Words shown of a ranking."""


@dataclass(frozen=True)
class Held:
    """Rows that a run holds: one method's texts, or its rankings of next words."""

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
    def is_imported(self) -> bool:
        """Whether another system wrote them."""
        return is_imported(self.record)

    def may_join(self, group: tuple[Any, ...]) -> bool:
        """Return whether texts of another system may stand beside those of a group: they are of the same split."""
        task, _, split, split_sha256, kind, _, _ = group
        return (task, split, split_sha256, kind) == (self.group[0], *self.group[2:5])

    @property
    def backbone(self) -> str:
        """The backbone of the cell."""
        return str(self.record["config"]["backbone"])


def holding(store: Store, tasks: Sequence[str] | None) -> Iterable[Held]:
    """Yield the texts and rankings of every run that ended well."""
    for cell in read_cells(store, tasks):
        record = cell.trained
        if record is None or record["status"] != "ok":
            continue
        seen = {score["rows"]: score["of"] for score in cell.scores if "rows" in score}
        for rows, of in seen.items():
            if of["kind"] in ("generation", "probe") and "sampling_seed" not in of:
                yield Held(cell.folder, record, of, rows)


def fits(rows: Held, methods: Sequence[str], decoding: str, modes: Sequence[str]) -> bool:
    """Return whether rows are among those asked for."""
    if methods and rows.method not in methods:
        return False
    if rows.is_imported:
        return not modes
    asked = decoding.rpartition(":")[2]
    if modes or not asked:
        return rows.of["kind"] == "probe" or not modes
    return asked in (rows.decoding, rows.decoding.partition("+")[0])


def side_by_side(held: Iterable[Held]) -> tuple[dict[str, Held], list[str]]:
    """Return, by method, rows of the group that most methods are in, texts before rankings; and what is left out."""
    groups: dict[tuple[Any, ...], dict[str, list[Held]]] = {}
    imported: list[Held] = []
    for rows in held:
        if rows.is_imported:
            imported.append(rows)
        else:
            groups.setdefault(rows.group, {}).setdefault(rows.method, []).append(rows)
    for rows in imported:
        for group in [group for group in groups if rows.may_join(group)] or [rows.group]:
            groups.setdefault(group, {}).setdefault(rows.method, []).append(rows)
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
            notes.append(f"{method}: {len(every) - 1} more runs of other settings are not shown")
    return chosen, notes


def read(
    store: Store, side: Mapping[str, Held], tasks: Tasks, modes: Sequence[str] = MODES
) -> tuple[list[Sample], list[str]]:
    """Return the rows that all have, with what was read and what was to be written where that can be told; and notes.

    Args:
        store: where they are held.
        side: what each method wrote, from `side_by_side`.
        tasks: read again for sources and references.
        modes: what next words are ranked by.
    """
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
                sources = sources_of(tasks.of(held.record, stored, held.cell), held.of["split"])
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
    samples: Sequence[Sample], n: int, row: str | None = None, prompts: Sequence[str] = ()
) -> tuple[list[Sample], list[str]]:
    """Return the rows to show, and what to say of the choice.

    Args:
        samples: all there are.
        n: most rows; the most different come first.
        row: id of the only row to show.
        prompts: of a paper; rows that hold one are shown before others.

    Raises:
        UsageError: there is no such row.
    """
    if row is not None:
        known = {sample.id: sample for sample in samples}
        if row not in known:
            raise UsageError(f"no row '{row}' that all these methods have{near(row, list(known))}")
        return [known[row]], []
    ordered = most_different(samples)
    if not prompts:
        return ordered[:n], []
    of_paper = [sample for sample in ordered if has_any(sample, prompts)]
    if of_paper:
        return of_paper[:n], []
    remark = "none of the paper's prompts is among the stored rows: these are the most different ones"
    return ordered[:n], [remark]


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
