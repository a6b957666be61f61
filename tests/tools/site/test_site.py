"""The built site: every page is there, and none needs a network."""

import subprocess
import sys
from pathlib import Path

import pytest

from tools.site.offline import REQUEST
from tools.site.pages import ROOT, pages
from tools.site.staging import GENERATED

PYTHON = ROOT / ".venv-docs" / "bin" / "python"
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not PYTHON.exists(), reason="needs the environment that make docs makes"),
]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the site."""
    target = tmp_path_factory.mktemp("docs")
    subprocess.run([sys.executable, "-m", "tools.catalogue", str(GENERATED)], cwd=ROOT, check=True)
    ended = subprocess.run(
        [str(PYTHON), "-m", "tools.site", str(target)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return target / "site"


def test_every_page_is_there(built: Path) -> None:
    for found in [*pages(), *pages(GENERATED)]:
        place = found.path.with_suffix(".html")
        if place.stem == "README":
            place = place.with_name("index.html")
        assert (built / place).is_file(), f"{found.path} is not on the site"


def test_no_page_asks_another_host(built: Path) -> None:
    for path in built.rglob("*.html"):
        assert REQUEST.search(path.read_text(encoding="utf-8")) is None, path
    for path in built.rglob("*.css"):
        assert "url(http" not in path.read_text(encoding="utf-8"), path


def test_equations_are_drawn(built: Path) -> None:
    page = (built / "docs" / "notebooks" / "own_objective.html").read_text(encoding="utf-8")
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
