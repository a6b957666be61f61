"""Claim files: the claims of a paper, each with the comparisons that test it, and the runs that make their rows.

`claims/` has one TOML file for each paper, with a `name`, `notes`, and the lists `[[run]]` and `[[claim]]`. A claim is
one quoted sentence. What it says of several columns, baselines or model sizes are its `parts`, which are tested
together. Claims that no run here can test are listed with `out_of_reach`; their parts have the paper's numbers alone.

A part may leave out what its claim states for all parts. `columns`, `printed`, `method` and `against` may be lists:
there is a part for each column and each pair of methods, or, with `mean = true`, one for the mean over columns.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path
from typing import Any

from bench.leaderboards.controls import controlled_by, rests_on_memory
from bench.models import METHODS

__all__ = ["HUMAN", "RELATIONS", "Claim", "ClaimFile", "Part", "Run", "Side", "claim_of", "names", "read"]

FOLDER = Path(__file__).parents[1] / "claims"
RELATIONS = ("higher", "lower", "nearer", "near", "no_higher")
ESTIMANDS = ("difference", "percent")
HUMAN = "human"  # what people wrote, as a side of a comparison
OWN = ("histalign.mean",)  # objectives of this suite, which no paper and no released code has
Settings = Mapping[str, Any]  # by `section.name`, as in --set


@dataclass(frozen=True)
class Side:
    """A row of a leaderboard.

    Args:
        method: its name with its variant, or `HUMAN`.
        where: settings of the row in addition to those of the run.
    """

    method: str
    where: Settings = field(default_factory=dict)

    @property
    def label(self) -> str:
        """The method, with its settings in parentheses.

        >>> Side("mle", {"backbone.tied": False}).label
        'mle (tied=false)'
        """
        settings = ", ".join(f"{name.partition('.')[2]}={str(value).lower()}" for name, value in self.where.items())
        return f"{self.method} ({settings})" if settings else self.method

    @property
    def code(self) -> str:
        """`paper` or `released` where the method has both forms; empty where they are the same."""
        base, _, variant = self.method.partition(".")
        if base not in METHODS or "released" not in (METHODS[base].variants or {}):
            return ""
        return "released" if variant == "released" else "paper"


@dataclass(frozen=True, kw_only=True)
class Run:
    """One `bench run` that makes rows.

    Args:
        name, task: claims refer to it by its name.
        preset: of its rows, `small` or `mid`.
        methods, seeds: a model is trained for each pair.
        decode: decodings as after --decode; empty for those of the task.
        decoding: the decoding that its claims read, without options; empty where nothing is generated.
        sets: as typed after --set.
        where: settings that tell its rows from those of other runs on the task.
        controls: the task's trivial controls, which both sides of a comparison must beat.
    """

    name: str
    task: str
    methods: tuple[str, ...]
    seeds: tuple[int, ...]
    preset: str = "small"
    decode: str = ""
    decoding: str = ""
    sets: tuple[str, ...] = ()
    where: Settings = field(default_factory=dict)
    controls: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Part:
    """One comparison of a claim.

    Args:
        columns: the metric; of several the mean is compared.
        relation: `higher`, `lower`; `nearer` to human text; `near` the other row, by at most `margin`; `no_higher` than
            it, or by at most `margin`.
        method, against: the row that the claim is about, and the one it is compared with.
        run: the name of the run that makes the rows; empty where the claim is out of reach.
        estimand: `difference`, or `percent` of the other row's value. With `nearer` it is the difference of the two
            gaps to human text, each in per cent of the human value.
        margin: the smallest difference of interest; `margin_why` says where it comes from.
        precondition: the column in which both sides must beat the trivial controls; empty for `columns`. Random
            words are as diverse as human text, so a claim on diversity names a column of quality here.
        printed: headings of the columns in the paper's table; empty where no table has them.
        stated: the effect that the sentence states, where no table prints it or the table gives another one.

    Raises:
        ValueError: fields that do not go together.
    """

    columns: tuple[str, ...]
    relation: str
    method: Side
    against: Side
    run: str = ""
    estimand: str = "difference"
    margin: float = 0.0
    margin_why: str = ""
    precondition: str = ""
    printed: tuple[str, ...] = ()
    stated: float | None = None

    def __post_init__(self) -> None:
        for what, name, known in (("relation", self.relation, RELATIONS), ("estimand", self.estimand, ESTIMANDS)):
            if name not in known:
                raise ValueError(f"expected a {what} from {', '.join(known)}, got '{name}'")
        with_margin = self.relation in ("near", "no_higher")
        if with_margin != (self.margin > 0) or with_margin != bool(self.margin_why):
            raise ValueError("`margin` above 0 and `margin_why` go with the relations 'near' and 'no_higher' alone")
        if self.relation == "nearer" and not self.precondition:
            raise ValueError("'nearer' takes a `precondition`: random words are as diverse as human text")
        if self.printed and len(self.printed) != len(self.columns):
            raise ValueError(f"expected a printed heading for each of {self.columns}, got {self.printed}")
        for side in (self.method, self.against):
            if side.method in OWN or rests_on_memory(side.method):
                raise ValueError(f"{side.method} is not a paper's objective to the letter: it carries no claim of one")
        if {self.method.code, self.against.code} >= {"paper", "released"}:
            sides = f"{self.method.label} against {self.against.label}"
            raise ValueError(f"{sides}: compare paper with paper or released with released")

    @property
    def sign(self) -> int:
        """1 where the higher value is claimed, -1 where the lower."""
        return -1 if self.relation == "lower" else 1

    @property
    def reads_human(self) -> bool:
        """Whether it compares with what people wrote."""
        return self.relation == "nearer" or self.against.method == HUMAN

    @property
    def sides(self) -> dict[str, Side]:
        """Both sides, by the names of their fields."""
        return {"method": self.method, "against": self.against}

    def replaced_by(self, control: Side) -> str:
        """Return the side whose place a control takes: `method`, `against`, or nothing.

        A method is a control of what declares it, and with other settings of itself, such as `backbone.tied=false`.
        """
        controlled = controlled_by(control.method)
        for name, side in self.sides.items():
            same = side.method == control.method and side.where != control.where
            if same or side.method.partition(".")[0] in controlled:
                return name
        return ""

    @property
    def without_settings(self) -> Part:
        """The same with the methods of both sides alone, as the paper names them."""
        return replace(self, method=Side(self.method.method), against=Side(self.against.method))

    @property
    def column(self) -> str:
        """The columns as one name."""
        return self.columns[0] if len(self.columns) == 1 else f"mean of {', '.join(self.columns)}"


@dataclass(frozen=True, kw_only=True)
class Claim:
    """One claim of a paper.

    Args:
        quote: the sentence, or the part of it, word for word.
        where: section and table.
        says: the claim in a short sentence; empty to show the quote.
        parts: the comparisons that test it, all together.
        controls: rows that take the place of a side, whose declared control they are or which they are with other
            settings: what they show too does not come from the objective. One that was not run makes the claim
            `not run`.
        table: address of the paper's table, such as `f2softmax/table1`; `table_part` and `backbone` name the cells.
        rows: labels of the table's rows, by our method.
        corrected: the same comparisons by rows without a known fault of the released code, by method; `fault` describes
            it in a sentence, and `instead` says how these rows are trained, after "with".
        result: what the verdict's word leaves out of the result, where it was tested.
        beyond: what the sentence says and no row here covers.
        note: what a reader must know in addition to the numbers.
        out_of_reach: why no run here can test it.

    Raises:
        ValueError: fields that do not go together.
    """

    quote: str
    where: str
    says: str = ""
    parts: tuple[Part, ...] = ()
    controls: tuple[Side, ...] = ()
    table: str = ""
    table_part: str = ""
    backbone: str = ""
    rows: Mapping[str, str] = field(default_factory=dict)
    corrected: Mapping[str, Side] = field(default_factory=dict)
    fault: str = ""
    instead: str = ""
    result: str = ""
    beyond: str = ""
    note: str = ""
    out_of_reach: str = ""

    def __post_init__(self) -> None:
        if not self.quote or not self.where:
            raise ValueError(f"expected a claim with `quote` and `where`, got '{self.quote}' and '{self.where}'")
        if not self.parts and not self.out_of_reach:
            raise ValueError(f"'{self.quote}': a claim has `parts` or says why it is `out_of_reach`")
        if not bool(self.corrected) == bool(self.fault) == bool(self.instead):
            raise ValueError(f"'{self.quote}': `corrected`, `fault` and `instead` go together")
        for control in self.controls:
            if not any(part.replaced_by(control) for part in self.parts):
                raise ValueError(f"'{self.quote}': {control.method} is no declared control of a side; a rival is none")

    @property
    def corrected_parts(self) -> list[Part]:
        """The parts on rows without the known fault of the released code; none where the claim names no fault."""
        if not self.corrected:
            return []
        pairs = [[self.corrected.get(side.method, side) for side in (part.method, part.against)] for part in self.parts]
        return [replace(part, method=pair[0], against=pair[1]) for part, pair in zip(self.parts, pairs, strict=True)]

    @property
    def text(self) -> str:
        """What it says in short."""
        return self.says or f'"{self.quote}"'


@dataclass(frozen=True)
class ClaimFile:
    """The claims of one paper.

    Args:
        name: of the paper.
        short: its name on the command line.
        runs: that make the rows, by name.
        claims: all of them.
        notes: what a reader of all its claims must know.

    Raises:
        ValueError: a claim names a run that the file does not have.
    """

    name: str
    short: str
    runs: Mapping[str, Run]
    claims: tuple[Claim, ...]
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for part in (part for claim in self.claims if not claim.out_of_reach for part in claim.parts):
            if part.run not in self.runs:
                raise ValueError(f"{self.name}: expected a run from {', '.join(self.runs)}, got '{part.run}'")


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
    runs = [Run(**{key: _frozen(value) for key, value in run.items()}) for run in content["run"]]
    claims = tuple(map(claim_of, content["claim"]))
    return ClaimFile(content["name"], name, {run.name: run for run in runs}, claims, tuple(content.get("notes", ())))


def claim_of(content: Mapping[str, Any]) -> Claim:
    """Return one claim of a file."""
    fields = dict(content)
    of_a_part = [*Part.__dataclass_fields__, "mean"]
    shared = {name: fields.pop(name) for name in of_a_part if name in fields}
    listed = fields.pop("parts", [{}] if shared else [])
    fields["parts"] = tuple(part for given in listed for part in _parts(shared | given))
    fields["controls"] = tuple(map(_side, fields.get("controls", ())))
    fields["corrected"] = {method: _side(side) for method, side in fields.get("corrected", {}).items()}
    return Claim(**fields)


def _parts(content: Mapping[str, Any]) -> Sequence[Part]:
    """Return the parts of an entry, one for each group of columns."""
    fields = dict(content)
    columns, printed = _list(fields.pop("columns")), _list(fields.pop("printed", ()))
    groups = [((column,), printed[place : place + 1]) for place, column in enumerate(columns)]
    if fields.pop("mean", False):
        groups = [(columns, printed)]
    sides = product(map(_side, _list(fields.pop("method"))), map(_side, _list(fields.pop("against"))))
    return [
        Part(columns=names, printed=headings, method=method, against=other, **fields)
        for (method, other), (names, headings) in product(sides, groups)
    ]


def _list(value: Any) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, list | tuple) else (value,)


def _side(value: str | Mapping[str, Any]) -> Side:
    return Side(value) if isinstance(value, str) else Side(**value)


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value
