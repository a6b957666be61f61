"""Board: the leaderboards of one store or several, for a script or a notebook."""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from bench.base.redaction import one_line
from bench.errors import MissingError, UsageError, did_you_mean
from bench.leaderboards.leaderboards import leaderboards_of
from bench.store.store import Store, Stores

if TYPE_CHECKING:
    import pandas as pd

    from bench.board.pictures import Picture
    from bench.leaderboards.leaderboards import Leaderboards

__all__ = ["Board", "load"]


class Board:
    """The leaderboards that `bench report` shows, to be filtered, drawn and turned into frames. No store is changed.

    A number carries its watermark wherever it goes: a table of a sample, a subset or a limited run says so in
    every frame, plot and page. Tests are corrected over a whole table, and a filter does not change them.

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
        """Return the training curves of its models: `train/loss` and validation metrics, by step and seed."""
        from bench.board.frames import curves_frame

        return curves_frame(self.content, self._store)

    def samples(self, n: int = 5, *, decoding: str = "", row: str | None = None) -> pd.DataFrame:
        """Return the texts of its methods for the same rows, a column for each, the most different rows first.

        Args:
            n: most rows.
            decoding: such as `greedy`; by default the one that most methods have.
            row: the id of the only row wanted.

        Raises:
            MissingError: no run has texts, or its rows are not in the store.
            UsageError: there is no such row.
        """
        import pandas as pd

        from bench.board.samples import holding, picked, read, side_by_side
        from bench.cells.score import Tasks

        tasks = [table["task"] for table in self.content["tables"]]
        held = [texts for texts in holding(self._store, tasks) if texts.fits(self.methods, decoding)]
        side, _ = side_by_side(texts for texts in held if texts.of["kind"] == "generation")
        if not side:
            raise MissingError(f"no run of the board has texts of the decoding '{decoding or 'any'}'")
        samples, notes = read(self._store, side, Tasks().of)
        if not samples:
            raise MissingError(f"there are no texts of the same rows to show: {'; '.join(notes)}")
        lines = [
            {"id": sample.id, "prompt": sample.prompt, "reference": sample.reference, **sample.texts}
            for sample in picked(samples, n, row)
        ]
        return pd.DataFrame(lines, columns=["id", "prompt", "reference", *side])

    def compare(self, first: str, second: str) -> pd.DataFrame:
        """Return the differences of two methods, value by value, tested over the same test items and seeds.

        `difference`, `low`, `high` and `p` are as in a table's test against its baseline; `only_the_objective` says
        whether the runs differ in nothing else.

        Raises:
            UsageError: no table has both methods on the same backbone and decoding.
        """
        from bench.board.frames import comparison_frame

        tasks = {table.task for table in self._shown.tables}
        kept = [table for table in self._leaderboards.tables if table.task in tasks]
        frame = comparison_frame(self._store, kept, first, second)
        return frame[frame["metric"].isin(self.metrics)].reset_index(drop=True)

    def plot(self, kind: str = "intervals", **options: Any) -> Picture:
        """Return a picture; `.save(path)` writes its SVG, and `.figure` is matplotlib's.

        Args:
            kind: `intervals` (each row's mean of `metric` with its interval over seeds), `tradeoff` (metric `y` against
                metric `x`, a point for each method and decoding) or `curves` (`quantity` over the steps of training, by
                default the validation loss where it was measured).
            options: those of the kind.

        Raises:
            UsageError: no such kind, option, metric or curve, or nothing to draw.
            MissingError: matplotlib is not installed; it is in the extra `pictures`.
        """
        from bench.board.pictures import draw

        return draw(kind, self.content, self.curves() if kind == "curves" else None, options)

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
    store = Stores(roots)
    return Board(store, leaderboards_of(store))
