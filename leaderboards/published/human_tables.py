"""Asked tables: HistAlign tables 4 and 6, from what people said of our texts in a study of `bench human`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from bench.errors import UsageError
from bench.leaderboards.human.results import Difference, HumanResults
from bench.leaderboards.published.papers import PublishedTable
from bench.leaderboards.published.reproduction import NOT_COMPARABLE, Reproduced, Reproduction, not_comparable, orders
from bench.leaderboards.statistics.intervals import SeedMean

__all__ = ["asked", "asks", "how"]

HUMAN = "human/"
Place = tuple[str, str, str, str]
"""Task, method, the method it is compared with, metric: as a published cell names them."""


def asks(table: PublishedTable) -> bool:
    """Return whether a table's numbers are people's answers."""
    return table.rows[0][0].task.startswith(HUMAN)


def asked(table: Reproduction, studies: Sequence[HumanResults]) -> Reproduction:
    """Fill a table of answers with those of our studies; without any that is about it, say how to make one.

    Args:
        table: one that `asks`.
        studies: any; those of other tasks, methods and kinds are not looked at.

    Raises:
        UsageError: two studies answer the same.
    """
    said: dict[Place, tuple[float, HumanResults]] = {}
    for study in studies:
        for place, value in _cells(study):
            other = said.setdefault(place, (value, study))[1]
            if other is not study:
                raise UsageError(f"{table.table.address}: {other.study} and {study.study} both say what people think "
                                 f"of {', '.join(study.methods)}; name one of them")  # fmt: skip
    rows = tuple(tuple(_filled(one, said) for one in row) for row in table.rows)
    places = {_place(one) for row in rows for one in row}
    used = list({id(study): study for place, (_, study) in said.items() if place in places}.values())
    others = [f"{study.study} is about {study.about.get('task') or 'no task'}, {' and '.join(study.methods)}, which is "
              f"not in this table" for study in studies]  # fmt: skip
    notes = [note for study in used for note in _notes(study)] or [*others, how(table.table)]
    return replace(table, rows=rows, orders=tuple(orders(table.table, rows)), notes=(*table.notes, *notes))


def how(table: PublishedTable) -> str:
    """Say which commands ask people for a table."""
    cells = [row[0] for row in table.rows]
    methods = ",".join(dict.fromkeys(name for cell in cells for name in (cell.method, cell.than) if name))
    kind = "pairwise" if cells[0].than else "single"
    task = cells[0].task.removeprefix(HUMAN)
    return (f"nobody was asked: bench human make RESULTS --task {task} --methods {methods} --kind {kind} --items 100 "
            f"--out DIR, answers into DIR, then bench reproduce {table.address} --study DIR")  # fmt: skip


def _cells(study: HumanResults) -> Iterator[tuple[Place, float]]:
    """Yield each answer's place and percent of judgements; a pair of methods both ways round."""
    task = f"{HUMAN}{study.about.get('task', '')}"
    for pair in study.pairs:
        for (one, other), names in (
            (study.methods, ("win", "tie", "lose")),
            (study.methods[::-1], ("lose", "tie", "win")),
        ):
            for name, share in zip(names, pair.judgements.shares, strict=True):
                yield (task, one, other, f"{HUMAN}{pair.question}-{name}"), share
    for rating in study.ratings:
        yield (task, rating.method, "", f"{HUMAN}{rating.question}"), rating.mean.value


def _place(one: Reproduced) -> Place:
    return one.cell.task, one.cell.method, one.cell.than, one.cell.metric


def _filled(one: Reproduced, said: Mapping[Place, tuple[float, HumanResults]]) -> Reproduced:
    if (found := said.get(_place(one))) is None:
        return one
    value, study = found
    people = f"{study.items} items, {len(study.raters)} {'rater' if len(study.raters) == 1 else 'raters'}"
    reason = not_comparable(one.cell) or "other people rated other texts"
    return replace(one, verdict=NOT_COMPARABLE, reason=reason, ours=SeedMean(value, None, 1), people=people)


def _notes(study: HumanResults) -> list[str]:
    """Return what a study is of, its tests and how far its raters agree."""
    settings: Mapping[str, Any] = study.about.get("settings", {})
    of = ", ".join(f"{name} {value}" for name, value in settings.items() if value)
    found = [f"{study.study}: {study.judgements} judgements of texts of {of or 'unknown settings'}"]
    found += [f"{one.question}, wins less losses: {_test(one.difference)}" for one in study.pairs]
    found += [f"{one.question}, {one.method} less {study.methods[0]}: {_test(one.difference)}"
              for one in study.ratings if one.difference]  # fmt: skip
    alphas = [f"{one.question} {one.nominal:.2f}" for one in study.agreement if one.nominal is not None]
    agreed = [f"agreement of raters (Krippendorff's alpha): {', '.join(alphas)}"] if alphas else []
    return [*found, *agreed, *study.remarks]


def _test(one: Difference) -> str:
    ends = "" if one.low is None else f" ({one.low:+.2f} to {one.high:+.2f})"
    return f"{one.value:+.2f}{ends}, p Holm {one.adjusted:.4f}"
