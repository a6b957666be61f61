"""Tables: a pure function of the stored files. Numbers share a column only when they measure the same thing."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from bench.keys import key_of
from bench.leaderboards.papers import Published, published
from bench.store import Store
from bench.tasks import TASKS

SHORT = 1  # decimals shown


@dataclass(frozen=True)
class Value:
    """One number of a row: the mean over seeds, with the seeds it comes from."""

    by_seed: Mapping[int, float]
    higher_is_better: bool | None
    signature: str
    conflict: bool = False

    @property
    def mean(self) -> float:
        """Mean over seeds."""
        return statistics.fmean(self.by_seed.values())

    @property
    def n(self) -> int:
        """Number of seeds."""
        return len(self.by_seed)


@dataclass
class TableRow:
    """One method under one configuration and decoding."""

    method: str
    backbone: str
    decoding: str
    config: Mapping[str, Any]
    values: dict[str, Value] = field(default_factory=dict)
    diverged: int = 0
    seeds: set[int] = field(default_factory=set)
    settings: str = ""
    keys: set[str] = field(default_factory=set)

    @property
    def label(self) -> str:
        """For people."""
        return self.method + (f" ({self.settings})" if self.settings else "")


@dataclass
class Table:
    """One leaderboard: rows that were measured on exactly the same examples."""

    task: str
    split: str
    n: int
    status: Mapping[str, str]
    rows: list[TableRow]
    columns: list[str]
    published: Sequence[Published]
    preset: str
    whole: bool

    @property
    def title(self) -> str:
        """What was measured on what."""
        rows = f"{self.n:,} rows" + ("" if self.whole else ", a declared subset")
        return f"{self.task} · {self.split} split, {rows} · preset {self.preset}"

    @property
    def watermark(self) -> str:
        """What keeps the numbers from being comparable with published ones, or nothing."""
        odd = [f"{split} data: {status}" for split, status in self.status.items() if status != "official"]
        return "; ".join(odd)

    def best(self, column: str) -> set[int]:
        """Return the indices of the rows with the best value of a column, as shown."""
        held = {i: row.values[column] for i, row in enumerate(self.rows) if column in row.values}
        if len(held) < 2:
            return set()
        direction = next(iter(held.values())).higher_is_better
        if direction is None:
            return set()
        shown = {i: round(value.mean, 2) for i, value in held.items()}
        top = max(shown.values()) if direction else min(shown.values())
        return {i for i, mean in shown.items() if mean == top}


def tables(
    store: Store, tasks: Iterable[str] | None = None, columns: str = "default", limited: bool = False
) -> tuple[list[Table], list[str]]:
    """Build every leaderboard a store can give.

    Args:
        store: read only.
        tasks: names; None for all.
        columns: `default` or `all`.
        limited: show the cells run with --limit, marked as such, and no others.

    Returns:
        Tables, and notes about what was left out and why.
    """
    groups: dict[str, dict[str, Any]] = {}
    notes: dict[str, int] = defaultdict(int)
    diverged = []
    wanted = None if tasks is None else set(tasks)
    for cell in store.cells():
        record = cell.trained() or cell.failed() or {}
        config = record["config"]
        if wanted is not None and config["task"] not in wanted:
            continue
        if (config["trainer"]["limit"] is not None) != limited:
            notes["cells run with --limit are left out"] += not limited
        elif record["status"] == "ok":
            _add_cell(groups, record, cell.all_scores())
        elif record["status"] == "diverged":
            diverged.append(record)
        else:
            notes["cells failed and have no number"] += 1
    for record in diverged:
        _add_diverged(groups, record)
    built = [table for _, group in sorted(groups.items()) if (table := _finish(group, columns)).rows]
    order = list(TASKS)
    built.sort(key=lambda t: (order.index(t.task) if t.task in order else len(order), t.preset, t.split, -t.n))
    return built, [f"{n} {note}" for note, n in sorted(notes.items()) if n]


def _base(trained: Mapping[str, Any]) -> dict[str, Any]:
    """Return what all cells of one table share, whatever rows they are evaluated on."""
    config = trained["config"]
    return {
        "task": config["task"],
        "preset": config["preset"],
        "data": {name: [m["status"], m["sha256"]] for name, m in trained["data"].items()},
        "limit": config["trainer"]["limit"],
    }


def _add_diverged(groups: dict[str, dict[str, Any]], trained: Mapping[str, Any]) -> None:
    """Count a diverged cell in every table it would be in; it is never a number."""
    base = _base(trained)
    for group in groups.values():
        if all(group[name] == value for name, value in base.items()):
            _row(group, trained, "").diverged += 1


def _add_cell(
    groups: dict[str, dict[str, Any]], trained: Mapping[str, Any], scores: Sequence[Mapping[str, Any]]
) -> None:
    """File one cell's scores under the examples they come from."""
    base = _base(trained)
    main = [s["of"] for s in scores if s["of"]["kind"] in ("likelihood", "generation")]
    for score in scores:
        of = score["of"]
        homes = [of]
        if of["kind"] not in ("likelihood", "generation"):  # a probe belongs to the evaluation its prompts are from
            homes = [home for home in main if home["split"] == of["split"] and home["of_rows"] == of["of_rows"]]
        for home in homes:
            key = key_of({**base, "split": home["split"], "ids": home["ids"]})
            about = {"split": home["split"], "n": home["ids"]["n"], "whole": home["whole_split"], "rows": {}}
            group = groups.setdefault(key, {**base, **about})
            row = _row(group, trained, decoding_name(of["decoding"]))
            for value in score["values"]:
                if value["value"] is not None:
                    _put(row, value, trained["config"]["seed"])


def decoding_name(decoding: Mapping[str, Any] | None) -> str:
    """Return a decoding's short name, empty for evaluations without one."""
    return "" if decoding is None else str(decoding["name"])


def _row(group: dict[str, Any], trained: Mapping[str, Any], decoding: str) -> TableRow:
    config = {k: v for k, v in trained["config"].items() if k not in ("seed", "decodings", "evaluation")}
    key = key_of({"config": config, "code": trained["method"], "decoding": decoding})
    if key not in group["rows"]:
        group["rows"][key] = TableRow(config["method"], config["backbone"], decoding, config)
    row: TableRow = group["rows"][key]
    row.seeds.add(trained["config"]["seed"])
    row.keys.add(trained["key"])
    return row


def _put(row: TableRow, value: Mapping[str, Any], seed: int) -> None:
    """Add one seed's value; two different numbers for one seed are a conflict and are shown as one."""
    name, old = value["name"], row.values.get(value["name"])
    if old is not None and old.signature != value["signature"]:
        name, old = f"{name} [{value['signature']}]", row.values.get(f"{name} [{value['signature']}]")
    by_seed = dict(old.by_seed) if old else {}
    conflict = (old.conflict if old else False) or (seed in by_seed and by_seed[seed] != value["value"])
    by_seed[seed] = value["value"]
    row.values[name] = Value(by_seed, value["higher_is_better"], value["signature"], conflict)


def _finish(group: Mapping[str, Any], columns: str) -> Table:
    """Order rows and columns, spread values that have no decoding over their method's decodings, name settings."""
    rows = _spread(list(group["rows"].values()))
    entry = TASKS.get(group["task"])
    there = {name for row in rows for name in row.values}
    preferred = [c for c in (entry.columns if entry else ()) if c in there]
    shown = preferred if columns == "default" and preferred else [*preferred, *sorted(there - set(preferred))]
    primary = entry.primary if entry and entry.primary in there else (shown[0] if shown else "")
    rows.sort(key=lambda r: (-(_sortable(r, primary)), r.method, r.decoding))
    _name_settings(rows)
    status = {name: data[0] for name, data in group["data"].items()}
    if group["limit"] is not None:
        status = {**status, "all": f"cut by --limit {group['limit']}"}
    return Table(
        group["task"],
        group["split"],
        group["n"],
        status,
        rows,
        shown,
        published(group["task"]),
        group["preset"],
        group["whole"],
    )


def _sortable(row: TableRow, primary: str) -> float:
    value = row.values.get(primary)
    if value is None:
        return float("-inf")
    return value.mean if value.higher_is_better is not False else -value.mean


def _spread(rows: list[TableRow]) -> list[TableRow]:
    """Copy likelihood values onto the rows of each decoding of the same configuration."""
    decoded = [row for row in rows if row.decoding]
    kept = list(decoded)
    for plain in (row for row in rows if not row.decoding):
        mine = [row for row in decoded if row.config == plain.config and row.method == plain.method]
        for row in mine:
            row.values = {**plain.values, **row.values}
            row.seeds |= plain.seeds
            row.diverged += plain.diverged
        if not mine:
            kept.append(plain)
    return kept


def _name_settings(rows: list[TableRow]) -> None:
    """Say what differs between rows of the same method."""
    by_method: dict[str, list[TableRow]] = defaultdict(list)
    for row in rows:
        by_method[row.method].append(row)
    for same in by_method.values():
        flat = [_flat(row.config) for row in same]
        names = [n for n in flat[0] if len({str(f.get(n)) for f in flat}) > 1]
        for row, settings in zip(same, flat, strict=True):
            parts = [f"{name}={settings[name]}" for name in names if name != "backbone"]
            decodings = {other.decoding for other in same}
            row.settings = ", ".join([*parts, *([row.decoding] if len(decodings) > 1 else [])])


def _flat(config: Mapping[str, Any]) -> dict[str, Any]:
    found = {}
    for name, value in config.items():
        if isinstance(value, Mapping):
            found.update({f"{name.removesuffix('_options')}.{k}": v for k, v in value.items()})
        else:
            found[name] = value
    return found
