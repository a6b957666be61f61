"""Human answers: files that the page saved (CSV, JSON) or MTurk's results (CSV), checked against a study's key."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.base.keys import sha256
from bench.errors import DataError

__all__ = ["Answers", "Judgement", "read_answers", "read_key", "slots_of"]

SCHEMA = 1
PASS = 0.75
"""A rater with a smaller share of right answers to attention checks is left out."""
COLUMNS = ("study", "content", "rater", "item", "text", "question", "answer")
VALUES = {"pairwise": ("A", "B", "tie"), "single": ("yes", "no")}
KEY = ("schema", "study", "content", "kind", "methods", "questions", "items")

Place = tuple[str, str, str]
"""Rater, item, slot."""
Row = tuple[str, Mapping[str, str]]
"""Where an answer stands in its file, for errors, and its `COLUMNS`."""


@dataclass(frozen=True)
class Judgement:
    """One answer of one rater; `slot` is the question, in single studies `question_label`."""

    rater: str
    item: str
    slot: str
    answer: str


@dataclass(frozen=True)
class Answers:
    """What raters said of the items; attention checks are not among them.

    Args:
        judgements: of raters who are kept, each rater once for a slot of an item.
        raters: those kept.
        left_out: raters who failed the attention checks.
        remarks: what was wrong or missing, as sentences.
    """

    judgements: tuple[Judgement, ...]
    raters: tuple[str, ...]
    left_out: tuple[str, ...]
    remarks: tuple[str, ...]


def read_key(path: Path) -> dict[str, Any]:
    """Read a study's key.

    Raises:
        DataError: the file is no key, or the page beside it is not the one it was written with.
    """
    try:
        key: dict[str, Any] = json.loads(path.read_bytes())
        missing = [name for name in KEY if name not in key]
    except (OSError, ValueError, TypeError) as error:
        raise DataError(f"{path}: expected the key.json of a study ({error})") from error
    if missing:
        raise DataError(f"{path}: expected the key.json of a study, got a file without {', '.join(missing)}")
    if key["schema"] != SCHEMA or key["kind"] not in VALUES:
        raise DataError(
            f"{path}: expected a key of schema {SCHEMA} and of kind {' or '.join(VALUES)}, got schema "
            f"{key['schema']!r:.20} and kind {key['kind']!r:.20}"
        )
    page = path.parent / "study.html"
    if page.is_file() and "page_sha256" in key and sha256(page.read_bytes()) != key["page_sha256"]:
        raise DataError(f"{page}: is not the page this key was written with; put that one back or take this one away")
    return key


def slots_of(key: Mapping[str, Any]) -> list[str]:
    """Return what is asked of every item: the questions, in single studies each with the label of a text."""
    if key["kind"] == "pairwise":
        return list(key["questions"])
    labels = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"[: len(key["methods"])]
    return [f"{question}_{label}" for label in labels for question in key["questions"]]


# Reading and counting once ----------------------------------------------------------------------------------------


def read_answers(paths: Sequence[Path], key: Mapping[str, Any]) -> Answers:
    """Read files of answers.

    An answer that is there twice counts once. Where a rater gave unlike answers to the same slot, none of them counts.

    Raises:
        DataError: a file that holds no answers, is of another study or another version of its page, or has an unknown
            item, question or answer (the message names file and row); or every rater failed the checks.
    """
    judgements, remarks = _read_files(paths, key)
    if not judgements:
        raise DataError(f"expected answers, got none in {', '.join(map(str, paths)) or 'no file'}")
    judgements, more = _each_once(judgements)
    remarks += more
    failed, more = _failed_checks(judgements, key)
    remarks += more
    raters = tuple(sorted({judgement.rater for judgement in judgements} - set(failed)))
    if not raters:
        raise DataError(f"no rater is left of {len(failed)}: {'; '.join(remarks)}")
    items = {name for name, item in key["items"].items() if item["check"] is None}
    judgements = [judgement for judgement in judgements if judgement.rater in raters and judgement.item in items]
    remarks += _missing(judgements, slots_of(key), items, raters)
    return Answers(tuple(judgements), raters, tuple(failed), tuple(remarks))


def _read_files(paths: Sequence[Path], key: Mapping[str, Any]) -> tuple[list[Judgement], list[str]]:
    """Return all answers of all files, and remarks."""
    judgements, remarks = [], []
    for path in paths:
        rows, rejected = _read_file(path)
        if rejected:
            remarks.append(f"{path.name}: {rejected} rejected assignments left out")
        judgements += [_judgement(row, key, f"{path}, {where}") for where, row in rows]
    return judgements, remarks


def _each_once(judgements: Sequence[Judgement]) -> tuple[list[Judgement], list[str]]:
    """Return judgements by rater, item and slot, each once and without unlike ones, and remarks."""
    answers: dict[Place, list[str]] = {}
    for judgement in judgements:
        answers.setdefault((judgement.rater, judgement.item, judgement.slot), []).append(judgement.answer)
    kept, unlike = [], []
    for (rater, item, slot), given in sorted(answers.items()):
        if len(set(given)) > 1:
            unlike.append(f"{rater}: unlike answers to {item} {slot}; left out")
        else:
            kept.append(Judgement(rater, item, slot, given[0]))
    repeated = len(judgements) - len(answers)
    if repeated > len(unlike):
        return kept, [f"{repeated} answers were there twice; each counts once", *unlike]
    return kept, unlike


def _judgement(row: Mapping[str, str], key: Mapping[str, Any], where: str) -> Judgement:
    """Return a row as a judgement of this study, or raise DataError."""
    for column, meaning in (("study", "study"), ("content", "version of its page")):
        if row[column] != key[column]:
            raise DataError(
                f"{where}: expected {meaning} {key[column]:.20}, got {row[column]!r:.30}; it is of another study"
            )
    slot = row["question"]
    if row["text"]:
        slot = f"{row['question']}_{row['text']}"
    known: tuple[tuple[str, str, Collection[str]], ...] = (
        ("item", row["item"], key["items"]),
        ("question", slot, slots_of(key)),
        ("answer", row["answer"], VALUES[key["kind"]]),
    )
    for meaning, given, names in known:
        if given not in names:
            raise DataError(f"{where}: expected an {meaning} of the study ({_some(names)}), got {given!r:.40}")
    rater = row["rater"].strip()
    if not rater:
        raise DataError(f"{where}: expected a rater, got none; give every answer the name of who gave it")
    return Judgement(rater, row["item"], slot, row["answer"])


def _some(names: Collection[str]) -> str:
    """Return the first names of a study as text."""
    first = list(names)[:6]
    if len(names) > len(first):
        first.append("...")
    return ", ".join(first)


# Files ------------------------------------------------------------------------------------------------------------


def _read_file(path: Path) -> tuple[list[Row], int]:
    """Return the answers of one file, and how many assignments MTurk's requester rejected."""
    try:
        text = path.read_bytes().decode("utf-8-sig")
        if text.lstrip().startswith("{"):
            return _json_rows(json.loads(text)), 0
        lines = list(csv.DictReader(io.StringIO(text, newline=""), strict=True))
    except (OSError, ValueError, csv.Error, KeyError, TypeError, AttributeError) as error:
        raise DataError(f"{path}: expected answers as CSV or JSON, cannot be read ({error!r:.80})") from error
    columns = set(COLUMNS)
    if lines:
        columns = set(lines[0])
    if "WorkerId" in columns:
        return _mturk_rows(lines, path)
    missing = set(COLUMNS) - columns
    if missing:
        raise DataError(
            f"{path}: expected the columns {', '.join(COLUMNS)}, no {', '.join(sorted(missing))}; give a file that the "
            "page saved or MTurk's results"
        )
    rows: list[Row] = []
    for i, line in enumerate(lines, 2):
        rows.append((f"row {i}", {name: line[name] or "" for name in COLUMNS}))
    return rows, 0


def _json_rows(content: Mapping[str, Any]) -> list[Row]:
    if content["schema"] != SCHEMA:
        raise ValueError(f"schema {content['schema']}")
    shared = {name: str(content[name]) for name in ("study", "content", "rater")}
    rows: list[Row] = []
    for i, answer in enumerate(content["answers"], 1):
        own = {name: str(answer[name]) for name in ("item", "text", "question", "answer")}
        rows.append((f"answer {i}", {**shared, **own}))
    return rows


def _mturk_rows(lines: Sequence[Mapping[str, str | None]], path: Path) -> tuple[list[Row], int]:
    """Return the answers of MTurk's results but those of rejected assignments, and how many of these there are."""
    rows: list[Row] = []
    rejected = 0
    for i, line in enumerate(lines, 2):
        if (line.get("AssignmentStatus") or "").lower() == "rejected":
            rejected += 1
        else:
            rows += _assignment(line, f"row {i}", path)
    return rows, rejected


def _assignment(line: Mapping[str, str | None], where: str, path: Path) -> Iterator[Row]:
    """Yield the answers of one assignment.

    MTurk gives a choice as `Answer.<slot>` = value, as `Answer.<slot>.<value>` = true, or all of them as JSON in
    `Answer.taskAnswers`.
    """
    shared = {name: line.get(f"Input.{name}") or "" for name in ("study", "content", "item")}
    shared |= {"rater": line["WorkerId"] or "", "text": ""}
    try:
        answers = _task_answers(line.get("Answer.taskAnswers") or "[{}]")
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise DataError(
            f"{path}, {where}: expected Answer.taskAnswers as MTurk writes it, cannot be read ({error!r:.60})"
        ) from error
    for column, value in line.items():
        if not value or not column or not column.startswith("Answer."):
            continue
        slot, _, option = column.removeprefix("Answer.").partition(".")
        if slot == "taskAnswers":
            continue
        if not option:
            answers[slot] = value
        elif value.lower() in ("true", "on"):
            answers[slot] = option
    for slot, answer in answers.items():
        if answer:
            yield where, {**shared, "question": slot, "answer": answer}


def _task_answers(text: str) -> dict[str, str]:
    """Return answers by slot from the JSON of `Answer.taskAnswers`: of each slot a value, or its options as booleans.

    >>> _task_answers('[{"fluency": {"A": false, "B": true}, "coherence": "tie"}]')
    {'fluency': 'B', 'coherence': 'tie'}
    """
    answers = {}
    for slot, given in json.loads(text)[0].items():
        if isinstance(given, dict):
            answers[slot] = next((option for option, chosen in given.items() if chosen is True), "")
        else:
            answers[slot] = str(given)
    return answers


# Checks and gaps --------------------------------------------------------------------------------------------------


def _failed_checks(judgements: Sequence[Judgement], key: Mapping[str, Any]) -> tuple[list[str], list[str]]:
    """Return the raters who failed the attention checks, and remarks."""
    checks = {name: item["check"] for name, item in key["items"].items() if item["check"]}
    if not checks:
        return [], []
    right: dict[str, list[bool]] = {judgement.rater: [] for judgement in judgements}
    for judgement in judgements:
        expected = checks.get(judgement.item, {})
        if judgement.slot in expected:
            right[judgement.rater].append(judgement.answer == expected[judgement.slot])
    failed, unchecked, remarks = [], [], []
    for rater, answers in sorted(right.items()):
        if not answers:
            unchecked.append(rater)
        elif sum(answers) / len(answers) < PASS:
            failed.append(rater)
            remarks.append(f"{rater}: left out, {sum(answers)} of {len(answers)} attention checks right")
    if unchecked:
        remarks.append(f"no attention check was answered by {', '.join(unchecked)}")
    return failed, remarks


def _missing(
    judgements: Sequence[Judgement], slots: Sequence[str], items: Collection[str], raters: Sequence[str]
) -> list[str]:
    """Say which answers are not there: whole items of a rater, single slots of an item begun, items of nobody."""
    answered: dict[str, dict[str, set[str]]] = {rater: {} for rater in raters}  # slots, by rater and item
    for judgement in judgements:
        answered[judgement.rater].setdefault(judgement.item, set()).add(judgement.slot)
    remarks = []
    for rater, begun in answered.items():
        if len(begun) < len(items):
            remarks.append(f"{rater}: {len(begun)} of {len(items)} items answered")
        gaps = sum(len(slots) - len(given) for given in begun.values())
        if gaps:
            remarks.append(f"{rater}: {gaps} answers missing in items begun")
    never = len(items) - len({judgement.item for judgement in judgements})
    if never:
        remarks.append(f"{never} of {len(items)} items have no answer at all")
    return remarks
