"""Published numbers: every table whole, two typed a second time, every name one of ours, every error with its place."""

import pytest

from bench.base.registry import all_names
from bench.config.decoding import parse
from bench.errors import DataError, UsageError
from bench.leaderboards.published.paper_files import UNSURE, read
from bench.leaderboards.published.papers import paper_table, papers, published
from bench.metrics import METRICS
from bench.metrics.columns import direction_of
from bench.models import METHODS
from bench.models.backbones import BACKBONES
from bench.tasks import TASKS

# rows, columns, cells with a number, comparable ones, sum of the numbers
SIZES = {
    "adadec/table1": (5, 3, 14, 0, 4832710.2),
    "adadec/table2": (7, 3, 21, 9, 614),
    "adadec/table3": (5, 2, 10, 6, 340.8),
    "adadec/table4": (6, 2, 12, 8, 494.1),
    "f2softmax/table1": (12, 13, 146, 130, 220837.58),
    "f2softmax/table2": (12, 13, 146, 130, 191917.42),
    "f2softmax/table3": (3, 4, 12, 12, 70588.98),
    "f2softmax/table5": (3, 3, 9, 0, 114669239),
    "f2softmax/table6": (1, 2, 2, 0, 145500000),
    "f2softmax/table8": (2, 4, 8, 4, 49382.3),
    "f2softmax/table9a": (20, 2, 40, 0, 140),
    "f2softmax/table9b": (5, 3, 15, 0, 54),
    "f2softmax/table10": (41, 13, 497, 481, 686756.37),
    "histalign/table1": (6, 9, 54, 48, 9881.31),
    "histalign/table2": (3, 4, 12, 12, 600),
    "histalign/table3": (6, 3, 18, 6, 1388.44),
    "histalign/table4": (1, 6, 6, 0, 199.98),
    "histalign/table5": (3, 8, 24, 12, 1208.6),
    "histalign/table6": (3, 2, 6, 0, 260.99),
    "histalign/table7": (3, 7, 21, 18, 1159.4),
}
COLUMNS = tuple(pattern for metric in METRICS.values() for pattern in metric.columns)
CELLS = [cell for paper in papers() for table in paper.tables for row in table.rows for cell in row]


def test_every_table_of_the_list_is_there_and_no_other():
    assert [table.address for paper in papers() for table in paper.tables] == list(SIZES)


@pytest.mark.parametrize("address", SIZES)
def test_a_table_is_whole(address):
    rows, columns, numbers, comparable, total = SIZES[address]
    table = paper_table(address)
    cells = [cell for row in table.rows for cell in row]
    values = [cell.value for cell in cells if cell.value is not None]
    assert (len(table.rows), len(table.columns), len(values)) == (rows, columns, numbers)
    assert {len(row) for row in table.rows} == {columns}
    assert sum(not cell.why_not for cell in cells) == comparable
    assert sum(values) == pytest.approx(total, abs=1e-6)


def test_every_table_with_methods_has_a_level():
    """Of the whole, or of each part; tables of sizes have none."""
    for paper in papers():
        for table in paper.tables:
            with_methods = {cell.part for row in table.rows for cell in row if cell.method}
            parts = {level["part"] for level in table.levels}
            assert {level["level"] for level in table.levels} <= {"comparable", "barred"}
            assert with_methods <= parts or parts == {""} or not with_methods, table.address


def test_every_name_is_one_of_ours():
    methods = {"", *all_names(METHODS)}
    for cell in CELLS:
        assert {cell.method, cell.variant} <= methods
        assert cell.task.removeprefix("human/") in {"", *TASKS}
        assert cell.backbone in {"", *BACKBONES}
        if cell.metric and not cell.metric.startswith("human/"):
            direction_of(cell.metric, COLUMNS)  # raises KeyError for a metric that is none of ours


def test_a_comparable_cell_names_everything_a_run_needs():
    for cell in (cell for cell in CELLS if not cell.why_not):
        assert cell.task in TASKS
        assert cell.method in all_names(METHODS)
        assert cell.backbone in BACKBONES
        assert cell.metric
        assert cell.signature
        assert cell.split == "test"
        assert cell.value is not None


def test_decodings_are_named_as_our_cells_name_them():
    for name in {cell.decoding for cell in CELLS} - {""}:
        assert [one.text for one in parse(name)] == [name]
    sampled = {c.decoding for c in CELLS if not c.why_not and c.task not in ("ambiguous_template",)}
    assert "" not in sampled


# Leaderboards -----------------------------------------------------------------------------------------------------


def test_leaderboards_show_the_tables_that_fit_beneath_them():
    shown = {}
    for task in TASKS:
        for row in published(task):
            shown.setdefault(task, {})[f"{row.paper} {row.table}"] = None
    assert {task: list(tables) for task, tables in shown.items()} == {
        "ambiguous_template": ["HistAlign Table 1", "HistAlign Table 2"],
        "logicnlg": ["HistAlign Table 7"],
        "wikitext103": ["F2-Softmax Table 1", "F2-Softmax Table 2"],
        "xsum": ["HistAlign Table 5"],
        "cnndm": ["HistAlign Table 5"],
        "gigaword": ["AdaDec Table 2"],
        "nyt": ["AdaDec Table 3"],
        "writingprompts": ["HistAlign Table 3"],
        "wikibio": ["AdaDec Table 4"],
        "lyrics": ["F2-Softmax Table 1", "F2-Softmax Table 2", "F2-Softmax Table 3"],
    }


# Reading ----------------------------------------------------------------------------------------------------------

FILE = """
name = "P"
short = "p"
citation = "P 2020"
[[table]]
name = "Table 1"
title = "t"
about = "a"
task = "xsum"
columns = [{ label = "R", metric = "rouge-l" }, { label = "X", why_not = "no such metric" }]
rows = [{ label = "A", method = "mle", values = "1.5 2" },
  { label = "B", why_not = "another system", values = "- 0.3?" },
  { label = "C", method = "mle", why_not = "another reading", values = "4 5" },
  { label = "D", method = "mle", values = "- 6" }]
"""


def test_a_table_is_read_by_name_and_by_number():
    assert paper_table("HistAlign/Table7").title.startswith("LogicNLG")
    with pytest.raises(UsageError, match="no published table 'histalign/table8'; did you mean 'histalign/table"):
        paper_table("histalign/table8")


def test_a_reason_is_the_nearest_one():
    (a, x), (b, y), last, (none, _) = read(FILE, "f").tables[0].rows
    assert [cell.why_not for cell in (a, x, b, y)] == ["", "no such metric", "another system", UNSURE]
    assert [cell.value for cell in (a, x, b, y)] == [1.5, 2, None, 0.3]
    assert {cell.why_not for cell in last} == {"another reading"}
    assert none.why_not == "the paper prints no number here"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('title = "t"', 'title = "t"\ntitel = "u"', "table.0.titel"),
        ('label = "R",', 'label = "R", unit = "",', "table.0.columns.0.unit"),
        ('"1.5 2"', '"1.5"', "Table 1, row 'A': not a value and a spread for each column"),
        ('"1.5 2"', '"1.5 x"', "'xe0'"),
    ],
)
def test_what_a_file_may_not_have_is_refused_with_its_place(old, new, message):
    with pytest.raises(DataError, match=f"^f: (?s:.*){message}"):
        read(FILE.replace(old, new), "f")
