"""Renderers: every form parses back to the same numbers, and a stored name can do no harm in any of them."""

import csv
import io
import json
import re

import pytest

from bench.leaderboards.leaderboards import with_statistics
from bench.leaderboards.render import FORMATS
from bench.leaderboards.render.board import board
from bench.leaderboards.render.formats import render
from bench.leaderboards.row import TableRow, Value, number
from bench.leaderboards.table import Table
from bench.store.store import Store
from tests.leaderboards.boards import ATTACKS, LATEX
from tests.leaderboards.handmade import leaderboards_of, ready, scored, trained

THIRD = 100 / 3


@pytest.fixture
def root(tmp_path):
    """Three methods, two seeds, one missing value, one tie."""
    for seed in (0, 1):
        ready(tmp_path, "mle", seed, bleu=THIRD + seed)
        ready(tmp_path, "trime", seed, bleu=THIRD + seed, ppl=19.5)
    scored(trained(tmp_path, "histalign"), {"bleu-1": 1.0, "bleu-3": 0.1 + 0.2})
    return tmp_path


def rendered(root, form, **options):
    return render(leaderboards_of(Store(root), **options), form)


def markdown_cells(text):
    """The rows of the only Markdown table in a text, unescaped."""
    lines = [line for line in text.splitlines() if line.startswith("|")]
    cells = [re.split(r"(?<!\\)\|", line)[1:-1] for line in lines]
    return [[re.sub(r"\\(.)", r"\1", cell[1:-1]) for cell in row] for row in (cells[0], *cells[2:])], lines[1]


PRINTED, TRIME = (
    f"  {name} in HistAlign Table 7, beam=4+no_repeat_ngram=3+early_stopping" for name in ("mle", "trime")
)
"""A published row shows the decoding of its texts."""


# Markdown ---------------------------------------------------------------------------------------------------------


def test_markdown_is_a_table_that_reads_back(root):
    (head, *rows), rule = markdown_cells(rendered(root, "markdown"))
    assert head == ["method", "backbone", "seeds", "bleu-1", "bleu-3", "ppl/word"]
    assert rule == "|---|---|---:|---:|---:|---:|"
    assert all(len(row) == len(head) for row in rows)
    ours = [row for row in rows if not row[0].startswith("  ")]
    assert ours == [
        ["mle", "small-encdec", "2", "33.83", "16.92", "20.00"],
        ["trime", "small-encdec", "2", "33.83", "16.92", "19.50"],
        ["histalign", "small-encdec", "1", "1.00", "0.30", ""],
    ]


def test_published_rows_follow_the_method_they_are_of_once(root):
    (_, *rows), _ = markdown_cells(rendered(root, "markdown"))
    assert [row[0] for row in rows] == ["mle", PRINTED, "trime", TRIME, "histalign"]
    assert rows[1] == [PRINTED, "bart-large", "", "56.27", "25.63", ""]


def test_a_column_named_by_its_signature_is_one_column(tmp_path):
    for method, size in (("mle", 1), ("trime", 2)):
        signatures = {"bleu-3": f"bleu|N:{size}|V:{size}"}
        scored(trained(tmp_path, method), {"bleu-1": 1.0, "bleu-3": 2.0}, signatures=signatures)
    (head, *rows), _ = markdown_cells(rendered(tmp_path, "markdown"))
    assert head[3:] == ["bleu-1", "bleu-3 [N:1|V:1]", "bleu-3 [N:2|V:2]"]
    assert all(len(row) == len(head) for row in rows)
    assert [row[3:] for row in rows if row[0] == PRINTED][0] == ["56.27", "25.63", "25.63"]


# CSV and JSON -----------------------------------------------------------------------------------------------------


def test_csv_has_every_value_unrounded_with_its_seeds(root):
    lines = list(csv.DictReader(io.StringIO(rendered(root, "csv"))))
    assert len(lines) == 2 * 3 + 2
    found = {(line["method"], line["metric"]): line for line in lines}
    line = found["trime", "bleu-1"]
    assert float(line["mean"]) == (THIRD + THIRD + 1) / 2
    assert json.loads(line["by_seed"]) == {"0": THIRD, "1": THIRD + 1}
    assert (line["n_seeds"], line["rows"], line["signature"]) == ("2", "3", "bleu-1|version:1")
    assert float(found["histalign", "bleu-3"]["mean"]) == 0.1 + 0.2 != 0.3
    assert {(line["task"], line["split"], line["preset"], line["decoding"]) for line in lines} == {
        ("logicnlg", "test", "small", "greedy")}  # fmt: skip


def test_json_is_the_board_unrounded(root):
    content = json.loads(rendered(root, "json"))
    assert content == board(leaderboards_of(Store(root)))
    trime = next(row for row in content["tables"][0]["methods"] if row["method"] == "trime")
    assert trime["values"]["bleu-1"]["by_seed"] == {"0": THIRD, "1": THIRD + 1}


def test_notes_are_in_json_and_below_the_tables_for_people(root):
    ready(root, "limited", trainer__limit=5)
    note = "1 run with --limit is left out"
    assert json.loads(rendered(root, "json"))["notes"] == [note]
    assert rendered(root, "markdown").endswith(f"\n{note}\n")
    assert rendered(root, "terminal").endswith(f"\n{note}\n")
    assert note not in rendered(root, "csv")


@pytest.mark.parametrize("form", FORMATS)
def test_the_command_prints_the_table_and_nothing_else(root, bench, form):
    ended = bench("report", "--results", str(root), "--task", "logicnlg", "--format", form)
    assert (ended.code, ended.err) == (0, "")
    assert ended.out == rendered(root, form, tasks=["logicnlg"])
    assert bench("report", "--results", str(root), "--task", "ambiguous_template").code == 3


# Terminal ---------------------------------------------------------------------------------------------------------


def test_the_best_value_is_bold_in_a_terminal(root, monkeypatch):
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    assert "\x1b[1m" in rendered(root, "terminal")


# Shown numbers ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, ""), (0.0, "0.00"), (33.333, "33.33"), (0.005, "0.01"), (100.0, "100.00"), (762.0, "762"),
     (762.5, "762.50"), (-3.14159, "-3.14"), (1e6, "1000000")],
)  # fmt: skip
def test_numbers_as_shown(value, text):
    assert number(value) == text


# Stored names may be anybody's ------------------------------------------------------------------------------------

PAYLOADS = ["<script>alert(1)</script>", "a|b|c", "[x](javascript:alert(1))", "![x](http://x/y.png)", "*bold*",
            "`code`", "\\|", "a\nb", "a\r\n| x |", "\x1b[31mred", "\x1b]0;title\x07", "=1+1", "+1", "-1", "@SUM(A1)",
            "\t=1", "a,b", 'a"b', "é\u202eabc", "\u2028x", "<img src=x onerror=y>", "| --- |", "\x00",
            "a\x0bb\x0c", *ATTACKS]  # fmt: skip
COMMANDS = [
    r"\input{/etc/passwd}", r"\write18{id}", r"\immediate\write18{id}", r"\def\x{y}", "a & b", r"a \\ b", "50 %", "#1",
    "$x$", "x_1^2", "{", "}", "~", "|", "<a>", '"q"', "`id`", "--", "\n\\end{table}", r"\catcode`\%=12", r"\textbf{",
    r"^^5cinput", r"\end{tabular}", "%", "\\",
]  # fmt: skip
"""What LaTeX might take for a command."""


@pytest.mark.parametrize("payload", [*PAYLOADS, *COMMANDS])
def test_a_stored_name_does_no_harm(tmp_path, payload):
    ready(tmp_path, "mle", bleu=20.0)
    ready(tmp_path, "trime", bleu=30.0, backbone=payload, task_options={"style": payload})
    ready(tmp_path, "trime", bleu=31.0, backbone=payload, task_options={"style": "plain"})
    found = leaderboards_of(Store(tmp_path))
    markdown, latex, shown = (render(found, form) for form in ("markdown", "latex", "terminal"))
    (head, *rows), _ = markdown_cells(markdown)
    assert all(len(row) == len(head) for row in rows)
    assert [row[4].strip("*") for row in rows if not row[0].startswith("  ")] == ["15.50", "15.00", "10.00"]
    assert not re.search(r"(?<!\\)[<>`\[]", markdown)
    lines = list(csv.reader(io.StringIO(render(found, "csv"), newline="")))
    assert all(len(line) == len(lines[0]) for line in lines)
    assert not any(line[5].startswith(("=", "+", "-", "@", "\t", "\r")) for line in lines)
    assert json.loads(render(found, "json"))["tables"][0]["methods"][0]["backbone"] == payload
    assert set(re.findall(r"\\([a-zA-Z]+)", latex)) <= LATEX
    assert latex.count(r" \\") == markdown.count("\n| ")
    unescaped = re.sub(r"\\[{}$&#%_]", "", latex.partition("\n")[2])  # the first line names packages
    assert not re.search("[#%]", unescaped)
    assert unescaped.count("{") == unescaped.count("}")
    assert unescaped.count("$") % 2 == 0
    body = unescaped.split(r"\toprule")[1].split(r"\bottomrule")[0]
    assert {line.count("&") for line in body.splitlines() if line.endswith(r" \\")} == {len(head) - 1}
    assert not {c for c in shown if not c.isprintable()} - {"\n"}


def test_a_metric_without_a_value_is_na_with_its_reason_and_never_a_number() -> None:
    none = Value({}, True, "rouge", reason="it drops 97 % of the references' letters")
    assert (none.mean, none.n) == (None, 0)
    row = TableRow("mle", "small-encdec", "greedy", {}, values={"rouge-l": none, "chrf": Value({0: 3.0}, True, "chrf")})
    other = TableRow("face", "small-encdec", "greedy", {}, values={"rouge-l": none})
    table = Table("pairs", "test", 9, {}, [row, other], ["rouge-l", "chrf"], (), "small", True)
    leaderboards = with_statistics([table])
    shown = [row["values"]["rouge-l"] for row in board(leaderboards)["tables"][0]["methods"]]
    assert [(cell["text"], cell["interval"], cell["best"]) for cell in shown] == [("n/a", "", False)] * 2
    for form in ("terminal", "markdown", "csv", "json"):
        text = render(leaderboards, form)
        assert "drops 97 % of the references" in text.replace("\n", " ")
        assert form in ("csv", "json") or "n/a" in text
    assert json.loads(render(leaderboards, "json"))["tables"][0]["methods"][0]["values"]["rouge-l"]["mean"] is None


def test_best_and_second_are_marked(tmp_path):
    for method, bleu in (("mle", 30.0), ("trime", 31.0), ("histalign", 29.0)):
        for seed in (0, 1, 2):
            ready(tmp_path, method, seed, bleu=bleu + seed / 50)
    assert all("†" in rendered(tmp_path, form) for form in ("markdown", "terminal"))
    assert "paired by seed" in rendered(tmp_path, "markdown")
    text = rendered(tmp_path, "latex")
    assert (
        r"trime & small{-}encdec & 3 & \textbf{31.02 $\pm$0.05}$^\dagger$ & \textbf{15.51 $\pm$0.02}$^\dagger$" in text
    )
    assert r"mle & small{-}encdec & 3 & \underline{30.02 $\pm$0.05}" in text
    assert r"29.02 $\pm$0.05" in text
    assert text.startswith("% \\usepackage{booktabs,textcomp}\n")
    assert r"\label{tab:logicnlg." in text
    assert text.count(r"\begin{table}") == text.count(r"\end{table}") == 1
    assert r"\quad mle in HistAlign Table 7" in text
