"""Human evaluation: stored texts as a blinded table for an annotation tool, and its answers as results by method.

The table is CSV with one item a row. Two texts of one prompt are a pair, A and B, of which a rater prefers one or says
"tie"; or each text is an item of its own and gets a number. Items have names that say nothing and are in a random
order; `key.json` says which method wrote which text.

Answers are CSV or TSV, one line for each item and rater: as Label Studio exports them (`annotator`, and a column for
each question, in which a rating is JSON, `[{"rating": 4}]`), or any other file with `item`, `rater` and a column for
each question. The form of Label Studio is the one that it documents; it was not tried with the tool itself.
"""

from __future__ import annotations

import json
import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from bench.base.files import write_atomic
from bench.base.keys import key_of
from bench.base.printable import printable
from bench.errors import DataError, UsageError
from bench.leaderboards.statistics.intervals import bootstrap
from bench.metrics.sums import Sums, mean

if TYPE_CHECKING:
    import pandas as pd

KINDS = {"pairs": ("fluency", "coherence"), "ratings": ("faithfulness", "informativeness")}
"""By kind of study, the default questions about each item (HistAlign, appendix B)."""
TIE = "tie"
SEED = 0
"""Of rows, their order and sides."""
WORDS = {"yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}
COLUMNS = {"item": ("item",), "rater": ("rater", "annotator")}
KEY = ("study", "kind", "methods", "questions", "items")


def study(
    texts: Mapping[str, Mapping[str, str]],
    contexts: Mapping[str, str],
    kind: str,
    questions: Sequence[str] = (),
    *,
    n: int = 50,
    about: Mapping[str, Any] | None = None,
) -> tuple[list[dict[str, str]], dict[str, Any]]:
    """Draw rows and hide the methods, the same for the same texts; each method of a pair is A in half of the items.

    Args:
        texts: by method and row id; two methods for `pairs`, one or more for `ratings`. Differences are from the first.
        contexts: sources or prompts of the texts, by row id.
        kind: of `KINDS`.
        questions: names of the columns that answers come back in; those of the kind by default.
        n: rows to draw.
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
        raise UsageError(f"only {len(rows)} rows have a text of each method, and {n} are needed; lower --items")
    rows = sorted(rows, key=lambda row: key_of([SEED, "row", row]))[:n]
    shown = [(row, [method]) for row in rows for method in methods]
    if kind == "pairs":
        turned = int(key_of([SEED, "side"]), 16)
        shown = [(row, methods[:: 1 if (place + turned) % 2 else -1]) for place, row in enumerate(rows)]
    shown.sort(key=lambda item: key_of([SEED, "order", *item]))
    name = key_of([[contexts[row], *(texts[method][row] for method in of)] for row, of in shown])[:8]
    columns = ["text"] if kind == "ratings" else ["text_A", "text_B"]
    items, secret = [], {}
    for place, (row, of) in enumerate(shown, 1):
        written = [texts[method][row] for method in of]
        item = {"item": f"{name}-{place:04}", "context": contexts[row], **dict(zip(columns, written, strict=True))}
        items.append({column: printable(text) for column, text in item.items()})
        secret[item["item"]] = {"row": row, "methods": of}
    key = {"study": name, "kind": kind, "methods": methods, "questions": list(questions or KINDS[kind])}
    return items, {**key, "seed": SEED, "about": dict(about or {}), "items": secret}


def write_study(folder: Path, items: Sequence[Mapping[str, str]], key: Mapping[str, Any]) -> None:
    """Write `items.csv` and `key.json`.

    Args:
        folder: where.
        items, key: of `study`.

    Raises:
        UsageError: the folder has the key of another study, whose answers could not be read any more.
    """
    import pandas as pd

    path, frame = folder / "key.json", pd.DataFrame(items)
    if path.exists() and read_key(path)["study"] != key["study"]:
        raise UsageError(f"'{path}' is of another study; name another folder with --output")
    write_atomic(path, json.dumps(key, indent=1).encode(), replace=True)
    write_atomic(folder / "items.csv", frame.to_csv(index=False).encode(), replace=True)


def read_key(path: Path) -> dict[str, Any]:
    """Read the key of a study.

    Raises:
        DataError: the file is not the key of a study.
    """
    try:
        key: dict[str, Any] = json.loads(path.read_bytes())
        missing = [name for name in KEY if name not in key]
    except (OSError, ValueError, TypeError) as error:
        raise DataError(f"'{path}' cannot be read as the key.json of a study: {error}") from error
    if missing or key["kind"] not in KINDS:
        raise DataError(f"'{path}' is not the key.json of a study; bench human export writes it with items.csv")
    return key


def read_answers(paths: Sequence[Path], key: Mapping[str, Any]) -> pd.DataFrame:
    """Return the answers that an annotation tool has saved: `rater`, `item`, `question` and `answer`, each once.

    Raises:
        DataError: a file is no CSV with items and raters, an item or answer is not of this study, one rater gave two
            answers to one question, or there is no answer at all. The message names file and line.
    """
    import pandas as pd

    found: dict[tuple[str, str, str], str | float] = {}
    for path in paths:
        try:
            separator = "\t" if path.suffix == ".tsv" else ","
            frame = pd.read_csv(
                path, sep=separator, dtype=str, keep_default_na=False, encoding="utf-8-sig", index_col=False
            )
        except (OSError, ValueError) as error:
            raise DataError(f"'{path}' cannot be read as CSV: {error}") from error
        for number, line in enumerate(frame.to_dict("records"), 2):
            where, named = f"{path}, line {number}", {}
            for name, columns in COLUMNS.items():
                named[name] = next((line[column].strip() for column in columns if line.get(column)), "")
                if not named[name]:
                    raise DataError(f"{where}: expected one of the columns {', '.join(columns)}, with a text")
            if named["item"] not in key["items"]:
                raise DataError(f"{where}: '{named['item']}' is no item of study {key['study']}")
            for question, text in line.items():
                if question not in key["questions"] or not text.strip():
                    continue
                answer = _answer(text.strip(), key["kind"], where)
                if found.setdefault((named["rater"], named["item"], question), answer) != answer:
                    raise DataError(
                        f"{where}: {named['rater']} has answered {named['item']} {question} otherwise before"
                    )
    if not found:
        names = ", ".join(key["questions"])
        raise DataError(f"no answers in {', '.join(map(str, paths))}: expected columns with the names {names}")
    lines = [(*place, answer) for place, answer in found.items()]
    return pd.DataFrame(lines, columns=["rater", "item", "question", "answer"])


def _answer(text: str, kind: str, where: str) -> str | float:
    """Return an answer as it counts: the side of a pair, or a number."""
    if kind == "pairs":
        if text in ("A", "B", TIE):
            return text
        raise DataError(f"{where}: expected A, B or {TIE}, not '{text}'")
    try:
        if text.startswith("[{"):  # of one control of Label Studio
            ((number,),) = (region.values() for region in json.loads(text))
        else:
            number = WORDS.get(text.lower(), text)
        if not math.isfinite(value := float(number)):
            raise ValueError
        return value
    except (TypeError, ValueError) as error:
        raise DataError(f"{where}: expected a number, yes or no, not '{text}'") from error


def results(answers: pd.DataFrame, key: Mapping[str, Any]) -> dict[str, Any]:
    """Unblind answers; return the results by question and method, and Krippendorff's alpha by question.

    A result has `value`, in percent of judgements that prefer the method (or say `tie`), else the mean of its ratings;
    `low` and `high`, the ends of the 95 % interval over rows; `n` judgements; and `difference`, with its own interval,
    from the first method on the rows of both.

    Args:
        answers: of `read_answers`.
        key: of the study.
    """
    pairs, methods = key["kind"] == "pairs", answers["item"].map(lambda item: key["items"][item]["methods"])
    answers = answers.assign(row=answers["item"].map(lambda item: key["items"][item]["row"]))
    if pairs:
        sides = zip(answers["answer"], methods, strict=True)
        answers["answer"] = [TIE if answer == TIE else of["AB".index(answer)] for answer, of in sides]
    else:
        answers["method"] = methods.str[0]
    found, agreement = [], []
    for question in key["questions"]:
        of_question = answers[answers["question"] == question]
        if of_question.empty:
            continue
        sums = {}  # by method: sum and number of its values by row
        for name in [*key["methods"], TIE] if pairs else key["methods"]:
            values = 100.0 * (of_question["answer"] == name) if pairs else of_question["answer"].astype(float)
            of_method = values if pairs else values[of_question["method"] == name]
            if len(of_method):
                rows = of_question["row"].loc[of_method.index]
                sums[name] = of_method.groupby(rows, sort=False).agg(["sum", "count"])
        found += [_result(question, name, sums, key["methods"][0]) for name in sums]
        units = of_question.groupby("item", sort=False)["answer"].apply(list).tolist()
        order = [*key["methods"], TIE] if pairs else sorted(set(of_question["answer"]))
        value = alpha(units, order, "nominal" if pairs else "ordinal")
        agreement.append({"question": question, "alpha": value, "n": sum(len(unit) > 1 for unit in units)})
    return {
        **{name: key[name] for name in ("study", "kind", "methods")},
        "about": key.get("about", {}),
        "raters": answers["rater"].nunique(),
        "items": [answers["item"].nunique(), len(key["items"])],
        "results": found,
        "agreement": agreement,
    }


def _result(question: str, name: str, sums: Mapping[str, pd.DataFrame], first: str) -> dict[str, Any]:
    """Return one result, with its difference from the first method where it is of another one."""
    of_method = sums[name]
    interval = bootstrap(Sums(mean(1.0), of_method.to_numpy(float)))
    result = {"question": question, "method": name, "value": interval.value, "low": interval.low, "high": interval.high}
    result["n"] = int(of_method["count"].sum())
    if name not in (first, TIE) and first in sums:
        rows = of_method.index.intersection(sums[first].index).sort_values()
        if len(rows):
            ours, theirs = (Sums(mean(1.0), side.loc[rows].to_numpy(float)) for side in (of_method, sums[first]))
            less = bootstrap(ours, theirs)
            result |= {"difference": less.value, "difference_low": less.low, "difference_high": less.high}
    return result


# Agreement ------------------------------------------------------------------------------------------------------------


def alpha(
    units: Iterable[Sequence[Hashable]], order: Sequence[Hashable], level: Literal["nominal", "ordinal"] = "nominal"
) -> float | None:
    """Return Krippendorff's alpha: 1 - observed / expected disagreement (Krippendorff 2011, sections C and D).

    The package of this name has a licence (GPL-3) that this project cannot take over.

    Args:
        units: for each rated unit the answers of all raters; missing ones are left out, and so is a unit with one
            answer, which says nothing of agreement.
        order: every answer there can be, lowest first where the level is ordinal.
        level: `nominal`, any two unlike answers disagree alike; `ordinal`, the more the more answers lie between.

    Returns:
        1 for perfect agreement, 0 for chance; None where no unit has two answers or all answers are the same one.

    >>> alpha([["a", "a"], ["b", "b"], ["b"]], "ab"), alpha([["a", "a"]], "ab")
    (1.0, None)
    """
    import numpy as np

    places = {answer: place for place, answer in enumerate(order)}
    table = np.zeros((len(places), len(places)))  # how often one answer met another: a pair counts 1 / (answers - 1)
    for unit in units:
        if len(unit) > 1:
            counts = np.bincount([places[answer] for answer in unit], minlength=len(places)).astype(np.float64)
            table += (np.outer(counts, counts) - np.diag(counts)) / (len(unit) - 1)
    margins, n = table.sum(axis=0), float(table.sum())
    distance = 1 - np.eye(len(margins))
    if level == "ordinal":  # squared number of answers between two, counting half of either's own
        middles = np.cumsum(margins) - margins / 2
        distance = (middles[:, None] - middles[None, :]) ** 2
    expected = float((np.outer(margins, margins) * distance).sum())
    return 1 - (n - 1) * float((table * distance).sum()) / expected if expected else None
