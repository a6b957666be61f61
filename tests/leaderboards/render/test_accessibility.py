"""The page for a keyboard, a screen reader and weak eyes: names, headings, landmarks, contrast.

axe-core checks the same and more: `make install` brings its file within a package, `AXE_CORE` names another one.
"""

import json
import os
from importlib.util import find_spec
from pathlib import Path

import pytest

from bench.leaderboards.render.html import write_page
from tests.leaderboards import boards
from tests.leaderboards.chromium import installed

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(installed() is None, reason="needs Chromium; Debian's package chromium is one"),
]


def axe_file():
    """Where axe-core is; nothing without it."""
    package = find_spec("axe_playwright_python")
    if "AXE_CORE" in os.environ or package is None:
        return os.environ.get("AXE_CORE")
    return str(Path(package.origin).with_name("axe.min.js"))


AXE = axe_file()
TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
LIGHT, DARK = [(1280, "light"), (400, "light")], [(1280, "dark"), (400, "dark")]
PANELS = ("samples", "curves")
CONTROLS = {"button", "combobox", "checkbox", "link", "searchbox", "DisclosureTriangle"}
NAMED = CONTROLS | {"grid", "table", "region", "img", "image"}
"""Roles of the accessibility tree whose nodes need a name."""

CONTRAST = """
(() => {
  const parse = (text) => {
    const [r, g, b, a = 1] = text.match(/[\\d.]+/g).map(Number);
    const scale = text.startsWith("color(") ? 255 : 1;
    return [r * scale, g * scale, b * scale, a];
  };
  const over = (top, below) => [0, 1, 2].map((i) => top[i] * top[3] + below[i] * (1 - top[3])).concat(1);
  const ground = (node) => {
    const layers = [];
    for (let at = node; at; at = at.parentElement) layers.unshift(parse(getComputedStyle(at).backgroundColor));
    return layers.reduce((below, layer) => over(layer, below), [255, 255, 255, 1]);
  };
  const light = (colour) => {
    const [r, g, b] = colour.map((x) => x / 255).map((x) => (x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const weak = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode.parentElement;
    if (!walker.currentNode.data.trim() || !node.checkVisibility()) continue;
    if (node.closest("script, .sr, .skip")) continue;
    const style = getComputedStyle(node);
    const below = ground(node);
    const colour = over(parse(node.namespaceURI.endsWith("svg") ? style.fill : style.color), below);
    const [high, low] = [light(colour), light(below)].sort((a, b) => b - a);
    const ratio = (high + 0.05) / (low + 0.05);
    if (ratio < 4.5) weak.push(`${ratio.toFixed(2)} ${node.className} ${walker.currentNode.data.slice(0, 30)}`);
  }
  return [...new Set(weak)];
})()
"""
"""Texts whose colour is too near to that of their ground (WCAG 2.2, 1.4.3)."""


@pytest.fixture(scope="module")
def url(tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "index.html"
    write_page(path, boards.example())
    return path.as_uri()


def views(which):
    """Give a test the page as each of these sees it; names, order and focus are the same in the dark."""
    return pytest.mark.parametrize("page", which, ids=lambda view: f"{view[0]}-{view[1]}", indirect=True)


@pytest.fixture
def page(request, browser, url):
    """The example on a screen, everything open that can be."""
    width, scheme = request.param
    browser.first_visit()
    browser.size(width, 900)
    browser.prefers(scheme)
    browser.open(url)
    browser.eval("document.querySelectorAll('details').forEach((e) => { e.open = true; })")
    browser.eval("document.getElementById('filters').classList.add('open')")
    browser.eval("document.querySelectorAll('.more').forEach((e) => e.click())")
    return browser


@pytest.fixture
def static(browser, url):
    """The page as it is without its scripts."""
    browser.first_visit()
    browser.size(400, 900)
    browser.call("Emulation.setScriptExecutionDisabled", value=True)
    try:
        browser.open(url, drawn=False)
    finally:
        browser.call("Emulation.setScriptExecutionDisabled", value=False)
    assert browser.text("html.live") is None
    return browser


def opened(page):
    """Each panel of the first table, opened in turn."""
    yield "tables"
    for panel in PANELS:
        page.eval(f"document.querySelector('[data-open={panel}]').click()")
        yield panel


def nameless(page):
    nodes = page.call("Accessibility.getFullAXTree")["nodes"]
    return [
        node["role"]["value"]
        for node in nodes
        if not node["ignored"] and node["role"]["value"] in NAMED and not node.get("name", {}).get("value", "").strip()
    ]


def structure(page):
    """What is wrong with headings, landmarks, ids, references and table heads."""
    return page.eval("""(() => {
      const all = (selector) => [...document.querySelectorAll(selector)];
      const wrong = [];
      const levels = all("h1, h2, h3, h4, h5, h6").map((e) => Number(e.localName[1]));
      if (levels.filter((level) => level === 1).length !== 1) wrong.push("not one h1");
      levels.forEach((level, i) => {
        if (i && level > levels[i - 1] + 1) wrong.push(`h${levels[i - 1]} then h${level}`);
      });
      for (const mark of ["main", "body > header", "body > footer"]) if (all(mark).length !== 1) wrong.push(mark);
      const ids = all("[id]").map((e) => e.id);
      if (new Set(ids).size !== ids.length) wrong.push("an id is there twice");
      for (const name of ["aria-describedby", "aria-controls", "aria-labelledby"]) {
        const others = all(`[${name}]`).map((e) => document.getElementById(e.getAttribute(name)));
        if (others.includes(null)) wrong.push(`${name} of nothing`);
      }
      if (all("th").some((e) => !["col", "row"].includes(e.scope))) wrong.push("a th without scope");
      if (document.documentElement.lang !== "en") wrong.push("no language");
      if (!document.title) wrong.push("no title");
      if (all("[tabindex]").some((e) => e.tabIndex > 0)) wrong.push("a tabindex above 0");
      return wrong;
    })()""")


@views(LIGHT)
def test_every_control_has_a_name(page):
    for panel in opened(page):
        assert nameless(page) == [], panel


@views(LIGHT)
def test_headings_landmarks_references_and_table_heads_are_in_order(page):
    for panel in opened(page):
        assert structure(page) == [], panel


@views([*LIGHT, *DARK])
def test_every_text_stands_out_from_its_ground(page):
    for panel in opened(page):
        assert page.eval(CONTRAST) == [], panel


def test_the_static_page_is_as_good(static):
    assert nameless(static) == []
    assert structure(static) == []
    for scheme in ("light", "dark"):
        static.prefers(scheme)
        assert static.eval(CONTRAST) == []


@views(LIGHT)
def test_the_tab_key_goes_through_all_controls_and_sees_where_it_is(page):
    page.eval("document.activeElement.blur()")
    seen = set()
    for _ in range(400):
        page.press("Tab", 9)
        at = page.eval(
            "(() => { const e = document.activeElement; e.dataset.at ??= String(Math.random());"
            "return [e.localName, e.dataset.at, getComputedStyle(e).outlineStyle]; })()"
        )
        if at[0] == "body" or at[1] in seen:
            break
        seen.add(at[1])
        assert at[2] != "none", at
    controls = "button, select, summary, input, a, [data-cell][tabindex='0']"
    missed = f'[...document.querySelectorAll("{controls}")].filter((e) => e.checkVisibility() && !e.dataset.at)'
    assert page.eval(f"{missed}.map((e) => e.outerHTML.slice(0, 80))") == []


def violations(page):
    """What axe-core finds; it runs outside of the page's policy, as an extension would."""
    page.eval(Path(AXE).read_text(encoding="utf-8") + ";0")
    options = {"runOnly": {"type": "tag", "values": TAGS}, "rules": {"target-size": {"enabled": True}}}
    found = "r.violations.map((v) => [v.id, v.nodes.map((n) => n.html)])"
    return page.eval(f"axe.run(document, {json.dumps(options)}).then((r) => {found})")


@views([*LIGHT, *(pytest.param(view, marks=pytest.mark.slow) for view in DARK)])
@pytest.mark.skipif(AXE is None, reason="needs axe-core: make install, or AXE_CORE=its file")
def test_axe_finds_nothing(page):
    for panel in opened(page):
        assert violations(page) == [], panel


@pytest.mark.skipif(AXE is None, reason="needs axe-core: make install, or AXE_CORE=its file")
def test_axe_finds_nothing_on_the_static_page(static):
    assert violations(static) == []
