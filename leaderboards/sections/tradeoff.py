"""Quality against diversity on the page: for each table whose methods write under several decoders, a drawing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bench.leaderboards.quality_diversity.decoders import setting_of
from bench.leaderboards.sections.markup import escaped, link, section, table_anchor
from bench.leaderboards.sections.scatter import Dot, front_of, marker, scatter, swatch

__all__ = ["family_of", "figure", "tradeoff_section"]

AXES = (("self-bleu-2", "kld"), ("self-bleu-2", "ms-jaccard-1"), ("distinct-1", "rouge-l"))
"""Diversity and quality, the first pair of which a table has a method under two decoders."""
WAYS = {True: "higher is better", False: "lower is better", None: "neither way is better"}


def tradeoff_section(tables: Sequence[Mapping[str, Any]]) -> str:
    """Return the section of all tables of a board that have such a drawing; nothing where none has."""
    figures = []
    for table in tables:
        axes = axes_of(table)
        if axes is not None:
            figures.append(_figure_of(table, axes))
    if not figures:
        return ""
    said = (
        "<p class=soft>Means over seeds. A line joins the decoders of one model; the thin dashed line joins the points "
        "that no other one of the table beats in both columns. Compare methods at equal diversity.</p>"
    )
    return section("tradeoff", "Quality against diversity", [said, *figures])


def axes_of(table: Mapping[str, Any]) -> tuple[str, str] | None:
    """Return the first pair of columns in which one model has two points."""
    for axes in AXES:
        models = [_model(row) for row in _rows_with(table, axes)]
        if len(set(models)) < len(models):
            return axes
    return None


def family_of(decoding: str) -> str:
    """Return the kind of a decoding, without its settings.

    >>> family_of("topk=3+max_new_tokens=64"), family_of("posterior:topk=20"), family_of("")
    ('topk', 'posterior:topk', 'its own')
    """
    name = decoding.partition("+")[0]
    before, colon, after = name.rpartition(":")
    return f"{before}{colon}{after.partition('=')[0]}" or "its own"


def figure(title: str, scattered: str, lines: Sequence[str], shapes: Sequence[str]) -> str:
    """Return a drawing with its legend: colours of objectives, marks of decoders.

    Args:
        title: markup.
        scattered: the drawing.
        lines: names of objectives, in the order of their numbers.
        shapes: names of decoders, likewise.
    """
    colours = [swatch(number, name) for number, name in enumerate(lines)]
    marks = []
    for number, name in enumerate(shapes):
        drawn = f"<svg class=shape viewBox='0 0 14 14' aria-hidden=true>{marker(number, 7, 7)}</svg>"
        marks.append(f"<span class=key>{drawn}{escaped(name)}</span>")
    return (
        f"<figure class=drawn><figcaption>{title}</figcaption>{scattered}"
        f"<div class=legend>{''.join(colours)}</div><div class=legend>{''.join(marks)}</div></figure>"
    )


def _figure_of(table: Mapping[str, Any], axes: tuple[str, str]) -> str:
    rows = _rows_with(table, axes)
    models = list(dict.fromkeys(map(_model, rows)))
    families = list(dict.fromkeys(family_of(row["decoding"]) for row in rows))
    dots = []
    for row in rows:
        x, y = (row["values"][name]["mean"] for name in axes)
        said = ", ".join(f"{name} {row['values'][name]['text']}" for name in axes)
        title = f"{row['method']} {setting_of(row['decoding'])}: {said}"
        dots.append(Dot(x, y, models.index(_model(row)), families.index(family_of(row["decoding"])), title))
    ways = {column["name"]: column["higher_is_better"] for column in table["columns"]}
    front = []
    if None not in (ways[axes[0]], ways[axes[1]]):
        front = front_of(dots, (ways[axes[0]], ways[axes[1]]))
    names = f"{axes[0]} ({WAYS[ways[axes[0]]]})", f"{axes[1]} ({WAYS[ways[axes[1]]]})"
    drawn = scatter(dots, names, front, _people(table, axes))
    head = link(table_anchor(table["id"]), escaped(table["name"]))
    return figure(head, drawn, _model_names(rows), families)


def _rows_with(table: Mapping[str, Any], axes: tuple[str, str]) -> list[Mapping[str, Any]]:
    """Return the rows with a number in both columns."""
    rows = []
    for row in table["methods"]:
        if all(name in row["values"] and row["values"][name]["mean"] is not None for name in axes):
            rows.append(row)
    return rows


def _model(row: Mapping[str, Any]) -> tuple[str, tuple[str, ...]]:
    """Return what the decodings of one trained model share."""
    return row["method"], tuple(row["cells"])


def _model_names(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return what each model is called: its label without the decoding."""
    names: dict[tuple[str, tuple[str, ...]], str] = {}
    for row in rows:
        name = row["label"]
        if row["decoding"]:
            name = name.replace(f", {row['decoding']}", "").replace(f" ({row['decoding']})", "")
        names.setdefault(_model(row), name)
    return list(names.values())


def _people(table: Mapping[str, Any], axes: tuple[str, str]) -> tuple[float, float] | None:
    """Return what people's texts score in both columns; None where they have no number."""
    for row in _rows_with({"methods": table["human"]}, axes):
        return row["values"][axes[0]]["mean"], row["values"][axes[1]]["mean"]
    return None
