"""Published numbers against the papers' own text: every number, in its order. Only where BENCH_PAPERS has the texts."""

import os
import re
from pathlib import Path

import pytest

from bench.leaderboards.published.papers import paper_table, papers

FOLDER = os.environ.get("BENCH_PAPERS", "")
pytestmark = pytest.mark.skipif(not FOLDER, reason="BENCH_PAPERS does not name a folder with the papers' texts")

FIRST_LINES = {
    "histalign": "HISTALIGN: Improving Context Dependency",
    "f2softmax": "F²-Softmax: Diversifying",
    "adadec": "Text Generation with Exemplar-based Adaptive Decoding",
}
AFTER = {  # what stands before a table, where it is not the caption of the one before; the last line before its end
    "histalign/table1": ("(king, woman) and (queen, man)", "Table 1: "),
    "histalign/table3": ("Experiment on recent LLM", "Table 3: "),
    "histalign/table7": ("Model\tBLEU", "Table 7: "),
    "adadec/table1": ("Closing this section", "Table 1: "),
    "adadec/table4": ("Model\tRG-4", "Table 4: "),
    "f2softmax/table1": ("4.2.1 Stochastic Decoding", "Table 1: "),
    "f2softmax/table3": ("4.4.1 Ablation on MefMax", "Table 3: "),
    "f2softmax/table5": ("A.2 Data Statistics", "Table 5: "),
    "f2softmax/table8": ("C Transfer Learning", "Table 8: "),
    "f2softmax/table9a": ("Winner", "(a) Results on pair-wise"),
    "f2softmax/table9b": ("(a) Results on pair-wise", "Table 9: "),
    "f2softmax/table10": ("top-k=3", "(a) W"),
}
NUMBER = re.compile(r"[0-9][0-9,]*(\.[0-9]+)?[kKM]?")
SPREAD = re.compile(r"(?:_\{|\{\\scriptstyle ?)\s*\\pm ?([0-9.]+)\s*\}")
GARBLED = "f2softmax/table10"  # its second half is one line of columns, printed many times over
ONE_ROW = "f2softmax/table6"  # of which its last row alone is transcribed
WHOLE = [table.address for paper in papers() for table in paper.tables if table.address != ONE_ROW]


def text_of(short):
    for path in sorted(Path(FOLDER).glob("*.txt")):
        text = path.read_text(encoding="utf-8")
        if FIRST_LINES[short] in text[:200]:
            return text
    pytest.fail(f"no text in BENCH_PAPERS begins with '{FIRST_LINES[short]}'")


def section(address):
    """The lines of a table: those with cells between what stands before it and its caption."""
    short, _, table = address.partition("/")
    name = table.replace("table", "Table ")
    number = int(re.sub(r"\D", "", name))
    start, end = AFTER.get(address, (f"Table {number - 1}: ", f"{name}: "))
    lines = text_of(short).splitlines()
    first = next(i for i, line in enumerate(lines) if line.startswith(start) or (len(start) > 12 and start in line))
    last = next(i for i in range(first + 1, len(lines)) if end in lines[i])
    return [line for line in lines[first + 1 : last] if "\t" in line]


def numbers(cell):
    """The numbers that stand alone in a cell."""
    text = re.sub(r"\\(begin|end)\{array\}(\{c\})?|\\textbf|\\\\|[${}*]", " ", SPREAD.sub(" ", cell))
    return [token for token in re.split(r"\s+|(?<=[0-9])-(?=[0-9])", text) if NUMBER.fullmatch(token)]


def rows_of(lines, read=numbers):
    """The numbers of lines row by row; a line whose cells hold k numbers is k rows, `?` where a number is lost."""
    found = []
    for line in lines:
        cells = [some for cell in re.split(r"[\t/]", line) if (some := read(cell))]
        height = max(map(len, cells), default=0)
        for row in range(height):
            found += [cell[row] if row < len(cell) else "?" for cell in cells]
    return found


def stored(address, what="printed", part=""):
    cells = [c for row in paper_table(address).rows for c in row if c.part.startswith(part)]
    if what == "spread":
        return [f"{c.spread:.2f}" for c in cells if c.spread is not None]
    return [c.printed.rstrip("?") or "?" for c in cells if c.printed not in ("-", "N/A")]


def test_every_table_is_checked():
    assert len(WHOLE) == 19


def test_the_row_of_a_table_that_is_transcribed_in_part():
    assert "Total # of parameters\t69.0M\t76.5M" in text_of("f2softmax")
    assert stored(ONE_ROW) == ["69.0M", "76.5M"]


@pytest.mark.parametrize("address", WHOLE)
def test_every_number_is_that_of_the_text_in_its_order(address):
    found, ours = rows_of(section(address)), stored(address, part="(a)" if address == GARBLED else "")
    pairs = list(zip(found, ours, strict=True))
    assert [a for a, b in pairs if "?" not in (a, b)] == [b for a, b in pairs if "?" not in (a, b)]
    assert sum("?" in pair for pair in pairs) == (2 if address == GARBLED else 0)


def test_every_spread_is_that_of_the_text():
    assert rows_of(section("histalign/table3"), SPREAD.findall) == stored("histalign/table3", "spread")
    assert len(stored("histalign/table3", "spread")) == 18


def test_the_garbled_half_holds_nothing_that_is_not_in_its_column():
    """Of each k and column, numbers between two lost ones stand together in that column of one of its lines."""
    lines = text_of("f2softmax").splitlines()
    first = next(i for i, line in enumerate(lines) if line.startswith("Models top-k=3"))
    lines = [line.split("\t") for line in lines[first:] if line.lower().startswith(("models top-k=3", "top-k=3 mle"))]
    shown = [[f" {' '.join(numbers(line[column]))} " for line in lines] for column in range(1, 14)]
    table = paper_table(GARBLED)
    legible = 0
    for k in (3, 5, 10, 20):
        rows = [row for row in table.rows if row[0].part == f"(b) Melo-Lyrics, top-k={k}"]
        for column in range(13):
            for run in " ".join(row[column].printed for row in rows).replace(" ?", " |").split("|"):
                wanted = " ".join(run.replace("?", " ").split())
                legible += len(wanted.split())
                assert any(f" {wanted} " in line for line in shown[column]), (k, table.columns[column], wanted)
    assert legible == sum(c.value is not None for row in table.rows for c in row if c.part.startswith("(b)"))
