"""Filled figures: our rows at their places, what the paper's statements come to, and the three ways to show them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from bench.board.figure_drawing import draw_figure
from bench.errors import UsageError
from bench.leaderboards.figures.figure_files import figures
from bench.leaderboards.figures.filled import HOLDS, HOLDS_NOT, UNKNOWN, FilledFigure, Made, fill_figure
from bench.leaderboards.render.figures import figure_content, figure_markdown, figure_text
from bench.leaderboards.row import TableRow, Value
from bench.leaderboards.table import Table

FIGURE2, FIGURE3, TABLE8 = (figures()[f"f2softmax/{name}"] for name in ("figure2", "figure3", "table8-stand-in"))
LYRICS = ("ppl/token", "ms-jaccard-2/f2_code", "self-bleu-2")
GROUPS = ("frequency/frequent", "frequency/medium", "frequency/rare", "frequency/very_rare")


def row(key: str, numbers: dict[str, float], decoding: str, seed: int = 0) -> TableRow:
    values = {metric: Value({seed: number}, None, "signature") for metric, number in numbers.items()}
    return TableRow("method", "backbone", decoding, {}, values=values, keys={key}, seeds={seed})


def table(task: str, rows: list[TableRow], **others: Any) -> Table:
    status = {"train": "sample", "test": "sample"}
    return Table(task, "test", 9, status, rows, [], (), "small", True, **others)


def sweep(numbers: dict[tuple[str, float | None], tuple[float, float, float]], chosen: float | None) -> FilledFigure:
    """Figure 3 with numbers of PPL, MS-Jaccard and Self-BLEU at some places."""
    made, rows = {}, []
    for place, point in enumerate(FIGURE3.points):
        at = chosen if point.series == "MefMax's choice" else None
        made[point] = Made(frozenset([f"key {place}"]), at)
        if (point.series, point.at) in numbers:
            scored = dict(zip(LYRICS, numbers[point.series, point.at], strict=True))
            rows.append(row(f"key {place}", scored, FIGURE3.decoding))
    return fill_figure(FIGURE3, [table("lyrics", rows)], "small", made)


AS_PRINTED = {
    ("equal frequency", 2): (20.0, 40.0, 90.0),
    ("equal frequency", 4): (19.0, 45.0, 85.0),
    ("equal frequency", 8): (18.0, 51.0, 79.0),  # the same classes as the choice
    ("equal frequency", 16): (25.0, 49.0, 81.0),
    ("equal tokens", 2): (30.0, 30.0, 95.0),
    ("equal tokens", 4): (30.0, 31.0, 94.0),
    ("MefMax's choice", None): (18.0, 51.0, 79.0),
    ("MLE", None): (20.0, 35.0, 97.0),
}


def outcomes(filled: FilledFigure) -> list[str]:
    return [judged.outcome for judged in filled.statements]


def test_curves_as_the_paper_says_make_every_statement_so() -> None:
    filled = sweep(AS_PRINTED, 8)
    assert outcomes(filled) == [HOLDS] * 8
    assert [point.at for point in filled.of_series("MefMax's choice")] == [8]
    assert "lyrics: train data: sample" in filled.watermark


@pytest.mark.parametrize(
    ("point", "numbers", "statement"),
    [
        (("equal tokens", 4), (18.5, 31.0, 94.0), 0),
        (("equal tokens", 4), (30.0, 46.0, 94.0), 1),
        (("equal tokens", 4), (30.0, 31.0, 84.0), 2),
        (("equal frequency", 4), (19.0, 39.0, 85.0), 3),
        (("equal frequency", 4), (19.0, 45.0, 91.0), 4),
        (("equal frequency", 16), (25.0, 52.0, 81.0), 5),
        (("equal frequency", 16), (25.0, 49.0, 78.0), 6),
        (("equal frequency", 16), (17.0, 49.0, 81.0), 7),
    ],
)
def test_one_number_that_is_otherwise_makes_its_statement_not_so(point, numbers, statement: int) -> None:
    found = outcomes(sweep({**AS_PRINTED, point: numbers}, 8))
    assert found[statement] == HOLDS_NOT
    assert found.count(HOLDS) == 7


def test_nothing_is_said_of_a_choice_whose_place_is_not_known() -> None:
    assert outcomes(sweep(AS_PRINTED, None)) == [HOLDS] * 3 + [UNKNOWN] * 5
    assert outcomes(sweep({}, 8)) == [UNKNOWN] * 8


def bars(mle: tuple[float, ...], f2: tuple[float, ...]) -> FilledFigure:
    made = {point: Made(frozenset([point.series])) for point in FIGURE2.points if point.method != "human"}
    scored = {"Human": (40.0, 30.0, 20.0, 10.0), "MLE": mle, "F²-Softmax": f2}
    rows = {name: row(name, dict(zip(GROUPS, four, strict=True)), FIGURE2.decoding) for name, four in scored.items()}
    human = rows.pop("Human")
    human.keys = set()
    return fill_figure(FIGURE2, [table("wikitext103", list(rows.values()), human=(human,))], "small", made)


def test_bars_are_compared_with_those_of_people() -> None:
    filled = bars((53.6, 28.4, 12.0, 6.0), (42.0, 29.0, 21.0, 8.0))
    assert outcomes(filled) == [HOLDS] * 4
    assert [judged.ours for judged in filled.statements] == [
        "1.34; printed 1.34; by direction",
        "0.60; printed 0.60; by direction",
        "0.05; printed at most 0.06",
        "0.05; printed at most 0.06",
    ]
    assert outcomes(bars((39.0, 20.0, 30.0, 11.0), (44.0, 20.0, 17.0, 19.0))) == [HOLDS_NOT] * 4
    missing = {point.point.series: point.reason for point in filled.points if point.reason}
    assert missing == dict.fromkeys(("FACE", "UL-token", "UL-token+seq"), "not run")


def test_rows_of_another_decoding_or_preset_are_not_taken() -> None:
    made = {point: Made(frozenset([point.series])) for point in FIGURE2.points}
    rows = [row("MLE", dict.fromkeys(GROUPS, 25.0), "greedy")]
    assert not any(point.values for point in fill_figure(FIGURE2, [table("wikitext103", rows)], "small", made).points)
    rows[0].decoding = FIGURE2.decoding
    assert any(point.values for point in fill_figure(FIGURE2, [table("wikitext103", rows)], "small", made).points)
    assert not any(point.values for point in fill_figure(FIGURE2, [table("wikitext103", rows)], "paper", made).points)


def test_rows_of_unlike_seeds_are_one_point_and_of_the_same_seed_are_none() -> None:
    # cells that start from others differ in what they start from, and so are a row for each seed
    point = TABLE8.series[-1].points[0]
    made = {point: Made(frozenset(["a", "b", "c"]))}
    rows = [row("abc"[seed], {"uniq": 10.0 + seed}, TABLE8.decoding, seed) for seed in range(3)]
    filled = fill_figure(TABLE8, [table("lyrics", rows)], "small", made)
    (found,) = filled.of_series(point.series)
    assert (found.values["Uniq"].mean, found.values["Uniq"].n) == (11.0, 3)
    assert found.values["Uniq"].half is not None
    rows[2] = row("c", {"uniq": 12.0}, TABLE8.decoding, 0)
    (found,) = fill_figure(TABLE8, [table("lyrics", rows)], "small", made).of_series(point.series)
    assert (found.values, found.reason) == ({}, "3 rows of ours could be meant")


def test_a_figure_is_json_markdown_text_and_a_picture() -> None:
    filled = sweep(AS_PRINTED, 8)
    content = json.loads(json.dumps(figure_content(filled)))
    chosen = next(point for point in content["points"] if point["series"] == "MefMax's choice")
    assert (chosen["at"], chosen["ours"]["PPL"]["mean"], chosen["printed"]["PPL"]) == (8, 18.0, "13.2")
    assert content["statements"][0]["outcome"] == HOLDS
    assert "| equal frequency, ours | 16 | 25.00 | 49.00 | 81.00 |" in figure_markdown(filled)
    assert "| MLE, printed |  | 13.1 | 47.3 | 83.1 |" in figure_markdown(filled)
    assert "equal frequency 32: not run" in figure_text(filled).splitlines()
    picture = draw_figure(filled)
    panels = picture.figure.axes
    assert [len(ax.lines) for ax in panels] == [6, 6, 6], "three series with places, one without, two printed numbers"
    assert list(panels[0].lines[0].get_xydata()[:, 1]) == [20.0, 19.0, 18.0, 25.0]
    assert "sample" in picture.svg


def test_bars_are_drawn_as_high_as_their_numbers() -> None:
    (ax,) = draw_figure(bars((50.0, 28.0, 12.0, 10.0), (40.0, 30.0, 20.0, 10.0))).figure.axes
    heights = [[bar.get_height() for bar in group] for group in ax.containers]
    assert [50.0, 28.0, 12.0, 10.0] in heights
    assert [40.0, 30.0, 20.0, 10.0] in heights


def test_what_cannot_be_drawn_is_said() -> None:
    with pytest.raises(UsageError, match="is a table; there is nothing to draw"):
        draw_figure(fill_figure(TABLE8, [], "small", {}))
    with pytest.raises(UsageError, match=r"no cell of f2softmax/figure3 is stored"):
        draw_figure(fill_figure(FIGURE3, [], "small", {}))
