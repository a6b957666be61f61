"""The pages hang together: links lead somewhere, each page has one title and its place, equations become MathML."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tools.site.mathematics import typeset
from tools.site.offline import refuse_requests
from tools.site.pages import ROOT, Page, anchor_of, page, pages
from tools.site.staging import CONFIGURATION, expanded, linked_files

PAGES = pages()
NAMES = [found.path.as_posix() for found in PAGES]
CONFIG: dict[str, Any] = yaml.safe_load(CONFIGURATION.read_text(encoding="utf-8"))
PLACE = re.compile(r"/home/|/Users/|/tmp/\w|[A-Z]:\\\\")
"""The beginning of a path on somebody's machine."""


def entries(nav: list[Any]) -> Iterator[str]:
    """Every page of a navigation."""
    for entry in nav:
        if isinstance(entry, str):
            yield entry
            continue
        (inner,) = entry.values()
        yield from entries(inner if isinstance(inner, list) else [inner])


@pytest.mark.parametrize("found", PAGES, ids=NAMES)
def test_links_lead_somewhere(found: Page) -> None:
    for path, part in found.links:
        assert (ROOT / path).exists(), f"{found.path} points at {path}, which is not there"
        if part:
            assert part in page(path).anchors, f"{found.path} points at #{part}, which {path} does not have"


def test_a_star_stands_for_the_pages_that_match() -> None:
    paths = [found.path for found in PAGES]
    made = expanded([{"A": ["docs/notebooks/*.md"]}, {"B": ["docs/nothing/*.md"]}, {"C": "README.md"}], paths)
    assert made == [
        {"A": ["docs/notebooks/own_objective.md", "docs/notebooks/table_again.md"]},
        {"C": "README.md"},
    ]
    api = [Path("docs/api/bench.base.md"), Path("docs/api/bench.md")]
    assert expanded(["docs/api/*.md"], api) == ["docs/api/bench.md", "docs/api/bench.base.md"]


def test_files_that_pages_show_go_along() -> None:
    files = linked_files(PAGES)
    assert {Path("docs/pictures/page-1280-light.webp"), Path("leaderboards/index.html")} <= files
    assert Path("docs/examples/hf_trainer.py") in files
    assert not [path for path in files if path.suffix == ".md"]


def test_a_picture_that_is_not_there_ends_the_build() -> None:
    with pytest.raises(SystemExit, match=r"docs/no\.png"):
        linked_files([Page(Path("docs/x.md"), "# A\n\n![it](no.png)\n")])


@pytest.mark.parametrize(
    ("title", "anchor"),
    [("What it says", "what-it-says"), ("`tokens.written` [n, W]", "tokenswritten-n-w"), ("A: b, c?", "a-b-c")],
)
def test_anchors_are_those_of_the_generator(title: str, anchor: str) -> None:
    assert anchor_of(title) == anchor


def test_code_is_no_prose() -> None:
    found = Page(
        Path("docs/x.md"), "# A\n\n```python\n# B\n[a](nothing.md)\n```\n\n`[b](nothing.md)` [c](cluster.md)\n"
    )
    assert found.titles == ["A"]
    assert [path.as_posix() for path, _ in found.links] == ["docs/cluster.md"]


def test_equations_become_mathml() -> None:
    pytest.importorskip("latex2mathml", reason="of the extra docs")
    equations = "With $p$:\n\n$$\n-\\log p\n$$\n\n```math\nx\n```\n\n"
    made = typeset(f"{equations}```sh\necho $A $B\n```\n\n`$x$` costs 3$ or 4$.\n")
    assert made.count("<math") == 3
    assert made.count('display="block"') == 2
    assert made.count("<span><math") == 1
    assert "<mi>log</mi><mspace" in made
    assert "```sh\necho $A $B\n```" in made
    assert "`$x$` costs 3$ or 4$." in made


@pytest.mark.parametrize(
    "text",
    [
        '<script src="https://a.org/b.js"></script>',
        "<img src=//a.org/b.png>",
        '<link rel="stylesheet" href="https://a.org/b.css">',
        "<style>@font-face { src: url(https://a.org/b.woff) }</style>",
    ],
)
def test_a_request_is_refused(text: str) -> None:
    refuse_requests('<a href="https://a.org">a link asks for nothing</a>', Path("x.html"))
    with pytest.raises(SystemExit, match="asks another host"):
        refuse_requests(text, Path("x.html"))
