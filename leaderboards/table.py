"""Tables: a pure function of the stored files. Numbers share a column only when they measure the same thing."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from bench.leaderboards.controls import keep_matched
from bench.leaderboards.frame import Group, add_diverged, add_scores, frame_of, leave_out_superseded, values_of
from bench.leaderboards.published.papers import Published, published
from bench.leaderboards.row import TableRow, name_settings
from bench.metrics.columns import is_named
from bench.models.backbones import BACKBONES
from bench.store.reading import is_imported, read_cells
from bench.store.store import Store
from bench.tasks import TASKS

FORGETTING = ("forgetting/nll", "forgetting/kl")
"""Columns that every task shows of fine-tuned models."""
LeftOut = Mapping[str, Mapping[str, int]]
"""By task, how many runs are in no table, by reason."""


@dataclass
class Table:
    """One leaderboard: rows that were measured on exactly the same examples.

    Args:
        task, split, preset: names.
        n: how many examples.
        status: of the data by split, `official` where it is as published.
        rows: in the order of the primary column, best first, those of another backbone in a block of their own.
        columns: that are shown, in order.
        published: rows of papers for this task.
        whole: whether these are all examples of the split.
        human: what people wrote, a row for each tokenizer.
        missing: columns left out, and what they need.
        primary: the metric that rows are sorted by; empty where the task names none.
        data_title: name of a user's own data; empty where it has none, and for published data.
        of: the table that a filter took it from, in which its rows were tested; None for a whole table.
    """

    task: str
    split: str
    n: int
    status: Mapping[str, str]
    rows: list[TableRow]
    columns: list[str]
    published: Sequence[Published]
    preset: str
    whole: bool
    human: Sequence[TableRow] = ()
    missing: Mapping[str, str] = field(default_factory=dict)
    primary: str = ""
    data_title: str = ""
    of: "Table | None" = None

    @property
    def title(self) -> str:
        """What was measured on what."""
        rows = f"{self.n:,} rows"
        if not self.whole:
            rows += ", a declared subset"
        task = self.task
        if self.data_title:
            task += f" ({self.data_title})"
        parts = [task, f"{self.split} split, {rows}", f"preset {self.preset}"]
        return " · ".join([*parts, *self.pretrained])

    @property
    def pretrained(self) -> list[str]:
        """What the pretrained models of the rows are."""
        return list(dict.fromkeys(filter(None, (weights_of(row.backbone) for row in self.rows))))

    @property
    def watermark(self) -> str:
        """What keeps the numbers from being comparable with published ones, or nothing."""
        names = {"own": self.data_title or "own corpus", "proxy": "a proxy of the published"}
        reasons = [
            f"{split} data: {names.get(status, status)}"
            for split, status in self.status.items()
            if status != "official"
        ]
        if not self.whole:
            reasons.append(f"only {self.n:,} rows of the {self.split} split")
        if self.preset == "mid" and self.pretrained:
            reasons.append("test rows may be in the pretraining data")
        return "; ".join(reasons)

    @property
    def why_not_comparable(self) -> str:
        """Why published numbers are not comparable with those of the table, or nothing."""
        reasons = [self.watermark, "" if self.preset == "paper" else f"our rows are of preset {self.preset}"]
        return "; ".join(filter(None, reasons))

    @property
    def all_columns(self) -> list[str]:
        """The columns as shown, then every other one that has a value."""
        there = {name for row in self.rows for name, value in row.values.items() if value.by_seed or value.conflict}
        return [*self.columns, *sorted(there - set(self.columns))]

    @property
    def blocks(self) -> dict[str, list[int]]:
        """The places of the rows that are ranked together, by backbone: its own, and those without a trained model.

        Which backbone is better says nothing of a method; so rows of two backbones are never ranked or tested together.
        """
        names = dict.fromkeys(row.backbone for row in self.rows if row.backbone)
        blocks = {}
        for name in names or [""]:
            blocks[name] = [place for place, row in enumerate(self.rows) if row.backbone in (name, "")]
        return blocks

    def best_and_second(self, column: str, min_seeds: int = 1) -> tuple[set[int], set[int]]:
        """Return the places of the rows with the best and with the second best value of a column in their block.

        Rows that show the same number share a place. No row is best where neither way is better or fewer than two rows
        have a number; a conflict has none.

        Args:
            column: to rank by.
            min_seeds: that a row with a trained model needs to be ranked; without such a row there is no best one.
        """
        best, second = set[int](), set[int]()
        for block in self.blocks.values():
            values = {place: value for place in block if (value := self.rows[place].values.get(column)) is not None}
            trained = [place for place in values if self.rows[place].backbone]
            few = [place for place in trained if values[place].n < min_seeds]
            ranked: dict[float, set[int]] = {}
            for place, value in values.items():
                if value.mean is not None and place not in few:
                    ranked.setdefault(round(value.mean, 2), set()).add(place)
            direction = {value.higher_is_better for value in values.values() if value.mean is not None}
            if len(few) < len(trained) and None not in direction and sum(map(len, ranked.values())) > 1:
                means = sorted(ranked, reverse=True in direction)
                for places, mean in zip((best, second), means, strict=False):
                    places.update(ranked[mean])
        return best, second - best


def tables(
    store: Store, tasks: Iterable[str] | None = None, columns: str = "default", limited: bool = False
) -> tuple[list[Table], LeftOut]:
    """Build every leaderboard that a store can give; damaged files are passed over and noted in the store.

    Args:
        store: read only.
        tasks: names; None for all.
        columns: `default` or `all`.
        limited: show the runs with --limit, marked as such, and no others.

    Returns:
        Tables, and how many runs of each task are left out, by reason.
    """
    groups: dict[str, Group] = {}
    left_out: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))  # keys by task and reason
    diverged, imported, searched = [], [], set[str]()
    for cell in read_cells(store, None if tasks is None else set(tasks)):
        record = cell.trained or cell.failed
        if record is None:  # damaged
            continue
        reasons, key = left_out[record["config"]["task"]], cell.folder.path.name
        searched |= _tried_keys(cell.grids)
        if (record["config"]["trainer"]["limit"] is not None) != limited:
            if not limited:
                reasons["runs with --limit are left out"].add(key)
        elif is_imported(record):
            imported.append((record, cell))
        elif record["status"] == "ok":
            add_scores(groups, record, cell)
        elif record["status"] == "diverged":
            diverged.append(record)
        else:
            reasons["runs failed and have no number"].add(key)
    for record in diverged:
        add_diverged(groups, record)
    for record, cell in imported:
        add_scores(groups, record, cell)
    kept = []
    for _, group in sorted(groups.items()):
        reasons = left_out[group.shared["task"]]
        if group.shared["split"] == "valid" and group.keys and group.keys <= searched:
            # Losses of trials are in the record of the search; as a table they would be read as results.
            reasons["trial runs of a search of settings are left out"] |= group.keys
            continue
        for reason, keys in leave_out_superseded(group).items():
            reasons[reason] |= keys
        kept.append(group)
    if any(group.lines for group in kept):
        rows = {id(row): row for group in kept for row in (*group.rows.values(), *group.human.values())}
        for place, values in values_of(frame_of(kept)).items():
            rows[place].values = values
        for row in rows.values():
            if row.lacks_memory:
                row.add_remark("validation chose the cache weight 0, so the columns of the cache alone mean nothing")
    counts = {task: {why: len(keys) for why, keys in reasons.items()} for task, reasons in left_out.items() if reasons}
    order = {task: place for place, task in enumerate(TASKS)}
    built = [table for group in kept if (table := _table(group, columns)).rows]
    built.sort(key=lambda table: (order.get(table.task, len(order)), table.preset, table.split, -table.n))
    return built, counts


def _tried_keys(grids: Sequence[Mapping[str, Any]]) -> set[str]:
    """Return the keys of the runs that searches have tried."""
    tried = [combination for grid in grids for combination in (*grid["tried"], *grid.get("play_off", ()))]
    return {key for combination in tried for key in combination.get("keys", {}).values()}


def task_title(task: str, data_title: str = "") -> str:
    """Return the name of a task's data as its publishers write it, or as a user has named data of his own.

    >>> task_title("logicnlg"), task_title("my_task"), task_title("text", "King James Bible")
    ('LogicNLG', 'my_task', 'King James Bible')
    """
    return data_title or (task in TASKS and TASKS[task].title) or task


def table_ids(tables: Sequence[Table]) -> list[str]:
    """Return a short name of every table, the same as long as the same is shown: links keep it.

    Tables of one task, split, preset and size differ in their data only; the later ones are numbered.
    """
    ids, seen = [], Counter[str]()
    for table in tables:
        name = f"{table.task}.{table.split}.{table.preset}.{table.n}"
        seen[name] += 1
        ids.append(f"{name}-{seen[name]}" if seen[name] > 1 else name)
    return ids


def metric_name(column: str) -> str:
    """Return the metric of a column.

    >>> metric_name("rank/float32 [V:252]")
    'rank/float32'
    """
    return column.partition(" [")[0]


def _table(group: Group, columns: str) -> Table:
    """Order rows and columns, spread values that have no decoding over their method's decodings, name settings."""
    shared = group.shared
    rows = keep_matched(_spread(list(group.rows.values())))
    entry = TASKS.get(shared["task"])
    preferred = entry.columns if entry else tuple(group.plugin_task.get("columns", ()))
    primary = entry.primary if entry else str(group.plugin_task.get("primary", ""))
    wanted = [*preferred, *FORGETTING, *group.plugin_metrics] if preferred else []
    shown, missing = _shown_columns(wanted, rows, columns)
    rows = _in_blocks(
        rows, next((name for name in _all_columns(rows) if metric_name(name) == primary), "".join(shown[:1]))
    )
    name_settings(rows)
    status = {name: data[0] for name, data in shared["data"].items()}
    if shared["limit"] is not None:
        status["all"] = f"cut by --limit {shared['limit']}"
    is_published = shared["split"] == "test" and "sample" not in status.values()
    return Table(
        shared["task"],
        shared["split"],
        group.n,
        status,
        rows,
        shown,
        published(shared["task"]) if is_published else (),
        shared["preset"],
        group.whole,
        [row for row in group.human.values() if row.n],
        missing,
        primary,
        group.title,
    )


def weights_of(backbone: str) -> str:
    """Return what the weights of a pretrained backbone are; nothing for one that is trained from scratch.

    >>> weights_of("smollm2-135m-instruct-q4"), weights_of("small-causal")
    ('SmolLM2-135M, instruct, Q4_1 dequantised', '')
    """
    if backbone in BACKBONES:
        entry = BACKBONES[backbone]
        return entry.summary if entry.hub or entry.converted else ""
    return backbone if ":" not in backbone and ("/" in backbone or Path(backbone).is_dir()) else ""


def _all_columns(rows: Sequence[TableRow]) -> list[str]:
    """Return the columns of any row, by name."""
    return sorted(set[str]().union(*(row.values for row in rows)))


def _shown_columns(wanted: Sequence[str], rows: Sequence[TableRow], columns: str) -> tuple[list[str], dict[str, str]]:
    """Return the columns to show, those wanted first, and what wanted ones need that are left out."""
    there = _all_columns(rows)
    preferred: list[str] = []
    for name in wanted:
        alike = [column for column in there if is_named(metric_name(column), name)]
        preferred += [column for column in alike if column not in preferred]
    if columns != "default" or not preferred:
        return [*preferred, *(column for column in there if column not in preferred)], {}
    missing = {}
    for column in preferred:
        reasons = {row.values[column].missing_reason for row in rows if column in row.values}
        if all(reason.startswith("needs ") for reason in reasons):  # no row could be scored
            missing[column] = min(reasons)
    return [column for column in preferred if column not in missing], missing


def _in_blocks(rows: Sequence[TableRow], primary: str) -> list[TableRow]:
    """Return rows best first; where there are several backbones, each in its own block, those without one last."""

    def order(row: TableRow) -> tuple[bool, float, str, str]:
        value = row.values.get(primary)
        if value is None or value.mean is None:
            return True, 0.0, row.method, row.decoding
        return False, value.mean if value.higher_is_better is False else -value.mean, row.method, row.decoding

    ordered = sorted(rows, key=order)
    backbones = list(dict.fromkeys(row.backbone for row in ordered if row.backbone))
    if len(backbones) < 2:
        return ordered
    return sorted(ordered, key=lambda row: [*backbones, ""].index(row.backbone))


def _spread(rows: list[TableRow]) -> list[TableRow]:
    """Copy likelihood values onto the rows of each decoding of the same model.

    A control that only decodes another method's cell has that cell's likelihood; one that also reads its rows in
    another way has its own.
    """
    plain = [row for row in rows if not row.decoding]
    used: set[int] = set()
    for row in rows:
        if not row.decoding:
            continue
        alike = [one for one in plain if (one.config, one.submitted_by) == (row.config, row.submitted_by)]
        own = [likelihood for likelihood in alike if likelihood.method == row.method]
        for likelihood in own or [likelihood for likelihood in alike if likelihood.method == row.config["method"]]:
            used.add(id(likelihood))
            row.values = {column: replace(value) for column, value in likelihood.values.items()} | row.values
            row.seeds |= likelihood.seeds
            row.keys |= likelihood.keys
            row.seeds_diverged |= likelihood.seeds_diverged
            row.cut = max(row.cut, likelihood.cut)
    return [row for row in rows if row.decoding or id(row) not in used]
