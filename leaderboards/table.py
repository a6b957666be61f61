"""Tables: a pure function of the stored files. Numbers share a column only when they measure the same thing."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from bench.base.keys import key_of
from bench.leaderboards.controls import controlled_by, keep_matched
from bench.leaderboards.published.papers import Published, published
from bench.leaderboards.row import WHY_NOT, StoredItems, TableRow, Value
from bench.metrics.columns import is_named
from bench.models import METHODS
from bench.store.store import CellFolder, Store
from bench.tasks import TASKS


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
    human: Sequence[TableRow] = ()  # what people wrote, a row for each tokenizer
    lacking: Mapping[str, str] = field(default_factory=dict)  # columns left out, and what they need

    @property
    def title(self) -> str:
        """What was measured on what."""
        rows = f"{self.n:,} rows" + ("" if self.whole else ", a declared subset")
        return f"{self.task} · {self.split} split, {rows} · preset {self.preset}"

    @property
    def watermark(self) -> str:
        """What keeps the numbers from being comparable with published ones, or nothing."""
        odd = [f"{split} data: {status}" for split, status in self.status.items() if status != "official"]
        part = [] if self.whole else [f"only {self.n:,} rows of the {self.split} split"]
        return "; ".join([*odd, *part])

    def best(self, column: str) -> set[int]:
        """Return the indices of the rows with the best value of a column, as shown; a conflict is never best."""
        held = {i: row.values[column] for i, row in enumerate(self.rows) if column in row.values}
        shown = {i: round(value.mean, 2) for i, value in held.items() if value.mean is not None}
        if len(shown) < 2:
            return set()
        direction = held[next(iter(shown))].higher_is_better
        if direction is None:
            return set()
        top = max(shown.values()) if direction else min(shown.values())
        return {i for i, mean in shown.items() if mean == top}

    def second(self, column: str) -> set[int]:
        """Return the indices of the rows with the second best value of a column, as shown."""
        best = self.best(column)
        held = {i: row.values[column] for i, row in enumerate(self.rows) if column in row.values}
        rest = {i: round(v.mean, 2) for i, v in held.items() if v.mean is not None and i not in best}
        if not best or not rest:
            return set()
        second = max(rest.values()) if held[next(iter(best))].higher_is_better else min(rest.values())
        return {i for i, mean in rest.items() if mean == second}


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
            _add_cell(groups, record, cell, max((len(g["tried"]) for g in cell.grids()), default=0))
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


def _base(trained: Mapping[str, Any], split: str, status: str, sha256: str) -> dict[str, Any]:
    """Return what all cells of one table share: task, preset, training data and the split they are evaluated on."""
    config, train = trained["config"], trained["data"]["train"]
    return {
        "task": config["task"],
        "preset": config["preset"],
        "data": {"train": [train["status"], train["sha256"]], split: [status, sha256]},
        "split": split,
        "limit": config["trainer"]["limit"],
    }


def _add_diverged(groups: dict[str, dict[str, Any]], trained: Mapping[str, Any]) -> None:
    """Count a diverged cell in every table it would be in; it is never a number."""
    evaluation = trained["config"]["evaluation"]
    split = trained["data"][evaluation["split"]]
    base = _base(trained, evaluation["split"], split["status"], split["sha256"])
    for group in groups.values():
        if all(group[name] == value for name, value in base.items()):
            _row(group, trained, "", evaluation["batch_size"]).diverged += 1


def _add_cell(
    groups: dict[str, dict[str, Any]],
    trained: Mapping[str, Any],
    cell: CellFolder,
    tried: int,
) -> None:
    """File one cell's scores under the examples they come from."""
    scores = cell.all_scores()
    main = [s["of"] for s in scores if s["of"]["kind"] in ("likelihood", "generation")]
    for score in scores:
        of = score["of"]
        homes = [of]
        if of["kind"] not in ("likelihood", "generation"):  # a probe belongs to the evaluation its prompts are from
            homes = [home for home in main if home["split"] == of["split"] and home["of_rows"] == of["of_rows"]]
        for home in homes:
            base = _base(trained, home["split"], home["status"], home["split_sha256"])
            about = {"n": home["ids"]["n"], "whole": home["whole_split"], "rows": {}, "human": {}}
            group = groups.setdefault(key_of({**base, "ids": home["ids"]}), {**base, **about})
            row = _row(group, trained, decoding_name(of["decoding"]), of["batch_size"], of.get("shown_as", ""))
            row.tried = max(row.tried, tried)
            for value in score["values"]:
                held = StoredItems(cell, score["items"], value["name"]) if "items" in score else None
                _put(row, value, trained["config"]["seed"], held)
            if "human" in score:
                written = (trained.get("model", {}).get("tokenizer_sha256"), of["max_new_tokens"])
                human = group["human"].setdefault(written, TableRow("human", "", "", {}))
                for value in score["human"]:
                    _put(human, value, 0)


def decoding_name(decoding: Mapping[str, Any] | None) -> str:
    """Return a decoding's short name, empty for evaluations without one."""
    return "" if decoding is None else str(decoding["name"])


def _row(
    group: dict[str, Any], trained: Mapping[str, Any], decoding: str, batch_size: int, shown_as: str = ""
) -> TableRow:
    """Return the row of a cell, or of a control that reads it: equal but for the seed in what decides a number."""
    config = {**comparable(trained), "evaluation": {"batch_size": batch_size}}
    method = shown_as or config["method"]
    key = key_of({"config": config, "decoding": decoding, **({"shown_as": shown_as} if shown_as else {})})
    if key not in group["rows"]:
        written = method in METHODS and METHODS[method].baseline
        row = TableRow(method, "" if written else config["backbone"], decoding, config)
        row.controls = tuple(controlled_by(method))
        group["rows"][key] = row
    row = group["rows"][key]
    row.seeds.add(trained["config"]["seed"])
    row.keys.add(trained["key"])
    return row


def comparable(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return what decides a trained cell but its seed: configuration, code, and what its weights start from."""
    config = {k: v for k, v in record["config"].items() if k not in ("seed", "decodings", "evaluation")}
    config["trainer"] = {k: v for k, v in config["trainer"].items() if k != "init_from"}  # of one seed; `start` is not
    found = {**config, "code": record["method"]}
    if start := record.get("start"):
        found["start"] = {**comparable(start), "data": {"sha256": start["data"]["train"]["sha256"]}}
    return found


def _put(row: TableRow, value: Mapping[str, Any], seed: int, items: StoredItems | None = None) -> None:
    """Add one seed's value; two different numbers for one seed are a conflict and are shown as one."""
    signature, _, reason = value["signature"].partition(WHY_NOT)
    name = (value["name"], signature)
    old = row.found.get(name)
    by_seed = dict(old.by_seed) if old else {}
    conflict = (old.conflict if old else False) or (seed in by_seed and by_seed[seed] != value["value"])
    if value["value"] is not None:
        by_seed[seed] = value["value"]
    why = "" if by_seed else reason or (old.why if old else "")
    held = {**(old.items if old else {}), **({seed: items} if items else {})}
    row.found[name] = Value(by_seed, value["higher_is_better"], signature, conflict, why, held)


def _finish(group: Mapping[str, Any], columns: str) -> Table:
    """Order rows and columns, spread values that have no decoding over their method's decodings, name settings."""
    human = list(group["human"].values())
    _name_columns([*group["rows"].values(), *human])
    rows = keep_matched(_spread(list(group["rows"].values())))
    entry = TASKS.get(group["task"])
    there = sorted({name for row in rows for name in row.values})
    preferred = [c for wanted in (entry.columns if entry else ()) for c in there if is_named(metric_name(c), wanted)]
    lacking = {column: why for column in preferred if (why := _need_of(rows, column))}
    if columns == "default" and preferred:
        shown = [column for column in preferred if column not in lacking]
    else:
        shown, lacking = [*preferred, *(c for c in there if c not in preferred)], {}
    primary = next((c for c in there if entry and metric_name(c) == entry.primary), shown[0] if shown else "")
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
        published(group["task"]) if group["split"] == "test" else (),
        group["preset"],
        group["whole"],
        [row for row in human if any(row.values[name].by_seed for name in row.values)],
        lacking,
    )


def _need_of(rows: Sequence[TableRow], column: str) -> str:
    """Return what a column needs that was nowhere there when its rows were scored, or nothing."""
    why = {row.values[column].why_none for row in rows if column in row.values}
    return min(why) if all(reason.startswith("needs ") for reason in why) else ""


def _name_columns(rows: list[TableRow]) -> None:
    """Give every signature of a metric its own column, named by what differs where there are several."""
    signatures: dict[str, set[str]] = defaultdict(set)
    for name, signature in (found for row in rows for found in row.found):
        signatures[name].add(signature)
    for row in rows:
        row.values = {_column(name, sig, signatures[name]): value for (name, sig), value in row.found.items()}


def _column(name: str, signature: str, signatures: set[str]) -> str:
    if len(signatures) == 1:
        return name
    shared = set.intersection(*(set(other.split("|")) for other in signatures))
    return f"{name} [{'|'.join(part for part in signature.split('|') if part not in shared)}]"


def metric_name(column: str) -> str:
    """Return the metric of a column.

    >>> metric_name("rank/float32 [V:252]")
    'rank/float32'
    """
    return column.partition(" [")[0]


def _sortable(row: TableRow, primary: str) -> float:
    value = row.values.get(primary)
    if value is None or value.mean is None:
        return float("-inf")
    return value.mean if value.higher_is_better is not False else -value.mean


def _spread(rows: list[TableRow]) -> list[TableRow]:
    """Copy likelihood values onto the rows of each decoding of the same model.

    A control that only decodes another method's cell has that cell's likelihood; one that also reads its rows in
    another way has its own.
    """
    plain = [row for row in rows if not row.decoding]
    used: set[int] = set()
    for row in (row for row in rows if row.decoding):
        alike = [p for p in plain if p.config == row.config]
        mine = [p for p in alike if p.method == row.method] or [p for p in alike if p.method == row.config["method"]]
        for one in mine:
            used.add(id(one))
            row.values = {**one.values, **row.values}
            row.seeds |= one.seeds
            row.keys |= one.keys
            row.diverged += one.diverged
    return [row for row in rows if row.decoding or id(row) not in used]


def _name_settings(rows: list[TableRow]) -> None:
    """Say what differs between rows of the same method and backbone."""
    alike: dict[tuple[str, str], list[TableRow]] = defaultdict(list)
    for row in rows:
        alike[row.method, row.backbone].append(row)
    for same in alike.values():
        flat = [_flat(row.config) for row in same]
        names = dict.fromkeys(name for settings in flat for name in settings)
        unlike = [name for name in names if len({str(settings.get(name)) for settings in flat}) > 1]
        for row, settings in zip(same, flat, strict=True):
            parts = [f"{name}={_short(name, settings.get(name))}" for name in unlike]
            decodings = {other.decoding for other in same}
            row.settings = ", ".join([*parts, *([row.decoding] if len(decodings) > 1 else [])])


def _short(name: str, value: Any) -> str:
    return str(value)[:8] if name.endswith("sha256") else str(value)


def _flat(config: Mapping[str, Any], before: str = "") -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in config.items():
        if isinstance(value, Mapping):
            found |= _flat(value, f"{before}{name.removesuffix('_options')}.")
        else:
            found[before + name] = value
    return found
