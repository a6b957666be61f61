"""The page without a browser: its size, its policy, that it loads nothing, and that no text in it is markup."""

import base64
import hashlib
import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from bench.leaderboards.render import html
from bench.leaderboards.render.html import (
    POINTS,
    SCRIPTS,
    inflated,
    packed,
    page,
    static_table,
    unpacked,
    with_few_curves,
    within_budget,
    without_hidden_seeds,
    write_page,
)
from tests.leaderboards import boards

PARTS = Path(html.__file__).parents[1] / "page"
LIMIT_BYTES = 250_000


class Reader(HTMLParser):
    """Elements with their attributes, and the text of scripts, styles and table cells."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.texts, self.rows = [], [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag in ("script", "style"):
            self.texts.append((tag, ""))
        elif tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_endtag(self, tag):
        if tag in ("script", "style"):
            self.texts.append(("", ""))
        elif tag == "table":
            self.rows.append([""])

    def handle_data(self, data):
        if self.texts and self.texts[-1][0]:
            self.texts[-1] = (self.texts[-1][0], self.texts[-1][1] + data)
        elif self.rows and self.rows[-1]:
            self.rows[-1][-1] += data

    def all(self, tag):
        return [attrs for name, attrs in self.elements if name == tag]

    def text(self, tag):
        return [text for name, text in self.texts if name == tag]


@pytest.fixture(scope="module")
def made():
    return page(boards.example())


def test_a_table_has_its_legend_above_it():
    table = boards.example()["tables"][0]
    table["legend"] = ["± half the 95 % interval over seeds", "Δ ours minus published"]
    made = static_table(table)
    line = "<p class=legend-line>± half the 95 % interval over seeds · Δ ours minus published</p>"
    assert made.index(line) < made.index("<table")
    assert "legend-line" not in static_table({**table, "legend": []})


def test_two_hundred_rows_fit_with_samples():
    content = boards.with_samples(boards.large(200))
    assert sum(len(table["methods"]) for table in content["tables"]) == 200
    assert all(len(row["values"]) == 7 for table in content["tables"] for row in table["methods"])
    made = page(content)
    assert len(made.encode()) <= LIMIT_BYTES
    kept = [len(table["samples"]) for table in unpacked(Reader(made).text("script")[0])["tables"]]
    assert kept == [2] * 4


def test_samples_stay_within_their_budget_and_one_of_every_table_stays():
    content = boards.example()
    (length,) = {
        len(s["prompt"] + s["reference"] + "".join(s["texts"].values())) for s in content["tables"][0]["samples"]
    }
    for budget, kept in ((3 * length, 3), (3 * length - 1, 2), (2 * length, 2), (0, 1)):
        first, other = within_budget(content, budget)["tables"]
        assert (len(first["samples"]), first["samples_left_out"]) == (kept, 3 - kept)
        assert first["samples"] == content["tables"][0]["samples"][:kept]
        assert (other["samples"], other["samples_left_out"]) == ([], 0)


def digest(text):
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def test_the_policy_allows_the_pages_own_script_and_style_and_nothing_else(made):
    read = Reader(made)
    (policy,) = [meta["content"] for meta in read.all("meta") if "http-equiv" in meta]
    rules = dict(rule.split(" ", 1) for rule in policy.split("; "))
    assert {name: rules[name] for name in ("default-src", "base-uri", "form-action")} == dict.fromkeys(
        ("default-src", "base-uri", "form-action"), "'none'"
    )
    assert set(rules) == {"default-src", "script-src", "style-src", "base-uri", "form-action"}
    _, code, loader = read.text("script")
    assert rules["script-src"] == f"{digest(loader)} {digest(inflated(code))}"
    assert [rules["style-src"]] == [digest(style) for style in read.text("style")]
    assert made.index("Content-Security-Policy") < made.index("<style")


@pytest.mark.parametrize("content", [boards.example(), boards.hostile()], ids=["example", "hostile"])
def test_the_page_loads_nothing(content):
    read = Reader(page(content))
    loading = {"src", "srcset", "srcdoc", "data", "action", "formaction", "poster", "background", "style"}
    for tag, attrs in read.elements:
        assert not loading & set(attrs), (tag, attrs)
        assert not [name for name in attrs if name.startswith("on")], (tag, attrs)
    assert {tag for tag, _ in read.elements} <= {
        "html", "head", "meta", "title", "style", "body", "a", "header", "div", "h1", "p", "button", "form", "main",
        "footer", "ul", "li", "b", "u", "script", "section", "h2", "table", "thead", "tbody", "tr", "th", "td", "i",
        "small", "figure", "figcaption", "nav", "ol", "span", "details", "summary", "svg", "g", "path", "circle",
        "polyline", "text", "wbr", "h3", "dl", "dt", "dd", "blockquote",
    }  # fmt: skip
    assert all(attrs["href"].startswith("#") for attrs in read.all("a"))
    assert len(read.all("meta")) == 4
    assert not re.search(r"url\(|@import|@font-face", read.text("style")[0])


def test_scripts_make_text_of_what_they_show():
    for name in (*SCRIPTS, "loader.js"):
        text = (PARTS / name).read_text(encoding="utf-8")
        assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|setHTML", text), name
        assert not re.search(r"\beval\b|new Function|fetch\(|XMLHttp|import\(|setTimeout\([\"'`]", text), name
        assert "</script" not in text
        assert "<!--" not in text
        assert len(text.splitlines()) <= 450
    assert {path.name for path in PARTS.glob("*.js")} == {*SCRIPTS, "loader.js"}


# The board in it --------------------------------------------------------------------------------------------------


def test_there_are_sixty_attacks():
    assert len(set(boards.ATTACKS)) == 60


def test_the_board_in_the_page_is_the_board_but_for_digits(made):
    script = Reader(made).text("script")[0]
    content = boards.example()
    content["tables"][0]["methods"][0]["values"]["bleu-1"] |= {"mean": 100 / 3, "half": 100 / 3, "p": 0.0}
    content["tables"][0]["published"][0]["values"]["bleu-1"] = 1234.5678
    found = unpacked(packed(content))
    assert found["tables"][0]["published"] == content["tables"][0]["published"]  # as printed
    assert found["tables"][0]["methods"][0]["values"]["bleu-1"] == {
        **boards.example()["tables"][0]["methods"][0]["values"]["bleu-1"],
        "mean": 33.33, "half": 33.33, "p": 0, "by_seed": {"0": 32.79, "1": 33.12, "2": 33.46},
    }  # fmt: skip
    assert unpacked(script) == unpacked(packed(within_budget(with_few_curves(without_hidden_seeds(boards.example())))))


def test_a_row_has_the_curves_of_its_first_seeds():
    content = boards.example()
    table = content["tables"][0]
    names = list(dict.fromkeys(curve["id"] for curve in table["curves"]))
    points = [[step, 1.0] for step in range(100)]
    table["curves"] = [{"id": name, "seed": seed, "points": points} for name in names for seed in (4, 0, 2, 7)]
    (found, *_) = with_few_curves(content)["tables"]
    assert [(curve["id"], curve["seed"]) for curve in found["curves"]] == [(n, s) for n in names for s in (0, 2, 4)]
    assert {len(curve["points"]) for curve in found["curves"]} == {POINTS}
    assert len(table["curves"]) == 4 * len(names)


def test_hidden_columns_have_no_values_by_seed():
    content = boards.example()
    table = content["tables"][0]
    hidden = {column["name"] for column in table["columns"] if not column["shown"]}
    assert hidden
    before = json.dumps(content)
    found = unpacked(packed(without_hidden_seeds(content)))["tables"][0]
    assert json.dumps(content) == before
    n_hidden = 0
    for row, was in zip(found["methods"], table["methods"], strict=True):
        for name, value in row["values"].items():
            assert value["signature"] == was["values"][name]["signature"]
            if name in hidden and len(row["seeds"]) > 1 and not value["conflict"]:
                n_hidden += 1
                assert value["by_seed"] == {}
                assert value["mean"] is not None
            else:
                assert value["by_seed"].keys() == was["values"][name]["by_seed"].keys()
    assert n_hidden


@pytest.mark.parametrize(("p", "kept"), [(0.05004, 0.05004), (0.04996, 0.05), (0.05, 0.05), (0.012345, 0.0123)])
def test_no_digit_that_is_cut_makes_or_takes_a_dagger(p, kept):
    assert unpacked(packed({"p": p})) == {"p": kept}
    assert (kept <= 0.05) == (p <= 0.05)


@pytest.mark.parametrize("content", [boards.example(), boards.hostile()], ids=["example", "hostile"])
def test_the_board_is_base64_which_ends_no_element(content):
    script = Reader(page(content)).text("script")[0]
    assert re.fullmatch(r"[A-Za-z0-9+/]+=*", script)


# Without JavaScript -----------------------------------------------------------------------------------------------


def test_the_static_table_is_complete():
    first = boards.example()["tables"][0]
    assert Reader(static_table(first)).rows[:-1] == [
        ["Method", "Backbone", "Seeds", "bleu-1 ↑", "bleu-2 ↑", "bleu-3 ↑", "ppl/word ↓", "rep"],
        ["mle", "small-encdec", "3", "33.12 ±1.00", "20.00 ±1.00", "", "19.50 ±1.00", ""],
        ["HistAlign Table 7", "bart-large", "", "56.27", "", "", "", ""],
        ["trime", "bart", "3", "41.50† ±1.00", "n/a", "", "25.00 (n=2)", ""],
        ["histalign", "small-encdec", "3 (div 1/3)", "9.75 ±1.00", "21.00 ±1.00", "", "conflict", ""],
        ["human", "", "", "", "", "", "", ""],
    ]
    assert "<b>41.50</b><i>†</i>" in static_table(first)
    assert "Not comparable with published numbers: test data: sample" in static_table(first)
    assert "<li>a remark" in static_table(first)


def test_the_static_table_writes_what_the_grid_says():
    first = boards.example()["tables"][0]
    first["methods"][0]["values"]["bleu-1"] |= {
        "text": "T",
        "interval": "I",
        "fewer": "F",
        "best": True,
        "differs": True,
    }
    first["methods"][0]["seeds_text"] = "S"
    first["published"][0]["texts"] = {"bleu-1": "P"}
    shown = static_table(first)
    assert "<td>S<td><b>T</b><i>†</i> ±I (F)<td>" in shown
    assert "<td>bart-large<td><td>P<td>" in shown


def test_every_row_of_every_table_stands_in_the_page():
    content = boards.large(40)
    rows = Reader(page(content)).rows
    assert sum(len(row) == 10 for row in rows) == 40 + 4
    assert "2 cells failed and have no number" in page(content)


def test_a_text_of_the_board_is_no_placeholder_of_the_page():
    content = boards.example()
    content["tables"][0]["remarks"] = ["{{script}}{{board}}"]
    assert "<li>{{script}}{{board}}</ul>" in page(content)


def test_writing_replaces_the_older_page(tmp_path):
    path = tmp_path / "deep" / "index.html"
    write_page(path, boards.large(4))
    write_page(path, boards.example())
    assert path.read_text(encoding="utf-8") == page(boards.example())
