"""Human tables: HistAlign tables 4 and 6, filled with what raters said of our texts in a study of `bench human`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from bench.errors import UsageError
from bench.leaderboards.human.results import Difference, HumanResults
from bench.leaderboards.published.papers import PublishedTable
from bench.leaderboards.published.reproduction import NOT_COMPARABLE, Reproduced, Reproduction, orders
from bench.leaderboards.statistics.intervals import SeedMean

__all__ = ["fill_human_table", "is_human_table"]

HUMAN = "human/"
Place = tuple[str, str, str, str]
"""Task, method, the method it is compared with, metric: as a published cell names them."""


def is_human_table(table: PublishedTable) -> bool:
    """Return whether a table's numbers are people's answers."""
    return table.rows[0][0].task.startswith(HUMAN)


def fill_human_table(table: Reproduction, studies: Sequence[HumanResults]) -> Reproduction:
    """Fill a table of answers with those of our studies; where none of them is about it, add how to make one.

    Args:
        table: one that `is_human_table`.
        studies: any; what they say of other tasks and methods is not used.

    Raises:
        UsageError: two studies have a number for the same cell.
    """
    by_place = _by_place(table, studies)
    rows = tuple(_filled(row, by_place) for row in table.rows)
    places = {_place(reproduced) for row in rows for reproduced in row}
    used = {study.study for place, (_, study) in by_place.items() if place in places}
    notes = [note for study in studies if study.study in used for note in _notes(study)]
    if not used:
        notes = [*map(_not_about, studies), _how_to_ask(table.table)]
    return replace(table, rows=rows, orders=tuple(orders(table.table, rows))).noted(notes)


def _how_to_ask(table: PublishedTable) -> str:
    """Say which commands ask people for a table."""
    cells = [row[0] for row in table.rows]
    methods = ",".join(dict.fromkeys(name for cell in cells for name in (cell.method, cell.than) if name))
    kind = "single --relevant 10"
    if cells[0].than:
        kind = "pairwise"
    task = cells[0].task.removeprefix(HUMAN)
    return (
        f"nobody was asked: bench human make RESULTS --task {task} --methods {methods} --kind {kind} --items 100 "
        f"--out DIR, answers into DIR, then bench reproduce {table.address} --study DIR"
    )


def _by_place(table: Reproduction, studies: Sequence[HumanResults]) -> dict[Place, tuple[float, HumanResults]]:
    """Return, by place, the number of the study that has one."""
    by_place: dict[Place, tuple[float, HumanResults]] = {}
    for study in studies:
        for place, value in _numbers(study):
            _, first = by_place.setdefault(place, (value, study))
            if first is not study:
                raise UsageError(
                    f"{table.table.address}: expected one study of {', '.join(study.methods)}, got {first.study} and "
                    f"{study.study}; give --study for one of them"
                )
    return by_place


def _numbers(study: HumanResults) -> Iterator[tuple[Place, float]]:
    """Yield each number's place and percent of judgements; those of a pair of methods both ways round."""
    task = f"{HUMAN}{study.about.get('task', '')}"
    for pair in study.pairs:
        win, tie, lose = pair.judgements.shares
        for (method, than), shares in (
            (study.methods, {"win": win, "tie": tie, "lose": lose}),
            (study.methods[::-1], {"win": lose, "tie": tie, "lose": win}),
        ):
            for outcome, share in shares.items():
                yield (task, method, than, f"{HUMAN}{pair.question}-{outcome}"), share
    for rating in study.ratings:
        yield (task, rating.method, "", f"{HUMAN}{rating.question}"), rating.mean.value


def _place(reproduced: Reproduced) -> Place:
    cell = reproduced.cell
    return cell.task, cell.method, cell.than, cell.metric


def _filled(row: Sequence[Reproduced], by_place: Mapping[Place, tuple[float, HumanResults]]) -> tuple[Reproduced, ...]:
    """Return a row with the numbers of our studies."""
    cells = []
    for reproduced in row:
        place = _place(reproduced)
        if place in by_place:
            reproduced = _with_number(reproduced, *by_place[place])
        cells.append(reproduced)
    return tuple(cells)


def _with_number(reproduced: Reproduced, value: float, study: HumanResults) -> Reproduced:
    people = f"{study.items} items, {len(study.raters)} raters"
    if len(study.raters) == 1:
        people = f"{study.items} items, 1 rater"
    reason = reproduced.cell.why_not or "other people rated other texts"
    return replace(reproduced, verdict=NOT_COMPARABLE, reason=reason, ours=SeedMean(value, None, 1), people=people)


def _not_about(study: HumanResults) -> str:
    task = study.about.get("task") or "no task"
    return f"{study.study} is about {task}, {' and '.join(study.methods)}, which is not in this table"


def _notes(study: HumanResults) -> list[str]:
    """Return what a study is of, its tests and how far its raters agree."""
    settings: Mapping[str, Any] = study.about.get("settings", {})
    texts = ", ".join(f"{name} {value}" for name, value in settings.items() if value) or "unknown settings"
    notes = [f"{study.study}: {study.judgements} judgements of texts of {texts}"]
    for pair in study.pairs:
        notes.append(f"{pair.question}, wins less losses: {_test(pair.difference)}")
    for rating in study.ratings:
        if rating.difference is not None:
            notes.append(f"{rating.question}, {rating.method} less {study.methods[0]}: {_test(rating.difference)}")
    alphas = [
        f"{agreement.question} {agreement.nominal:.2f}"
        for agreement in study.agreement
        if agreement.nominal is not None
    ]
    if alphas:
        notes.append(f"agreement of raters (Krippendorff's alpha): {', '.join(alphas)}")
    return [*notes, *study.remarks]


def _test(difference: Difference) -> str:
    interval = ""
    if difference.low is not None:
        interval = f" ({difference.low:+.2f} to {difference.high:+.2f})"
    return f"{difference.value:+.2f}{interval}, p Holm {difference.adjusted:.4f}"
