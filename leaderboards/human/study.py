"""Human study: stored texts as a blinded questionnaire, as data for a page and for MTurk, and the key that unblinds it.

After HistAlign, appendix B: pairs of continuations of one prompt that differ in length by less than 200 characters
(coherence and fluency, better or the same), and the summaries of one article together (consistent, informative, yes or
no). The page and the HITs hold opaque item names only; which side is whose text is in `key.json` and nowhere else.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.base.files import write_atomic
from bench.base.keys import canonical, key_of, sha256
from bench.errors import StoreError, UsageError
from bench.leaderboards.human.page import hit_layout, hits, page

__all__ = ["CHECK_WORDS", "GAP", "KINDS", "QUESTIONS", "Rated", "Study", "study", "write_study"]

SCHEMA = 1
KINDS = ("pairwise", "single")
GAP = 200
"""Characters by which the two texts of a pair may differ at most, less one (HistAlign B.1)."""
CHECK_WORDS = 8
"""A text with fewer unlike words makes no check of a pair: shuffled, it may still read well."""
LABELS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
PAIR = (("A", "A is better"), ("B", "B is better"), ("tie", "About the same"))
QUESTIONS: Mapping[str, tuple[Mapping[str, Any], ...]] = {
    "pairwise": (
        {"name": "fluency", "title": "Fluency", "answers": PAIR,
         "about": "Which text reads more like good, natural, grammatical writing?"},
        {"name": "coherence", "title": "Coherence", "answers": PAIR,
         "about": "Which text follows from the beginning more sensibly, without contradictions or a lost thread?"},
    ),
    "single": (
        {"name": "faithfulness", "title": "Faithful", "answers": (("yes", "Faithful"), ("no", "Not faithful")),
         "about": "Does the source support everything that is said? Go by the source alone, not by what you know."},
        {"name": "informativeness", "title": "Informative",
         "answers": (("yes", "Informative"), ("no", "Not informative")),
         "about": "Does it tell the main points, with little that is beside them? Ignore parts that are not faithful."},
    ),
}  # fmt: skip
ABOUT = {
    "pairwise": (
        "You see the beginning of a text and two ways, A and B, in which it goes on. Say which is better, for each "
        "question on its own. If both are about as good or as bad, say so. Nobody expects you to check facts about the "
        "world. The texts are cut off somewhere; do not mind how they end."
    ),
    "single": (
        "You see a source text and short texts that were written from it, in no particular order. Judge each of them "
        "on its own, for each question on its own."
    ),
}


@dataclass(frozen=True)
class Rated:
    """One stored row: its id, what every method was given, and the text of each method."""

    id: str
    context: str
    texts: Mapping[str, str]


@dataclass(frozen=True)
class Study:
    """A questionnaire (`content`, which raters get) and its `key` (which they do not)."""

    content: Mapping[str, Any]
    key: Mapping[str, Any]


def study(
    rows: Sequence[Rated], methods: Sequence[str], kind: str, *, items: int = 50, checks: int = 0, seed: int = 0,
    gap: int | None = None, about: Mapping[str, Any] | None = None,
) -> Study:  # fmt: skip
    """Make a study of `items` rows, the same for the same rows, methods and seed, in whatever order they come.

    Each method stands in each place equally often (to within one for whole rounds of items); the items' order is
    shuffled. A check of a pair has the words of one text shuffled on one side; a check of single texts shows those of
    another row.

    Args:
        rows: with a text of every method.
        methods: two for `pairwise`, whose wins are the first one's; one or more for `single`, the baseline first.
        kind: of `KINDS`.
        items: rows to be rated.
        checks: attention checks beside them, from other rows.
        seed: of what is drawn, ordered and put left.
        gap: the texts of a pair differ in length by less; default `GAP` for pairs, none for single texts.
        about: kept in the key as it is: task, cells, decoding.

    Raises:
        UsageError: an unknown kind, a wrong number of methods, or too few rows.
    """
    _refuse(rows, methods, kind, items, checks)
    gap = (GAP if kind == "pairwise" else 0) if gap is None else gap
    spare = (checks + 1 if kind == "single" else checks) if checks else 0
    fit = [row for row in rows if not gap or _spread(row, methods) < gap]
    order = sorted(fit, key=lambda row: key_of([seed, "draw", row.id]))
    drawn, rest = order[:items], [row for row in order[items:] if _can_check(row, methods, kind)]
    if len(drawn) < items or len(rest) < spare:
        rule = f" with texts less than {gap} characters apart in length" if gap else ""
        raise UsageError(
            f"expected {items} rows and {spare} more for checks, got {len(rows)} with a text of every method, "
            f"{len(fit)} of them{rule}, {len(rest)} left for checks; lower --items or --checks, or widen --gap"
        )
    made = [_item(row, _sides(methods, i, seed)) for i, row in enumerate(drawn)]
    made += [_check(rest, i, methods, kind, seed) for i in range(checks)]
    made.sort(key=lambda one: key_of([seed, "show", one["row"], one["context"]]))
    names = [f"i{i + 1:03}" for i in range(len(made))]
    shown = [{"id": name, "context": _clean(one["context"]),
              "texts": [{"label": LABELS[i], "text": _clean(text)} for i, text in enumerate(one["texts"])]}
             for name, one in zip(names, made, strict=True)]  # fmt: skip
    content: dict[str, Any] = {"schema": SCHEMA, "kind": kind, "about": ABOUT[kind], "items": shown,
                               "questions": [_plain(question) for question in QUESTIONS[kind]]}  # fmt: skip
    content |= {"study": f"study-{key_of(content)}", "content": sha256(canonical(content))}
    key = {"schema": SCHEMA, "study": content["study"], "content": content["content"], "kind": kind, "seed": seed,
           "gap": gap, "methods": list(methods), "about": dict(about or {}),
           "questions": [question["name"] for question in content["questions"]],
           "items": {name: {"row": one["row"], "methods": list(one["methods"]), "check": one["check"]}
                     for name, one in zip(names, made, strict=True)}}  # fmt: skip
    return Study(content, key)


def write_study(folder: Path, made: Study) -> dict[str, Path]:
    """Write `study.html`, `mturk.csv`, `mturk.html` and, for the researcher alone, `key.json`; return where.

    Raises:
        UsageError: the folder has the key of another study, without which its answers would be worth nothing.
    """
    where = {name: folder / name for name in ("study.html", "mturk.csv", "mturk.html", "key.json")}
    if (old := _study_of(where["key.json"])) not in (None, made.key["study"]):
        raise UsageError(f"'{folder}' holds the key of {old}; name another folder with --out")
    text = page(made.content).encode()
    key = {**made.key, "page_sha256": sha256(text)}
    written = {"study.html": text, "mturk.csv": hits(made.content).encode("ascii"),
               "mturk.html": hit_layout(made.content).encode(),
               "key.json": (json.dumps(key, indent=1, ensure_ascii=True) + "\n").encode()}  # fmt: skip
    for name, content in written.items():
        write_atomic(where[name], content, replace=True)
    return where


def _study_of(path: Path) -> str | None:
    try:
        return str(json.loads(path.read_bytes())["study"])
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise StoreError(f"'{path}' is there and is no key ({error}); move it away or name another folder") from error


def _refuse(rows: Sequence[Rated], methods: Sequence[str], kind: str, items: int, checks: int) -> None:
    if kind not in KINDS:
        raise UsageError(f"expected a kind of study from {', '.join(KINDS)}, got '{kind}'")
    if len(set(methods)) != len(methods) or not 1 <= len(methods) <= len(LABELS):
        raise UsageError(f"expected methods, each once, got {', '.join(methods) or 'none'}")
    if kind == "pairwise" and len(methods) != 2:
        raise UsageError(f"expected two methods for a pairwise study, got {', '.join(methods)}")
    if items < 1 or checks < 0:
        raise UsageError(f"expected at least 1 item and 0 checks, got {items} and {checks}")
    if len({row.id for row in rows}) != len(rows):
        raise UsageError("expected rows with an id of their own, got repeated ids")


def _spread(row: Rated, methods: Sequence[str]) -> int:
    lengths = [len(row.texts[method]) for method in methods]
    return max(lengths) - min(lengths)


def _can_check(row: Rated, methods: Sequence[str], kind: str) -> bool:
    if kind == "single":
        return all(text.strip() for text in (row.context, *(row.texts[method] for method in methods)))
    return len(set(row.texts[methods[0]].split())) >= CHECK_WORDS


def _sides(methods: Sequence[str], i: int, seed: int) -> list[str]:
    """Methods by place for item i: as many items as methods share one order, turned on by one place each time."""
    n = len(methods)
    order = sorted(methods, key=lambda name: key_of([seed, "place", i // n, name]))
    return order[i % n :] + order[: i % n]


def _item(row: Rated, sides: Sequence[str]) -> dict[str, Any]:
    return {"row": row.id, "context": row.context, "methods": sides, "check": None,
            "texts": [row.texts[method] for method in sides]}  # fmt: skip


def _check(rest: Sequence[Rated], i: int, methods: Sequence[str], kind: str, seed: int) -> dict[str, Any]:
    """Return an item with known answers: by question for a pair, by `question_label` for single texts."""
    row = rest[i]
    if kind == "single":
        other = next((one for one in (*rest[i + 1 :], *rest[:i]) if one.context != row.context), None)
        if other is None:
            raise UsageError("checks take texts of another source, but all rows left have the same; ask for --checks 0")
        expected = {f"faithfulness_{LABELS[place]}": "no" for place in range(len(methods))}
        return {**_item(row, _sides(methods, i, seed)), "methods": [], "check": expected,
                "texts": [other.texts[method] for method in _sides(methods, i, seed)]}  # fmt: skip
    text = row.texts[methods[0]]
    words = text.split()
    order = sorted(range(len(words)), key=lambda place: key_of([seed, "words", row.id, place]))
    texts = [text, " ".join(words[place] for place in order)]
    left = int(key_of([seed, "check", i]), 16) % 2
    return {"row": row.id, "context": row.context, "methods": [], "texts": texts[::-1] if left else texts,
            "check": {question["name"]: "AB"[left] for question in QUESTIONS[kind]}}  # fmt: skip


def _clean(text: str) -> str:
    """Return a text as raters see it: line ends as one kind; no lone surrogates or control characters."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n")
    return "".join("\ufffd" if 0xD800 <= ord(c) <= 0xDFFF or (ord(c) < 32 and c not in "\n\t") or 127 <= ord(c) < 160
                   else c for c in lines)  # fmt: skip


def _plain(question: Mapping[str, Any]) -> dict[str, Any]:
    answers = [{"value": value, "label": label} for value, label in question["answers"]]
    return {**question, "answers": answers}
