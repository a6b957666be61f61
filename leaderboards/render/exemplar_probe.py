"""Renderers of an exemplar probe: what was written under each exemplar, and the measures, for people and as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bench.leaderboards.figures.exemplar_probe import MEASURES, ExemplarProbe, measures
from bench.leaderboards.render.markdown_table import escaped, markdown_table
from bench.leaderboards.render.text.aligned import aligned

__all__ = ["probe_content", "probe_markdown", "probe_text"]

Written = Mapping[str, Sequence[Sequence[str]]]
"""By writer, what it wrote: for each source a text for each exemplar."""
PRINTED = "printed"
COPY = "the exemplar itself"
"""Writers that every probe has: the paper's model, and one that copies."""


def probe_content(probe: ExemplarProbe, ours: Written, reasons: Mapping[str, str]) -> dict[str, Any]:
    """Return a probe for JSON.

    Args:
        probe: what was written for.
        ours: by writer, such as `adadec, seed 0`.
        reasons: by writer, why there is nothing.
    """
    sources = []
    for number, source in enumerate(probe.sources):
        exemplars = []
        for place, exemplar in enumerate(source.exemplars):
            texts = {writer: written[number][place] for writer, written in ours.items()}
            exemplars.append({"exemplar": exemplar, PRINTED: source.printed[place], "ours": texts})
        sources.append({"source": source.text, "exemplars": exemplars})
    return {
        "address": probe.address,
        "title": probe.title,
        "about": probe.about,
        "sources": sources,
        "measures": measured(probe, ours),
        "reasons": dict(reasons),
        "notes": notes_of(probe),
    }


def measured(probe: ExemplarProbe, ours: Written) -> dict[str, dict[str, float]]:
    """Return the measures by writer: the paper's, one that copies its exemplar, and ours."""
    copied = [source.exemplars for source in probe.sources]
    writers: dict[str, Sequence[Sequence[str]]] = {PRINTED: probe.printed, COPY: copied, **ours}
    return {writer: measures(probe.sources, written) for writer, written in writers.items()}


def notes_of(probe: ExemplarProbe) -> list[str]:
    """Return what a reader of a probe must know."""
    return [probe.level.text(), probe.note, "Six texts are an illustration and carry no claim; a model that does not "
            "read its exemplar has 0 in style following."]  # fmt: skip


def measure_lines(probe: ExemplarProbe, ours: Written) -> list[list[str]]:
    """Return heading and a line of measures for each writer."""
    lines = [["", *MEASURES]]
    for writer, values in measured(probe, ours).items():
        lines.append([writer, *(f"{values[name]:.1f}" for name in MEASURES)])
    return lines


def remarks_of(probe: ExemplarProbe, reasons: Mapping[str, str]) -> list[str]:
    """Return what stands under a probe."""
    return [*(f"{writer}: {why}" for writer, why in reasons.items()), *notes_of(probe)]


def probe_text(probe: ExemplarProbe, ours: Written, reasons: Mapping[str, str]) -> str:
    """Return a probe as plain text; arguments as for `probe_content`."""
    lines = [f"{probe.address} · {probe.title}", probe.about]
    for number, source in enumerate(probe.sources):
        lines += ["", f"source: {source.text}"]
        for place, exemplar in enumerate(source.exemplars):
            lines += [f"exemplar {place + 1}: {exemplar}", f"  {PRINTED}: {source.printed[place]}"]
            lines += [f"  {writer}: {written[number][place]}" for writer, written in ours.items()]
    headings, *rows = measure_lines(probe, ours)
    lines += ["", *aligned(headings, rows), "", *remarks_of(probe, reasons)]
    return "\n".join(lines) + "\n"


def probe_markdown(probe: ExemplarProbe, ours: Written, reasons: Mapping[str, str]) -> str:
    """Return a probe as Markdown; arguments as for `probe_content`."""
    parts = [f"### {probe.address}: {probe.title}", probe.about]
    for number, source in enumerate(probe.sources):
        table = [["exemplar", PRINTED, *ours]]
        for place, exemplar in enumerate(source.exemplars):
            table.append([exemplar, source.printed[place], *(written[number][place] for written in ours.values())])
        parts += [f"Source: {escaped(source.text)}", _markdown_table(table)]
    parts.append(_markdown_table(measure_lines(probe, ours)))
    parts.append("\n".join(f"- {escaped(remark)}" for remark in remarks_of(probe, reasons)))
    return "\n\n".join(parts) + "\n"


def _markdown_table(lines: Sequence[Sequence[str]]) -> str:
    heading, *rows = [[escaped(cell) for cell in line] for line in lines]
    return "\n".join(markdown_table(heading, rows))
