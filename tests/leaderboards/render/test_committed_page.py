"""leaderboards/index.html, the page that people are sent, in Chromium: as large, as deep and as full as it is."""

import pytest

from tests.leaderboards.chromium import installed
from tests.leaderboards.render.test_accessibility import AXE, CONTRAST, nameless, structure, views, violations
from tests.leaderboards.render.test_small_screen import small
from tools.regenerate import PAGE

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(installed() is None, reason="needs Chromium; Debian's package chromium is one"),
]

SCREENS = [(1280, "light"), (400, "light"), (1280, "dark"), (400, "dark")]
OFTEN, AT_LENGTH = [(400, "light")], [(1280, "light"), (1280, "dark"), (400, "dark")]


@pytest.fixture
def page(request, browser):
    """The page on a screen, as it opens."""
    width, scheme = request.param
    browser.first_visit()
    browser.size(width, 900)
    browser.prefers(scheme)
    browser.open(PAGE.as_uri())
    yield browser
    assert browser.complaints() == []


def open_all(page):
    page.eval("document.querySelectorAll('details').forEach((e) => { e.open = true; })")


@views(SCREENS)
def test_it_opens_as_wide_as_the_screen_with_a_table_near_the_top(page):
    width = page.eval("innerWidth")
    assert page.eval("document.documentElement.scrollWidth") <= width
    top = page.eval("document.querySelector('main table').getBoundingClientRect().top")
    assert top <= 400
    assert page.eval("document.querySelectorAll('main section.board table').length") >= 5


@views(SCREENS)
def test_everybody_can_read_and_use_it(page):
    open_all(page)
    assert nameless(page) == []
    assert structure(page) == []
    assert page.eval(CONTRAST) == []
    if page.eval("innerWidth") == 400:
        assert small(page) == []


@views([*OFTEN, *(pytest.param(view, marks=pytest.mark.slow) for view in AT_LENGTH)])
@pytest.mark.skipif(AXE is None, reason="needs axe-core: make install, or AXE_CORE=its file")
def test_axe_finds_nothing_on_it(page):
    open_all(page)
    assert violations(page) == []
