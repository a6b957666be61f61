"""The page at 400 pixels, and how a table says that it is wider than its place."""

import json

import pytest

from bench.leaderboards.render.html import write_page
from tests.leaderboards import boards
from tests.leaderboards.chromium import installed

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(installed() is None, reason="needs Chromium; Debian's package chromium is one"),
]

FIRST = '[data-section="logicnlg.test.small.100"]'
LONG_NAME = "adadec.swapped"
TARGETS = "button, select, summary, input, a, [data-cell]"
SMALLEST_TARGET, SMALLEST_AXIS_TEXT = 24, 11
"""In CSS pixels (WCAG 2.2, 2.5.8 for the first)."""


def content():
    """The example with two more rows, so that its first table is folded."""
    board = boards.example()
    first = board["tables"][0]
    for name, mean in ((LONG_NAME, 12.0), ("face", 11.0)):
        first["methods"].append(boards.row(name, {"bleu-1": boards.value(mean)}, id=name))
    return board


@pytest.fixture(scope="module")
def url(tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "index.html"
    write_page(path, content())
    return path.as_uri()


@pytest.fixture
def page(browser, url):
    browser.first_visit()
    browser.size(400, 900)
    browser.prefers("light")
    browser.open(url)
    yield browser
    assert browser.complaints() == []


def names(page):
    return page.eval(f"[...document.querySelectorAll('{FIRST} tbody .name')].map((e) => e.textContent)")


def heads(page):
    return page.eval(f"[...document.querySelectorAll('{FIRST} thead .sort')].map((e) => e.dataset.sort)")


def test_the_first_table_is_near_the_top_and_nothing_scrolls_sideways(page):
    top = "document.querySelector('%s').getBoundingClientRect().top"
    first = page.eval(top % "main section")
    assert first <= 120
    assert first + page.eval(f"{top % f'{FIRST} table'} - {top % FIRST}") <= 400
    assert page.eval("document.documentElement.scrollWidth") <= 400
    boxes = "[...document.querySelectorAll('.scroll')].filter((box) => box.scrollWidth > box.clientWidth + 1).length"
    assert page.eval(boxes) == 0


def test_one_metric_is_shown_and_the_keyboard_picks_another(page):
    assert heads(page) == ["method", "= bleu-1"]
    page.eval(f"document.querySelector('{FIRST} [data-metric]').focus()")
    page.press("ArrowDown", 40)
    assert heads(page) == ["method", "= bleu-2"]
    assert page.eval("document.activeElement.value") == "bleu-2"
    page.press("End", 35)  # among those that a wide screen does not show
    assert heads(page) == ["method", "= distinct-2"]
    page.reload()
    assert heads(page) == ["method", "= distinct-2"]


def test_a_table_is_folded_to_the_leader_of_its_metric_and_mle(page):
    assert names(page) == ["trime", "mle"]
    assert page.eval(f"document.querySelectorAll('{FIRST} .paper, {FIRST} .human').length") == 0
    assert page.text(f"{FIRST} [data-fold]") == "Show all 5 rows"
    page.eval(f"document.querySelector('{FIRST} [data-metric]').focus()")
    page.press("ArrowDown", 40)
    assert names(page) == ["histalign", "mle"]
    page.click(f"{FIRST} [data-fold]")
    assert names(page) == ["mle", "trime", "histalign", LONG_NAME, "face"]
    assert page.eval(f"document.querySelectorAll('{FIRST} .paper, {FIRST} .human').length") == 2
    page.reload()
    assert len(names(page)) == 5
    page.click(f"{FIRST} [data-fold]")
    assert names(page) == ["histalign", "mle"]


def test_who_filters_rows_sees_every_one_that_fits(page):
    page.click("#drawer")
    page.click("#search")
    page.type("small-encdec")
    assert names(page) == ["mle", "histalign", LONG_NAME, "face"]
    assert page.text("#drawer") == "Filters (1)"


def test_filters_are_in_a_drawer(page):
    shown = "getComputedStyle(document.getElementById('filters')).display"
    assert page.eval(shown) == "none"
    page.eval("document.getElementById('drawer').focus()")
    page.press("Enter", 13, "\r")
    assert page.eval(shown) == "flex"
    assert page.eval("document.getElementById('drawer').getAttribute('aria-expanded')") == "true"
    page.press("Enter", 13, "\r")
    assert page.eval(shown) == "none"
    page.press("/", 191, "/")  # the search is behind it
    assert page.eval("document.activeElement.id") == "search"


def test_backbone_and_seeds_stand_under_the_name_which_breaks_at_its_dots_only(page):
    page.click(f"{FIRST} [data-fold]")
    row = f"tr[data-row='{LONG_NAME}'] th"
    assert page.text(f"{row} .sub:last-child") == "small-encdec · 3 seeds"
    parts = (
        f'[...document.querySelector("{row} .name").childNodes].filter((n) => n.nodeType === 3).map((n) => '
        "{ const r = document.createRange(); r.selectNode(n); return [n.textContent, r.getClientRects().length]; })"
    )
    assert page.eval(parts) == [["adadec.", 1], ["swapped", 1]]


def small(page):
    return page.eval(
        f"[...document.querySelectorAll({json.dumps(TARGETS)})].map((e) => [e, e.getBoundingClientRect()])"
        f".filter(([, b]) => b.width && (b.width < {SMALLEST_TARGET} || b.height < {SMALLEST_TARGET}))"
        ".map(([e, b]) => `${e.outerHTML.slice(0, 60)} ${b.width} x ${b.height}`)"
    )


@pytest.mark.parametrize("width", [400, 1280])
def test_every_target_is_large_enough(page, width):
    page.size(width, 900)
    page.eval("document.getElementById('filters').classList.add('open')")
    page.eval("document.querySelectorAll('details').forEach((e) => { e.open = true; })")
    if width == 1280:  # a box has a row of its list for a target, which is labelled by it
        page.eval("document.querySelectorAll('label input').forEach((e) => { e.style.visibility = 'hidden'; })")
        assert [line for line in small(page) if "<input" not in line] == []
        return
    for panel in ("samples", "curves"):
        page.click(f"{FIRST} [data-open={panel}]")
        assert small(page) == []


@pytest.mark.parametrize("width", [400, 701, 1280])
def test_the_text_of_axes_can_be_read(page, width):
    page.size(width, 900)
    page.reload()
    page.click(f"{FIRST} [data-open=curves]")
    sizes = (
        f"[...document.querySelectorAll('{FIRST} svg text')].map((e) => "
        "parseFloat(getComputedStyle(e).fontSize) * e.getScreenCTM().a)"
    )
    found = page.eval(sizes)
    assert len(found) > 4
    assert min(found) >= SMALLEST_AXIS_TEXT


def test_a_row_of_one_seed_has_neither_interval_nor_dot_nor_letter(browser, tmp_path):
    board = boards.board(boards.table([boards.row("mle", {"bleu-1": boards.value(3.0, 1, None)}, seeds=[1])]))
    write_page(tmp_path / "index.html", board)
    for width in (400, 1280):
        browser.size(width, 900)
        browser.open((tmp_path / "index.html").as_uri())
        assert browser.text("tbody [data-cell]") == "3.00"
        assert browser.eval("document.querySelectorAll('.whisker, sup').length") == 0


# Wide tables ------------------------------------------------------------------------------------------------------


@pytest.fixture
def wide(browser, tmp_path):
    """A page of one table with more columns than a wide screen has room for."""
    columns = [{"name": f"metric-{i:02}", "higher_is_better": True, "shown": True} for i in range(20)]
    values = {column["name"]: boards.value(30.0) for column in columns}
    rows = [boards.row(name, dict(values)) for name in ("mle", "face")]
    write_page(tmp_path / "index.html", boards.board(boards.table(rows, columns=columns)))
    browser.size(1280, 900)
    return (tmp_path / "index.html").as_uri()


def test_a_table_that_is_wider_than_its_box_says_so(browser, wide):
    browser.open(wide)
    box = "document.querySelector('.scroll')"
    assert browser.eval(f"{box}.scrollWidth > {box}.clientWidth")
    browser.eval("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    outside = int(browser.text(".cue").split()[0])
    assert 2 <= outside <= 18
    left = "document.querySelector('tbody th').getBoundingClientRect().left"
    first = browser.eval(left)
    browser.click(".cue")
    browser.eval("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    assert browser.text(".cue") != f"{outside} more columns →"
    assert browser.eval(f"{box}.scrollLeft") > 300
    assert browser.eval(left) == first  # the method's name stays in sight


def test_a_table_that_fits_has_no_cue(page):
    page.size(1280, 900)
    page.reload()
    page.eval("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    assert page.eval("[...document.querySelectorAll('.cue')].every((cue) => cue.hidden)")


def test_without_javascript_a_small_screen_scrolls_a_table_and_says_so(browser, wide):
    browser.size(400, 900)
    browser.call("Emulation.setScriptExecutionDisabled", value=True)
    try:
        browser.open(wide, drawn=False)
    finally:
        browser.call("Emulation.setScriptExecutionDisabled", value=False)
    assert browser.eval("getComputedStyle(document.querySelector('.sideways')).display") == "block"
    assert browser.text(".sideways").startswith("20 columns")
    assert browser.eval("document.querySelector('.scroll').tabIndex") == 0
    assert browser.eval("document.documentElement.scrollWidth") <= 400
    browser.eval("document.querySelector('.scroll').scrollTo(600, 0)")
    assert browser.eval("document.querySelector('tbody th').getBoundingClientRect().left") >= 0


def test_paper_shows_every_row_and_column(page):
    page.eval("dispatchEvent(new Event('beforeprint'))")
    assert len(names(page)) == 5
    assert len(heads(page)) == 8
    page.eval("dispatchEvent(new Event('afterprint'))")
    assert len(heads(page)) == 2


def test_paper_shows_what_is_folded_and_no_controls(browser, tmp_path):
    write_page(tmp_path / "index.html", {**content(), **boards.around()})
    browser.first_visit()
    browser.size(1280, 900)
    browser.open((tmp_path / "index.html").as_uri())
    folded = "[...document.querySelectorAll('details.opens:not([open]) > :not(summary)')]"
    seen = f"{folded}.filter((e) => e.checkVisibility()).length"
    assert browser.eval(f"{folded}.length") > 2
    assert browser.eval(seen) == 0
    browser.call("Emulation.setEmulatedMedia", media="print")
    try:
        assert browser.eval(seen) == browser.eval(f"{folded}.length")
        assert not browser.eval("document.querySelector('#controls').checkVisibility()")
    finally:
        browser.call("Emulation.setEmulatedMedia", media="")
