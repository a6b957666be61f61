"""Markup: texts, attributes and links of the page, where nothing that is stored is trusted."""

from __future__ import annotations

import html
from collections.abc import Iterable
from urllib.parse import quote

from bench.base.redaction import one_line

__all__ = ["anchor", "escaped", "folded", "link", "section", "table_anchor", "wide_table"]


def escaped(text: object) -> str:
    """Return a text for an element or a quoted attribute.

    >>> escaped("<b> & 'c'")
    '&lt;b&gt; &amp; &#x27;c&#x27;'
    """
    return html.escape(one_line(str(text)))


def anchor(name: str) -> str:
    """Return a name as the id of an element, without white space and quotes."""
    return escaped("".join(name.split()))


def table_anchor(table_id: str) -> str:
    """Return the id of a table's section.

    >>> table_anchor("logicnlg.test.small.100")
    'table-logicnlg.test.small.100'
    """
    return anchor(f"table-{table_id}")


def link(to: str, text: str) -> str:
    """Return a link to an element of the page by its id; both are escaped already.

    >>> link("table-a", "A")
    '<a href="#table-a">A</a>'
    """
    return f'<a href="#{quote(html.unescape(to))}">{text}</a>'


def section(name: str, title: str, parts: Iterable[str]) -> str:
    """Return a section of the page with its heading.

    Args:
        name: id of the section.
        title: as shown.
        parts: markup below the heading.
    """
    return (
        f"<section class=part id={name} aria-labelledby={name}-head><h2 id={name}-head>{escaped(title)}</h2>"
        f"{''.join(parts)}</section>\n"
    )


def folded(title: str, body: str) -> str:
    """Return markup that opens at a click, with or without scripts; the title is markup already."""
    return f"<details class=opens><summary>{title}</summary>{body}</details>"


def wide_table(name: str, style: str, head: str, lines: str) -> str:
    """Return a table that scrolls sideways where it has to, by keyboard too.

    Args:
        name: of the table, for screen readers.
        style: its class.
        head: markup of the cells of its head.
        lines: markup of its rows.
    """
    return (
        f"<div class=wide tabindex=0 role=group aria-label='Table that scrolls'><table class={style} "
        f"aria-label='{escaped(name)}'><thead><tr>{head}<tbody>{lines}</table></div>"
    )
