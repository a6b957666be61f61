"""Suggestions: where an option is that was typed in the wrong place. For errors only: every class is imported."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from bench.base.entries import Entry
from bench.base.options import options_of
from bench.errors import did_you_mean, nearest
from bench.models import METHODS
from bench.models.backbones import BACKBONES
from bench.tasks import TASKS

TABLES: Mapping[str, Mapping[str, Entry]] = {"task": TASKS, "method": METHODS, "backbone": BACKBONES}

Places = Mapping[str, Iterable[str]]
"""Sections with the names of their options, beside those of `TABLES`."""


def owners_of(section: str) -> dict[str, list[str]]:
    """Return whose each option of a section is: names of built-in tasks, methods or backbones."""
    owners: dict[str, list[str]] = {}
    for owner, entry in TABLES[section].items():
        for name in options_of(entry.load()):
            owners.setdefault(name, []).append(owner)
    return owners


def names_in(own: Places) -> dict[str, list[str]]:
    """Return the sections of each option there is, by its name."""
    sections: dict[str, list[str]] = {}
    for section, names in {**own, **{section: owners_of(section) for section in TABLES}}.items():
        for name in names:
            sections.setdefault(name, []).append(section)
    return sections


def places_of(name: str, own: Places) -> list[str]:
    """Return what an option without its section may have meant: `trainer.lr` for `lr` or `LR`."""
    sections = names_in(own)
    near = nearest(name, sections)
    if near is None:
        return []
    return [f"{section}.{near}" for section in sections[near]]


def did_you_mean_option(section: str, name: str, known: Iterable[str], own: Places) -> str:
    """Return what was meant by an option that its section, which has the known ones, does not have."""
    if elsewhere := names_in(own).get(name):
        return suggested([f"{place}.{name}" for place in elsewhere])
    near = nearest(name, known)
    if near is not None:
        return suggested([f"{section}.{near}"])
    if meant := places_of(name, own):
        return suggested(meant)
    return f"; there are: {', '.join(f'{section}.{each}' for each in known)}"


def suggested(places: Iterable[str]) -> str:
    """Return the end of a sentence that suggests some options."""
    return f"; did you mean {' or '.join(map(repr, places))}?"


def whose(section: str, name: str, taken: Iterable[str], own: Places) -> str:
    """Return what was meant by an option of a task, method or backbone that nothing in a run takes.

    Args:
        section: of the option.
        name: as typed.
        taken: the options of this section that something in the run takes.
        own: sections whose options are nobody's own.
    """
    owners = owners_of(section)
    if name in owners:
        return f"; it is an option of {', '.join(owners[name])}"
    if elsewhere := names_in(own).get(name):
        return suggested([f"{place}.{name}" for place in elsewhere])
    if nearest(name, taken) is None and (near := nearest(name, owners)):
        return f"; did you mean '{near}', an option of {', '.join(owners[near])}?"
    return did_you_mean(name, taken)
