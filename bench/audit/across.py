"""Across: whether the cells of a store fit each other: copies, and seeds that a method lacks."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain

from bench.audit.finding import Finding, alarm, question
from bench.audit.remade import StoredCell
from bench.base.keys import key_of

__all__ = ["check_copies", "check_seeds"]


def check_copies(cells: Sequence[StoredCell]) -> Iterator[Finding]:
    """Look for two trainings with the same weights, or with the same likelihood of every row."""
    by_weights: dict[str, list[StoredCell]] = defaultdict(list)
    by_rows: dict[str, list[StoredCell]] = defaultdict(list)
    for cell in cells:
        if not cell.is_trained:
            continue
        by_weights[cell.record["model"]["checkpoint_sha256"]].append(cell)
        for rows in cell.rows:
            if rows.content["kind"] == "likelihood" and not rows.content["shown_as"]:
                by_rows[key_of([rows.content["ids"], [row["nll_sum"] for row in rows.rows]])].append(cell)
    for same, what in ((by_weights, "weights"), (by_rows, "likelihoods of all rows")):
        for first, *others in same.values():
            for other in others:
                if other.record["key"] == first.record["key"]:
                    continue
                said = f"its {what} are those of {first.place}"
                if are_variants(first, other):
                    said += "; two settings of one objective may be one loss here"
                    yield question("copies", other.place, said)
                else:
                    yield alarm("copies", other.place, said)


def are_variants(first: StoredCell, other: StoredCell) -> bool:
    """Whether two trainings differ in options of one objective alone.

    Their losses may be one on some model or rows: `trime.released` masks labels of a source, and an encoder-decoder has
    no label there.
    """
    alike = [{**cell.config, "method": "", "method_options": {}} for cell in (first, other)]
    return first.record["method"] == other.record["method"] and alike[0] == alike[1]


def check_seeds(cells: Iterable[StoredCell]) -> Iterator[Finding]:
    """Ask about methods that lack a seed which the others of their task have: a bad one may have been left out.

    A cell that diverged counts: it is shown, though it has no test rows.
    """
    seeds: dict[tuple[str, str, str], dict[str, set[int]]] = defaultdict(lambda: defaultdict(set))
    for cell in cells:
        config = cell.config
        is_shown = cell.record["status"] != "ok" or any(rows.content["split"] == "test" for rows in cell.rows)
        if cell.is_trained and is_shown:
            seeds[config["task"], config["backbone"], config["preset"]][config["method"]].add(config["seed"])
    for about, seeds_of in seeds.items():
        for method in seeds_of:
            yield from missing_seeds(" · ".join(about), method, seeds_of)


def missing_seeds(place: str, method: str, seeds_of: Mapping[str, set[int]]) -> Iterator[Finding]:
    """Ask about the seeds that half of the other methods have, or more, and one has not."""
    others = [seeds for name, seeds in seeds_of.items() if name != method]
    having = Counter(chain.from_iterable(others))
    for seed, n in sorted(having.items()):
        if seed not in seeds_of[method] and 2 * n >= len(others):
            text = f"{method} has no seed {seed}, which {n} of {len(others)} other methods have"
            yield question("seeds", place, text)
