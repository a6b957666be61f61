"""Audit: the differences between two trained runs, and whether they differ in the objective alone.

A comparison of objectives is fair when all else is equal: configuration, code, data, parameters, tokens seen, how
texts are decoded, and the software and hardware it ran on. Time and memory are what the objective costs, not what it
was given: they are shown and do not count.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bench.base.keys import without
from bench.leaderboards.row import flat
from bench.store.reading import IMPORTED, read_cell
from bench.store.store import CellFolder, Store

OBJECTIVE, COST = "objective", "cost"
GROUPS = (
    OBJECTIVE, "configuration", "seed", "start", "data", "parameters",
    "training", "decodings", "code", "packages", "hardware", COST,
)  # fmt: skip
EXPECTED = (OBJECTIVE, COST)
"""Groups that a fair comparison of objectives may differ in."""
FLAG = "NOT ONLY THE OBJECTIVE DIFFERS"
NOTHING = "-"
"""In place of a value that one of the two does not have."""

HARDWARE = ("gpu", "cuda", "platform", "threads", "tf32", "deterministic")
OBJECTIVE_KEYS = ("method", "method_options")
OF_EVALUATION = {"batch": "batch_size", "precision": "precision", "longest": "max_new_tokens"}
"""Settings of an evaluation that are compared, and their names in a record."""
NOT_COMPARED = ("written", "packages_sha256")
"""Parts of the provenance: the time, and a hash of all installed packages, most of which no run imports."""


Facts = Mapping[tuple[str, str], Any]
"""What the records of a run state, by group (of `GROUPS`) and dotted name."""


def facts_of(store: Store, cell: CellFolder) -> Facts:
    """Return the facts of a trained run; damaged scores are left out and noted in the store.

    Raises:
        DamagedError: the record of a training cannot be read.
    """
    content = cell.trained()
    assert content is not None
    provenance = cell.record("trained.json")["provenance"]
    return dict(facts(content, provenance, [score["of"] for score in read_cell(store, cell).scores]))


@dataclass(frozen=True)
class Difference:
    """One difference between two runs.

    Args:
        group: one of `GROUPS`.
        name: dotted, as in the record.
        first, second: what each of the two runs has; `NOTHING` where it has none.
    """

    group: str
    name: str
    first: Any
    second: Any


def audit(ours: Facts, theirs: Facts) -> list[Difference]:
    """Return every difference of two runs, in the order of `GROUPS`."""
    found = [Difference(*fact, ours.get(fact, NOTHING), theirs.get(fact, NOTHING)) for fact in {**ours, **theirs}]
    unlike = [difference for difference in found if difference.first != difference.second]
    return sorted(unlike, key=lambda difference: GROUPS.index(difference.group))


def only_the_objective(differences: Sequence[Difference]) -> bool:
    """Return whether nothing but the objective, and what it costs, differs."""
    return all(difference.group in EXPECTED for difference in differences)


def facts(
    content: Mapping[str, Any], provenance: Mapping[str, Any], evaluations: Iterable[Mapping[str, Any]] = ()
) -> Iterator[tuple[tuple[str, str], Any]]:
    """Yield the facts of a run.

    Args:
        content, provenance: of its `trained.json`.
        evaluations: the `of` of its scores.
    """
    config, environment = dict(content["config"]), provenance.get("environment", {})
    objective = {name: config.pop(name) for name in OBJECTIVE_KEYS if name in config}
    seed, _, evaluation = config.pop("seed"), config.pop("decodings", ()), config.pop("evaluation", {})
    train = without(content.get("train", {}), ("curve", "validation", "kept"))  # these are results
    costs = [name for name in train if "memory" in name or name.startswith("peak")]
    ended = {name: content.get(name, NOTHING) for name in ("status", "seed_scheme", "batch_invariant")}
    start = {IMPORTED: content.get(IMPORTED, {}), "start": _start(content.get("start"))}
    if second := content.get("second"):
        start["second"] = _start(second)
    parts: list[tuple[str, Mapping[str, Any]]] = [
        ("configuration", config),
        (OBJECTIVE, objective),
        ("seed", {"seed": seed}),
        ("decodings", {"evaluation": evaluation}),
        (OBJECTIVE, {"code": content.get("method", {})}),
        ("code", {"own": content.get("own", {})}),
        ("start", start),
        ("data", content.get("data", {})),
        ("parameters", {"model": without(content.get("model", {}), ("checkpoint_sha256",))}),
        ("training", {**ended, "train": without(train, costs)}),
        (COST, {"train": {name: train[name] for name in costs}}),
        ("code", {name: provenance[name] for name in ("bench", "code") if name in provenance}),
        ("hardware", {name: environment[name] for name in HARDWARE if name in environment}),
        ("packages", without(environment, (*HARDWARE, *NOT_COMPARED))),
        (COST, without(provenance, ("bench", "code", "environment", *NOT_COMPARED))),
    ]
    for group, part in parts:
        for name, value in flat(part):
            yield (group, name), value
    for of in evaluations:
        if not of.get("shown_as"):  # a control that only reads a run is no evaluation of its own
            what = " ".join(filter(None, (of["kind"], of["split"], (of.get("decoding") or {}).get("name", ""))))
            settings = {name: of.get(key) for name, key in OF_EVALUATION.items()}
            yield ("decodings", what), {"rows": of["ids"]["n"], "ids": of["ids"]["sha256"], **settings}


def _start(start: Mapping[str, Any] | None) -> Mapping[str, Any] | str:
    """Return what a run was fine-tuned from, back to the first model; its seed is that of the run."""
    if not start:
        return NOTHING
    config = {name: value for name, value in start["config"].items() if name in ("task", "method", "trainer")}
    spent = {name: start["train"][name] for name in ("tokens", "steps", "rows") if name in start.get("train", {})}
    return {"config": config, "data": start.get("data", {}), "train": spent, "start": _start(start.get("start"))}
