"""The page in a real browser: every control does what it says, and no stored text comes alive."""

import pytest

from bench.leaderboards.render.html import write_page
from tests.leaderboards import boards
from tests.leaderboards.chromium import installed

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(installed() is None, reason="needs Chromium; Debian's package chromium is one"),
]

FIRST = '[data-section="logicnlg.test.small.100"]'


@pytest.fixture(scope="module")
def url(tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "index.html"
    write_page(path, boards.example())
    return path.as_uri()


@pytest.fixture
def page(browser, url):
    """The example, as on a first visit on a wide screen; afterwards nothing may have gone wrong in it."""
    browser.first_visit()
    browser.size(1280, 900)
    browser.prefers("light")
    browser.open(url)
    yield browser
    assert browser.complaints() == []


def names(browser, where=FIRST):
    return browser.eval(f"[...document.querySelectorAll('{where} tbody .name')].map((e) => e.textContent)")


def column(browser, i, where=FIRST):
    return browser.eval(f"[...document.querySelectorAll('{where} tbody tr[data-row] :nth-child({i}) .value')]"
                        ".map((e) => e.textContent)")  # fmt: skip


def sorted_by(browser):
    return browser.eval(f"[...document.querySelectorAll('{FIRST} thead th')].map((e) => e.getAttribute('aria-sort'))"
                        ".map((way, i) => [i, way]).filter(([, way]) => way !== 'none')")  # fmt: skip


def head(name):
    return f'{FIRST} [data-sort="= {name}"]'


# Sorting and choosing ---------------------------------------------------------------------------------------------


def test_a_click_on_a_heading_sorts_best_first_then_worst_first_then_not(page):
    assert names(page) == ["mle", "trime", "histalign"]
    page.click(head("bleu-1"))
    assert (names(page), sorted_by(page)) == (["trime", "mle", "histalign"], [[3, "descending"]])
    assert column(page, 4) == ["41.50", "33.12", "9.75"]
    page.click(head("bleu-1"))
    assert (names(page), sorted_by(page)) == (["histalign", "mle", "trime"], [[3, "ascending"]])
    page.click(head("bleu-1"))
    assert (names(page), sorted_by(page)) == (["mle", "trime", "histalign"], [])


def test_lower_is_better_sorts_up_and_what_has_no_number_comes_last(page):
    page.click(head("ppl/word"))
    assert (column(page, 7), sorted_by(page)) == (["19.50", "25.00 (n=2)", "conflict"], [[6, "ascending"]])
    page.click(head("ppl/word"))
    assert column(page, 7) == ["25.00 (n=2)", "19.50", "conflict"]


def test_published_rows_stay_with_their_method_and_show_no_difference_where_not_comparable(page):
    page.click(head("bleu-1"))
    lines = page.eval(f"[...document.querySelectorAll('{FIRST} tbody th')].map((e) => e.textContent)")
    assert [line.lstrip("›").split("bart")[0].split("small")[0] for line in lines] == [
        "trimecontroluntuned", "mle", "HistAlign Table 7", "histalign", "human",
    ]  # fmt: skip
    assert "56.27 (not comparable)" in page.text(f"{FIRST} .paper")
    assert "Δ" not in page.text(f"{FIRST} .paper")
    page.click("#papers")
    assert page.text(f"{FIRST} .paper") is None


def test_filters_and_search(page):
    assert page.text("#count") == "4 of 4 rows, 2 of 2 tables"
    page.eval("document.getElementById('by-task').value = 'text';"
              "document.getElementById('by-task').dispatchEvent(new Event('change'))")  # fmt: skip
    assert page.text("#count") == "1 of 4 rows, 1 of 2 tables"
    page.click("#reset")
    page.eval("document.getElementById('by-preset').value = 'small';"
              "document.getElementById('by-preset').dispatchEvent(new Event('change'))")  # fmt: skip
    assert page.text("#count") == "3 of 4 rows, 1 of 2 tables"
    page.click("#reset")
    page.click("#search")
    page.type("BART tri")
    assert (names(page), page.text("#count")) == (["trime"], "1 of 4 rows, 1 of 2 tables")
    page.click("#reset")
    page.click("[data-methods] summary")
    page.click("[data-methods] input[value=histalign]")
    page.click("[data-methods] input[value=face]")
    assert page.text("#count") == "2 of 4 rows, 2 of 2 tables"
    assert (names(page), page.text("[data-methods] summary")) == (["histalign"], "Methods 2/4")


def test_columns_are_chosen_and_the_chooser_stays_open(page):
    heads = f"[...document.querySelectorAll('{FIRST} thead th')].length"
    assert page.eval(heads) == 8
    page.click(f"{FIRST} [data-chooser] summary")
    page.click(f'{FIRST} [data-chooser] input[value="bleu-3"]')
    page.click(f'{FIRST} [data-chooser] input[value="uniq"]')
    assert page.eval(heads) == 8
    assert page.text(head("bleu-3")) is None
    assert column(page, 8) == ["7000", "9000"]
    assert page.eval("document.activeElement.value") == "uniq"
    page.press("Escape", 27)
    assert page.eval(f"document.querySelector('{FIRST} [data-chooser]').open") is False


def test_a_link_shows_the_same_view_again(page):
    page.click(head("bleu-1"))
    page.click(f"{FIRST} [data-chooser] summary")
    page.click(f'{FIRST} [data-chooser] input[value="bleu-3"]')
    page.click(f"{FIRST} [data-open=samples]")
    page.click(f"{FIRST} [data-go=on]")
    page.click("#search")
    page.type("m")
    seen = page.eval("document.getElementById('tables').innerText")
    page.reload()
    assert page.eval("document.getElementById('tables').innerText").split() == seen.replace("\n", " ").split()
    assert (names(page), sorted_by(page)) == (["trime", "mle", "histalign"], [[3, "descending"]])
    assert page.eval("document.getElementById('search').value") == "m"
    assert "2 of 3" in page.text(f"{FIRST} .samples")


# Reading ----------------------------------------------------------------------------------------------------------


def test_whiskers_and_daggers(page):
    cells = f"{FIRST} tbody tr:first-child td:nth-child(4)"
    assert page.eval(f"document.querySelectorAll('{cells} .whisker .span').length") == 1
    assert page.eval(f"document.querySelectorAll('{cells} .whisker .seed').length") == 3
    assert page.text(f"{cells} .half") == "±1.00"
    assert page.text(f"{FIRST} tr[data-row^=trime] td:nth-child(4) sup") == "†"
    assert page.text(f"{FIRST} tr[data-row^=trime] td:nth-child(7) .span") is None  # fewer than three seeds


def test_texts_and_marks_are_those_of_the_grid(browser, tmp_path):
    content = boards.example()
    first = content["tables"][0]
    first["methods"][0]["values"]["bleu-1"] |= {"text": "T", "interval": "I", "fewer": "F", "best": True}
    first["methods"][0] |= {"seeds_text": "S", "marks": ["untuned"]}
    first["published"][0] |= {"texts": {"bleu-1": "P"}, "deltas": {first["methods"][0]["id"]: {"bleu-1": "D"}},
                              "why_not": ""}  # fmt: skip
    write_page(tmp_path / "index.html", content)
    browser.size(1280, 900)
    browser.open((tmp_path / "index.html").as_uri())
    row = f"{FIRST} tbody tr:first-child"
    assert browser.text(f"{row} td:nth-child(4)") == "T (F)±I"
    assert browser.text(f"{row} td:nth-child(4) .best") == "T (F)"
    assert (browser.text(f"{row} td:nth-child(3)"), browser.text(f"{row} .badge")) == ("S", "untuned")
    assert browser.text(f"{FIRST} .paper td:nth-child(4)") == "PΔ D"
    browser.eval(f"document.querySelector('{row} [data-cell]').focus()")
    assert "P (bart-large), Δ D" in browser.text("#tip")
    assert browser.complaints() == []


def test_the_tip_says_what_stands_behind_a_number(page):
    page.eval(f"document.querySelector('{FIRST} tr[data-row^=trime] [data-cell]').focus()")
    tip = page.text("#tip")
    for part in ("trime · bleu-1", "41.5 ± 1", "3 seeds", "0: 41.17", "bleu|scale:corpus|version:1",
                 "Δ mle", "+8.38 (+2.25 to +14.50 over seeds)",
                 "p over seeds", "higher is better"):  # fmt: skip
        assert part in tip
    assert page.eval("document.activeElement.getAttribute('aria-describedby')") == "tip"
    page.eval(f"document.querySelector('{FIRST} tr[data-row^=mle] [data-cell]').focus()")
    assert "56.27 (bart-large)" in page.text("#tip")
    page.eval(f"document.querySelector('{FIRST} tr[data-row^=trime] td:nth-child(7)').focus()")
    assert "2 seeds, no interval" in page.text("#tip")
    assert "0: 24.83 · 1: 25.17" in page.text("#tip")


def test_the_keyboard_is_enough(page):
    page.eval(f"document.querySelector('{head('bleu-1')}').focus()")
    page.press("Enter", 13, "\r")
    assert names(page) == ["trime", "mle", "histalign"]
    assert page.eval("document.activeElement.dataset.sort") == "= bleu-1"
    page.eval(f"document.querySelector('{FIRST} tbody [data-cell]').focus()")
    for key, code in (("ArrowDown", 40), ("ArrowRight", 39)):
        page.press(key, code)
    assert page.eval("document.activeElement.textContent").startswith("20.00")
    assert "mle · bleu-2" in page.text("#tip")
    assert page.eval(f"document.querySelectorAll('{FIRST} [data-cell][tabindex=\"0\"]').length") == 1
    page.press("Escape", 27)
    assert page.eval("document.getElementById('tip').hidden") is True
    page.press("/", 191, "/")
    assert page.eval("document.activeElement.id") == "search"


def test_details_link_the_records_of_the_cells(page):
    page.click(f"{FIRST} tr[data-row^=trime] .more")
    links = page.eval(f"[...document.querySelectorAll('{FIRST} .details a')].map((e) => e.getAttribute('href'))")
    assert links == [f"./../results/logicnlg/trime/{key}/trained.json" for key in
                     ("0123456789abcdef", "fedcba9876543210")]  # fmt: skip
    assert page.eval(f"document.querySelector('{FIRST} [aria-expanded=true]') !== null")
    page.click(f"{FIRST} tr[data-row^=trime] .more")
    assert page.text(f"{FIRST} .details") is None


def test_samples_side_by_side(page):
    page.click(f"{FIRST} [data-open=samples]")
    cards = page.eval(f"[...document.querySelectorAll('{FIRST} .card h3')].map((e) => e.textContent)")
    assert cards == ["reference", "mle", "trime", "histalign"]
    assert "Texts of the first seed." in page.text(f"{FIRST} .samples")
    assert page.text(f"{FIRST} .card:nth-child(2) p") == "the old mill by the sea by the sea mle-0abc12 0"
    page.click(f"{FIRST} [data-go=back]")
    assert "3 of 3" in page.text(f"{FIRST} .samples")


def test_training_curves(page):
    page.click(f"{FIRST} [data-open=curves]")
    assert page.eval(f"document.querySelectorAll('{FIRST} polyline.curve').length") == 6
    radii = "[...document.querySelectorAll('%s circle.curve')].map((e) => e.getAttribute('r'))"
    assert page.eval(radii % FIRST) == ["5", "2.5"]
    page.eval(f"document.querySelector('{FIRST} .key').focus()")
    assert page.eval(f"document.querySelectorAll('{FIRST} polyline.curve.on').length") == 2


def test_sections_around_the_tables_stand_with_scripts_and_links_leave_the_hash_alone(browser, tmp_path):
    content = boards.example()
    write_page(tmp_path / "index.html", content)
    browser.size(1280, 900)
    browser.open((tmp_path / "index.html").as_uri())
    browser.click("#search")
    browser.type("mle")
    browser.eval("document.querySelector('#index a[href*=\"text.test\"]').click()")
    assert browser.eval("document.activeElement.dataset.section") == "text.test.paper.9", (
        "a hidden table is shown again"
    )
    assert browser.eval("location.hash") == ""
    browser.eval("document.querySelector('#index a[href=\"#claims\"]').click()")
    assert browser.eval("document.activeElement.id") == "claims"
    for part in ("claims", "table-text.test.paper.9"):
        browser.open("about:blank")
        browser.open(f"{(tmp_path / 'index.html').as_uri()}#{part}")
        assert browser.eval("document.activeElement.id") == part, "a link from elsewhere goes there too"
    browser.open("about:blank")
    browser.open(f"{(tmp_path / 'index.html').as_uri()}#100%")
    assert browser.eval("document.documentElement.className") == "live", "a hash that is nothing does no harm"
    assert browser.complaints() == []


# Looks and safety -------------------------------------------------------------------------------------------------


def test_dark_by_preference(page):
    ground = "getComputedStyle(document.body).backgroundColor"
    assert page.eval(ground) == "rgb(250, 250, 248)"
    page.prefers("dark")
    assert page.eval(ground) == "rgb(20, 23, 26)"


def test_a_small_screen_does_not_scroll_sideways(page):
    for width in (1280, 390):
        page.size(width, 844)
        page.reload()
        assert page.eval("document.documentElement.scrollWidth") <= width
    assert page.screenshot()[:8] == b"\x89PNG\r\n\x1a\n"


def test_no_stored_text_comes_alive(browser, tmp_path):
    write_page(tmp_path / "index.html", boards.hostile())
    browser.size(1280, 900)
    browser.open((tmp_path / "index.html").as_uri())
    browser.click("[data-fold]")
    inside = "[...document.querySelectorAll('main *:not(#filters, #controls)')]"
    tags = f"[...new Set({inside}.map((e) => e.localName))].sort()"
    for panel in ("samples", "curves"):
        browser.eval(f"document.querySelector('[data-open={panel}]').click()")
        browser.eval("document.querySelectorAll('.more').forEach((e) => e.click())")
        browser.eval("document.querySelectorAll('main [data-cell]').forEach((e) => { e.focus(); e.blur(); })")
        assert not set(browser.eval(tags)) & {"script", "img", "iframe", "style", "base", "meta", "form", "math"}
    assert browser.text("main .name") == boards.ATTACKS[0]
    hrefs = browser.eval("[...document.querySelectorAll('.details a')].map((e) => e.href)")
    assert len(hrefs) == len(boards.ATTACKS)
    assert all(href.startswith("file://") for href in hrefs)
    assert browser.eval("[window.hit, window.parent.hit].filter((x) => x !== undefined).length") == 0
    assert browser.complaints() == []


def test_without_javascript_the_tables_are_there(browser, url):
    browser.call("Emulation.setScriptExecutionDisabled", value=True)
    try:
        browser.open(url, drawn=False)
        tree = browser.call("DOMSnapshot.captureSnapshot", computedStyles=[])["strings"]
        assert {"trime", "41.50", "56.27", "face"} <= {text.strip() for text in tree}
    finally:
        browser.call("Emulation.setScriptExecutionDisabled", value=False)
