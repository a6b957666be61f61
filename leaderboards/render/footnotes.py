"""Footnotes: the notes under a table, and the meaning of the marks of its numbers."""

from collections.abc import Iterator, Sequence

from bench.leaderboards.row import TableRow, short_decoding
from bench.leaderboards.statistics.baseline import BASELINE, baseline_of
from bench.leaderboards.statistics.constants import ALPHA, MIN_SEEDS, TIE
from bench.leaderboards.table import Table, weights_of

INTERVAL = "± half the 95 % t interval over seeds"
DIFFERS = (
    f"† differs from {BASELINE} with the same backbone and decoding (t test paired by seed, p <= {ALPHA:g} after "
    "Holm's correction within the column, or exactly the same difference with every seed)"
)


def under_table(table: Table, *, underlines: bool = True) -> list[str]:
    """Return the lines of text formats under a table: watermark, meaning of marks (underlines, too), footnotes."""
    mark = [f"NOT COMPARABLE WITH PUBLISHED NUMBERS: {table.watermark}"] if table.watermark else []
    return [*mark, *legend(table, underlines=underlines), *footnotes(table)]


def legend(table: Table, *, is_page: bool = False, underlines: bool = True) -> list[str]:
    """Return the meaning of each mark that occurs in the shown columns."""
    values = [value for row in table.rows for column, value in row.values.items() if column in table.columns]
    interval = INTERVAL
    if not is_page and any(row.sampling_note for row in table.rows):
        interval = f"{INTERVAL}, or over sampling seeds where a note says so"
    best = f"bold: best mean of {MIN_SEEDS} seeds or more within a backbone, of the rows shown"
    marks = []
    if any(value.half is not None and value.mean is not None for value in values):
        marks.append(interval)
    if any(table.best_and_second(column, MIN_SEEDS)[0] for column in table.columns):
        marks.append(best + "; underlined: second" * underlines)
    if marks and not is_page:
        marks = ["; ".join(marks)]
    return marks + [DIFFERS] * any(value.differs for value in values)


def footnotes(table: Table) -> list[str]:
    """Return the footnotes on cut examples, decoding, published rows, missing values, tuning and controls."""
    rows = table.rows
    decodings = {row.decoding for row in rows if row.decoding and not row.imported}
    lines = []
    cut = {row.cut for row in rows if row.backbone}
    if most := max(cut, default=0):
        lines.append(
            f"{'up to ' * (len(cut) > 1)}{most:,} of {table.n:,} examples were cut: their source or target has more "
            f"tokens than trainer.max_source or trainer.max_target"
        )
    if table.published and len(decodings) == 1:  # of several, the label of each row has its own
        lines.append(f"decoding of our rows: {short_decoding(decodings.pop())}")
    there = {row.method for row in rows}
    papers = [paper for paper in table.published if paper.note and paper.method in there]
    lines += sorted({f"{paper.paper} {paper.table}: {paper.note}" for paper in papers})
    lines += dict.fromkeys(f"{row.method}: {row.remark}" for row in rows if row.remark)
    lines += dict.fromkeys(f"{row.method}: {row.sampling_note}" for row in rows if row.sampling_note)
    untrained = [row for row in rows if row.method.endswith(".untrained") and weights_of(row.backbone)]
    lines += dict.fromkeys(f"{row.method}: the pretrained model before fine-tuning" for row in untrained)
    lines += [f"{row.method}: {row.imported}" for row in rows if row.imported]
    diverged = [row for row in rows if 0 < row.diverged < len(row.seeds)]
    what = "seeds diverged; means and tests leave them out"
    lines += dict.fromkeys(f"{row.method}: {row.diverged} of {len(row.seeds)} {what}" for row in diverged)
    lines += _without_value(table)
    lines += sorted({f"unpinned: {copy}" for row in rows for copy in row.unpinned})
    return [*lines, *tuning(table), *_controls(rows)]


def _without_value(table: Table) -> Iterator[str]:
    """Yield the reasons of missing values, and the columns that are left out."""
    columns: dict[tuple[str, str], dict[str, None]] = {}
    for row in table.rows:
        for column in table.columns:
            if column in row.values and (reason := row.values[column].missing_reason):
                columns.setdefault((row.values[column].text, reason), {})[column] = None
    for (text, reason), names in columns.items():
        yield f"{text}: {', '.join(names)}: {reason}"
    for column, reason in table.missing.items():
        yield f"left out: {column}: {reason}; then bench score"


def _controls(rows: Sequence[TableRow]) -> Iterator[str]:
    """Yield which rows are controls of which others; of methods, those that have a row here."""
    others = [row for row in rows if not row.controls]
    there = {row.method.partition(".")[0] for row in others}
    after_mle = {row.method.partition(".")[0] for row in others if row.config.get("start")}
    controls: dict[str, str] = {}
    of_others: dict[str, None] = {}
    for row in rows:
        compared = after_mle if row.method == "mle.continued" else there  # others do not start from a run of `mle`
        if controlled := [method for method in row.controls if method in compared]:
            controls[row.method] = f"{row.method} for {', '.join(controlled)}"
        elif row.controls:
            of_others[row.method] = None
    if controls:
        yield f"Controls: {'; '.join(controls.values())}"
    if of_others:
        yield f"Controls of methods that are not in this table: {', '.join(of_others)}"


# Tuning --------------------------------------------------------------------------------------------------------------


def tuning(table: Table) -> list[str]:
    """Return how the settings of methods were picked, and what was not tuned."""
    tuned = sorted((row for row in table.rows if row.tried), key=lambda row: -row.tried)
    lines = []
    for text in dict.fromkeys(row.picked for row in tuned):
        lines.append(f"{text}: {', '.join(dict.fromkeys(row.method for row in tuned if row.picked == text))}")
    for n in sorted({row.tied for row in table.rows if row.tied}, reverse=True):
        methods = ", ".join(dict.fromkeys(row.method for row in table.rows if row.tied == n))
        lines.append(
            f"picked among {n} of these at full length, since they were within {TIE} nats of the best: {methods}"
        )
    more, methods_here = [], {row.method for row in table.rows}
    whole = table.of or table
    for row in whole.rows:
        place = baseline_of(whole, row) if row.method in methods_here else None
        if place is not None and row.tried > (theirs := max(1, whole.rows[place].tried)):
            more.append(
                f"{row.method} was picked from {row.tried} combinations and its baseline from {theirs}: the best of "
                "more is higher by chance alone"
            )
    lines += dict.fromkeys(more)
    if untuned := sorted({row.untuned for row in table.rows if row.untuned}):
        lines.append(
            f"untuned: these rows were trained with one shared value of {', '.join(untuned)}, which may decide their "
            f"order; --trials tunes each on the validation split"
        )
    return lines
