"""Notes under a paper's table: one list, which the terminal and Markdown show alike."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from bench.leaderboards.published.paper_files import PublishedCell
from bench.leaderboards.published.papers import key_of_cell, paper_table
from bench.leaderboards.published.reproduction import Plan, Reproduction, reproduce
from bench.leaderboards.render.reproduction import content, markdown, notes, terminal
from bench.leaderboards.row import TableRow
from bench.tasks.core.stated import Deviation

LENGTH, PRECISION = Deviation("trainer.length", "300 steps", "10 epochs"), Deviation("trainer.precision", "32-true")
REDUCTION, BASE = Deviation("method.reduction", "pair_mean", "sum"), Deviation("method.base", "CE", code="TRIME")
DEVIATIONS = {
    "mle": (LENGTH, PRECISION),
    "histalign": (LENGTH, REDUCTION, BASE, PRECISION),
    "histalign.released": (LENGTH, REDUCTION, PRECISION),
}


def shown(address: str = "histalign/table1", preset: str = "small") -> Reproduction:
    def deviations(cell: PublishedCell, row: TableRow | None) -> Sequence[Deviation]:
        return DEVIATIONS.get(cell.method, ())

    cells = [cell for row in paper_table(address).rows for cell in row]
    plans = {key_of_cell(cell, preset): Plan(deviations=deviations) for cell in cells}
    plans |= {key_of_cell(cell.other, preset): Plan(deviations=deviations) for cell in cells if cell.other}
    return reproduce(paper_table(address), [], preset, plans)


def test_at_the_preset_small_sizes_are_one_line_and_what_the_code_alone_does_another() -> None:
    found = notes(shown())
    assert f"deviation of histalign.released, histalign: {REDUCTION.text}" in found
    assert "other sizes and settings (in the paper): trainer.length 300 steps (10 epochs)" in found
    assert "the released code alone differs in: trainer.precision, method.base" in found
    at_paper = notes(shown(preset="paper"))
    assert f"deviation of histalign: {BASE.text}" in at_paper


@pytest.mark.parametrize("width", [60, 120])
@pytest.mark.parametrize("address", ["histalign/table1", "f2softmax/table1", "adadec/table3"])
def test_notes_fit_the_width(address: str, width: int) -> None:
    assert max(map(len, terminal([shown(address)], width).splitlines())) <= width


def test_terminal_markdown_and_json_have_every_note() -> None:
    found = shown()
    every = notes(found)
    page, text = markdown([found]).replace("\\", ""), " ".join(terminal([found], 400).split())
    assert all(note.replace("\\", "") in page for note in every)
    assert all(" ".join(note.split()) in text for note in every)
    assert set(found.notes) < set(every)
    assert content(found)["notes"] == list(found.notes)
