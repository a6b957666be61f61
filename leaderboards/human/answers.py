"""Human answers: files that the page saved (CSV, JSON) or MTurk's results (CSV), checked against a study's key."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.base.keys import sha256
from bench.errors import DataError

__all__ = ["Answers", "Judgement", "read_answers", "read_key"]

SCHEMA = 1
PASS = 0.75
"""A rater with fewer right answers to attention checks is left out."""
COLUMNS = ("study", "content", "rater", "item", "text", "question", "answer")
VALUES = {"pairwise": ("A", "B", "tie"), "single": ("yes", "no")}
KEY = ("schema", "study", "content", "kind", "methods", "questions", "items")


@dataclass(frozen=True)
class Judgement:
    """One answer of one rater; `slot` is the question, in single studies `question_label`."""

    rater: str
    item: str
    slot: str
    answer: str


@dataclass(frozen=True)
class Answers:
    """What raters said of the items, checks taken out.

    Args:
        judgements: of raters who are kept, each rater once for a slot of an item.
        raters: those kept.
        left_out: raters who failed the attention checks.
        remarks: what was found wrong or missing, for people.
    """

    judgements: tuple[Judgement, ...]
    raters: tuple[str, ...]
    left_out: tuple[str, ...]
    remarks: tuple[str, ...]


def read_key(path: Path) -> dict[str, Any]:
    """Read a study's key.

    Raises:
        DataError: it is none; or the page beside it is not the one it was written with.
    """
    try:
        key: dict[str, Any] = json.loads(path.read_bytes())
        missing = [name for name in KEY if name not in key]
    except (OSError, ValueError, TypeError) as error:
        raise DataError(f"{path}: expected the key.json of a study ({error})") from error
    if missing or key["schema"] != SCHEMA or key["kind"] not in VALUES:
        raise DataError(f"{path}: expected a key of schema {SCHEMA}, got one without {', '.join(missing) or 'it'}")
    page = path.parent / "study.html"
    if page.is_file() and "page_sha256" in key and sha256(page.read_bytes()) != key["page_sha256"]:
        raise DataError(f"{page}: is not the page this key was written with; put that one back or take this one away")
    return key


def read_answers(paths: Sequence[Path], key: Mapping[str, Any]) -> Answers:
    """Read files of answers; the same answer twice counts once, unlike ones of one rater count not at all.

    Raises:
        DataError: a file that is none, of another study or another version of its page, or with an unknown item,
            question or answer (the message names file and row); or no rater passed the checks.
    """
    found: dict[tuple[str, str, str], str] = {}
    repeated, unlike = 0, set[tuple[str, str, str]]()
    remarks = []
    for path in paths:
        rows, rejected = _rows(path)
        remarks += [f"{path.name}: {rejected} rejected assignments left out"] if rejected else []
        for where, row in rows:
            one = _judgement(row, key, f"{path}, {where}")
            place = (one.rater, one.item, one.slot)
            repeated += place in found
            if found.setdefault(place, one.answer) != one.answer:
                unlike.add(place)
    if not found:
        raise DataError(f"expected answers, got none in {', '.join(map(str, paths)) or 'no file'}")
    remarks += [f"{repeated} answers were there twice; each counts once"] if repeated > len(unlike) else []
    remarks += [f"{rater}: unlike answers to {item} {slot}; left out" for rater, item, slot in sorted(unlike)]
    kept = [Judgement(*place, answer) for place, answer in sorted(found.items()) if place not in unlike]
    failed, said = _attention(kept, key)
    remarks += said
    raters = tuple(sorted({one.rater for one in kept} - set(failed)))
    if not raters:
        raise DataError(f"no rater is left of {len(failed)}: {'; '.join(remarks)}")
    items = {name for name, item in key["items"].items() if item["check"] is None}
    judgements = tuple(one for one in kept if one.rater in raters and one.item in items)
    return Answers(judgements, raters, tuple(failed), (*remarks, *_missing(judgements, key, items, raters)))


def slots_of(key: Mapping[str, Any]) -> list[str]:
    """Return what is asked of every item."""
    if key["kind"] == "pairwise":
        return list(key["questions"])
    labels = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"[: len(key["methods"])]
    return [f"{question}_{label}" for label in labels for question in key["questions"]]


def _judgement(row: Mapping[str, str], key: Mapping[str, Any], where: str) -> Judgement:
    for name, what in (("study", "study"), ("content", "version of its page")):
        if row[name] != key[name]:
            raise DataError(f"{where}: expected {what} {key[name]:.20}, got {row[name]!r:.30}; it is of another study")
    slot = f"{row['question']}_{row['text']}" if row["text"] else row["question"]
    wanted = {"item": (row["item"], key["items"]), "question": (slot, slots_of(key)),
              "answer": (row["answer"], VALUES[key["kind"]])}  # fmt: skip
    for what, (given, known) in wanted.items():
        if given not in known:
            raise DataError(f"{where}: expected an {what} of the study, got {given!r:.40}")
    if not row["rater"].strip():
        raise DataError(f"{where}: expected a rater, got none")
    return Judgement(row["rater"].strip(), row["item"], slot, row["answer"])


def _rows(path: Path) -> tuple[list[tuple[str, dict[str, str]]], int]:
    """Return where each answer stands and its columns, and how many assignments MTurk's requester rejected."""
    try:
        text = path.read_bytes().decode("utf-8-sig")
        if text.lstrip().startswith("{"):
            return _json_rows(json.loads(text)), 0
        lines = list(csv.DictReader(io.StringIO(text, newline=""), strict=True))
    except (OSError, ValueError, csv.Error, KeyError, TypeError, AttributeError) as error:
        raise DataError(f"{path}: expected answers as CSV or JSON, cannot be read ({error!r:.80})") from error
    head = set(lines[0]) if lines else set(COLUMNS)
    if "WorkerId" in head:
        rejected = [line for line in lines if (line.get("AssignmentStatus") or "").lower() == "rejected"]
        return [row for i, line in enumerate(lines, 2) if line not in rejected
                for row in _of_mturk(line, f"row {i}", path)], len(rejected)  # fmt: skip
    if missing := set(COLUMNS) - head:
        raise DataError(f"{path}: expected the columns {', '.join(COLUMNS)}, no {', '.join(sorted(missing))}")
    return [(f"row {i}", {name: line[name] or "" for name in COLUMNS}) for i, line in enumerate(lines, 2)], 0


def _json_rows(content: Mapping[str, Any]) -> list[tuple[str, dict[str, str]]]:
    if content["schema"] != SCHEMA:
        raise ValueError(f"schema {content['schema']}")
    shared = {name: str(content[name]) for name in ("study", "content", "rater")}
    return [(f"answer {i}", {**shared, **{name: str(one[name]) for name in COLUMNS[3:]}})
            for i, one in enumerate(content["answers"], 1)]  # fmt: skip


def _of_mturk(line: Mapping[str, str | None], where: str, path: Path) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the answers of one assignment.

    MTurk gives a choice as `Answer.<name>` = value, as `Answer.<name>.<value>` = true, or all of them as JSON in
    `Answer.taskAnswers`.
    """
    shared = {name: line.get(f"Input.{name}") or "" for name in ("study", "content", "item")}
    shared |= {"rater": line["WorkerId"] or "", "text": ""}
    try:
        given = json.loads(line.get("Answer.taskAnswers") or "[{}]")[0]
        chosen = {name: next((value for value, on in options.items() if on is True), "")
                  if isinstance(options, dict) else str(options) for name, options in given.items()}  # fmt: skip
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise DataError(f"{path}, {where}: Answer.taskAnswers is not what MTurk writes ({error!r:.60})") from error
    for column, value in line.items():
        name, _, option = (column or "").removeprefix("Answer.").partition(".")
        if not (column or "").startswith("Answer.") or name == "taskAnswers" or not value:
            continue
        if not option:
            chosen[name] = value
        elif value.lower() in ("true", "on"):
            chosen[name] = option
    for name, answer in chosen.items():
        if answer:
            yield where, {**shared, "question": name, "answer": answer}


def _attention(judgements: Sequence[Judgement], key: Mapping[str, Any]) -> tuple[list[str], list[str]]:
    """Return the raters who failed the attention checks, and what there is to say of checks."""
    expected = {(name, slot): answer for name, item in key["items"].items() if item["check"]
                for slot, answer in item["check"].items()}  # fmt: skip
    if not expected:
        return [], []
    right: dict[str, list[bool]] = {one.rater: [] for one in judgements}
    for one in judgements:
        if (one.item, one.slot) in expected:
            right[one.rater].append(one.answer == expected[one.item, one.slot])
    failed = [rater for rater, found in sorted(right.items()) if found and sum(found) / len(found) < PASS]
    said = [f"{rater}: left out, {sum(right[rater])} of {len(right[rater])} attention checks right" for rater in failed]
    none = [rater for rater, found in sorted(right.items()) if not found]
    return failed, said + ([f"no attention check was answered by {', '.join(none)}"] if none else [])


def _missing(
    judgements: Sequence[Judgement], key: Mapping[str, Any], items: set[str], raters: Sequence[str]
) -> list[str]:
    """Say which answers are not there: to whole items by rater, and to single questions of an item begun."""
    asked, found = slots_of(key), {(one.rater, one.item, one.slot) for one in judgements}
    begun = {(rater, item) for rater, item, _ in found}
    said = []
    for rater in raters:
        n = sum((rater, item) in begun for item in items)
        gaps = sum((rater, item, slot) not in found for item in items if (rater, item) in begun for slot in asked)
        said += [f"{rater}: {n} of {len(items)} items answered"] if n < len(items) else []
        said += [f"{rater}: {gaps} answers missing in items begun"] if gaps else []
    never = items - {item for _, item in begun}
    return said + ([f"{len(never)} of {len(items)} items have no answer at all"] if never else [])
