"""The pages that are made of the code: links, equations, options, signatures; and how docstrings are read."""

import doctest
import importlib
import posixpath
import re

import pytest

from tools.catalogue.__main__ import pages
from tools.site.pages import ROOT

LINK = re.compile(r"\]\(([^)#\s]+)")


@pytest.fixture(scope="module")
def made() -> dict[str, str]:
    """Every page."""
    return pages()


def test_every_link_between_them_leads_somewhere(made: dict[str, str]) -> None:
    for name, text in made.items():
        for target in LINK.findall(text):
            place = posixpath.normpath(posixpath.join(posixpath.dirname(name), target))
            assert place in made or (ROOT / place).exists(), f"{name}: {target}"


def test_a_method_has_equations_options_variants_controls_and_tables(made: dict[str, str]) -> None:
    page = made["docs/catalogue/methods/histalign.md"]
    assert "$$\n\\ell = \\ell_{\\text{base}} + \\alpha \\ell_{\\text{cont}}\n$$" in page
    assert "| `method.margin` | a number of at least 0 |" in page
    assert "| `histalign.released` |" in page
    assert "[`mle.cache`](mle.md)" in page
    assert "| `histalign/table1` | HistAlign, Table 1: " in page


def test_a_task_and_a_decoding_have_their_settings(made: dict[str, str]) -> None:
    assert "| `task.style` |" in made["docs/catalogue/tasks/logicnlg.md"]
    assert "| `topk=k` | a whole number of at least 1 | required |" in made["docs/catalogue/decodings.md"]
    assert "## rouge" in made["docs/catalogue/metrics.md"]


def test_a_module_has_signatures(made: dict[str, str]) -> None:
    assert "```py\nperplexity(" in made["docs/api/bench.metrics.sums.md"]


@pytest.mark.parametrize("name", ["docstrings", "api"])
def test_its_examples_are_true(name: str) -> None:
    result = doctest.testmod(importlib.import_module(f"tools.catalogue.{name}"))
    assert (result.attempted > 0, result.failed) == (True, 0)
