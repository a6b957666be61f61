"""The built site: whole without a network, small, found in by its search from a folder, and no wider than a phone."""

from __future__ import annotations

import json
import resource
import subprocess
import threading
import time
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.leaderboards.chromium import Chromium, installed
from tools.site.offline import REQUEST
from tools.site.pages import ROOT, pages

PYTHON = ROOT / ".venv-docs" / "bin" / "python"
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not PYTHON.exists(), reason="needs the environment that make docs makes"),
]
in_a_browser = pytest.mark.skipif(installed() is None, reason="needs Chromium; Debian's package chromium is one")

MOST_SECONDS, MOST_BYTES = 15, 4_000_000
PATIENCE_S = 30
FOUND = "document.activeElement.shadowRoot?.textContent ?? ''"
"""What the search shows, in a tree of its own."""


def cpu_seconds() -> float:
    """Time of the processor that children have taken: a busy machine makes no site larger."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, float]:
    """The folder of the site, and how long it took to build."""
    target = tmp_path_factory.mktemp("docs")
    before = cpu_seconds()
    ended = subprocess.run(
        [str(PYTHON), "-m", "tools.site", str(target)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return target / "site", cpu_seconds() - before


@pytest.fixture
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chromium]:
    """A browser that has never seen the site."""
    program = installed()
    assert program is not None
    started = Chromium(program, tmp_path_factory.mktemp("profile"))
    yield started
    started.close()


def test_every_page_is_there(built: tuple[Path, float]) -> None:
    site, _ = built
    for found in pages():
        place = found.path.with_suffix(".html")
        if place.stem == "README":
            place = place.with_name("index.html")
        assert (site / place).is_file(), f"{found.path} is not on the site"


def test_it_is_small_and_soon_built(built: tuple[Path, float]) -> None:
    site, seconds = built
    assert seconds <= MOST_SECONDS
    assert sum(path.stat().st_size for path in site.rglob("*") if path.is_file()) <= MOST_BYTES


def test_no_page_asks_another_host(built: tuple[Path, float]) -> None:
    site, _ = built
    for path in site.rglob("*.html"):
        assert REQUEST.search(path.read_text(encoding="utf-8")) is None, path
    for path in site.rglob("*.css"):
        assert "url(http" not in path.read_text(encoding="utf-8"), path


def test_equations_are_drawn(built: tuple[Path, float]) -> None:
    site, _ = built
    page = (site / "docs" / "notebooks" / "own_objective.html").read_text(encoding="utf-8")
    assert '<math xmlns="http://www.w3.org/1998/Math/MathML" display="block">' in page
    assert "$$" not in page


def test_a_warning_ends_the_build(tmp_path: Path) -> None:
    """A link that leads nowhere, on the only page."""
    (tmp_path / "pages").mkdir()
    (tmp_path / "pages" / "README.md").write_text("# A\n\n[nowhere](nowhere.md)\n", encoding="utf-8")
    (tmp_path / "mkdocs.yml").write_text("site_name: A\ndocs_dir: pages\nsite_dir: site\n", encoding="utf-8")
    code = "import sys, pathlib, tools.site.__main__ as m; m.generate(pathlib.Path(sys.argv[1]))"
    ended = subprocess.run(
        [str(PYTHON), "-c", code, str(tmp_path)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 1
    assert "page does not exist" in ended.stderr


@pytest.fixture
def served(built: tuple[Path, float]) -> Iterator[str]:
    """The address of the site on a server of this machine."""
    handler = partial(Silent, directory=str(built[0]))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


class Silent(SimpleHTTPRequestHandler):
    """A server that prints nothing."""

    def log_message(self, *_: object) -> None:
        """Say nothing of a request."""


@in_a_browser
@pytest.mark.parametrize("way", ["file", "http"])
def test_its_search_works(way: str, built: tuple[Path, float], served: str, browser: Chromium) -> None:
    """From a folder, and from a server."""
    home = {"file": built[0].as_uri(), "http": served}[way]
    browser.size(1280, 900)
    browser.open(f"{home}/docs/quickstart.html", drawn=False)
    browser.eval("document.querySelector('.md-search__button').click()")
    browser.type("histalign")
    until = time.monotonic() + PATIENCE_S
    while "HistAlign" not in browser.eval(FOUND) and time.monotonic() < until:
        time.sleep(0.2)
    assert "HistAlign" in browser.eval(FOUND)
    asked = [event["params"]["request"]["url"] for event in browser.events if "request" in event.get("params", {})]
    assert asked
    assert [url for url in asked if not url.startswith((home, "data:", "blob:"))] == []
    wrong = [event["params"] for event in browser.events if event.get("method") == "Runtime.exceptionThrown"]
    assert wrong == [], json.dumps(wrong)


@in_a_browser
@pytest.mark.parametrize(
    ("page", "cell"),
    [("index.html", ".right"), ("docs/large_models.html", "[data-numbers] td + td")],
)
def test_numbers_stand_to_the_right(built: tuple[Path, float], browser: Chromium, page: str, cell: str) -> None:
    """The theme puts all cells to the left, and says so with many conditions."""
    browser.open((built[0] / page).as_uri(), drawn=False)
    aligned = f"[...document.querySelectorAll('{cell}')].map((cell) => getComputedStyle(cell).textAlign)"
    assert set(browser.eval(aligned)) == {"right"}
    assert browser.eval("getComputedStyle(document.querySelector('td')).textAlign") == "left"


@in_a_browser
def test_no_page_is_wider_than_a_phone(built: tuple[Path, float], browser: Chromium) -> None:
    site, _ = built
    browser.size(400, 800)
    for path in sorted(site.rglob("*.html")):
        if path.relative_to(site).as_posix() == "leaderboards/index.html":
            continue  # the page of a board, which has its own tests
        browser.open(path.as_uri(), drawn=False)
        assert browser.eval("document.documentElement.scrollWidth") == 400, path
