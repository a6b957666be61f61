"""Claim files: the claims of a paper, each with the comparisons that test it, and the runs that make their rows.

`claims/` has one TOML file for each paper, with a `name`, `notes`, and the lists `[[run]]` and `[[claim]]`. A claim is
one quoted sentence. What it says of several columns, baselines or model sizes are its `parts`, which are tested
together. Claims that no run here can test are listed with `out_of_reach`, and those whose runs were not made with
`not_run`; their parts have the paper's numbers alone.

A part may leave out what its claim states for all parts. `columns`, `printed`, `method` and `against` may be lists:
there is a part for each column and each pair of methods, or, with `mean = true`, one for the mean over columns.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import field, replace
from itertools import product
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, ConfigDict
from pydantic.dataclasses import dataclass

from bench.leaderboards.controls import controlled_by

FOLDER = Path(__file__).parents[1] / "claims"
HUMAN = "human"  # what people wrote, as a side of a comparison
STRICT = ConfigDict(extra="forbid")
Settings = dict[str, Any]  # by `section.name`, as in --set


@dataclass(frozen=True, config=STRICT)
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


FileSide = Annotated[Side, BeforeValidator(lambda side: {"method": side} if isinstance(side, str) else side)]
"""A side; in a file without settings it is the name of its method."""


@dataclass(frozen=True, kw_only=True, config=STRICT)
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


@dataclass(frozen=True, kw_only=True, config=STRICT)
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
    relation: Literal["higher", "lower", "nearer", "near", "no_higher"]
    method: FileSide
    against: FileSide
    run: str = ""
    estimand: Literal["difference", "percent"] = "difference"
    margin: float = 0.0
    margin_why: str = ""
    precondition: str = ""
    printed: tuple[str, ...] = ()
    stated: float | None = None

    def __post_init__(self) -> None:
        with_margin = self.relation in ("near", "no_higher")
        if with_margin != (self.margin > 0) or with_margin != bool(self.margin_why):
            raise ValueError("`margin` above 0 and `margin_why` go with the relations 'near' and 'no_higher' alone")
        if self.relation == "nearer" and not self.precondition:
            raise ValueError("'nearer' takes a `precondition`: random words are as diverse as human text")
        if self.printed and len(self.printed) != len(self.columns):
            raise ValueError(f"expected a printed heading for each of {self.columns}, got {self.printed}")

    @property
    def sign(self) -> int:
        """1 where the higher value is claimed, -1 where the lower."""
        return -1 if self.relation == "lower" else 1

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


@dataclass(frozen=True, kw_only=True, config=STRICT)
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
        not_run: runs that would test it and were not made.

    Raises:
        ValueError: fields that do not go together.
    """

    quote: str
    where: str
    says: str = ""
    parts: tuple[Part, ...] = ()
    controls: tuple[FileSide, ...] = ()
    table: str = ""
    table_part: str = ""
    backbone: str = ""
    rows: dict[str, str] = field(default_factory=dict)
    corrected: dict[str, FileSide] = field(default_factory=dict)
    fault: str = ""
    instead: str = ""
    result: str = ""
    beyond: str = ""
    note: str = ""
    out_of_reach: str = ""
    not_run: str = ""

    def __post_init__(self) -> None:
        if not (self.parts or self.out_of_reach or self.not_run):
            raise ValueError(
                f"'{self.quote}': expected `parts`, or a reason in `out_of_reach`, or runs in `not_run`; "
                "found none of them"
            )
        for control in self.controls:
            if not any(part.replaced_by(control) for part in self.parts):
                raise ValueError(f"'{self.quote}': {control.method} is no declared control of a side; a rival is none")

    @property
    def compared_parts(self) -> tuple[Part, ...]:
        """The comparisons that runs are made for; those of other claims have the paper's numbers alone."""
        return () if self.out_of_reach or self.not_run else self.parts

    @property
    def corrected_parts(self) -> list[Part]:
        """The parts on rows without the known fault of the released code; none where the claim names no fault."""
        if not self.corrected:
            return []

        def corrected(side: Side) -> Side:
            return self.corrected.get(side.method, side)

        return [replace(part, method=corrected(part.method), against=corrected(part.against)) for part in self.parts]

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
    """

    name: str
    short: str
    runs: Mapping[str, Run]
    claims: tuple[Claim, ...]
    notes: tuple[str, ...] = ()


def names() -> list[str]:
    """Return the names of all claim files."""
    return sorted(path.stem for path in FOLDER.glob("*.toml"))


def read(name: str) -> ClaimFile:
    """Read one file by its name.

    Raises:
        ValueError: a field that is missing or unknown, or fields that do not go together.
    """
    content = tomllib.loads((FOLDER / f"{name}.toml").read_text(encoding="utf-8"))
    runs = {run["name"]: run for run in content["run"]}
    return ClaimFile(content["name"], name, runs, tuple(map(claim_of, content["claim"])), content.get("notes", ()))


def claim_of(content: Mapping[str, Any]) -> Claim:
    """Return one claim of a file: its parts with what it states for all of them, those of lists written out."""
    fields = dict(content)
    shared = {name: fields.pop(name) for name in (*Part.__dataclass_fields__, "mean") if name in fields}
    parts = []
    for part in fields.pop("parts", [{}] if shared else []):
        given = shared | part
        columns, printed, methods, others = (
            value if isinstance(value := given.pop(name, ()), list | tuple) else [value]
            for name in ("columns", "printed", "method", "against")
        )
        groups: list[Any] = [((column,), printed[place : place + 1]) for place, column in enumerate(columns)]
        if given.pop("mean", False):
            groups = [(columns, printed)]
        for method, against, (names, headings) in product(methods, others, groups):
            parts.append(Part(columns=names, printed=headings, method=method, against=against, **given))
    return Claim(**fields, parts=tuple(parts))
