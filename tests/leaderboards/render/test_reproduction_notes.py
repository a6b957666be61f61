"""Notes under a paper's table: folded, what rows share is said once with their names; in full, nothing is left out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import pytest

from bench.base.departure import Departure
from bench.leaderboards.published.costs import CostClaim, MeasuredCost, cost_gist, cost_notes
from bench.leaderboards.published.order import Order
from bench.leaderboards.published.papers import PublishedCell, paper_table
from bench.leaderboards.published.reproduction import Reproduction, reproduce
from bench.leaderboards.render.reproduction import content, markdown, terminal
from bench.leaderboards.render.reproduction_notes import by_section, folded, in_full

LENGTH, WIDTH = Departure("trainer.length", "300 steps", "10 epochs"), Departure("backbone.width", "64", "768")
PRECISION = Departure("trainer.precision", "32-true", code="16-mixed")
REDUCTION, BASE = Departure("method.reduction", "pair_mean", "sum"), Departure("method.base", "CE", code="TRIME")
VARIANT = Departure("method.variant", "memory", code="masked labels")

Departures = Mapping[str, Sequence[Departure]]


def shown(
    address: str, departing: Callable[[PublishedCell], Sequence[Departure]], preset: str = "small"
) -> Reproduction:
    return reproduce(paper_table(address), [], preset, departing=departing)


def departs(found: Reproduction) -> list[str]:
    return [text for text in folded(found) if text.startswith("departs")]


def of_methods(by_method: Departures) -> Callable[[PublishedCell], Sequence[Departure]]:
    return lambda cell: by_method.get(cell.method, ())


TABLE_1 = {
    "mle": (LENGTH, PRECISION),
    "trime": (LENGTH, PRECISION, VARIANT),
    "histalign": (LENGTH, REDUCTION, BASE, PRECISION),
    "histalign.released": (LENGTH, REDUCTION, PRECISION),
}


def test_what_departs_in_every_row_comes_first_and_what_some_rows_share_names_them() -> None:
    """Two rows a method, of two backbones, are one name; so is the variant beside them."""
    assert departs(shown("histalign/table1", of_methods(TABLE_1))) == [
        "departs, every row: trainer (length, precision)",
        "departs 1, TRIME: method.variant",
        "departs 2, HISTALIGN, histalign.released: method.reduction",
        "departs 3, HISTALIGN: method.base",
    ]
    assert departs(shown("histalign/table1", of_methods(TABLE_1), "paper"))[:2] == [
        "departs 1-2, every row: trainer (length, precision)",
        "departs 3, TRIME: method.variant",
    ]


def test_what_one_row_does_not_share_is_not_said_of_every_row() -> None:
    assert departs(shown("histalign/table1", of_methods({**TABLE_1, "mle": (LENGTH,)})))[:2] == [
        "departs, every row: trainer.length",
        "departs, TRIME, HISTALIGN, histalign.released: trainer.precision",
    ]


def test_rows_of_one_part_and_of_one_backbone_are_told_from_others() -> None:
    def of_lyrics(cell: PublishedCell) -> Sequence[Departure]:
        if cell.task == "lyrics":
            return (WIDTH,)
        return of_methods({"face": (VARIANT,)})(cell)

    assert departs(shown("f2softmax/table1", of_lyrics)) == [
        "departs 1, FACE of (a) Wikitext-103: method.variant",
        "departs, every row of (b) Melo-Lyrics: backbone.width",
    ]

    def of_large(cell: PublishedCell) -> Sequence[Departure]:
        return (VARIANT,) if (cell.method, cell.backbone) == ("trime", "gpt2-large") else ()

    assert departs(shown("histalign/table1", of_large)) == ["departs 1, TRIME of gpt2-large: method.variant"]


def test_a_number_means_the_same_folded_in_full_and_in_the_table() -> None:
    found = shown("histalign/table1", of_methods(TABLE_1))
    assert f"departs 3: {BASE.text}" in in_full(found)
    assert any("2-3" in line and "departs" in line for line in terminal([found], 150).splitlines())


@pytest.mark.parametrize("width", [60, 80, 100, 120, 200])
@pytest.mark.parametrize("address", ["histalign/table1", "f2softmax/table1", "adadec/table3", "histalign/table4"])
def test_folded_notes_fit_the_width_and_are_shorter(address: str, width: int) -> None:
    found = shown(address, of_methods(TABLE_1))
    lines, full = (terminal([found], width, notes=notes).splitlines() for notes in (False, True))
    assert max(map(len, lines)) <= width
    assert len(lines) < len(full)


def test_the_notes_of_histalign_table_1_are_about_twelve_lines() -> None:
    found = shown("histalign/table1", of_methods(TABLE_1))
    for width, most in ((80, 13), (100, 12), (120, 12)):
        text = terminal([found], width)
        notes = text[text.index("  32 not run") :].splitlines()
        assert sum(map(bool, notes)) <= most, width


def test_markdown_and_json_keep_every_note() -> None:
    found = shown("histalign/table1", of_methods(TABLE_1))
    page, notes = markdown([found]).replace("\\", ""), in_full(found)
    assert len(notes) > len(folded(found))
    assert all(note.replace("\\", "") in page for note in notes)
    told = content(found)
    assert told["notes"] == list(found.notes)
    assert len(told["checks"]) == 6
    assert set(found.notes) < set(notes)


def test_columns_that_agree_alike_are_named_together() -> None:
    columns = {"Acc@2": 3, "Acc@5": 1, "Acc@10": 3}
    orders = tuple(Order(name, "gpt2", 3, 3, agreeing, 0.5) for name, agreeing in columns.items())
    found = replace(shown("histalign/table1", of_methods({})), orders=orders)
    assert "pairs of rows in the paper's order, gpt2: 3/3 in Acc@2, Acc@10; 1/3 in Acc@5" in folded(found)
    assert any("Acc@5 1/3 (+0.50)" in note for note in in_full(found))


def test_gist_says_level_and_preset_once_and_watermarks_whole() -> None:
    found = shown("histalign/table1", of_methods({}))
    (gist,) = found.gist
    assert gist.startswith("Level: comparable. The rank has no stated tolerance.")
    assert gist.endswith(
        "Preset small: only the order of methods says something. Settings to choose from: histalign 18, mle 3."
    )
    assert found.noted(["a", "b"], ["both"]).gist == (gist, "both")
    assert found.noted(["a"]).gist == (gist, "a")


def test_training_times_are_one_sentence() -> None:
    claims = [
        CostClaim("HistAlign", "xsum", method, backbone, ratio, "A.1", 1.0, 0.5)
        for method, backbone, ratio in (
            ("trime", "gpt2", 1.5),
            ("trime", "gpt2-large", 2.0),
            ("histalign", "gpt2", 2.0),
        )
    ]
    measured = [MeasuredCost("xsum", "trime", "small-causal", 1.05, 1, 1.05, 1.05)]
    assert len(cost_notes(claims, measured)) == 3
    assert cost_gist(claims, measured) == ["Training time of mle's: trime 1.50 to 2.00, here 1.05; histalign 2.00."]
    assert cost_gist([], measured) == []


def test_settings_stand_by_their_section() -> None:
    names = ["trainer.lr", "backbone", "trainer.length", "xsum:trainer.lr", "data.test", "backbone.width"]
    assert by_section(names) == "trainer (lr, length), backbone, xsum:trainer.lr, data.test, backbone.width"
