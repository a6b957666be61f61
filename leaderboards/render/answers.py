"""Answers of the page: which objective is best in each column of a table, and how much each method forgets."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bench.leaderboards.controls import is_trivial
from bench.leaderboards.row import signed
from bench.leaderboards.statistics.baseline import BASELINE
from bench.leaderboards.statistics.constants import ALPHA, MIN_SEEDS
from bench.leaderboards.statistics.intervals import holm, paired_difference
from bench.leaderboards.table import FORGETTING

QUESTIONS = {
    "rep": "repeats least",
    "seq-rep": "repeats least",
    "self-bleu": "writes the most diverse texts",
    "distinct": "writes the most varied words",
    "uniq": "uses the most different words",
    "ppl": "has the lowest perplexity",
    "kld": "has the word frequencies nearest to those of people",
    "ms-jaccard": "has the n-grams nearest to those of people",
    "forgetting/nll": "has the lowest loss on WikiText-103",
    "forgetting/kl": "changes the model least",
    "acc@": "names the right words most often",
    "bleu": "is nearest to the references",
    "sentence-bleu": "is nearest to the references",
    "rouge": "is nearest to the references",
}
"""What the best objective does, by the beginning of a metric's name."""
RIVALS = {"histalign": "trime", "attexp": "seq2seq", "adadec": "seq2seq"}
"""The method that each of these extends. The page compares the two, besides each of them with the baseline."""
NAMED = 4
"""How many further objectives an answer names."""
MORE = 0.1
"""By this share the best objective may have more parameters than the baseline before an answer states it."""


def answers(table: Mapping[str, Any]) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """Yield for each shown column which objective is best, and whether its difference from the baseline is significant.

    Objectives are rows with a model that are neither controls nor trivial, with three seeds or more where any has them.

    Yields:
        The question with the column; for each backbone the best method with its mean and difference, and the result of
        the test with other objectives and controls that a reader should know of.
    """
    has_texts = any(row["decoding"] for row in table["methods"])
    is_measured = not has_texts or any(column["name"].startswith(("rep", "seq-rep")) for column in table["columns"])
    for column in table["columns"]:
        name, way = column["name"], column["higher_is_better"]
        rows = [row for row in table["methods"] if row["values"].get(name, {}).get("mean") is not None]
        rows.sort(key=lambda row: row["values"][name]["mean"], reverse=bool(way))
        objectives = [row for row in rows if row["backbone"] and not _is_control(row)]
        objectives = [row for row in objectives if row["values"][name]["n_seeds"] >= MIN_SEEDS] or objectives
        if not column["shown"] or way is None or len(objectives) < 2:
            continue
        if not is_measured:
            yield "Which objective repeats least?", [("This table has no metric of repetition", "")]
            is_measured = True
        found = []
        backbones = list(dict.fromkeys(row["backbone"] for row in objectives))
        for backbone in backbones:
            ranked = [row for row in objectives if row["backbone"] == backbone]
            controls = [row for row in rows if row["backbone"] in (backbone, "") and _is_control(row)]
            of_mle = [row["decoding"] for row in rows if (row["method"], row["backbone"]) == (BASELINE, backbone)]
            numbers, verdict = _best(ranked, controls, of_mle, name, way)
            found.append((f"{backbone}: {numbers}" if len(backbones) > 1 else numbers, verdict))
        does = next((text for start, text in QUESTIONS.items() if name.startswith(start)), "scores best")
        yield f"Which objective {does} ({name})?", found
    for method, rival in RIVALS.items():
        if against := list(_against(table, method, rival)):
            yield f"Is {method} better than the same variant of {rival} (Holm)?", against


def _best(ranked: Sequence[Any], controls: Sequence[Any], of_mle: list[str], name: str, way: bool) -> tuple[str, str]:
    """Return the best of objectives with one backbone, and what a reader should know of its place.

    Args:
        ranked, controls: rows with a value, the best first.
        of_mle: the decodings of the rows of the baseline with a value.
        name, way: of the column, and whether higher is better.
    """

    def stated(row: Mapping[str, Any]) -> str:
        return f"{row['method']} {row['values'][name]['text']}"

    best, value = ranked[0], ranked[0]["values"][name]
    alike = dict.fromkeys(row["method"] for row in ranked if row["values"][name]["text"] == value["text"])
    if len(alike) > 1 and all(row["values"][name]["text"] == value["text"] for row in ranked):
        return f"{value['text']} for each of {len(alike)} objectives", "no difference in the digits shown"
    del alike[best["method"]]
    numbers, notes = stated(best), [f"without a row of {BASELINE} to compare it with"]
    if best["settings"]:
        numbers = f"{best['method']} ({best['settings']}) {value['text']}"
    if best["method"] == BASELINE:
        with_seeds = f" with {MIN_SEEDS} seeds or more" if value["n_seeds"] >= MIN_SEEDS else ""
        notes = [f"no other{with_seeds} is better"]
    elif value["difference"] is None and value["against"]:
        notes = [f"not tested, without a seed in common with {BASELINE}"]
    elif value["difference"] is None and (n := of_mle.count(best["decoding"])) > 1:
        notes = [f"not tested, since {n} rows of {BASELINE} fit and none of them was chosen"]
    elif value["difference"] is not None:
        numbers += f" ({signed(value['difference'])} from {BASELINE})"
        notes = [f"not tested, with fewer than {MIN_SEEDS} seeds in common"]
        if value["p"] == 0:  # the differences of the seeds have no variance
            notes = ["significant (the same difference with every seed)"]
        elif value["p"] is not None:
            notes = [f"{'significant' if value['differs'] else 'not significant'} (p = {value['p']:.2g})"]
        size = next((row["parameters"] for row in ranked if row["id"] == value["against"]), None)
        if size and best["parameters"] and (share := best["parameters"] / size - 1) > MORE:
            notes.append(f"with {100 * share:.0f} % more parameters than the {BASELINE} of the comparison")
    notes += [f"the same number: {', '.join(alike)}"] if alike else []
    others: dict[str, str] = {}  # the best row of each method
    for row in (row for row in ranked[1:] if row["method"] not in alike):
        theirs = row["values"][name]
        if theirs["differs"] and (theirs["difference"] > 0) == way and row["method"] != best["method"]:
            same = theirs["against"] in (value["against"] or theirs["against"], best["id"])
            of = "" if same else f" from another row of {BASELINE}"
            others.setdefault(row["method"], f"{stated(row)} ({signed(theirs['difference'])}{of})")
    if others:
        more = f" and {len(others) - NAMED} more" if len(others) > NAMED else ""
        notes.append(f"others beat {BASELINE} significantly: {', '.join([*others.values()][:NAMED])}{more}")
    if controls:
        ahead = round(controls[0]["values"][name]["mean"], 2) - round(value["mean"], 2)
        if ahead and (ahead > 0) == way:
            kind = "trivial" if is_trivial(controls[0]["method"]) else "control"
            notes.append(f"better still: {stated(controls[0])} ({kind})")
    return numbers, "; ".join(notes)


def _shown(table: Mapping[str, Any]) -> dict[str, bool | None]:
    return {column["name"]: column["higher_is_better"] for column in table["columns"] if column["shown"]}


def _is_control(row: Mapping[str, Any]) -> bool:
    return bool(row["controls"]) or is_trivial(row["method"])


def _against(table: Mapping[str, Any], method: str, rival: str) -> Iterator[tuple[str, str]]:
    """Yield, for each variant of a method, the columns in which it differs from the same variant of its rival."""
    ways = _shown(table)
    by_name: dict[tuple[str, ...], list[Mapping[str, Any]]] = {}
    for row in table["methods"]:
        by_name.setdefault((row["method"], row["backbone"], row["decoding"]), []).append(row)
    for (name, *place), ours in by_name.items():
        theirs = by_name.get((name.replace(method, rival, 1), *place), [])
        if name.partition(".")[0] != method or (len(ours), len(theirs)) != (1, 1):
            continue  # of rows with several settings it is not known which were trained alike
        tested: dict[str, tuple[float, float]] = {}
        for column, way in ways.items():
            pair = [row["values"].get(column, {}).get("by_seed") for row in (*ours, *theirs)]
            effect = paired_difference(*pair) if all(pair) and way is not None else None
            if effect is not None and effect.p is not None:
                tested[column] = effect.mean, effect.p
        sides: dict[str, list[str]] = {"better": [], "worse": []}
        for (column, (mean, _)), p in zip(tested.items(), holm([p for _, p in tested.values()]), strict=True):
            if p <= ALPHA:
                sides["better" if (mean > 0) == ways[column] else "worse"].append(f"{column} ({signed(mean)})")
        found = [f"{side} in {', '.join(columns)}" for side, columns in sides.items() if columns]
        rest = len(tested) - sum(map(len, sides.values()))
        if tested:
            numbers = f"significantly {', '.join(found)}" if found else "not significantly better or worse"
            yield f"{name}: {numbers}", f"not significant in {rest} of {len(tested)} columns"


def forgetting(tables: Sequence[Mapping[str, Any]]) -> tuple[list[str], list[tuple[str, list[Any]]]]:
    """Return how much each method forgets on each table; the method with the largest number comes first.

    Returns:
        The heads of the columns, one for each metric and table, and the methods with their values, None where a table
        has none. Both are empty where fewer than two tables have such metrics.
    """
    columns = [(table, metric) for metric in FORGETTING for table in tables if metric in _shown(table)]
    if len({table["id"] for table, _ in columns}) < 2:
        return [], []
    several = len({row["backbone"] for table, _ in columns for row in table["methods"]} - {""}) > 1
    found: dict[str, list[Any]] = {}
    for place, (table, metric) in enumerate(columns):
        for row in table["methods"]:
            value = row["values"].get(metric)
            if value is not None and value["mean"] is not None and value["n_seeds"] >= MIN_SEEDS:
                about = row["method"], row["settings"], row["backbone"] if several else ""
                found.setdefault(" · ".join(filter(None, about)), [None] * len(columns))[place] = value
    rows = sorted(found.items(), key=lambda row: -max(value["mean"] for value in row[1] if value))
    return [f"{metric} · {table['name']}" for table, metric in columns], rows
