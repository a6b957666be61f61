"""Published numbers: equal to the rows of the papers' tables, typed here a second time from the papers."""

import pytest

from bench.leaderboards.papers import published
from bench.models import METHODS
from bench.models.backbones import BACKBONES
from bench.tasks import TASKS

TABLE_1 = """
                 Full Acc@2  Acc@5  Acc@10 Acc@25 | Cache-only Acc@2  Acc@5  Acc@10 Acc@25 | Rank
gpt2        mle        50.00  62.20  68.80  76.96              0.00   35.57  50.56  75.71     762
gpt2        trime      46.43  56.41  76.47  97.96              0.00   39.89  66.51  100.00    836
gpt2        histalign  63.47  72.26  89.71  100.00             58.62  70.62  79.59  94.31     854
gpt2-large  mle        75.43  84.76  87.93  91.26              0.05   37.83  73.88  100.00    1280
gpt2-large  trime      77.40  91.10  94.56  97.17              0.11   22.32  84.89  100.00    1377
gpt2-large  histalign  82.22  92.84  96.57  98.34              82.15  92.51  99.94  100.00    1377
"""
TABLE_2 = """
                  Acc@2  Acc@5  Acc@10  Acc@25
llama2-7b  mle        0      0       0     100
llama2-7b  trime      0      0       0     100
llama2-7b  histalign  100    100   100     100
"""
TABLE_7 = """
                       BLEU-1  BLEU-2  BLEU-3
bart-large  mle        56.27   37.07   25.63
bart-large  trime      56.12   36.84   25.29
bart-large  histalign  56.65   37.56   26.25
"""
FULL, CACHE = ([f"acc@{k}/{mode}" for k in (2, 5, 10, 25)] for mode in ("full", "cache"))
TYPED = {
    ("ambiguous_template", "Table 1"): ([*FULL, *CACHE, "rank/float32"], TABLE_1),
    ("ambiguous_template", "Table 2"): (CACHE, TABLE_2),
    ("logicnlg", "Table 7"): (["bleu-1", "bleu-2", "bleu-3"], TABLE_7),
}


def typed(columns, text):
    """The rows of a table above: (backbone, method) -> column -> number."""
    lines = [line.split() for line in text.strip().splitlines()[1:]]
    return {(line[0], line[1]): dict(zip(columns, map(float, line[2:]), strict=True)) for line in lines}


@pytest.mark.parametrize(("task", "table"), TYPED)
def test_every_number_is_that_of_the_paper(task, table):
    rows = [row for row in published(task) if (row.paper, row.table) == ("HistAlign", table)]
    assert {(row.backbone, row.method): row.values for row in rows} == typed(*TYPED[task, table])
    assert [(row.backbone, row.method) for row in rows] == list(typed(*TYPED[task, table]))


def test_no_number_is_there_that_was_not_checked():
    found = {(task, row.table) for task in TASKS for row in published(task) if row.paper == "HistAlign"}
    assert found == set(TYPED)


def test_every_published_row_is_of_something_there_is():
    for task in TASKS:
        for row in published(task):
            assert row.task == task
            assert row.method in METHODS
            assert row.backbone in BACKBONES
            assert row.label == f"published: {row.paper} {row.table}, {row.backbone}"


def test_the_columns_are_those_of_our_metrics():
    from bench.metrics.cache_accuracy import KS, MODES

    ours = {f"acc@{k}/{mode}" for k in KS for mode in MODES}
    ours |= {"rank/float32", "rank/float64", "bleu-1", "bleu-2", "bleu-3"}
    assert {column for task in TASKS for row in published(task) for column in row.values} <= ours


def test_a_reader_is_warned_where_the_paper_is_unclear():
    notes = {row.table: row.note for task in TASKS for row in published(task)}
    assert "no stated tolerance" in notes["Table 1"]
    assert "corpus scale" in notes["Table 7"]


def test_a_task_without_a_paper_has_no_published_rows():
    assert published("no such task") == []
