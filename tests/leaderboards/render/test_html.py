"""The page without a browser: what stands in it, its policy, that it loads nothing, and that no text is markup."""

import re
from html.parser import HTMLParser

import pytest

from bench.leaderboards.claim.claim_files import read
from bench.leaderboards.claim.evaluation import evaluate
from bench.leaderboards.claim.report import content as claims_of
from bench.leaderboards.render.answers import answers, forgetting
from bench.leaderboards.render.html import _digest, page, static_table, write_page
from tests.leaderboards import boards
from tests.leaderboards.claim.test_evaluation import THEIRS, claim, paper, two

BOTH = pytest.mark.parametrize("content", [boards.example(), boards.hostile()], ids=["example", "hostile"])


class Reader(HTMLParser):
    """The elements with their attributes, the rows of all tables, and the text of scripts and styles."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.rows, self.code, self.inside = [], [], {}, ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        self.inside = (
            tag if tag in ("script", "style", "td", "th") or self.inside in ("script", "style") else self.inside
        )
        if tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_endtag(self, tag):
        if tag in ("script", "style", "th", "tr"):
            self.inside = ""

    def handle_data(self, data):
        if self.inside in ("script", "style"):
            self.code[self.inside] = data
        elif self.inside:
            self.rows[-1][-1] += data

    def all(self, tag):
        return [attrs for name, attrs in self.elements if name == tag]


# Tables -----------------------------------------------------------------------------------------------------------


def test_a_table_has_every_row_and_every_shown_column_with_its_marks():
    table = boards.example()["tables"][0]
    shown = static_table(table)
    assert Reader(shown).rows == [
        ["Method", "Seeds", "bleu-1 ↑", "bleu-2 ↑", "bleu-3 ↑", "ppl/word ↓", "rep"],
        ["mle small-encdec", "3", "33.12 ±1.00", "20.00 ±1.00", "", "19.50 ±1.00", ""],
        ["HistAlign Table 7 bart-large", "", "56.27", "", "", "", ""],
        ["trime control untuned bart", "3", "41.50† ±1.00", "n/a", "", "25.00 (n=2)", ""],
        ["histalign small-encdec", "3 (div 1/3)", "9.75 ±1.00", "21.00 ±1.00", "", "conflict", ""],
        ["human", "", "", "", "", "", ""],
    ]
    assert "<b>41.50</b><sup>†</sup>" in shown
    assert "Not comparable with published numbers: test data: sample" in shown
    assert "<li>a remark</li>" in shown
    assert shown.index("† differs from mle") < shown.index("<table")


def test_behind_a_number_stand_its_seeds_its_difference_and_its_tests():
    table = boards.example()["tables"][0]
    shown = static_table(table)
    assert 'data-v="41.17 41.5 41.83|8.38 6.12 0.01 0.02"' in shown
    value = next(row["values"]["bleu-1"] for row in table["methods"] if row["method"] == "trime")
    value["p"] = 0  # the difference of each seed is the same, and was not tested
    assert 'data-v="41.17 41.5 41.83|8.38 6.12 - 0.02"' in static_table(table)
    assert 'data-v="24.83 25.17 -"' in shown
    assert "bleu|scale:corpus|version:1\nhigher is better" in shown


def test_pretrained_models_come_first_and_published_systems_last():
    content = boards.example()
    content["tables"] = [
        boards.table([boards.row(name, {"bleu-1": boards.value(1.0)})], name, preset=preset, name=name)
        for name, preset in (("scratch", "small"), ("texts", "imported"), ("real", "mid"))
    ]
    parts = re.findall(r'<section class="(?:part|board)" id="([\w-]+)"', page(content))
    assert parts == [
        "pretrained", "table-real", "tasks", "table-scratch", "claims", "systems", "table-texts",
    ]  # fmt: skip


# Around the tables ------------------------------------------------------------------------------------------------


def test_a_claim_has_both_numbers_and_its_verdict_and_opens_on_its_quote():
    found = claims_of([evaluate(paper(claim(says="KLD is lower")), [two([1.0, 1.2, 1.1], THEIRS)])])
    untested = claims_of([evaluate(read("adadec"), [])])
    written = page({**boards.example(), "claims": [*untested, *found]})
    rows = Reader(written).rows
    (place,) = [place for place, row in enumerate(rows) if row[0].startswith("KLD is lower")]
    assert rows[place] == ['KLD is lowersection 1: "q"']
    scale = "459k parameters from scratch, 300 steps, King James Bible, 3 seeds"
    assert rows[place + 1] == ["–", "+3.00 (+2.75 to +3.25)", "seen here", scale]
    assert "Models: 459k parameters from scratch" in written
    assert written.index(">Paper</h3>") < written.index(">AdaDec</h3>")  # papers with tested claims come first
    (folded,) = re.findall(r"<summary>(\d+) not testable here</summary>", written)
    assert int(folded) == untested[0]["counts"]["not testable here"]
    assert "<code>bench reproduce adadec/table4</code> plans the runs" in written
    assert 'id="claims"' not in page({**boards.example(), "claims": untested})


def test_samples_stand_side_by_side():
    written = page(boards.example())
    cards = re.findall(r"<article><h4>(.*?)</h4><p>(.*?)</p>", written)
    assert [name for name, _ in cards[:4]] == ["reference", "mle", "trime", "histalign"]
    assert cards[1][1] == "the old mill by the sea by the sea mle-0abc12 0"
    assert "Texts of the first seed." in written


def test_which_objective_is_best_and_whether_it_is_real_stands_above_a_table():
    def tested(mean, p):
        return boards.value(mean, difference=mean - 9.0, low=0.1, high=2.0, p=p, differs=p < 0.05)

    columns = [
        {"name": name, "higher_is_better": way, "shown": True} for name, way in (("rep", False), ("bleu-1", True))
    ]
    rows = [
        boards.row("mle", {"rep": boards.value(9.0), "bleu-1": boards.value(9.0)}),
        boards.row("trime", {"rep": tested(5.0, 0.011), "bleu-1": tested(10.0, 0.4)}),
        boards.row("emo", {"rep": tested(7.0, 0.02)}),
        boards.row("mle.cache", {"rep": tested(1.0, 0.001)}, controls=["trime"]),
        boards.row("face", {"rep": boards.value(0.5, seeds=1)}, n_seeds=1),
    ]
    assert list(answers(boards.table(rows, columns=columns))) == [
        ("Which objective repeats least (rep)?",
         [("trime 5.00 (−4.00 from mle)",
           "significant (p = 0.011); others beat mle significantly: emo 7.00 (−2.00); "
           "better still: mle.cache 1.00 (control)")]),
        ("Which objective is nearest to the references (bleu-1)?",
         [("trime 10.00 (+1.00 from mle)", "not significant (p = 0.4)")]),
    ]  # fmt: skip
    rows[1]["values"]["rep"] |= {"p": 0.0, "against": rows[0]["id"]}
    rows[0]["parameters"], rows[1]["parameters"] = 974_336, 1_487_497
    ((_, verdict),) = next(answers(boards.table(rows, columns=columns)))[1]
    assert verdict.startswith(
        "significant (the same difference with every seed); with 53 % more parameters than the mle of the comparison; "
    )
    rows[0]["backbone"] = "bilstm"  # without a row of mle there is no difference
    rows[1]["values"]["rep"] |= {"difference": None, "against": ""}
    found = next(answers(boards.table(rows, columns=columns)))[1]
    assert [numbers for numbers, _ in found] == ["small-encdec: trime 5.00", "bilstm: mle 9.00"]
    assert found[0][1].startswith("without a row of mle")
    rows[1]["values"]["rep"]["text"] = "7.00"
    assert next(answers(boards.table(rows, columns=columns)))[1][0][1] == "no difference in the digits shown"
    assert "<dt>Which objective repeats least (rep)?</dt>" in static_table(boards.table(rows, columns=columns))


def test_an_objective_is_compared_with_the_one_that_it_extends():
    columns = [{"name": name, "higher_is_better": name != "rep", "shown": True} for name in ("rep", "bleu-1", "uniq")]
    ours, theirs = ({"rep": boards.value(low), "bleu-1": boards.value(5.0)} for low in (9.0, 5.0))
    theirs["bleu-1"]["by_seed"], ours["uniq"] = {"0": 5.0, "1": 9.0, "2": 1.0}, boards.value(3.0)
    rows = [boards.row("histalign", ours), boards.row("trime", theirs), boards.row("histalign.mean", ours)]
    assert list(answers(boards.table(rows, columns=columns)))[-1] == (
        "Is histalign better than the same variant of trime (Holm)?",
        [("histalign: significantly worse in rep (+4.00)", "not significant in 1 of 2 columns")],
    )
    rows.append(boards.row("trime", theirs, settings="trainer.lr=1"))  # now either could be the one
    assert "Is histalign" not in str(list(answers(boards.table(rows, columns=columns))))


def test_forgetting_on_several_tables_is_in_one_table():
    columns = [{"name": "forgetting/nll", "higher_is_better": False, "shown": True}]

    def table(name, **means):
        rows = [boards.row(method, {"forgetting/nll": boards.value(mean)}) for method, mean in means.items()]
        return boards.table(rows, name, name=name, columns=columns)

    tables = [table("a", mle=4.0, trime=9.0), table("b", mle=5.0, gem=6.0)]
    tables[1]["methods"].append(boards.row("mle", {"forgetting/nll": boards.value(7.0)}, settings="trainer.lr=1"))
    heads, rows = forgetting(tables)
    assert heads == ["forgetting/nll · a", "forgetting/nll · b"]
    found = [" ".join([method, *(value["text"] if value else "-" for value in values)]) for method, values in rows]
    assert found == ["trime 9.00 -", "mle · trainer.lr=1 - 7.00", "gem - 6.00", "mle 4.00 5.00"]
    assert "Forgetting by task" in page(boards.board(*tables))
    assert "Forgetting by task" not in page(boards.board(tables[0]))


# Safety -----------------------------------------------------------------------------------------------------------


@BOTH
def test_the_page_loads_nothing_and_no_text_of_it_is_markup(content):
    read = Reader(page(content))
    loading = {"src", "srcset", "srcdoc", "data", "action", "formaction", "poster", "background", "style"}
    for tag, attrs in read.elements:
        assert not loading & set(attrs), (tag, attrs)
        assert not [name for name in attrs if name.startswith("on")], (tag, attrs)
    assert {tag for tag, _ in read.elements} <= {
        "html", "head", "meta", "title", "style", "body", "a", "header", "div", "h1", "p", "main",
        "footer", "ul", "li", "b", "u", "i", "script", "section", "h2", "h3", "h4", "table", "thead", "tbody", "tr",
        "th", "td", "small", "nav", "span", "details", "summary", "wbr", "dl", "dt", "dd",
        "blockquote", "article", "sup", "code", "em",
    }  # fmt: skip
    assert all(attrs["href"].startswith("#") for attrs in read.all("a"))
    assert len(read.all("meta")) == 4
    assert len(read.all("script")) == 1


def test_the_policy_allows_the_pages_own_script_and_style_and_nothing_else():
    read = Reader(page(boards.example()))
    (policy,) = [meta["content"] for meta in read.all("meta") if "http-equiv" in meta]
    assert policy == (
        f"default-src 'none'; script-src '{_digest(read.code['script'])}'; style-src '{_digest(read.code['style'])}'; "
        "base-uri 'none'; form-action 'none'"
    )
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval|Function", read.code["script"])
    assert not re.search(r"url\(|@import|@font-face", read.code["style"])


def test_there_are_sixty_attacks_and_a_text_of_the_board_is_no_template():
    assert len(set(boards.ATTACKS)) == 60
    content = boards.example()
    content["tables"][0]["remarks"] = ["{{ script }}{% raw %}"]
    assert "<li>{{ script }}{% raw %}</li>" in page(content)


def test_writing_replaces_the_older_page(tmp_path):
    path = tmp_path / "leaderboard.html"
    path.write_text("old")
    content = boards.example()
    content["tables"][0]["remarks"] = ["lone \ud800 surrogate"]
    write_page(path, content)
    assert re.search("lone . surrogate", path.read_text(encoding="utf-8"))
