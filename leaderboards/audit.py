"""Audit: what two trained cells differ in, and whether that is the objective alone.

A comparison of objectives is fair when all else is equal: configuration, code, data, parameters, tokens seen, how
texts are decoded, and the software and hardware it ran on. Time and memory are what the objective costs, not what it
was given: they are shown and do not count.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bench.store.fields import IMPORTED

OBJECTIVE, COST = "objective", "cost"
GROUPS = (
    OBJECTIVE,
    "configuration",
    "seed",
    "start",
    "data",
    "parameters",
    "training",
    "decodings",
    "code",
    "packages",
    "hardware",
    COST,
)
FLAG = "NOT ONLY THE OBJECTIVE DIFFERS"
NOTHING = "-"
"""Stands for what one of the two does not have."""

HARDWARE = ("gpu", "cuda", "platform", "threads", "tf32", "deterministic")
OBJECTIVE_KEYS = ("method", "method_options")
NOT_COMPARED = ("written", "packages_sha256")
"""Of the provenance: the time, and a hash of every package there, most of which nothing of ours imports."""


@dataclass(frozen=True)
class CellRecord:
    """What is stored of one cell.

    Args:
        content: of its `trained.json`.
        provenance: beside it.
        evaluations: the `of` of its scores.
    """

    content: Mapping[str, Any]
    provenance: Mapping[str, Any]
    evaluations: Sequence[Mapping[str, Any]] = ()


@dataclass(frozen=True)
class Difference:
    """One thing that two cells do not share.

    Args:
        group: one of `GROUPS`.
        name: dotted, as in the record.
        first, second: what each of the two cells has; `NOTHING` where it has none.
    """

    group: str
    name: str
    first: Any
    second: Any

    @property
    def expected(self) -> bool:
        """Whether a fair comparison of objectives may have it."""
        return self.group in (OBJECTIVE, COST)


def audit(first: CellRecord, second: CellRecord) -> list[Difference]:
    """Return every difference of two cells, in the order of `GROUPS`."""
    first_facts, second_facts = dict(_facts(first)), dict(_facts(second))
    differences = []
    for group, name in first_facts | second_facts:
        difference = Difference(
            group, name, first_facts.get((group, name), NOTHING), second_facts.get((group, name), NOTHING)
        )
        if difference.first != difference.second:
            differences.append(difference)
    return sorted(differences, key=lambda difference: GROUPS.index(difference.group))


def only_the_objective(differences: Sequence[Difference]) -> bool:
    """Return whether nothing but the objective, and what it costs, differs."""
    return all(difference.expected for difference in differences)


def _facts(record: CellRecord) -> Iterator[tuple[tuple[str, str], Any]]:
    """Yield every fact of a cell by group and name."""
    content = record.content
    config = content["config"]
    for name, value in config.items():
        if name in OBJECTIVE_KEYS:
            yield from _flat(OBJECTIVE, name, value)
        elif name == "seed":
            yield from _flat("seed", name, value)
        elif name not in ("decodings", "evaluation"):
            yield from _flat("configuration", name, value)
    yield from _flat("decodings", "evaluation", config.get("evaluation", {}))
    yield from _flat(OBJECTIVE, "code", content.get("method", {}))
    yield from _flat("code", "own", content.get("own", {}))
    yield from _flat("start", IMPORTED, content.get(IMPORTED, {}))
    yield from _flat("start", "start", _start(content.get("start")))
    if second := content.get("second"):
        yield from _flat("start", "second", _start(second))
    for split, manifest in content.get("data", {}).items():
        yield from _flat("data", split, manifest)
    model = {name: value for name, value in content.get("model", {}).items() if name != "checkpoint_sha256"}
    yield from _flat("parameters", "model", model)
    for name in ("status", "seed_scheme", "batch_invariant"):
        yield ("training", name), content.get(name, NOTHING)
    training = {name: value for name, value in content.get("train", {}).items() if name != "curve"}
    for name, value in training.items():
        group = "training"
        if "memory" in name or name.startswith("peak"):
            group = COST
        yield from _flat(group, f"train.{name}", value)
    yield from _decodings(record)
    yield from _circumstances(record.provenance)


def _start(start: Mapping[str, Any] | None) -> Mapping[str, Any] | str:
    """What a cell was fine-tuned from, as far back as it goes; its seed stands with the cell's own."""
    if not start:
        return NOTHING
    config = {name: value for name, value in start["config"].items() if name in ("task", "method", "trainer")}
    spent = {name: start["train"][name] for name in ("tokens", "steps", "rows") if name in start.get("train", {})}
    return {"config": config, "data": start.get("data", {}), "train": spent, "start": _start(start.get("start"))}


def _decodings(record: CellRecord) -> Iterator[tuple[tuple[str, str], Any]]:
    """Every kind of evaluation, split and decoding there is, with its rows; controls that only read are left out."""
    for of in record.evaluations:
        if of.get("shown_as"):
            continue
        decoding = (of.get("decoding") or {}).get("name", "")
        what = " ".join(filter(None, (of["kind"], of["split"], decoding)))
        ids = of.get("ids", {})
        facts = {
            "rows": ids.get("n"),
            "ids": ids.get("sha256"),
            "batch": of.get("batch_size"),
            "precision": of.get("precision"),
            "longest": of.get("max_new_tokens"),
        }
        yield ("decodings", what), facts


def _circumstances(provenance: Mapping[str, Any]) -> Iterator[tuple[tuple[str, str], Any]]:
    """Code, packages and hardware; what it took, and where, as cost."""
    for name, value in provenance.items():
        if name in ("bench", "code"):
            yield from _flat("code", name, value)
        elif name == "environment":
            for part, version in value.items():
                if part in HARDWARE:
                    yield ("hardware", part), version
                elif part not in NOT_COMPARED:
                    yield ("packages", part), version
        elif name not in NOT_COMPARED:
            yield from _flat(COST, name, value)


def _flat(group: str, name: str, value: Any) -> Iterator[tuple[tuple[str, str], Any]]:
    if isinstance(value, Mapping):
        for part, inner in value.items():
            yield from _flat(group, f"{name}.{part}", inner)
    else:
        yield (group, name), value
