"""The catalogue of metrics: each family with its columns, directions, units and signatures."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterator, Mapping

from bench.commands.list import DIRECTIONS
from bench.leaderboards.render.markdown_table import markdown_table
from bench.metrics import METRICS, MetricEntry
from bench.metrics.columns import expand
from bench.metrics.example_rows import example_rows
from bench.metrics.requirements import words
from tools.catalogue.docstrings import cell, code, prose, read_docstring, sentence
from tools.catalogue.places import METRICS as PAGE

__all__ = ["metric_pages"]

VERSIONED = re.compile(r"\b([a-z][a-z-]*):\d+\.\d+(?:\.\d+)*")
"""In a signature: the release of a package."""
SIGNS = {"+": "higher is better", "-": "lower is better", "=": "neither is better"}


def metric_pages() -> dict[str, str]:
    """Return the page of all metrics, by name below `docs`."""
    return {PAGE: "\n".join(_page())}


def _page() -> Iterator[str]:
    assert dict(DIRECTIONS) == SIGNS
    yield from ["# Metrics", ""]
    yield (
        "Each family is a function of stored rows. A column's signature says how it was computed: numbers of unlike "
        "signatures never share a column. `bench list metrics --signatures` prints them with the releases that are "
        "installed."
    )
    yield ""
    rows = [[f"[{code(name)}](#{name})", cell(prose(one.summary)), one.kind] for name, one in METRICS.items()]
    yield from [*markdown_table(["family", "what it is", "reads"], rows), ""]
    for name, metric in METRICS.items():
        yield from _family(name, metric)


def _family(name: str, metric: MetricEntry) -> Iterator[str]:
    """Yield the part of a family."""
    yield from [f"## {name}", "", sentence(metric.summary, metric.paper), ""]
    for block in _text(metric):
        if not block.startswith("Shapes:"):
            yield from [block, ""]
    facts = [["reads rows of", metric.kind]]
    if metric.gold:
        facts.append(["compares with", ", ".join(map(code, metric.gold))])
    if metric.requires:
        facts.append(["needs", cell(prose(words(metric.requires)))])
    if metric.human:
        facts.append(["human texts", "have a row of their own"])
    facts += [["version", str(metric.version)], ["function", code(metric.target)]]
    yield from [*markdown_table(["", ""], facts), "", *_columns(metric), ""]


def _text(metric: MetricEntry) -> Iterator[str]:
    """Yield what the scorer says, where it is a function and no form of sums, and what its file says."""
    scorer = metric.load()
    if inspect.isfunction(scorer):
        docstring = read_docstring(scorer.__doc__)
        yield from [docstring.lead, *docstring.blocks]
    yield from read_docstring(sys.modules[metric.target.partition(":")[0]].__doc__).blocks


def _columns(metric: MetricEntry) -> list[str]:
    """Return the lines of a table of columns; with signatures where they do not depend on what is installed."""
    directions = {column: SIGNS[pattern[0]] for pattern in metric.columns for column in expand(pattern[1:])}
    if metric.requires:
        rows = [[code(column), direction] for column, direction in directions.items()]
        return markdown_table(["column", "direction"], rows)
    about = _signatures(metric)
    rows = [[code(column), direction, *about[column]] for column, direction in directions.items()]
    return markdown_table(["column", "direction", "unit", "signature"], rows)


def _signatures(metric: MetricEntry) -> Mapping[str, tuple[str, str]]:
    """Return unit and signature of each column, as computed on example rows, without releases of packages."""
    found = {}
    for score in metric.load()(*example_rows(metric.kind)):
        signature = VERSIONED.sub(r"\1:...", score.signature)
        found[score.name] = (score.unit or "-", cell(code(signature)))
    return found
