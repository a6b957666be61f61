"""Sections of the page around its tables, as markup that needs no scripts; nothing that is stored is trusted."""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from urllib.parse import quote

from bench.base.redaction import one_line
from bench.leaderboards.claim.judge import WORDS
from bench.leaderboards.names import short_decoding
from bench.leaderboards.render.shown import number, signed
from bench.leaderboards.table import metric_name

# Markup --------------------------------------------------------------------------------------------------------------


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


# Overview ------------------------------------------------------------------------------------------------------------


WAYS = {True: "↑", False: "↓"}


def overview_section(overview: Mapping[str, Any] | None) -> str:
    """Return the section of an overview as `board.schema.json` describes it; nothing where there is none."""
    if overview is None:
        return ""
    base = escaped(overview["baseline"])
    parts = [
        f"<p class=soft>{escaped(overview['sentences'][-1])}</p>" if overview["sentences"] else "",
        f"<p class=soft>Difference from {base} in each task's primary metric, its sign turned so that + is better; "
        "below it the method's own mean.</p>",
        _table(overview),
        f"<p class=legend-line><span class='box better'></span>better than {base} "
        f"<span class='box worse'></span>worse: † the difference, paired by seed, is significant in its table · "
        "blank: not run, which is not zero · of several settings of a method: the one picked on validation, else the "
        f"one trained as {base}, never the one with the best score</p>",
        _list([*overview["sentences"][:-1], *overview["notes"]], "remarks"),
    ]
    return section("overview", f"Every method against {overview['baseline']}", parts)


def _table(overview: Mapping[str, Any]) -> str:
    heads = "".join(_head(task) for task in overview["tasks"])
    is_aggregated = any(row["over_tasks"] for row in overview["methods"])
    head = f"<th scope=col>Method{heads}"
    if is_aggregated:
        head += "<th scope=col class=num>Over tasks<span class=sub>significantly better, worse</span>"
    lines = "".join(_line(row, overview, is_aggregated) for row in overview["methods"])
    return wide_table("Methods by tasks", "heat", head, lines)


def _head(task: Mapping[str, Any]) -> str:
    """Return the head of a task: its name, the metric, and what keeps its numbers from being compared or aggregated."""
    name = link(table_anchor(task["table"]), escaped(task["title"]))
    metric = f"{escaped(metric_name(task['column']))} {WAYS[task['higher_is_better']]}"
    about = f"{task['rows']:,} rows, {_counted(task['seeds'], 'seed')}, {escaped(task['backbone'])}"
    if task["decoding"]:
        about += f", {escaped(short_decoding(task['decoding']))}"
    warnings = ""
    if task["watermark"]:
        warnings = f"<span class='sub warn'>{escaped(task['watermark'])}</span>"
    if not task["aggregated"]:
        warnings += "<span class='sub warn'>not aggregated</span>"
    return f"<th scope=col class=num>{name}<span class=sub>{metric}</span><span class=sub>{about}</span>{warnings}"


def _line(row: Mapping[str, Any], overview: Mapping[str, Any], is_aggregated: bool) -> str:
    badges = "".join(f" <span class=badge>{escaped(mark)}</span>" for mark in row["marks"])
    if not row["trained"]:
        badges += " <span class=badge>no model</span>"
    cells = "".join(_cell(row["cells"].get(task["task"]), task["seeds"]) for task in overview["tasks"])
    name = escaped(row["method"]).replace(".", ".<wbr>").replace("_", "_<wbr>")
    line = f"<tr><th scope=row>{name}{badges}{cells}"
    over = row["over_tasks"]
    if over:
        tasks = escaped(", ".join(over["tasks"]))
        line += f"<td class=num>{over['better']}, {over['worse']}"
        line += f"<span class=sub title='{tasks}'>of {len(over['tasks'])} tasks</span>"
    elif is_aggregated:
        line += "<td class='num blank'>"
    return line


def _cell(cell: Mapping[str, Any] | None, seeds: int) -> str:
    """Return a cell; one that was not run is blank, which is not zero.

    Args:
        cell: of the overview; None where the method was not run.
        seeds: number of seeds of the baseline; a cell with another number shows it.
    """
    if cell is None:
        return "<td class='num blank'>"
    if cell["mean"] is None:
        return f"<td class='num blank'><span class=sub>{escaped(cell['why'])}</span>"
    mean = number(cell["mean"])
    if cell["difference"] is None:
        return f"<td class=num>{mean}"
    if cell["n"] != seeds:
        mean += f", n={cell['n']}"
    style, dagger = "num", ""
    if cell["differs"]:
        style, dagger = f"'num {'better' if cell['difference'] > 0 else 'worse'}'", "†"
    return f"<td class={style}>{signed(cell['difference'])}{dagger}<span class=sub>{mean}</span>"


# Claims --------------------------------------------------------------------------------------------------------------


TITLE = "Claims by paper"
COLUMNS = ("Claim", "The paper", "Here", "Verdict")


def claims_section(papers: Sequence[Mapping[str, Any]]) -> str:
    """Return the section of claims, as `claim.report.content` has them; nothing where no row of a claim is stored."""
    if not any(part["values"] is not None for paper in papers for claim in paper["claims"] for part in claim["parts"]):
        return ""
    meanings = "".join(f"<dt>{escaped(word)}<dd>{escaped(meaning)}" for word, meaning in WORDS.items())
    parts = [*map(_paper, papers), folded("What the verdicts mean", f"<dl>{meanings}</dl>")]
    return section("claims", TITLE, parts)


def _paper(paper: Mapping[str, Any]) -> str:
    counts = ", ".join(f"{n} {word}" for word, n in paper["counts"].items() if n)
    head = "".join(f"<th scope=col>{name}" for name in COLUMNS)
    table = wide_table(f"Claims of {paper['paper']}", "claims", head, "".join(map(_claim, paper["claims"])))
    return f"<h3>{escaped(paper['paper'])}</h3>{_list(paper['abstract'])}<p class=soft>{escaped(counts)}</p>{table}"


def _claim(claim: Mapping[str, Any]) -> str:
    """Return a claim's row; its first cell opens on the quote and the evidence."""
    lines = [f'the paper, {claim["where"]}: "{claim["quote"]}"', *claim["evidence"]]
    first = folded(escaped(claim["claim"]), _list(lines))
    cells = [escaped(claim["paper"]) or "–", escaped(claim["here"]) or "–", escaped(claim["verdict_text"])]
    return f"<tr><th scope=row>{first}<td>{'<td>'.join(cells)}"


def _list(texts: Sequence[str], style: str = "soft") -> str:
    items = "".join(f"<li>{escaped(text)}" for text in texts)
    return f"<ul class={style}>{items}</ul>" if items else ""


# Index of tables -----------------------------------------------------------------------------------------------------


def index_section(tables: Sequence[Mapping[str, Any]], sections: Mapping[str, str], is_open: bool = True) -> str:
    """Return links to every table and to the sections behind them; nothing for a page of one table alone.

    Args:
        tables: of a board.
        sections: titles by id of the sections that the page has behind its tables.
        is_open: whether it is unfolded at first.
    """
    if len(tables) + len(sections) < 2:
        return ""
    items = "".join(f"<li>{link(table_anchor(table['id']), escaped(table['name']))}{_about(table)}" for table in tables)
    more = " · ".join(link(name, escaped(title)) for name, title in sections.items())
    if more:
        more = f"<p>Also: {more}</p>"
    count = f"{len(tables)} tables"
    if len(tables) == 1:
        count = "1 table"
    unfolded = ""
    if is_open:
        unfolded = " open"
    return (
        f"<nav class='part index' id=index aria-label=Index><details class=opens{unfolded}>"
        f"<summary>Index: {count}</summary><ol>{items}</ol>{more}</details></nav>\n"
    )


def _about(table: Mapping[str, Any]) -> str:
    """Return how many methods a table has, and under how many seeds."""
    methods = len({row["method"] for row in table["methods"]})
    seeds = sorted({row["n_seeds"] for row in table["methods"]})
    about = _counted(methods, "method")
    if seeds and seeds[-1] != seeds[0]:
        about += f", {seeds[0]} to {seeds[-1]} seeds"
    elif seeds:
        about += f", {_counted(seeds[0], 'seed')}"
    return f" <span class=soft>{about}</span>"


def _counted(n: int, what: str) -> str:
    """Return a count with its noun.

    >>> _counted(1, "seed"), _counted(3, "seed")
    ('1 seed', '3 seeds')
    """
    if n == 1:
        return f"1 {what}"
    return f"{n} {what}s"


# All sections --------------------------------------------------------------------------------------------------------


NOT_FOR_SCRIPTS = ("overview", "claims")
"""Parts of a board that only these sections show; the scripts of the page do not receive them."""


def around_tables(board: Mapping[str, Any]) -> tuple[str, str]:
    """Return the markup before the tables of a board and the markup after them."""
    claims = claims_section(board.get("claims", ()))
    there = {"claims": "Claims by paper"} if claims else {}
    first = overview_section(board.get("overview"))
    before = first + index_section(board["tables"], there, is_open=bool(first))  # the first table stays near the top
    return before, claims
