"""Human evaluation: stored texts as a blinded table for an annotation tool, and its answers as results by method.

The table is CSV with one item a row. Two texts of one prompt are a pair, A and B, of which a rater prefers one or says
"tie"; or each text is an item of its own and gets a number. Items have names that say nothing and stand in a random
order; `key.json` says which method wrote which text.

Answers are CSV or TSV, one line for each item and rater, in the forms that two tools document:

- Label Studio (guide "Export annotations", formats CSV and TSV; its SDK, converter/exports/csv2.py): the columns of the
  imported table, so `item`; `annotator`; and a column for each control of the interface, named after it. One choice is
  its text; a rating or number is JSON, `[{"rating": 4}]`.
- Potato 2 (docs "Export Formats", `python -m potato.export --format csv`; potato/export/tabular_exporter.py):
  `instance_id`, `user_id`, and for each label that a rater chose a column `<scheme>.<label>`, else empty.

Neither was tried with the tool itself. Any other file will do that has columns `item`, `rater` and one for each
question.
"""

from __future__ import annotations

import csv
import html
import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from bench.base.files import write_atomic
from bench.base.keys import key_of
from bench.base.redaction import printable
from bench.errors import DataError, UsageError
from bench.leaderboards.statistics.agreement import alpha
from bench.leaderboards.statistics.intervals import bootstrap
from bench.metrics.sums import Sums, mean

__all__ = ["KINDS", "TIE", "Judgement", "read_answers", "read_key", "results", "study", "write_study"]

KINDS = {"pairs": ("fluency", "coherence"), "ratings": ("faithfulness", "informativeness")}
"""By kind of study, what is asked of each item where nothing else is said (HistAlign, appendix B)."""
TIE = "tie"
WORDS = {"yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}
ITEM_COLUMNS = ("item", "instance_id")
RATER_COLUMNS = ("rater", "annotator", "user_id")
KEY = ("study", "kind", "methods", "questions", "items")


# Export -------------------------------------------------------------------------------------------------------------


def study(
    texts: Mapping[str, Mapping[str, str]],
    contexts: Mapping[str, str],
    kind: str,
    questions: Sequence[str] = (),
    *,
    n: int = 50,
    seed: int = 0,
    about: Mapping[str, Any] | None = None,
) -> tuple[list[dict[str, str]], dict[str, Any]]:
    """Draw rows and hide the methods; the same for the same texts and seed.

    Args:
        texts: by method and row id; two methods for `pairs`, one or more for `ratings`. Differences are from the first.
        contexts: by row id, what the texts were written from.
        kind: of `KINDS`.
        questions: names of the columns that answers come back in; those of the kind by default.
        n: rows to draw.
        seed: of rows, order and sides. Each method of a pair is A as often as B, to within one.
        about: kept in the key as it is.

    Returns:
        The items as raters see them, by column, and the key that they do not see.

    Raises:
        UsageError: a wrong number of methods, or too few rows.
    """
    methods, rows = list(texts), sorted(set(contexts).intersection(*texts.values()))
    if kind == "pairs" and len(methods) != 2:
        raise UsageError(f"a study of pairs compares two methods, not {len(methods)}: {', '.join(methods)}")
    if len(rows) < n:
        raise UsageError(f"{n} rows were asked for, and {len(rows)} have a text of each method; lower --items")
    rows = sorted(rows, key=lambda row: key_of([seed, "row", row]))[:n]
    shown = [(row, [method]) for row in rows for method in methods]
    if kind == "pairs":
        turned = int(key_of([seed, "side"]), 16)
        shown = [(row, methods[:: 1 if (place + turned) % 2 else -1]) for place, row in enumerate(rows)]
    shown.sort(key=lambda item: key_of([seed, "order", *item]))
    name = key_of([[contexts[row], *(texts[method][row] for method in of)] for row, of in shown])[:8]
    items, secret = [], {}
    for place, (row, of) in enumerate(shown, 1):
        item = {"item": f"{name}-{place:04}", "context": contexts[row]}
        columns = ["text"] if kind == "ratings" else ["text_A", "text_B"]
        item |= {column: texts[method][row] for column, method in zip(columns, of, strict=True)}
        items.append({column: printable(text) for column, text in item.items()})
        secret[item["item"]] = {"row": row, "methods": of}
    key = {"study": name, "kind": kind, "methods": methods, "questions": list(questions or KINDS[kind])}
    return items, {**key, "seed": seed, "about": dict(about or {}), "items": secret}


def write_study(
    folder: Path, items: Sequence[Mapping[str, str]], key: Mapping[str, Any], *, as_html: bool = False
) -> None:
    """Write `items.csv` and `key.json`.

    Args:
        folder: where.
        items, key: of `study`.
        as_html: texts with markup escaped and `<br>` for line ends, for tools that show texts as HTML, as Potato does.

    Raises:
        UsageError: the folder has the key of another study, whose answers nobody could read any more.
    """
    path = folder / "key.json"
    if path.exists() and read_key(path)["study"] != key["study"]:
        raise UsageError(f"'{path}' is of another study; name another folder with --out")
    write_atomic(path, json.dumps(key, indent=1).encode(), replace=True)
    with open(folder / "items.csv", "w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(items[0]))
        writer.writeheader()
        for item in items:
            if as_html:
                item = {name: html.escape(text).replace("\n", "<br>") for name, text in item.items()}
            writer.writerow(item)


# Import -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Judgement:
    """One answer: a side or `tie` of a pair, else a number."""

    rater: str
    item: str
    question: str
    answer: str | float


def read_key(path: Path) -> dict[str, Any]:
    """Read the key of a study.

    Raises:
        DataError: the file is none.
    """
    try:
        key: dict[str, Any] = json.loads(path.read_bytes())
        missing = [name for name in KEY if name not in key]
    except (OSError, ValueError, TypeError) as error:
        raise DataError(f"'{path}' cannot be read as the key.json of a study: {error}") from error
    if missing or key["kind"] not in KINDS:
        raise DataError(f"'{path}' is not the key.json of a study; bench human export writes it beside items.csv")
    return key


def read_answers(paths: Sequence[Path], key: Mapping[str, Any]) -> list[Judgement]:
    """Read answers that an annotation tool has saved, each rater's once for a question of an item.

    Raises:
        DataError: a file is no CSV with items and raters, an item or answer is not of this study, one rater gave two
            answers to one question, or there is no answer at all. The message names file and line.
    """
    found: dict[tuple[str, str, str], Judgement] = {}
    for path in paths:
        for where, judgement in _judgements(path, key):
            place = judgement.rater, judgement.item, judgement.question
            if found.setdefault(place, judgement) != judgement:
                raise DataError(f"{where}: {judgement.rater} has answered {' '.join(place[1:])} otherwise before")
    if not found:
        names = ", ".join(key["questions"])
        raise DataError(f"no answers in {', '.join(map(str, paths))}: expected columns with the names {names}")
    return list(found.values())


def _judgements(path: Path, key: Mapping[str, Any]) -> Iterator[tuple[str, Judgement]]:
    """Yield the answers of one file, and where each stands."""
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            lines = list(csv.DictReader(file, delimiter="\t" if path.suffix == ".tsv" else ","))
    except (OSError, ValueError, csv.Error) as error:
        raise DataError(f"'{path}' cannot be read as CSV: {error}") from error
    for number, line in enumerate(lines, 2):
        where = f"{path}, line {number}"
        item, rater = _first(line, ITEM_COLUMNS, where), _first(line, RATER_COLUMNS, where)
        if item not in key["items"]:
            raise DataError(f"{where}: '{item}' is no item of study {key['study']}")
        for question, answer in _answered(line, key["questions"]):
            yield where, Judgement(rater, item, question, _value(answer, key["kind"], where))


def _first(line: Mapping[str, str | None], columns: Sequence[str], where: str) -> str:
    """Return the text of the first column that there is."""
    text = next((line[column] for column in columns if line.get(column)), None)
    if not text:
        raise DataError(f"{where}: expected one of the columns {', '.join(columns)}, with a text")
    return text.strip()


def _answered(line: Mapping[str, str | None], questions: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield questions and answers of a line: of a column NAME, or of columns NAME.ANSWER that are not empty."""
    for column, text in line.items():
        question, _, choice = (column or "").partition(".")
        if question in questions and text and text.strip() not in ("", "False", "false"):
            yield question, choice or text.strip()


def _value(answer: str, kind: str, where: str) -> str | float:
    """Return an answer as it counts: the side of a pair, or a number."""
    if kind == "pairs":
        if answer in ("A", "B", TIE):
            return answer
        raise DataError(f"{where}: expected A, B or {TIE}, not '{answer}'")
    try:
        if answer.startswith("[{"):  # of one control of Label Studio
            ((number,),) = (region.values() for region in json.loads(answer))
            return float(number)
        word = answer.lower()
        return WORDS[word] if word in WORDS else float(word)
    except (TypeError, ValueError) as error:
        raise DataError(f"{where}: expected a number, yes or no, not '{answer}'") from error


# Results ------------------------------------------------------------------------------------------------------------


def results(judgements: Sequence[Judgement], key: Mapping[str, Any]) -> dict[str, Any]:
    """Unblind answers; return the results by question and method, and Krippendorff's alpha by question.

    A result has `value`, in percent of judgements that prefer the method (or say `tie`), else the mean of its ratings;
    `low` and `high`, the ends of the 95 % interval over rows; `n` judgements; and `difference`, with its own interval,
    from the first method on the rows of both.
    """
    pairs, first = key["kind"] == "pairs", key["methods"][0]
    names = [*key["methods"], TIE] if pairs else key["methods"]
    by_place: dict[tuple[str, str], dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    units: dict[str, dict[str, list[Any]]] = defaultdict(lambda: defaultdict(list))  # by question and item
    for one in judgements:
        row, methods = key["items"][one.item]["row"], key["items"][one.item]["methods"]
        answer: Any = one.answer
        if pairs:
            answer = TIE if one.answer == TIE else methods["AB".index(str(one.answer))]
            for name in names:
                by_place[one.question, name][row].append(100.0 * (name == answer))
        else:
            by_place[one.question, methods[0]][row].append(float(one.answer))
        units[one.question][one.item].append(answer)
    found, agreement = [], []
    for question in (name for name in key["questions"] if name in units):
        found += [_result(question, name, by_place, first) for name in names if by_place[question, name]]
        answers = list(units[question].values())
        order = names if pairs else sorted(set(chain.from_iterable(answers)))
        value = alpha(answers, order, "nominal" if pairs else "ordinal")
        agreement.append({"question": question, "alpha": value, "n": sum(len(unit) > 1 for unit in answers)})
    return {
        **{name: key[name] for name in ("study", "kind", "methods")},
        "about": key.get("about", {}),
        "raters": len({one.rater for one in judgements}),
        "items": [len({one.item for one in judgements}), len(key["items"])],
        "results": found,
        "agreement": agreement,
    }


def _result(
    question: str, name: str, by_place: Mapping[tuple[str, str], Mapping[str, list[float]]], first: str
) -> dict[str, Any]:
    """Return one result, with its difference from the first method where it is of another one."""
    own, base = by_place[question, name], by_place[question, first]
    interval = bootstrap(_sums(own, own))
    result = {"question": question, "method": name, "value": interval.value, "low": interval.low, "high": interval.high}
    result["n"] = sum(map(len, own.values()))
    shared = sorted(set(own) & set(base))
    if name not in (first, TIE) and shared:
        less = bootstrap(_sums(own, shared), _sums(base, shared))
        result |= {"difference": less.value, "difference_low": less.low, "difference_high": less.high}
    return result


def _sums(of_rows: Mapping[str, Sequence[float]], rows: Iterable[str]) -> Sums:
    return Sums(mean(1.0), [[sum(of_rows[row]), len(of_rows[row])] for row in rows])
