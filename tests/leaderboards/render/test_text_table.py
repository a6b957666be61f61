"""Text tables: what a terminal shows of the snapshots has every label and every digit at every width."""

import io
import itertools

import pytest
from rich.text import Text

from bench.base.printable import one_line
from bench.leaderboards.leaderboards import with_statistics
from bench.leaderboards.render.formats import FIXED, lines_of, text_table
from bench.leaderboards.render.text_table import TextTable, aligned, console_of, short
from bench.leaderboards.row import TableRow, Value
from bench.leaderboards.table import Table, metric_name, tables
from bench.store.store import Store
from tools.regenerate import RUNS


@pytest.fixture(scope="module")
def boards() -> list[Table]:
    """Tables of snapshots with few and with many columns, and with long labels."""
    found = [with_statistics(tables(Store(RUNS / name))[0], rounds=20) for name in ("mid", "published-systems")]
    return [table for leaderboards in found for table in leaderboards.tables]


def printed(table: TextTable, width: int) -> list[str]:
    """Return the lines of a table."""
    stream = io.StringIO()
    table.print(console_of(stream, width))
    return stream.getvalue().splitlines()


def columns_of(lines: list[str]) -> list[tuple[str, list[str]]]:
    """Return heading and cells of each column of each part, as they are read from the lines."""
    columns: list[tuple[str, list[str]]] = []
    part: list[list[str]] = []
    headings: list[str] = []
    for line in lines:
        if line.startswith("┏"):
            part, headings = [[] for _ in line.split("┳")], [""] * len(line.split("┳"))
        elif line.startswith("┃"):
            cells = [cell.strip() for cell in line.strip("┃").split("┃")]
            headings = [above + cell for above, cell in zip(headings, cells, strict=True)]
        elif line.startswith("│"):
            for column, cell in zip(part, line.strip("│").split("│"), strict=True):
                column.append(cell.strip())
        elif line.startswith("└"):
            columns += zip(headings, part, strict=True)
    return columns


def values_of(table: Table, name: str) -> list[str]:
    """Return what a terminal shows in a column, line by line."""
    place = [*FIXED, *table.columns].index(name) - 1
    cells = [line.cells[place] for line in lines_of(table)]
    return [one_line(cell.text) + "†" * cell.differs for cell in cells]


@pytest.mark.parametrize("width", [60, 120, 200])
def test_the_snapshots_are_shown_whole_at_every_width(boards: list[Table], width: int) -> None:
    for table in boards:
        lines = printed(text_table(table), width)
        assert max(map(len, lines)) <= width
        columns = columns_of(lines)
        names = [heading for heading, _ in columns if heading not in FIXED]
        shown = [short(name).replace("\n", "") for name in table.columns]
        assert sorted(names) == sorted(shown)
        primary = [
            name for name, column in zip(shown, table.columns, strict=True) if metric_name(column) == table.primary
        ]
        assert names[0] == ([*primary, *shown] if lines[0].startswith("part 1 of ") else shown)[0]
        for name in table.columns:
            values = values_of(table, name)
            (cells,) = (cells for heading, cells in columns if heading == short(name).replace("\n", ""))
            assert [cell for cell in cells if cell] == [value for value in values if value]
        for heading, cells in columns:
            if heading == "method":
                left = "".join(cells).replace(" ", "")
                for row in table.rows:
                    label = row.label.replace(" ", "")
                    assert label in left
                    left = left.partition(label)[2]


LONG = "facebook/bart-large-distilled-cnn-12-6-v2"


def with_long_labels(backbones: list[str]) -> Table:
    """Rows whose methods start from tuned ones, so that their settings are long and have no place to break."""
    rows = []
    for method, rate, backbone in itertools.product(("ul_token_seq", "mle"), ("0.00131", "0.00262"), backbones):
        row = TableRow(method, backbone, "greedy", {"method": method}, settings=f"start.trainer.lr={rate}")
        for column, value in (("bleu-1", 43.21), ("sentence-bleu-1", 100.0), ("ppl/word", 123456.78)):
            row.values[column] = Value({seed: value * (1 + seed / 50) for seed in range(3)}, True, "s")
        rows.append(row)
    columns = ["bleu-1", "sentence-bleu-1", "ppl/word"]
    table = Table("logicnlg", "test", 9, {}, rows, columns, (), "small", True, primary="bleu-1")
    return with_statistics([table], rounds=20).tables[0]


@pytest.mark.parametrize("backbones", [["small-encdec"], ["small-encdec", "bilstm"], [LONG], ["bilstm", LONG]])
@pytest.mark.parametrize("width", [60, 80, 120])
def test_a_long_label_stays_within_the_line(width: int, backbones: list[str]) -> None:
    table = with_long_labels(backbones)
    lines = printed(text_table(table), width)
    assert max(map(len, lines)) <= width
    columns = columns_of(lines)
    joined = "".join(cells_of(columns, "method"))
    for row in table.rows:
        assert row.label.replace(" ", "") in joined.replace(" ", "")
    assert all(backbone in "".join(cells_of(columns, "backbone")) for backbone in backbones)
    for name in table.columns:
        cells = cells_of(columns, short(name).replace("\n", ""))
        assert [cell for cell in cells if cell] == values_of(table, name)


def cells_of(columns: list[tuple[str, list[str]]], heading: str) -> list[str]:
    """Return the cells of the first column of a name."""
    return next(cells for name, cells in columns if name == heading)


def test_a_value_wider_than_the_terminal_keeps_its_digits() -> None:
    number = "1234567890" * 8
    table = TextTable("t", ["method", "ppl"], [[Text("mle"), Text(number)]], labels=1, repeated=1)
    assert any(number in line for line in printed(table, 60))


def test_a_name_without_a_place_to_break_it_is_folded_and_not_cut() -> None:
    name = "x" * 100
    table = TextTable("t", ["method", "ppl"], [[Text(name), Text("1.00")]], labels=1, repeated=1)
    lines = printed(table, 60)
    assert max(map(len, lines)) <= 60
    assert "".join(columns_of(lines)[0][1]) == name


def test_the_width_is_that_of_columns_or_wide_without_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    for columns, width in (("80", 80), ("300", 300), ("20", 60)):
        monkeypatch.setenv("COLUMNS", columns)
        assert console_of(io.StringIO()).width == width
    monkeypatch.delenv("COLUMNS")
    monkeypatch.setattr("os.get_terminal_size", lambda *_: (_ for _ in ()).throw(OSError))
    assert console_of(io.StringIO()).width == 200


# Aligned lines ----------------------------------------------------------------------------------------------------

HEADINGS = ("method", "steps", "tokens/parameter", "hours", "tokens")
ROWS = [["mle.continued", "1,250", "0.0587", "12.31", "1,234,567"], ["tailr.power", "7", "1.5", "0.02", "5"]]


@pytest.mark.parametrize("width", [60, 80, 120])
def test_parts_have_every_number_once_and_the_first_column_each(width: int) -> None:
    rows = [[*row, *row[1:], *row[1:]] for row in ROWS]
    headings = [*HEADINGS, *(f"{name} again" for name in HEADINGS[1:]), *(f"{name} last" for name in HEADINGS[1:])]
    lines = aligned(headings, rows, width=width)
    assert max(map(len, lines)) <= width
    parts = [line for line in lines if line.startswith("part ")]
    assert len(parts) >= 2
    of_mle = [line.split()[1:] for line in lines if line.startswith("mle.continued")]
    assert len(of_mle) == len(parts)
    assert [cell for cells in of_mle for cell in cells] == rows[0][1:]


def test_what_fits_is_one_part_without_a_title() -> None:
    assert aligned(("a", "n"), [["x", "1"], ["yy", "100"]]) == ["a     n", "x     1", "yy  100"]


def test_a_long_text_goes_on_below_itself() -> None:
    lines = aligned(("task", "from", "n"), [["text", "a folder with a very long name " * 3, "12"]], texts=2, width=60)
    assert max(map(len, lines)) <= 60
    assert " ".join(" ".join(lines[1:]).split()).count("folder with") == 3
