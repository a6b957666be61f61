"""Overview of the page: methods by tasks against the baseline, with what that comes to over the tasks, as one table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from bench.leaderboards.render.grid import number, signed
from bench.leaderboards.sections.markup import escaped, link, section, table_anchor, wide_table
from bench.leaderboards.sections.whisker import whisker
from bench.leaderboards.statistics.seed_spread import MEANINGS
from bench.leaderboards.table import metric_name, task_title

__all__ = ["overview_section"]

LEVELS = (1.0, 2.0, 4.0)
"""Differences in standard deviations of a seed from which a colour gets stronger."""
WAYS = {True: "↑", False: "↓"}


def overview_section(overview: Mapping[str, Any] | None) -> str:
    """Return the section of an overview as `board.schema.json` describes it; nothing where there is none."""
    if overview is None:
        return ""
    base = escaped(overview["baseline"])
    parts = [
        f"<p class=soft>Difference from {base} in each task's primary metric, its sign turned so that + is better; "
        "below it the method's own mean.</p>",
        _table(overview),
        _key(base),
        _notes(overview["notes"]),
    ]
    return section("overview", f"Every method against {overview['baseline']}", parts)


def _table(overview: Mapping[str, Any]) -> str:
    heads = "".join(_head(task) for task in overview["tasks"])
    base = escaped(overview["baseline"])
    ends = _ends(overview["methods"])
    lines = "".join(_line(row, overview, ends) for row in overview["methods"])
    head = (
        f"<th scope=col>Method{heads}<th scope=col class=num>Better than {base}"
        "<span class=sub>probability of improvement, tasks</span>"
        f"<th scope=col class=num>Relative to {base}<span class=sub>interquartile mean, tasks</span>"
        "<th scope=col class=num>Mean rank<span class=sub>of methods with all tasks</span>"
    )
    return wide_table("Methods by tasks", "heat", head, lines)


def _head(task: Mapping[str, Any]) -> str:
    """Return the head of a task: its name, the metric, what its data is not, and whether the metric can rank here."""
    name = link(table_anchor(task["table"]), escaped(task_title(task["task"])))
    metric = f"{escaped(metric_name(task['column']))} {WAYS[task['higher_is_better']]}"
    about = f"{task['rows']:,} rows, {_seeds(task['seeds'])}, {escaped(task['backbone'])}"
    if task["decoding"]:
        about += f", {escaped(_setting(task['decoding']))}"
    open_ = ""
    if task["watermark"]:
        open_ = f"<span class='sub warn'>{escaped(task['watermark'])}</span>"
    if task["why_unranked"]:
        open_ += f"<span class='sub warn'>{escaped(task['why_unranked'])}</span>"
    return f"<th scope=col class=num>{name}<span class=sub>{metric}</span><span class=sub>{about}</span>{open_}"


def _setting(decoding: str) -> str:
    """Return a decoding without the length of its texts and without `posterior:`, a method's own distribution.

    >>> _setting("posterior:topk=3+max_new_tokens=64")
    'topk=3'
    """
    parts = decoding.removeprefix("posterior:").split("+")
    return "+".join(part for part in parts if not part.startswith("max_new_tokens="))


def _line(row: Mapping[str, Any], overview: Mapping[str, Any], ends: tuple[float, float]) -> str:
    badges = "".join(f" <span class=badge>{escaped(mark)}</span>" for mark in row["marks"])
    if not row["trained"]:
        badges += " <span class=badge>no model</span>"
    cells = "".join(_cell(row["cells"].get(task["task"]), task["seeds"]) for task in overview["tasks"])
    if row["method"] == overview["baseline"]:
        aggregates = "<td class=num>0.50<td class=num>1.00"
    else:
        aggregates = _aggregate(row["improves"], (0.0, 1.0), 0.5) + _aggregate(row["relative"], ends, 1.0)
    rank = "<td class=num>"
    if row["mean_rank"] is not None:
        rank += f"{row['mean_rank']:.1f}"
    name = escaped(row["method"]).replace(".", ".<wbr>").replace("_", "_<wbr>")
    return f"<tr><th scope=row>{name}{badges}{cells}{aggregates}{rank}"


def _seeds(n: int) -> str:
    if n == 1:
        return "1 seed"
    return f"{n} seeds"


def _cell(cell: Mapping[str, Any] | None, seeds: int) -> str:
    """Return a cell of the heat map; one that was not run is blank, which is not zero.

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
    dagger = "†" if cell["differs"] else ""
    return f"<td class='num {_shade(cell['size'])}'>{signed(cell['difference'])}{dagger}<span class=sub>{mean}</span>"


def _shade(size: float | None) -> str:
    """Return the class of a cell's colour: `open` where the column cannot rank it, else by how far it is from 0.

    >>> _shade(None), _shade(0.5), _shade(-2.5), _shade(9.0)
    ('open', 'even', 'worse2', 'better3')
    """
    if size is None:
        return "open"
    level = sum(abs(size) >= least for least in LEVELS)
    if not level:
        return "even"
    if size > 0:
        return f"better{level}"
    return f"worse{level}"


def _ends(rows: Iterable[Mapping[str, Any]]) -> tuple[float, float]:
    """Return the ends of the axis of relative scores: those of all intervals, 1 among them."""
    ends = [1.0]
    for row in rows:
        if row["relative"] is not None:
            ends += [end for end in (row["relative"]["low"], row["relative"]["high"]) if end is not None]
            ends.append(row["relative"]["value"])
    return min(ends), max(ends)


def _aggregate(found: Mapping[str, Any] | None, ends: tuple[float, float], even: float) -> str:
    """Return an aggregate with its interval drawn and written, and how many tasks it is over."""
    if found is None:
        return "<td class='num blank'>"
    interval = ""
    if found["low"] is not None:
        interval = f"{found['low']:.2f} to {found['high']:.2f}, "
    drawn = whisker(found["value"], found["low"], found["high"], ends, even)
    tasks = ", ".join(map(task_title, found["tasks"]))
    count = f"<span title='{escaped(tasks)}'>{len(found['tasks'])} tasks</span>"
    return f"<td class=num>{found['value']:.2f}{drawn}<span class=sub>{interval}{count}</span>"


def _key(base: str) -> str:
    shades = (
        ("worse3", "worse"),
        ("worse2", ""),
        ("worse1", ""),
        ("even", "within one"),
        ("better1", ""),
        ("better2", ""),
        ("better3", "better"),
    )
    boxes = "".join(f"<span class='box {shade}'></span>{said} " for shade, said in shades)
    unranked = " · ".join(f"{why}: {escaped(meaning)}, so no colour" for why, meaning in MEANINGS.items())
    levels = ", ".join(f"{level:g}" for level in LEVELS)
    return (
        f"<p class=legend-line>{boxes}· "
        f"colour: the difference over the standard deviation of one seed, stronger from {levels} on · "
        f"† differs from {base} in its table · blank: not run, which is not zero · "
        f"{unranked} · of several settings of a method: the one "
        f"picked on validation, else the one trained as {base}, never the one with the best score</p>"
        "<details class=opens><summary>How the three columns on the right are made</summary><p>"
        f"<b>Better than {base}</b>: how likely a run of the method beats a run of {base} on a task drawn at random; "
        "mean over tasks of the share of pairs of runs that it wins, ties as halves; an interval without width "
        "only says that all pairs agree. "
        f"<b>Relative to {base}</b>: scores are value / {base} where higher is better, {base} / value where lower is; "
        "the mean of the middle half over tasks and seeds. Both with 95 % intervals of a stratified bootstrap over "
        "seeds, 2,000 rounds, n − 1 of n seeds drawn within each task (Agarwal et al. 2021; Rao and Wu 1988). Tasks "
        "count where both have three seeds. <b>Mean rank</b>: over tasks whose column can rank, only among methods "
        "that have all of these with three seeds. Rows are in the order of how many tasks they have: those over unlike "
        "tasks are not comparable.</p></details>"
    )


def _notes(notes: Iterable[str]) -> str:
    items = "".join(f"<li>{escaped(note)}" for note in notes)
    if not items:
        return ""
    return f"<ul class=remarks>{items}</ul>"
