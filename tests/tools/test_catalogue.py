"""The generated pages are those of the code, and what makes them reads docstrings, options and parsers right."""

from __future__ import annotations

import argparse
import doctest
import importlib
import re
from pathlib import Path
from typing import Any

import pytest

from bench.base.own_code import load
from bench.cli import parser
from bench.commands import COMMANDS
from bench.models import METHODS
from bench.models.core.objective import Objective
from tools.catalogue import command_line_page
from tools.catalogue.docstrings import read_docstring
from tools.catalogue.hooks import HOOKS, hook_rows
from tools.catalogue.pages import committed_pages, pages
from tools.catalogue.places import COMMAND_LINE, DOCS, method_page
from tools.catalogue.sources import methods_of, source_of

AGAIN = "docs is behind the code: python -m tools.regenerate catalogue"
LINK = re.compile(r"\]\(([^)#\s]+)")
LATEX = r"alpha beta cos dots ell eta frac gamma ge hat in lambda left log mathcal mathrm max mid min ne notin propto"
MORE_LATEX = r"quad rho right setminus sigma sum text theta tilde top varepsilon , { }"
"""What an equation may be made of; each is typeset by browsers, by GitHub and in the site."""


@pytest.fixture(scope="module")
def made() -> dict[str, str]:
    """Every page, made anew."""
    return pages()


def test_the_committed_pages_are_those_of_the_code(made: dict[str, str]) -> None:
    committed = committed_pages()
    assert sorted(committed) == sorted(made), AGAIN
    assert [name for name, text in made.items() if committed[name] != text] == [], AGAIN


def test_every_link_between_them_leads_somewhere(made: dict[str, str]) -> None:
    for name, text in made.items():
        for target in LINK.findall(text):
            assert (DOCS / Path(name).parent / target).resolve().exists(), f"{name}: {target}"


def classes() -> dict[str, type[Any]]:
    """Every class of the table of methods, by name; those of variants too."""
    found = {}
    for name, entry in METHODS.items():
        found[name] = entry.load()
        for variant, given in (entry.variants or {}).items():
            if "class" in given:
                found[f"{name}.{variant}"] = load(given["class"])
    return found


def test_every_objective_has_its_equation() -> None:
    """A class whose docstring says one in plain characters has it in LaTeX too, and so has every trained method."""
    for name, kind in classes().items():
        says_one = "\n    " in (importlib.import_module(kind.__module__).__doc__ or "")
        is_trained = issubclass(kind, Objective) and not kind.training_free
        assert bool(kind.equations) or not (says_one or is_trained), f"{name} should have `equations`, as its docstring"


def test_equations_are_latex_that_every_reader_knows() -> None:
    for name, kind in classes().items():
        for equation in kind.equations:
            assert set(re.findall(r"\\([A-Za-z]+|.)", equation)) <= {*LATEX.split(), *MORE_LATEX.split()}, name
            assert re.sub(r"\\.", "", equation).count("{") == re.sub(r"\\.", "", equation).count("}"), name
            assert equation.count("\\left") == equation.count("\\right"), name


def test_a_page_has_equation_options_controls_and_tables(made: dict[str, str]) -> None:
    page = made[method_page("histalign.released")]
    assert "$$\n\\ell = \\ell_{\\text{base}} + \\alpha \\ell_{\\text{cont}}\n$$" in page
    assert "| `method.margin` | a number at least 0 |" in page
    assert "[`mle.cache`](mle.md)" in page
    assert "| `histalign/table1` | HistAlign, Table 1: " in page
    assert "| HistAlign beats TRIME in cache-only Acc@2 | HistAlign, section 6.1, Table 1 |" in page


def test_hooks_are_those_that_objective_has() -> None:
    own = {node.name for node in methods_of(source_of("bench.models.core.objective").definitions["Objective"])}  # type: ignore[arg-type]
    assert set(HOOKS) <= own
    assert [row[0] for row in hook_rows(METHODS["mtp"].load())] == ["`head_loss`", "`position_loss`", "`loss`"]
    assert hook_rows(Objective) == []


def test_every_command_and_option_is_on_the_page(made: dict[str, str]) -> None:
    page = made[COMMAND_LINE]
    for name, one in command_line_page._commands(parser()).items():
        one.read_options()
        part = page.partition(f"\n## bench {name}\n")[2].partition("\n## ")[0]
        typed = {text for action in one._actions for text in action.option_strings} - {"-h", "--help"}
        assert [text for text in typed if text not in part] == [], name
    assert list(COMMANDS) == re.findall(r"^## bench (\w+)$", page, re.MULTILINE)


def test_arguments_are_written_as_they_are_typed() -> None:
    given = argparse.ArgumentParser(prog="p")
    given.add_argument("papers", nargs="*", metavar="PAPER", help="100%% of a|b")
    given.add_argument("-n", "--number", type=int, default=3, help="default %(default)s")
    given.add_argument("--quick", action="store_true", help=argparse.SUPPRESS)
    assert list(command_line_page._arguments(given)) == [
        "| argument | what it is |",
        "|---|---|",
        "| `[PAPER ...]` | 100% of a\\|b |",
        "",
        "| argument | what it is |",
        "|---|---|",
        "| `-n, --number NUMBER` | default 3 |",
        "",
    ]


def test_a_docstring_is_read_in_its_parts() -> None:
    found = read_docstring(
        """A first line
        that goes on, *plain*.

            x = 1

              y = 2
        Behind it:
        - one
          of two
        - two

        | a | b |
        |---|---|

        Args:
            left, right: of `x*y`: both
                sides.
            *rest: others.

        >>> 1 + 1
        2

        Raises:
            UsageError: for none.
        """
    )
    assert found.lead == "A first line that goes on, \\*plain\\*."
    assert found.blocks == [
        "```text\nx = 1\n\n  y = 2\n```",
        "Behind it:\n\n- one of two\n- two",
        "| a | b |\n|---|---|",
        "```pycon\n>>> 1 + 1\n2\n```",
    ]
    assert found.arguments == {"left": "of `x*y`: both sides.", "right": "of `x*y`: both sides.", "*rest": "others."}
    assert found.sections["Raises"] == {"UsageError": "for none."}


@pytest.mark.parametrize("name", ["docstrings", "options", "places", "sources"])
def test_its_examples_are_true(name: str) -> None:
    result = doctest.testmod(importlib.import_module(f"tools.catalogue.{name}"))
    assert (result.attempted > 0, result.failed) == (True, 0)
