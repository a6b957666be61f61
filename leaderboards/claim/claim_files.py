"""Claim files: what a paper says, sentence by sentence, as comparisons, and the runs that make their rows.

One file a paper in `claims/`: `name`, `short`, `rebuttal`, and the lists `[[run]]`, `[[claim]]`,
`[[regression_check]]` and `[[untested]]`. A claim is the paper's: a sentence or a cell that it prints. A regression
check is ours: what a pilot of ours has shown, or an alarm on the data. It never counts as a claim. The fields are those
of `Run`, `Claim`, `RegressionCheck`, `Side`, `Corrected`, `Cells` and `Untested`.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from pathlib import Path
from typing import Any

from bench.leaderboards.claim.sides import Settings, Side
from bench.leaderboards.controls import rests_on_memory

__all__ = [
    "ESTIMANDS",
    "HUMAN",
    "RELATIONS",
    "Cells",
    "Claim",
    "ClaimFile",
    "Compared",
    "Corrected",
    "Gate",
    "RegressionCheck",
    "Run",
    "Untested",
    "claim_of",
    "names",
    "read",
]

FOLDER = Path(__file__).parents[1] / "claims"
RELATIONS = ("lower", "higher", "near", "above", "below", "at_equal")
"""How a row may stand to another row, or to a number; `Compared` says what each one compares."""
ESTIMANDS = ("sign", "difference", "ratio", "share")
"""What a claim is about; `Claim` says what each one measures."""
HUMAN = "human"
"""The bound that stands for what people wrote."""


@dataclass(frozen=True)
class Compared:
    """Two rows, or a row and a number, in one column.

    Args:
        paper: place in the paper, a table or section; of a regression check where it comes from.
        says: what is expected, in our words.
        column: the metric it is about.
        relation: `lower`, `higher` or `near` compare `better` with `than`; `above` and `below` (at most) compare
            `better` with `bound`; `at_equal` compares two sweeps of decodings where their `at` is the same.
        better: the row it is about.
        than: the row it is compared with; None with a bound.
        bound: a number, a setting of the row, as in `backbone.width + 1`, or `human`; None with another row.
        at: the column that is held equal; `wants` says whether `lower` or `higher` is then better.
        points: values of `at` to show the difference at; evenly spaced ones when empty.
        run: name of the run that makes its rows; empty for the file's first.

    Raises:
        ValueError: fields that do not go together.
    """

    paper: str
    says: str
    column: str
    relation: str
    better: Side
    than: Side | None = None
    _: KW_ONLY
    bound: float | str | None = None
    at: str = ""
    wants: str = "lower"
    points: tuple[float, ...] = ()
    run: str = ""

    def __post_init__(self) -> None:
        self._check_name("a relation", self.relation, RELATIONS)
        self._check_name("`wants`", self.wants, ("lower", "higher"))
        if self.relation in ("above", "below"):
            if self.bound is None or self.than is not None:
                raise ValueError(f"{self.says}: relation '{self.relation}' takes a `bound` and no `than`")
        elif self.bound is not None or self.than is None:
            raise ValueError(f"{self.says}: relation '{self.relation}' takes another row as `than` and no `bound`")
        if (self.relation == "at_equal") != bool(self.at):
            raise ValueError(f"{self.says}: relation 'at_equal', and no other, takes the column it holds equal as `at`")

    def _check_name(self, what: str, name: str, known: tuple[str, ...]) -> None:
        if name not in known:
            raise ValueError(f"{self.says}: expected {what} from {', '.join(known)}, got '{name}'")

    @property
    def sign(self) -> int:
        """1 where the higher value is claimed, -1 where the lower."""
        if self.relation in ("lower", "below") or (self.relation == "at_equal" and self.wants == "lower"):
            return -1
        return 1


@dataclass(frozen=True)
class Cells:
    """The cells of a paper's table that print a claim.

    Args:
        table: address, such as `f2softmax/table1`.
        column: heading, as printed.
        better, than: labels of the rows, as printed; no `than` where one cell is compared with a bound.
        human: label of the row of what people wrote, for the estimand `share`.
        part: label of the table's part.
        backbone: ours, where a label stands for several rows.
    """

    table: str
    column: str
    better: str
    than: str = ""
    human: str = ""
    part: str = ""
    backbone: str = ""


@dataclass(frozen=True)
class Corrected:
    """The same comparison without a known fault of the released code.

    Args:
        why: the fault.
        better, than: rows to compare in place of the claim's own; None for those of the claim.
    """

    why: str
    better: Side | None = None
    than: Side | None = None


@dataclass(frozen=True, kw_only=True)
class Claim(Compared):
    """One sentence or cell of a paper.

    Args:
        quote: the sentence, word for word; empty where the cells alone say it.
        cells: the cells that print it; None where it has no number in a table.
        estimand: what is measured, declared before any run. `difference` of the two rows, positive in the claimed
            direction; `ratio` of `better` to the other; `share` of the other's gap to human text that `better` closes;
            `sign`, the difference where only its direction is claimed.
        published: what the paper has for the estimand; None with `sign` where it prints no number.
        smallest: the smallest effect of interest, in the unit of the estimand. For `near` it is how far apart two
            rows may be and still be alike. 0 for no test of equivalence.
        smallest_why: where it comes from.
        controls: rows that would explain the difference if they show it too.
        corrected: the comparison without a fault of the released code.
        every_seed: whether it is said of every model, as a bound on a rank is: then one seed against it reverses it,
            and there is nothing to estimate.

    Raises:
        ValueError: fields that do not go together.
    """

    quote: str = ""
    cells: Cells | None = None
    estimand: str = "difference"
    published: float | None = None
    smallest: float = 0.0
    smallest_why: str = ""
    controls: tuple[Side, ...] = ()
    corrected: Corrected | None = None
    every_seed: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_name("an estimand", self.estimand, ESTIMANDS)
        if not self.quote and self.cells is None:
            raise ValueError(f"{self.says}: a claim has a `quote` or `cells`; what is ours is a [[regression_check]]")
        if self.published is None and (self.estimand != "sign" or self.cells is not None):
            raise ValueError(f"{self.says}: estimand '{self.estimand}' takes what the paper prints as `published`")
        if self.relation == "at_equal":
            raise ValueError(f"{self.says}: 'at_equal' is our reading of two sweeps: a [[regression_check]]")
        if (self.relation == "near") > bool(self.smallest):
            raise ValueError(f"{self.says}: relation 'near' takes the smallest effect of interest as `smallest`")
        if bool(self.smallest) != bool(self.smallest_why):
            raise ValueError(f"{self.says}: `smallest` and `smallest_why` go together")
        for side in filter(None, (self.better, self.than)):
            if rests_on_memory(side.method):
                raise ValueError(
                    f"{self.says}: the equations of {side.method} rest on memory, which carries no claim of a paper; "
                    f"make it a [[regression_check]]"
                )

    @property
    def origin(self) -> str:
        """Where the paper says it: in a `figure`, in a `sentence` of its text, or in a `cell` of a table alone."""
        if self.paper.startswith("Figure"):
            return "figure"
        if self.quote:
            return "sentence"
        return "cell"


@dataclass(frozen=True, kw_only=True)
class RegressionCheck(Compared):
    """What a pilot of ours has shown, or an alarm on the data; no claim of the paper.

    Args:
        floor: smallest mean difference that counts, in the column's unit.
        factor: smallest ratio that counts, in place of a difference.
        within: largest mean difference of `near`.
    """

    floor: float = 0.0
    factor: float = 0.0
    within: float = 0.0


@dataclass(frozen=True)
class Gate:
    """What a model must beat before it may speak about a claim.

    Args:
        column: the metric it is judged by.
        baseline: the trained row that must be better.
        controls: the task's trivial controls, by method.
        exemplar_controls: those that only gate claims about methods that read exemplars.
        lower: whether the lower value is better.
    """

    column: str
    baseline: Side
    controls: tuple[str, ...]
    exemplar_controls: tuple[str, ...] = ()
    lower: bool = False


@dataclass(frozen=True)
class Run:
    """One `bench run` that makes rows for claims.

    Args:
        task: one task.
        methods: their names; `all` is not expanded here.
        seeds: one cell each.
        name: by which claims refer to it.
        decode: decodings; empty for the task's own.
        sets: as typed after --set.
        where: settings that tell its rows from those of other runs on the task.
        gate: what its baseline must beat; None where no claim is judged by it.
    """

    task: str
    methods: tuple[str, ...]
    seeds: tuple[int, ...]
    name: str = ""
    decode: str = ""
    sets: tuple[str, ...] = ()
    where: Settings = field(default_factory=dict)
    gate: Gate | None = None


@dataclass(frozen=True)
class Untested:
    """A claim that no small run can decide."""

    paper: str
    says: str
    why: str


@dataclass(frozen=True)
class ClaimFile:
    """The claims of one paper.

    Args:
        name: of the paper.
        short: its name on the command line.
        runs: that make the rows.
        claims: the paper's.
        checks: ours.
        untested: claims of the paper that no small run can decide.
        rebuttal: what the authors answer; shown when it is not empty.
    """

    name: str
    short: str
    runs: tuple[Run, ...]
    claims: tuple[Claim, ...] = ()
    checks: tuple[RegressionCheck, ...] = ()
    untested: tuple[Untested, ...] = ()
    rebuttal: str = ""

    def run_of(self, compared: Compared) -> Run:
        """Return the run that a claim or check names, or the file's first.

        Raises:
            ValueError: the file has no such run.
        """
        for run in self.runs:
            if compared.run in ("", run.name):
                return run
        names = ", ".join(run.name or "(no name)" for run in self.runs)
        raise ValueError(f"{self.name}, '{compared.says}': expected the name of a run ({names}), got '{compared.run}'")


# Reading ----------------------------------------------------------------------------------------------------------


def names() -> list[str]:
    """Return the names of all claim files."""
    return sorted(path.stem for path in FOLDER.glob("*.toml"))


def read(name: str) -> ClaimFile:
    """Read one file by its name.

    Raises:
        TypeError: a field that is missing or unknown.
        ValueError: fields that do not go together.
    """
    content = tomllib.loads((FOLDER / f"{name}.toml").read_text(encoding="utf-8"))
    return ClaimFile(
        content["name"],
        name,
        tuple(_run_of(run) for run in content["run"]),
        tuple(claim_of(claim) for claim in content["claim"]),
        tuple(RegressionCheck(**_with_sides(_with_tuples(check))) for check in content.get("regression_check", ())),
        tuple(Untested(**untested) for untested in content.get("untested", ())),
        content.get("rebuttal", ""),
    )


def claim_of(content: Mapping[str, Any]) -> Claim:
    """Return one claim of a file."""
    fields = _with_sides(_with_tuples(content))
    if "controls" in fields:
        fields["controls"] = tuple(Side(**control) for control in fields["controls"])
    if "corrected" in fields:
        fields["corrected"] = Corrected(**_with_sides(fields["corrected"]))
    if "cells" in fields:
        fields["cells"] = Cells(**fields["cells"])
    return Claim(**fields)


def _run_of(content: Mapping[str, Any]) -> Run:
    """Return one run of a file."""
    fields = _with_tuples(content)
    if "gate" in fields:
        gate = _with_tuples(fields["gate"])
        fields["gate"] = Gate(**{**gate, "baseline": Side(**gate["baseline"])})
    return Run(**fields)


def _with_tuples(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the same fields with tuples in place of lists, so that what holds them cannot change."""
    return {name: tuple(value) if isinstance(value, list) else value for name, value in fields.items()}


def _with_sides(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the same fields with `better` and `than` as sides."""
    sides = {name: Side(**fields[name]) for name in ("better", "than") if name in fields}
    return {**fields, **sides}
