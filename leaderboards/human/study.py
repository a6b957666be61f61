"""Human study: stored texts as a blinded questionnaire, as data for a page and for MTurk, and the key that unblinds it.

After HistAlign, appendix B: pairs of continuations of one prompt that differ in length by less than 200 characters
(coherence and fluency, better or the same), and the summaries of one article together (consistent, informative, yes or
no), of which raters may be shown the sentences that matter (`bench.leaderboards.human.relevant`). The page and the HITs
hold opaque item names only; which side is whose text is in `key.json` and nowhere else.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
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
"""The two texts of a pair differ in length by fewer characters (HistAlign B.1)."""
CHECK_WORDS = 8
"""A text with fewer different words makes no check of a pair: it may still read well when it is shuffled."""
Shorten = Callable[[str, Sequence[str]], str]
"""A context and the texts that are shown with it -> what raters see of the context."""
LABELS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
UNPRINTABLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
"""Control characters but tab and line end, and lone surrogates."""


def _question(name: str, title: str, about: str, answers: Mapping[str, str]) -> Mapping[str, Any]:
    """Return a question as raters' page reads it; `answers` are the stored values and what raters see of them."""
    shown = [{"value": value, "label": label} for value, label in answers.items()]
    return {"name": name, "title": title, "answers": shown, "about": about}


PAIR = {"A": "A is better", "B": "B is better", "tie": "About the same"}
QUESTIONS: Mapping[str, tuple[Mapping[str, Any], ...]] = {
    "pairwise": (
        _question("fluency", "Fluency", "Which text reads more like good, natural, grammatical writing?", PAIR),
        _question(
            "coherence",
            "Coherence",
            "Which text follows from the beginning more sensibly, without contradictions or a lost thread?",
            PAIR,
        ),
    ),
    "single": (
        _question(
            "faithfulness",
            "Faithful",
            "Does the source support everything that is said? Go by the source alone, not by what you know.",
            {"yes": "Faithful", "no": "Not faithful"},
        ),
        _question(
            "informativeness",
            "Informative",
            "Does it tell the main points, with little that is beside them? Ignore parts that are not faithful.",
            {"yes": "Informative", "no": "Not informative"},
        ),
    ),
}
"""By kind of study, what is asked of every item."""
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


@dataclass(frozen=True)
class Item:
    """One screen of a study, still with what raters must not see.

    Args:
        row: id of the stored row.
        context: what the texts were written from.
        texts: in the order they are shown.
        methods: of the texts; empty for a check.
        check: the right answers, by question for a pair, by `question_label` for single texts; None if it is no check.
    """

    row: str
    context: str
    texts: Sequence[str]
    methods: Sequence[str] = ()
    check: Mapping[str, str] | None = None


def study(
    rows: Sequence[Rated],
    methods: Sequence[str],
    kind: str,
    *,
    items: int = 50,
    checks: int = 0,
    seed: int = 0,
    gap: int | None = None,
    shorten: Shorten | None = None,
    about: Mapping[str, Any] | None = None,
) -> Study:
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
        seed: decides which rows are drawn, their order and the places of methods.
        gap: the texts of an item differ in length by fewer characters, any length for 0; default `GAP` for pairs and
            0 for single texts.
        shorten: what raters see of a context, given the texts that are shown with it; None for all of it.
        about: kept in the key as it is: task, cells, decoding.

    Raises:
        UsageError: an unknown kind, a wrong number of methods, or too few rows.
    """
    _check_arguments(rows, methods, kind, items, checks)
    if gap is None:
        gap = {"pairwise": GAP, "single": 0}[kind]
    drawn, rest = _drawn(rows, methods, kind, items, checks, seed, gap)
    all_items = [_item(row, _places(methods, i, seed)) for i, row in enumerate(drawn)]
    all_items += [_check(rest, i, methods, kind, seed) for i in range(checks)]
    all_items.sort(key=lambda item: key_of([seed, "show", item.row, item.context]))
    if shorten is not None:
        all_items = [replace(item, context=shorten(item.context, item.texts)) for item in all_items]
    named = {f"i{i:03}": item for i, item in enumerate(all_items, 1)}
    content: dict[str, Any] = {
        "schema": SCHEMA,
        "kind": kind,
        "about": ABOUT[kind],
        "items": [_shown(name, item) for name, item in named.items()],
        "questions": [dict(question) for question in QUESTIONS[kind]],
    }
    content |= {"study": f"study-{key_of(content)}", "content": sha256(canonical(content))}
    key = {
        "schema": SCHEMA,
        "study": content["study"],
        "content": content["content"],
        "kind": kind,
        "seed": seed,
        "gap": gap,
        "methods": list(methods),
        "about": dict(about or {}),
        "questions": [question["name"] for question in QUESTIONS[kind]],
        "items": {name: _secret(item) for name, item in named.items()},
    }
    return Study(content, key)


def _check_arguments(rows: Sequence[Rated], methods: Sequence[str], kind: str, items: int, checks: int) -> None:
    if kind not in KINDS:
        raise UsageError(f"expected a kind of study from {', '.join(KINDS)}, got '{kind}'")
    if len(set(methods)) != len(methods) or not 1 <= len(methods) <= len(LABELS):
        raise UsageError(f"expected 1 to {len(LABELS)} methods, each once, got {', '.join(methods) or 'none'}")
    if kind == "pairwise" and len(methods) != 2:
        raise UsageError(f"expected two methods for a pairwise study, got {', '.join(methods)}")
    if items < 1 or checks < 0:
        raise UsageError(f"expected at least 1 item and 0 checks, got {items} and {checks}")
    if len({row.id for row in rows}) != len(rows):
        raise UsageError("expected rows with an id of their own, got repeated ids")


def _drawn(
    rows: Sequence[Rated], methods: Sequence[str], kind: str, items: int, checks: int, seed: int, gap: int
) -> tuple[list[Rated], list[Rated]]:
    """Return the rows to be rated, and those that checks are made of, both in the order of the draw."""
    fit = [row for row in rows if not gap or _difference_in_length(row, methods) < gap]
    fit.sort(key=lambda row: key_of([seed, "draw", row.id]))
    drawn, rest = fit[:items], [row for row in fit[items:] if _can_check(row, methods, kind)]
    spare = checks
    if checks and kind == "single":
        spare = checks + 1  # the last check shows the texts of yet another row
    if len(drawn) < items or len(rest) < spare:
        rule = ""
        if gap:
            rule = f" with texts less than {gap} characters apart in length"
        raise UsageError(
            f"expected {items} rows and {spare} more for checks, got {len(rows)} with a text of every method, "
            f"{len(fit)} of them{rule}, {len(rest)} left for checks; lower --items or --checks, or widen --gap"
        )
    return drawn, rest


def _difference_in_length(row: Rated, methods: Sequence[str]) -> int:
    lengths = [len(row.texts[method]) for method in methods]
    return max(lengths) - min(lengths)


def _can_check(row: Rated, methods: Sequence[str], kind: str) -> bool:
    """Return whether a check can be made of a row: no empty text, or enough words to shuffle."""
    if kind == "single":
        texts = [row.context, *(row.texts[method] for method in methods)]
        return all(text.strip() for text in texts)
    return len(set(row.texts[methods[0]].split())) >= CHECK_WORDS


# Items ------------------------------------------------------------------------------------------------------------


def _places(methods: Sequence[str], i: int, seed: int) -> list[str]:
    """Return methods in the order item i shows them.

    As many items as there are methods share one drawn order, each turned on by one place.
    """
    n = len(methods)
    order = sorted(methods, key=lambda name: key_of([seed, "place", i // n, name]))
    return order[i % n :] + order[: i % n]


def _item(row: Rated, methods: Sequence[str]) -> Item:
    return Item(row.id, row.context, [row.texts[method] for method in methods], methods)


def _check(rest: Sequence[Rated], i: int, methods: Sequence[str], kind: str, seed: int) -> Item:
    """Return the i-th attention check, an item with right answers."""
    if kind == "single":
        return _check_of_single(rest, i, _places(methods, i, seed))
    return _check_of_pair(rest[i], methods[0], i, seed)


def _check_of_single(rest: Sequence[Rated], i: int, methods: Sequence[str]) -> Item:
    """Return a context with the texts of another context, which are not faithful to it."""
    row = rest[i]
    for other_row in (*rest[i + 1 :], *rest[:i]):
        if other_row.context != row.context:
            texts = [other_row.texts[method] for method in methods]
            check = {f"faithfulness_{LABELS[place]}": "no" for place in range(len(methods))}
            return Item(row.id, row.context, texts, check=check)
    raise UsageError("checks take texts of another source, but all rows left have the same; ask for --checks 0")


def _check_of_pair(row: Rated, method: str, i: int, seed: int) -> Item:
    """Return a text beside its own words in another order; it is the better one in every question."""
    text = row.texts[method]
    words = text.split()
    order = sorted(range(len(words)), key=lambda place: key_of([seed, "words", row.id, place]))
    shuffled = " ".join(words[place] for place in order)
    texts, right = [text, shuffled], "A"
    if int(key_of([seed, "check", i]), 16) % 2:
        texts, right = [shuffled, text], "B"
    check = {question["name"]: right for question in QUESTIONS["pairwise"]}
    return Item(row.id, row.context, texts, check=check)


def _shown(name: str, item: Item) -> dict[str, Any]:
    """Return what raters see of an item."""
    texts = [{"label": LABELS[i], "text": _clean(text)} for i, text in enumerate(item.texts)]
    return {"id": name, "context": _clean(item.context), "texts": texts}


def _secret(item: Item) -> dict[str, Any]:
    """Return what the key holds of an item."""
    return {"row": item.row, "methods": list(item.methods), "check": item.check}


def _clean(text: str) -> str:
    r"""Return a text as raters see it: one kind of line ends, no lone surrogates and no control characters.

    >>> _clean("a\r\nb\x00")
    'a\nb\ufffd'
    """
    lines = text.replace("\r\n", "\n").replace("\r", "\n")
    return UNPRINTABLE.sub("\ufffd", lines)


# Files ------------------------------------------------------------------------------------------------------------


def write_study(folder: Path, made: Study) -> dict[str, Path]:
    """Write `study.html`, `mturk.csv`, `mturk.html` and, for the researcher alone, `key.json`; return where.

    Raises:
        UsageError: the folder has the key of another study, without which its answers would be worth nothing.
        StoreError: the folder has a `key.json` that is no key.
    """
    html = page(made.content).encode()
    key = {**made.key, "page_sha256": sha256(html)}
    files = {
        "study.html": html,
        "mturk.csv": hits(made.content).encode("ascii"),
        "mturk.html": hit_layout(made.content).encode(),
        "key.json": (json.dumps(key, indent=1, ensure_ascii=True) + "\n").encode(),
    }
    paths = {name: folder / name for name in files}
    stored = _study_of(paths["key.json"])
    if stored not in (None, made.key["study"]):
        raise UsageError(f"'{folder}' holds the key of {stored}; name another folder with --out")
    for name, content in files.items():
        write_atomic(paths[name], content, replace=True)
    return paths


def _study_of(path: Path) -> str | None:
    """Return the study whose key a file is; None without a file."""
    try:
        return str(json.loads(path.read_bytes())["study"])
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise StoreError(
            f"'{path}' is no key of a study ({error}) and would be overwritten; move it away or name another folder "
            "with --out"
        ) from error
