"""Board: the leaderboards of one store or several, for a script or a notebook."""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping
from functools import cached_property, partial
from itertools import combinations, permutations
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from bench.base.printable import one_line
from bench.errors import UsageError, did_you_mean
from bench.leaderboards.audit import Facts, audit, facts_of, only_the_objective
from bench.leaderboards.leaderboards import leaderboards_of
from bench.leaderboards.row import TableRow
from bench.leaderboards.statistics.analysis import corrected_differences
from bench.leaderboards.table import Table
from bench.store.store import Store

if TYPE_CHECKING:
    import pandas as pd

    from bench.leaderboards.leaderboards import Leaderboards

__all__ = ["Board", "load"]

CURVE = ("task", "method", "backbone", "settings", "seed", "step", "quantity", "value")


class Board:
    """The leaderboards that `bench report` shows, to be filtered and turned into frames. No store is changed.

    A number carries its watermark wherever it goes: a table of a sample, a subset or a limited run says so in
    every frame and page. Tests are corrected over a whole table, and a filter does not change them.

    Args:
        store: one store or several.
        leaderboards: of it.
        shown: the part of them that filters have left; all by default.
        failed: runs that have no number, by label, with the reason.
    """

    def __init__(
        self,
        store: Store,
        leaderboards: Leaderboards,
        shown: Leaderboards | None = None,
        failed: Mapping[str, str] | None = None,
    ) -> None:
        self._store, self._leaderboards, self._shown = store, leaderboards, shown or leaderboards
        self.failed = dict(failed or {})

    @cached_property
    def content(self) -> dict[str, Any]:
        """Everything in it as plain JSON types, as `bench report --format json` prints it."""
        from bench.leaderboards.render.board import board

        return board(self._shown)

    def filter(
        self,
        task: str | Iterable[str] | None = None,
        method: str | Iterable[str] | None = None,
        metric: str | Iterable[str] | None = None,
    ) -> Board:
        """Return a board of some tasks, methods and metrics: names or patterns such as `rouge-*`.

        Raises:
            UsageError: a name fits nothing in the board.
        """
        shown = self._shown.filtered(_patterns(task), _patterns(method), _patterns(metric))
        return Board(self._store, self._leaderboards, shown, self.failed)

    @property
    def methods(self) -> list[str]:
        """The names of its methods."""
        return list(dict.fromkeys(row["method"] for table in self.content["tables"] for row in table["methods"]))

    @property
    def metrics(self) -> list[str]:
        """The names of its columns."""
        return list(dict.fromkeys(column["name"] for table in self.content["tables"] for column in table["columns"]))

    def to_pandas(self, format: Literal["long", "wide"] = "long") -> pd.DataFrame:
        """Return a frame: `long` has a line for each value, `wide` one for each row with its metrics as columns.

        Raises:
            UsageError: another format.
        """
        from bench.leaderboards.render.formats import long_frame, wide_frame

        formats = {"long": long_frame, "wide": wide_frame}
        if format not in formats:
            raise UsageError(f"no format '{format}' of frames{did_you_mean(format, formats)}")
        return formats[format](self.content)

    def curves(self) -> pd.DataFrame:
        """Return the training curves of its models: `train/loss` and validation metrics, by step and seed.

        A row that evaluates the model of another row has no curve.
        """
        import pandas as pd

        points, drawn = [], set[str]()
        rows = [(table["task"], row) for table in self.content["tables"] for row in table["methods"]]
        for task, row in rows:
            trained = row["folder"].rpartition("/")[2]
            for key in row["cells"] if trained == row["method"] else ():
                record = None if key in drawn else self._store.readable(self._store.cell(task, trained, key).trained)
                drawn.add(key)
                if record is None:
                    continue
                train, about = record.get("train", {}), {name: row[name] for name in ("method", "backbone", "settings")}
                curves = [(step, "train/loss", loss) for step, loss in train.get("curve", ())]
                for step, columns in train.get("validation", ()):
                    curves += [(step, f"validation/{name}", value) for name, value in columns.items()]
                for step, quantity, value in curves:
                    of_point = {"seed": record["config"]["seed"], "step": step, "quantity": quantity, "value": value}
                    points.append({"task": task, **about, **of_point})
        return pd.DataFrame(points, columns=list(CURVE))

    def compare(self, first: str, second: str) -> pd.DataFrame:
        """Return the differences of two methods in every table that has both, of one backbone, decoding and submitter.

        `difference` is the mean of the first less the second over the seeds that both have, with its 95 % t interval
        (`low`, `high`) and the p-value of the t test (`p`), from three seeds on. `p_items` is the p-value of the paired
        randomisation test over test items, where the metric is a sum over items: it says that these trained models
        differ, not that another seed would. Both are corrected by Holm over all metrics of a table, also those that a
        filter has left out. `first_settings` and `second_settings` tell rows of one method apart. `only_the_objective`
        is the verdict of `bench compare` on the runs of these seeds.

        Args:
            first, second: names of methods.

        Raises:
            UsageError: no table has both methods with one backbone, decoding and submitter.
        """
        import pandas as pd

        lines, pairs, families = [], [], []
        tasks = {table.task for table in self._shown.tables}
        tables = [table for table in self._leaderboards.tables if table.task in tasks]
        pairs_of = permutations if first != second else combinations
        pairs_of_rows = [(table, ours, theirs) for table in tables for ours, theirs in pairs_of(table.rows, 2)]
        for table, ours, theirs in pairs_of_rows:
            alike = [(row.backbone, row.decoding, row.submitted_by) for row in (ours, theirs)]
            if (ours.method, theirs.method) != (first, second) or alike[0] != alike[1]:
                continue
            of_rows = {
                "task": table.task,
                "split": table.split,
                "rows": table.n,
                "preset": table.preset,
                "backbone": ours.backbone,
                "decoding": ours.decoding,
                "first_settings": ours.settings,
                "second_settings": theirs.settings,
                "submitted_by": ours.submitted_by,
                "only_the_objective": _only_the_objective(self._store, table, ours, theirs),
                "watermark": table.watermark,
            }
            for metric, value in ours.values.items():
                other = theirs.values.get(metric)
                if value.mean is None or other is None or other.mean is None:
                    continue
                pairs.append((value, other))
                families.append(id(table))
                lines.append(
                    {
                        **of_rows,
                        "metric": metric,
                        "first": value.mean,
                        "second": other.mean,
                        "n_seeds": len(value.by_seed.keys() & other.by_seed.keys()),
                        "higher_is_better": value.higher_is_better,
                    }
                )
        if not lines:
            methods = {row.method for table in tables for row in table.rows}
            missing = [name for name in (first, second) if name not in methods]
            hint = did_you_mean(missing[0], methods) if missing else "; no rows share backbone, decoding and submitter"
            raise UsageError(f"the board cannot compare '{first}' with '{second}'{hint}")
        tests = corrected_differences(pairs, families).reset_index(drop=True)
        found = pd.concat([pd.DataFrame(lines), tests], axis=1)
        return found[found["metric"].isin(self.metrics)].reset_index(drop=True)

    def html(self, path: str | Path) -> Path:
        """Write the page of the board, with samples, as one file; return where. No plug-in is imported.

        Raises:
            StoreError: it cannot be written.
        """
        from bench.board.page import page_of

        return page_of(self._shown, self._store, Path(path))

    def __len__(self) -> int:
        """How many rows its tables have."""
        return sum(len(table["methods"]) for table in self.content["tables"])

    def __repr__(self) -> str:
        lines = [f"Board of {len(self)} rows in {len(self.content['tables'])} tables"]
        for table in self.content["tables"]:
            mark = f" (not comparable with published numbers: {table['watermark']})" if table["watermark"] else ""
            lines.append(f"  {table['title']}: {', '.join(dict.fromkeys(r['method'] for r in table['methods']))}{mark}")
        lines += [f"  failed: {label}: {why}" for label, why in self.failed.items()]
        return "\n".join(map(one_line, lines))

    def _repr_html_(self) -> str:
        from bench.leaderboards.render.html import static_table

        parts = list(map(static_table, self.content["tables"]))
        for label, why in self.failed.items():
            parts.append(f"<p>failed: {html.escape(one_line(label))}: {html.escape(one_line(why))}</p>\n")
        return "".join(parts)


def _patterns(names: str | Iterable[str] | None) -> list[str] | None:
    """Return names and patterns as a list; None for all."""
    return [names] if isinstance(names, str) else None if names is None else list(names)


def load(*stores: str | Path) -> Board:
    """Return the board of results folders and snapshots; rows of several are shown together.

    Args:
        stores: by default the folder `results`.

    Raises:
        MissingError: they hold nothing to show.
    """
    roots = [Path(store) for store in stores] or [Path("results")]
    store = Store(*roots)
    return Board(store, leaderboards_of(store))


def _only_the_objective(store: Store, table: Table, ours: TableRow, theirs: TableRow) -> bool | None:
    """Return whether the runs of two rows differ in nothing else, over the seeds that both have; None without any."""
    first, second = (_by_seed(store, table, row) for row in (ours, theirs))
    shared = sorted(first.keys() & second.keys())
    return all(only_the_objective(audit(first[seed], second[seed])) for seed in shared) if shared else None


def _by_seed(store: Store, table: Table, row: TableRow) -> dict[int, Facts]:
    cells = [store.cell(table.task, row.config["method"], key) for key in sorted(row.keys)]
    found = (store.readable(partial(facts_of, store, cell)) for cell in cells)
    return {facts["seed", "seed"]: facts for facts in found if facts is not None}
