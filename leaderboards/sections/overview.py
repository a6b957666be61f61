"""Overview of the page: methods by tasks against the baseline, and what that comes to over the tasks, as one table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from bench.leaderboards.names import short_decoding
from bench.leaderboards.render.grid import number, signed
from bench.leaderboards.sections.markup import escaped, link, section, table_anchor, wide_table
from bench.leaderboards.table import metric_name

__all__ = ["overview_section"]

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
        _list([*overview["sentences"][:-1], *overview["notes"]]),
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
    about = f"{task['rows']:,} rows, {_seeds(task['seeds'])}, {escaped(task['backbone'])}"
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


def _seeds(n: int) -> str:
    if n == 1:
        return "1 seed"
    return f"{n} seeds"


def _cell(cell: Mapping[str, Any] | None, seeds: int) -> str:
    """Return a cell; one that was not run is blank, which is not zero.

    Args:
        cell: of the overview; None where the method was not run.
        seeds: of the baseline; a cell of another number says so.
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


def _list(texts: Iterable[str]) -> str:
    items = "".join(f"<li>{escaped(text)}" for text in texts)
    if not items:
        return ""
    return f"<ul class=remarks>{items}</ul>"
