"""The pages hang together: links lead somewhere, equations become MathML."""

from pathlib import Path

import pytest

from tools.site.mathematics import typeset
from tools.site.offline import refuse_requests
from tools.site.pages import ROOT, Page, page, pages

PAGES = pages()
NAMES = [found.path.as_posix() for found in PAGES]


@pytest.mark.parametrize("found", PAGES, ids=NAMES)
def test_links_lead_somewhere(found: Page) -> None:
    for path, part in found.links:
        assert (ROOT / path).exists(), f"{found.path} points at {path}, which is not there"
        if part:
            assert part in page(path).anchors, f"{found.path} points at #{part}, which {path} does not have"


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
