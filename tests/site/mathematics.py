"""Equations of a page as MathML, which browsers draw without a script, a font or a network."""

from __future__ import annotations

import re

from latex2mathml.converter import convert

KEPT = re.compile(r"^( *)```(?!math).*?^\1```$|`[^`\n]+`", re.DOTALL | re.MULTILINE)
"""Code: a dollar in it is a dollar."""
DISPLAYED = re.compile(r"^( *)(?:\$\$|```math)\s*\n?(.+?)\s*(?:\$\$|```) *$", re.DOTALL | re.MULTILINE)
INLINE = re.compile(r"(?<![\w\\$])\$(?=\S)([^$\n]+?)(?<=\S)\$(?![\w$])")


def typeset(text: str) -> str:
    """Return Markdown whose equations, between `$$`, `$` or in a block `math`, are MathML.

    >>> typeset("let $x$ be `$HOME`").count("<math")
    1
    """
    parts = []
    start = 0
    for kept in KEPT.finditer(text):
        parts += [_typeset(text[start : kept.start()]), kept[0]]
        start = kept.end()
    return "".join([*parts, _typeset(text[start:])])


def _typeset(text: str) -> str:
    text = DISPLAYED.sub(lambda found: f"{found[1]}{_mathml(found[2], 'block')}", text)
    return INLINE.sub(lambda found: _mathml(found[1], "inline"), text)


def _mathml(latex: str, display: str) -> str:
    """Return one line of MathML: Markdown would take an indented one for code."""
    return convert(" ".join(latex.split()), display=display).replace("\n", "")
