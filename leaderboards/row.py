"""Rows of a leaderboard: one method under one configuration and decoding, and its values."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from bench.base.keys import key_of
from bench.errors import DamagedError
from bench.leaderboards.statistics.constants import ALPHA
from bench.models import METHODS
from bench.store.store import CellFolder

if TYPE_CHECKING:
    from bench.metrics.sums import Sums
    from bench.store.sums_file import SumsFile


@dataclass(frozen=True, slots=True)
class StoredSums:
    """The sufficient statistics of the value of one seed, read from the store when they are needed."""

    cell: CellFolder
    digest: str
    name: str

    def read(self) -> Sums | None:
        """Return the statistics; None where their file is not there or is damaged."""
        file = _sums_file(self.cell, self.digest)
        return None if file is None else file.column(self.name)


@lru_cache(maxsize=64)
def _sums_file(cell: CellFolder, digest: str) -> SumsFile | None:
    """Return a file of statistics: it has those of many columns, and is named by the hash of its content."""
    try:
        return cell.sums_file(digest)
    except DamagedError:  # the reader of the store has noted it
        return None


@dataclass(slots=True)
class Value:
    """One value of a row and column, with its statistics: the lines of the frame that have this row and column.

    Args:
        by_seed: the number of each training, by its seed; where its texts were sampled with several seeds, their mean.
        higher_is_better: None where neither way is better.
        signature: everything that the number depends on.
        conflict: whether one seed has two different numbers.
        reason: why there is no value, as the metric says.
        sums: the sufficient statistics of each seed that has them; not of a mean over sampling seeds.
        by_sampling_seed: where texts of a training were sampled more than once, each training's number by that seed.
        half: half the width of the 95 % interval over seeds; None with fewer than three seeds.
        difference: mean over the seeds that both have of the value less the baseline's, in the column's unit; None for
            the baseline itself.
        low, high: ends of its 95 % interval over seeds; None with fewer than three shared seeds.
        p: two-sided, of the paired t test over seeds, after Holm over the rows of the column; None likewise.
        p_items: of the randomisation test over test items, after Holm over the rows of the column; None where the
            column is no sum over items.
        against: the id of the baseline's row, which may share no seed; empty without such a row.
    """

    by_seed: dict[int, float]
    higher_is_better: bool | None
    signature: str
    conflict: bool = False
    reason: str = ""
    sums: dict[int, StoredSums] = field(default_factory=dict)
    by_sampling_seed: dict[int, dict[int, float]] = field(default_factory=dict)
    half: float | None = None
    difference: float | None = None
    low: float | None = None
    high: float | None = None
    p: float | None = None
    p_items: float | None = None
    against: str = ""

    @property
    def sampled(self) -> Mapping[int, float]:
        """The numbers of the only training by the seeds of sampling, if these are several; else nothing.

        Trainings and sampling seeds differ in what varies, so no interval is over both.
        """
        return next(iter(self.by_sampling_seed.values())) if len(self.by_sampling_seed) == 1 else {}

    @property
    def repeated(self) -> Mapping[int, float]:
        """The numbers that an interval is over: those of the trainings, or of one training those by sampling seed."""
        return self.sampled or self.by_seed

    @property
    def mean(self) -> float | None:
        """Mean over seeds; None for a conflict and where the metric has no value."""
        return None if self.conflict or not self.by_seed else mean_of(self.by_seed.values())

    @property
    def text(self) -> str:
        """The mean as it is shown; a conflict is never a number."""
        return "conflict" if self.conflict else number(self.mean) or "n/a"

    @property
    def interval(self) -> str:
        """Half the width of the interval as it is shown, or nothing."""
        return "" if self.mean is None else number(self.half)

    @property
    def missing_reason(self) -> str:
        """Why there is no value, or nothing."""
        if self.conflict:
            return "one seed has two different numbers, which are never averaged"
        return "" if self.by_seed else self.reason or "undefined"

    @property
    def n(self) -> int:
        """Number of seeds."""
        return len(self.by_seed)

    @property
    def has_sums(self) -> bool:
        """Whether every seed has sufficient statistics, and the value is no conflict."""
        return bool(self.sums) and not self.conflict and self.sums.keys() == self.by_seed.keys()

    @property
    def differs(self) -> bool:
        """Whether the difference from the baseline is significant over seeds."""
        return self.p is not None and self.p <= ALPHA


@dataclass
class TableRow:
    """One method under one configuration and decoding.

    Args:
        method, backbone, decoding: names; no backbone where nothing is trained, no decoding where nothing is generated.
        config: that its runs share, without their seeds; empty for human texts.
        values: by column of the table.
        seeds_diverged: seeds that have no number because training diverged.
        seeds: that were run.
        seeds_without_memory: of `mle.cache` and `mle.knn`: those for which validation chose the cache weight 0.
        settings: what distinguishes it from other rows of its method and backbone, as text.
        remark: what a reader must know of it.
        tried: combinations of settings it was picked from.
        picked: which settings these were, how many, and by what one was picked, for people; empty without a search.
        trial_steps: of each combination, as was typed: a number or a share of the steps; empty for all of them.
        tied: how many of these were so close to each other that they were repeated at full length.
        controls: methods that it is a control for.
        keys: of its runs.
        imported: the source of its texts, if another system generated them.
        submitted_by: the people who have submitted its runs; empty for runs of this repository and this machine.
        parameters: of its model; None where it has none, or the record does not say.
        cut: examples whose source or target was cut before the model read it, in the evaluation that has most.
        unpinned: hub copies of backbones and rows that were requested by a branch, and what to do, for people.
    """

    method: str
    backbone: str
    decoding: str
    config: Mapping[str, Any]
    values: dict[str, Value] = field(default_factory=dict)
    seeds_diverged: set[int] = field(default_factory=set)
    seeds: set[int] = field(default_factory=set)
    seeds_without_memory: set[int] = field(default_factory=set)
    settings: str = ""
    remark: str = ""
    tried: int = 0
    picked: str = ""
    trial_steps: str = ""
    tied: int = 0
    controls: tuple[str, ...] = ()
    keys: set[str] = field(default_factory=set)
    unpinned: set[str] = field(default_factory=set)
    imported: str = ""
    submitted_by: str = ""
    parameters: int | None = None
    cut: int = 0

    @property
    def id(self) -> str:
        """Its method, and a hash of everything else that distinguishes it from other rows of a table."""
        about: dict[str, Any] = {"config": self.config, "decoding": self.decoding}
        if self.submitted_by:
            about["submitted_by"] = self.submitted_by
        return f"{self.method}-{key_of(about)[:6]}"

    @property
    def lacks_memory(self) -> bool:
        """Whether it is made for a memory that has no part in the prediction of any seed."""
        return bool(self.seeds) and self.seeds == self.seeds_without_memory

    def with_columns(self, columns: Collection[str]) -> TableRow:
        """Return the row with the values of some columns."""
        return replace(self, values={name: value for name, value in self.values.items() if name in columns})

    def add_remark(self, remark: str) -> None:
        """Add a remark, unless the row has it already."""
        if remark not in self.remark:
            self.remark = "; ".join(filter(None, [self.remark, remark]))

    @property
    def n(self) -> int:
        """How many seeds it is the mean of: those of the value that has most."""
        return max((value.n for value in self.values.values()), default=0)

    @property
    def diverged(self) -> int:
        """How many seeds have no number because training diverged."""
        return len(self.seeds_diverged)

    @property
    def seeds_text(self) -> str:
        """The number of seeds as it is shown, with those whose training diverged."""
        return f"{self.n} (div {self.diverged}/{len(self.seeds)})" if self.diverged else str(self.n)

    def fewer(self, value: Value) -> str:
        """Return the number of seeds of a value that has fewer than its row, as it is shown, or nothing."""
        return f"n={value.n}" if value.mean is not None and value.n < self.n else ""

    @property
    def sampling_note(self) -> str:
        """What the numbers of sampled texts are means over, if the texts of a training were sampled more than once."""
        sampled = [numbers for value in self.values.values() for numbers in value.by_sampling_seed.values()]
        n = max(map(len, sampled), default=0)
        if n < 2:
            return ""
        if any(value.sampled for value in self.values.values()):
            return f"mean and ± of sampled texts are over {n} sampling seeds of one training"
        return f"a training's number is the mean over its sampling seeds, at most {n}; ± is over trainings"

    @property
    def untuned(self) -> str:
        """Settings that decide the row's place and that were not tuned, or nothing."""
        entry = METHODS.get(self.method) or METHODS.get(self.method.partition(".")[0])
        return "" if entry is None or self.tried else entry.tuned_by

    @property
    def marks(self) -> list[str]:
        """What a reader must know before the numbers: any of `control`, `untuned`, `imported`, `submitted by`."""
        about = {"control": self.controls, "untuned": self.untuned, "imported": self.imported}
        submitted = [f"submitted by {self.submitted_by}"] if self.submitted_by else []
        return [mark for mark, is_there in about.items() if is_there] + submitted

    @property
    def label(self) -> str:
        """Method, settings and marks, for people."""
        settings = f" ({self.settings})" if self.settings else ""
        return f"{self.method}{settings}" + (f" [{', '.join(self.marks)}]" if self.marks else "")


def mean_of(numbers: Collection[float]) -> float:
    """Return the mean of numbers; of perplexities it may be finite where their sum is not."""
    try:
        return statistics.fmean(numbers)
    except OverflowError:
        return statistics.fmean(number / 2**10 for number in numbers) * 2**10


# Numbers as texts -----------------------------------------------------------------------------------------------------


def number(value: float | None) -> str:
    """Return a number as shown: two decimals, large whole ones without."""
    if value is None:
        return ""
    return f"{value:.0f}" if float(value).is_integer() and abs(value) > 100 else f"{value:.2f}"


def signed(value: float) -> str:
    """Return a difference as shown.

    >>> signed(1.5), signed(-0.25), signed(-0.001)
    ('+1.50', '−0.25', '+0.00')
    """
    text = number(abs(value))
    return f"−{text}" if value < 0 and float(text) else f"+{text}"


# Names of rows --------------------------------------------------------------------------------------------------------


def name_settings(rows: Iterable[TableRow]) -> None:
    """Set the settings of each row: what differs from other rows of its method and backbone."""
    alike: dict[tuple[str, str], list[TableRow]] = defaultdict(list)
    for row in rows:
        alike[row.method, row.backbone].append(row)
    for group in alike.values():
        every = [{name.replace("_options.", "."): value for name, value in flat(row.config)} for row in group]
        names = dict.fromkeys(name for settings in every for name in settings)
        texts = {name: [_short(name, settings.get(name)) for settings in every] for name in names}
        unlike = [name for name, of_rows in texts.items() if len(set(of_rows)) > 1]
        # The run that a row starts from often differs as the row itself does, which is shown once.
        unlike = [name for name in unlike if texts[name] != texts.get(name.partition("start.")[2])]
        decodings = {row.decoding: short_decoding(row.decoding) for row in group}
        if len(set(decodings.values())) < len(decodings):
            decodings = {decoding: decoding for decoding in decodings}
        for place, row in enumerate(group):
            decoding = decodings[row.decoding] if len(decodings) > 1 else ""
            row.settings = ", ".join(filter(None, [*(f"{name}={texts[name][place]}" for name in unlike), decoding]))


def _short(name: str, value: Any) -> str:
    """Return the value of a setting as text; an option of a method or backbone that was not set is `default`."""
    if value is None and name.removeprefix("start.").startswith(("method.", "backbone.")):
        return "default"
    return str(value)[: 8 if name.endswith("sha256") else None]


def flat(part: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    """Yield nested values by dotted name."""
    for name, value in part.items():
        if isinstance(value, Mapping):
            yield from flat(value, f"{before}{name}.")
        else:
            yield before + name, value


def short_decoding(decoding: str) -> str:
    """Return a decoding without the length of its texts and without the prefix `posterior:` of the full distribution.

    >>> short_decoding("posterior:topk=3+max_new_tokens=64")
    'topk=3'
    """
    parts = decoding.removeprefix("posterior:").split("+")
    return "+".join(part for part in parts if not part.startswith("max_new_tokens="))
