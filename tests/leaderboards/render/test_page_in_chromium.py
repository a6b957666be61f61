"""The page in a real browser: sorting, tips, keyboard, small screens, dark, and accessibility.

axe-core checks the last: `make install` brings its file within a package, `AXE_CORE` names another one.
"""

import json
import os
from importlib.util import find_spec
from pathlib import Path

import pytest

from bench.leaderboards.render.html import write_page
from tests.leaderboards import boards
from tests.leaderboards.chromium import Chromium, installed
from tools.regenerate import PAGE

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(installed() is None, reason="needs Chromium; Debian's package chromium is one"),
]

FIRST = '[id="table-logicnlg.test.small.100"]'
SCREENS = [(1280, "light"), (400, "light"), (1280, "dark"), (400, "dark")]
TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]


def axe_file():
    """Where axe-core is; nothing without it."""
    package = find_spec("axe_playwright_python")
    if "AXE_CORE" in os.environ or package is None:
        return os.environ.get("AXE_CORE")
    return str(Path(package.origin).with_name("axe.min.js"))


AXE = axe_file()


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    started = Chromium(installed(), tmp_path_factory.mktemp("profile"))
    yield started
    started.close()


@pytest.fixture(scope="module")
def url(tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "index.html"
    write_page(path, boards.example())
    return path.as_uri()


@pytest.fixture
def page(browser, url):
    """The example on a wide screen; afterwards nothing may have gone wrong in it."""
    browser.size(1280, 900)
    browser.prefers("light")
    browser.open(url)
    yield browser
    assert browser.complaints() == []


def names(browser):
    rows = f"document.querySelectorAll('{FIRST} tbody tr')"
    return browser.eval(f"[...{rows}].map((e) => e.querySelector('th').firstChild.textContent.trim())")


def head(place):
    return f"{FIRST} th:nth-child({place}) button"


def test_a_click_on_a_heading_sorts_best_first_then_worst_first_then_not(page):
    as_it_was = ["mle", "HistAlign Table 7", "trime", "histalign", "human"]
    assert names(page) == as_it_was
    page.click(head(3))
    assert names(page) == ["trime", "mle", "HistAlign Table 7", "histalign", "human"]
    assert page.eval(f"document.querySelector('{FIRST} [aria-sort]').ariaSort") == "descending"
    page.click(head(3))
    assert names(page) == ["histalign", "mle", "HistAlign Table 7", "trime", "human"]
    page.click(head(3))
    assert names(page) == as_it_was
    page.click(head(6))  # lower is better, and what has no number comes last
    assert names(page) == ["mle", "HistAlign Table 7", "trime", "histalign", "human"]
    page.click(head(6))
    assert names(page)[0] == "trime"


def test_behind_a_number_stands_what_it_is_made_of_and_the_keyboard_gets_there(page):
    page.eval(f"document.querySelector('{FIRST} tbody [data-v]').focus()")
    for key, code in (("ArrowDown", 40), ("Home", 36), ("ArrowRight", 39)):
        page.press(key, code)
    assert page.eval("document.activeElement.textContent").startswith("41.50")
    for part in ("seed 0: 41.17", "difference from mle: +8.38 ± 6.12 (95 %", "p over seeds, after Holm: 0.01"):
        assert part in page.text("#tip")
    assert page.eval("document.activeElement.getAttribute('aria-describedby')") == "tip"
    assert page.eval(f"document.querySelectorAll('{FIRST} tbody [tabindex=\"0\"]').length") == 1
    page.press("Escape", 27)
    assert page.eval("document.getElementById('tip').hidden") is True
    page.eval(f"document.querySelector('{head(3)}').focus()")
    assert "bleu|scale:corpus" in page.text("#tip")
    page.press("Enter", 13, "\r")
    assert names(page)[0] == "trime"


def test_no_stored_text_comes_alive(browser, tmp_path):
    write_page(tmp_path / "index.html", boards.hostile())
    browser.open((tmp_path / "index.html").as_uri())
    browser.eval("document.querySelectorAll('details').forEach((e) => { e.open = true; })")
    browser.eval("document.querySelectorAll('[data-tip], [data-v]').forEach((e) => { e.focus(); e.blur(); })")
    assert browser.eval("[window.hit, window.parent.hit].filter((x) => x !== undefined).length") == 0
    assert browser.eval("document.querySelectorAll('main :is(script, img, iframe, style, base, meta)').length") == 0
    assert browser.complaints() == []


def test_without_javascript_the_tables_are_there(browser, url):
    browser.call("Emulation.setScriptExecutionDisabled", value=True)
    try:
        browser.open(url)
        tree = browser.call("DOMSnapshot.captureSnapshot", computedStyles=[])["strings"]
        assert {"trime", "41.50", "56.27", "face"} <= {text.strip() for text in tree}
    finally:
        browser.call("Emulation.setScriptExecutionDisabled", value=False)


# Any screen -------------------------------------------------------------------------------------------------------

STRUCTURE = """
(() => {
  const all = (selector) => [...document.querySelectorAll(selector)];
  const wrong = [];
  const ids = all("[id]").map((e) => e.id);
  if (new Set(ids).size !== ids.length) wrong.push("an id is there twice");
  const there = (e) => document.getElementById(decodeURIComponent(e.hash.slice(1)));
  if (!all('a[href^="#"]').every(there)) wrong.push("a link to nothing");
  const levels = all("h1, h2, h3, h4").map((e) => Number(e.localName[1]));
  for (const i of levels.keys()) if (levels[i] > (levels[i - 1] ?? 0) + 1) wrong.push(`h${levels[i]} too deep`);
  const small = all("button, summary, input, a").map((e) => [e, e.getBoundingClientRect()]);
  for (const [e, box] of small) if (box.width && box.height < 23.5) wrong.push(`small: ${e.outerHTML.slice(0, 60)}`);
  return wrong;
})()
"""


@pytest.mark.parametrize("screen", SCREENS, ids=lambda screen: f"{screen[0]}-{screen[1]}")
@pytest.mark.parametrize("committed", [False, True], ids=["example", "committed"])
def test_everybody_can_read_and_use_it(browser, url, screen, committed):
    browser.size(screen[0], 900)
    browser.prefers(screen[1])
    browser.open(PAGE.as_uri() if committed else url)
    assert browser.eval("getComputedStyle(document.body).backgroundColor") == (
        "rgb(20, 23, 26)" if screen[1] == "dark" else "rgb(250, 250, 248)"
    )
    assert browser.eval("document.documentElement.scrollWidth") <= screen[0]
    top = browser.eval("document.querySelector('main table').getBoundingClientRect().top")
    assert top <= 900
    browser.eval("document.querySelectorAll('details').forEach((e) => { e.open = true; })")
    assert browser.eval(STRUCTURE) == []
    if AXE is not None:  # it runs outside of the page's policy, as an extension would
        browser.eval(Path(AXE).read_text(encoding="utf-8") + ";0")
        options = {"runOnly": {"type": "tag", "values": TAGS}, "rules": {"target-size": {"enabled": True}}}
        found = "r.violations.map((v) => [v.id, v.nodes.map((n) => n.html.slice(0, 200)).slice(0, 5)])"
        assert browser.eval(f"axe.run(document, {json.dumps(options)}).then((r) => {found})") == []
    assert browser.complaints() == []
