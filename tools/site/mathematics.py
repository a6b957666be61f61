"""Equations of a page as MathML, which browsers draw without a script, a font or a network."""

from __future__ import annotations

import re

PART = re.compile(
    r"""^[ ]*```math\n (?P<fenced>.+?) ^[ ]*```$
      | ^[ ]*```.*?^[ ]*```$                              # other blocks: a dollar in them is a dollar
      | `[^`\n]+`                                         # code in a line, too
      | ^[ ]*\$\$ (?P<displayed>.+?) \$\$[ ]*$
      | (?<![\w\\$]) \$(?=\S) (?P<inline>[^$\n]+?) (?<=\S)\$ (?![\w$])
    """,
    re.DOTALL | re.MULTILINE | re.VERBOSE,
)
FUNCTION = re.compile(r"(<mi>(?:log|exp|max|min)</mi>)(<mi>|<mn>|<mrow>|<ms|<mf)")


def typeset(text: str) -> str:
    """Return Markdown whose equations, between `$$`, `$` or in a block `math`, are MathML."""
    return PART.sub(_typeset, text)


def _typeset(found: re.Match[str]) -> str:
    latex = found["fenced"] or found["displayed"]
    if latex is not None:
        return _mathml(latex, "block")
    if found["inline"] is not None:
        return f"<span>{_mathml(found['inline'], 'inline')}</span>"
    return found[0]


def _mathml(latex: str, display: str) -> str:
    """Return one line of MathML, with space behind names of functions.

    Markdown takes an indented line for code, and a line that begins with `<math` for a paragraph of its own: inline it
    stands in a `span`.
    """
    from latex2mathml.converter import convert  # of the extra docs

    made = convert(" ".join(latex.split()), display=display).replace("\n", "")
    return FUNCTION.sub(r'\1<mspace width="0.17em"/>\2', made)
