"""Search: `--trials` and `--grid` try settings of each method, and what is picked is trained on every seed.

A comparison at one shared learning rate can be decided by that rate alone. So `--trials` gives every method the same
number of learning rates around that of its recipe, baseline included, unless some methods are given more by name, such
as maximum likelihood with the number that a paper gave its method. With few trials, methods differ in the rates they
draw; `lr=A,B,C` tries the same rates for all. `--grid` tries the same values for every method, and it alone tries
options of a method itself: a weight that trades likelihood for something else cannot be picked by likelihood.

The learning rate is picked by the negative log-likelihood under the method's own distribution on the validation split,
for every method alike; never by a method's own loss, of which a ranking or penalty term may be a part.

A trial usually has a share of the steps of a training. A rate that is slightly better after a third of the steps may be
far worse at the end: two rates of F2-Softmax, 0.0002 nats apart after 100 steps, are 20 points of perplexity apart
after 300. So trials that tie are trained with all steps, and the best of these is picked, as in the last round of
successive halving (Jamieson and Talwalkar 2016, Algorithm 1).
"""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from bench.base.keys import key_of
from bench.cells.cell import Cell
from bench.cells.plan import Plan, PlanBuilder
from bench.cells.progress import Progress
from bench.cells.run import Outcome
from bench.cells.validation import is_lower_better
from bench.config.arguments import RunArguments
from bench.config.config import VALIDATED, CellConfig, override, parse_sets
from bench.config.resolve import Method, ancestors, find_method, reference_of
from bench.errors import UsageError, did_you_mean
from bench.leaderboards.statistics.constants import TIE
from bench.store.provenance import provenance
from bench.store.store import cells_below
from bench.tasks.core.task import Task

BY = "negative log-likelihood per target token on the validation split, "

FACTOR = 4
"""The learning rate of a trial is the recipe's, divided or multiplied by at most this."""

DIGITS = 3
"""Significant digits of a learning rate that is tried, as a person would type it."""

MOST_TIED = 3
"""Settings of one method that tie, at most."""


@dataclass(frozen=True)
class Search:
    """The settings that are tried: learning rates of each method on one seed, or a grid on every seed.

    Args:
        number: of learning rates of every method; 0 to tune only those in `of_method`.
        of_method: numbers of some methods, by name.
        steps: share of a training that a trial is; 1 for all of it.
        rows: of the validation split that a trial is scored on, at most; None for all.
        rates: learning rates to try for every method, in place of those of its own sequence; `number` is their number.
        axes: of a grid, `section.name=value,value` each; empty for trials.
    """

    number: int = 0
    of_method: Mapping[str, int] = field(default_factory=dict)
    steps: Fraction = Fraction(1)
    rows: int | None = None
    rates: tuple[float, ...] = ()
    axes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        combinations(self.axes)  # refuses what is no axis

    def combinations(self, method: Method, config: CellConfig) -> list[tuple[str, ...]]:
        """Return the combinations to try, as typed after --set; none for weights that are only read."""
        if self.axes:
            return combinations(self.axes)
        number = self.of_method.get(method.trained_name, self.number)
        if not number or not (config.trainer.steps or config.trainer.epochs):
            return []
        name = method.trained_name
        return [(f"{name}:optim.lr={rate}",) for rate in self.rates or learning_rates(name, config.trainer.lr, number)]

    def content(self, method: Method, config: CellConfig) -> dict[str, Any]:
        """Return what the record says about the search itself."""
        content: dict[str, Any]
        if self.axes:
            content = {"axes": list(self.axes), "by": f"{BY}mean over seeds"}
            select = config.trainer.select
            if method_options(self.axes) and select and select not in VALIDATED:
                content["method_options_by"] = select
            return content
        space = f"its own value, divided or multiplied by at most {FACTOR}, logarithmic"
        content = {
            "trials": self.of_method.get(method.trained_name, self.number),
            "space": {"optim.lr": list(self.rates) or space},
            "steps": str(self.steps),
            "by": f"{BY}of one seed",
        }
        if self.rows is not None:
            content["rows"] = self.rows
        return content

    def only_while_tried(self, method: Method, config: CellConfig) -> tuple[str, ...]:
        """Return fewer steps or epochs for the method itself, and fewer rows; what it starts from is trained whole."""
        sets = [] if self.rows is None else [f"evaluation.rows={self.rows}"]
        trainer = config.trainer
        if self.steps < 1 and trainer.steps:
            sets.append(f"{method.trained_name}:trainer.steps={max(1, round(trainer.steps * self.steps))}")
        elif self.steps < 1:
            sets.append(f"{method.trained_name}:trainer.epochs={float(trainer.epochs * self.steps):.6g}")
        return tuple(sets)

    def starts_from(self, tuned: Tuned) -> list[Name]:
        """Return the methods whose picked rates a method starts from, the oldest first, with its reference model's."""
        if self.axes:
            return []
        olders = [*reversed(ancestors(tuned.method)), reference_of(tuned.method)]
        return [(tuned.task.name, older.trained_name) for older in olders if older]


def learning_rates(name: str, rate: float, number: int) -> list[float]:
    """Return the learning rates that a method's first trials have, each order of magnitude as likely.

    They are the first of a scrambled Sobol sequence of the method's own (Owen 1998), so that a search of more trials
    begins with those of a search of fewer.

    >>> learning_rates("mle", 1e-3, 2)
    [0.000978, 0.00131]
    """
    import torch

    seed = int(key_of({"space of": name})[:12], 16)
    shares = torch.quasirandom.SobolEngine(1, scramble=True, seed=seed).draw(number, dtype=torch.float64)
    return [float(f"{rate * FACTOR ** (2 * share - 1):.{DIGITS}g}") for share in shares.flatten().tolist()]


def method_options(sets: Sequence[str]) -> tuple[str, ...]:
    """Return those of some settings that are options of the method itself.

    >>> method_options(["optim.lr=0.1", "histalign:method.alpha=1"])
    ('histalign:method.alpha=1',)
    """
    parsed = zip(sets, parse_sets(sets), strict=True)
    return tuple(text for text, item in parsed if item.section == "method")


# What is typed ------------------------------------------------------------------------------------------------------


def combinations(axes: Sequence[str]) -> list[tuple[str, ...]]:
    """Return every combination of a grid, as typed after `--grid`, as `--set` texts.

    Raises:
        UsageError: an axis has no value, no section, or a name that another has, or it changes no result.

    >>> combinations(["optim.lr=1e-5,3e-5", "method.alpha=1"])
    [('optim.lr=1e-5', 'method.alpha=1'), ('optim.lr=3e-5', 'method.alpha=1')]
    """
    sets_of: dict[str, list[str]] = {}
    for axis in axes:
        name, _, values = axis.partition("=")
        if override(name, values).section == "execution":  # refuses what is no section.name
            raise UsageError(f"--grid tries settings that change results; '{name}' changes none: give it to --set")
        sets = [f"{name}={value.strip()}" for value in values.split(",") if value.strip()]
        if not sets:
            raise UsageError(f"--grid takes section.name=value,value, not '{axis}'")
        if name in sets_of:
            raise UsageError(f"--grid has '{name}' twice; give all its values at once, with commas")
        sets_of[name] = sets
    return list(itertools.product(*sets_of.values()))


def read_trials(words: Sequence[str]) -> Search:
    """Read the words after `--trials`: numbers of trials or `lr=RATE,RATE`, then maybe `steps=SHARE` and `rows=N`.

    Numbers are one for every method, some by method, or both: `3,histalign=18,mle=18`.

    Raises:
        UsageError: a word is none of these, a method is not known, or is given twice.

    >>> read_trials(["3,mle=18", "steps=1/3", "rows=5000"])
    Search(number=3, of_method={'mle': 18}, steps=Fraction(1, 3), rows=5000, rates=(), axes=())
    >>> read_trials(["lr=1e-5,5e-5"])
    Search(number=2, of_method={}, steps=Fraction(1, 1), rows=None, rates=(1e-05, 5e-05), axes=())
    """
    first, *others = words or [""]
    try:
        search = replace(_rates(first) if first.startswith("lr=") else _numbers(first), **dict(map(_limit, others)))
        if not 0 < search.steps <= 1 or (search.rows is not None and search.rows < 1):
            raise ValueError
    except (ValueError, ZeroDivisionError):
        raise UsageError(
            f"--trials takes numbers of trials, such as 3 or 3,mle=18, or different rates above 0, lr=1e-5,5e-5; then "
            f"maybe steps=SHARE of a training, above 0 and at most 1, and rows=N, at least 1; not '{' '.join(words)}'"
        ) from None
    return search


def _limit(word: str) -> tuple[str, Any]:
    """Return the name and the value of `steps=SHARE` or `rows=N`."""
    name, _, value = word.partition("=")
    if name not in ("steps", "rows"):
        raise UsageError(f"--trials has steps=SHARE and rows=N, not '{word}'{did_you_mean(name, ('steps', 'rows'))}")
    return name, Fraction(value) if name == "steps" else int(value)


def _numbers(text: str) -> Search:
    """Read the number of trials of every method, 0 for none, and those of some methods by name."""
    parts = [part.strip().rpartition("=") for part in text.split(",")]
    numbers = {find_method(name).trained_name if name else "": int(number) for name, _, number in parts}
    if len(numbers) < len(parts) or min(numbers.values()) < 1:
        raise ValueError
    return Search(numbers.pop("", 0), numbers)


def _rates(text: str) -> Search:
    """Read different learning rates above 0, with commas between them."""
    rates = tuple(float(rate) for rate in text.removeprefix("lr=").split(","))
    if len(set(rates)) < len(rates) or not all(0 < rate < math.inf for rate in rates):
        raise ValueError
    return Search(len(rates), rates=rates)


# Whole searches -------------------------------------------------------------------------------------------------------


LauncherOf = Callable[[Plan, RunArguments], Callable[[Progress], Outcome]]
"""Gives the call that trains and evaluates every run of a plan, here or on several workers."""

Placed = list[tuple[tuple[str, ...], list[Cell]]]
"""Each combination with its runs."""

Name = tuple[str, str]
"""Of a task, and of a method as it is trained."""


@dataclass
class Tuned:
    """A method of a run that is tuned on one task.

    Args:
        task: its class.
        method: as it is trained.
        sets: the picked settings of the methods it starts from.
        tried: every combination.
        tie_break: those that tied, trained at full length; none where one was clearly the best.
        picked: the best of the tie break, or of what was tried.
    """

    task: type[Task]
    method: Method
    sets: tuple[str, ...] = ()
    tried: list[Tried] = field(default_factory=list)
    tie_break: list[Tried] = field(default_factory=list)
    picked: Tried | None = None


def run_search(
    search: Search,
    arguments: RunArguments,
    progress: Progress,
    launcher_of: LauncherOf,
) -> tuple[Plan, Outcome]:
    """Train what is tried, pick on the validation split, then train and evaluate what was picked on all seeds.

    One combination is picked for all seeds of a method, by the mean over the seeds it was tried on (see `best`). The
    test split is not read before that.

    Returns:
        The plan of what was picked, and the outcome of all runs.
    """
    builder = builder_of_search(search, arguments, progress)
    waiting, done, outcome = tuned_methods(builder), dict[Name, Tuned](), Outcome()
    while waiting:  # methods that start from others come after these
        free = [name for name, tuned in waiting.items() if waiting.keys().isdisjoint(search.starts_from(tuned))]
        plan, ready = Plan(arguments.preset), list[tuple[Tuned, Placed]]()
        for name in free:
            tuned = done[name] = waiting.pop(name)
            olders = [done[older].picked for older in search.starts_from(tuned) if older in done]
            tuned.sets = tuple(text for picked in olders if picked for text in picked.sets)
            ready.append((tuned, place_tried(plan, tuned, search, builder)))
        methods = ", ".join(dict.fromkeys(method for _, method in free))
        progress.say(f"search: {sum(len(placed) for _, placed in ready)} combinations of {methods}")
        outcome.add(launcher_of(plan, replace(arguments, keep_checkpoints="all"))(progress))
        for tuned, placed in ready:
            tuned.tried = [tried_of(*combination) for combination in placed]
            tuned.picked = best(tuned.tried)
        outcome.add(tie_break(search, [tuned for tuned, _ in ready], builder, progress, launcher_of))
    whole = picked_plan(builder, done, progress)
    outcome.add(launcher_of(whole, arguments)(progress))
    for cell in whole.cells:
        tuned_or_none = done.get((cell.config.task, cell.method.trained_name))
        if tuned_or_none is not None and tuned_or_none.picked is not None and cell.evaluations:
            config = builder.config(tuned_or_none.task, tuned_or_none.method, cell.config.seed)
            record(cell, search.content(tuned_or_none.method, config), tuned_or_none)
    return whole, outcome


def plan_of_search(search: Search, arguments: RunArguments, progress: Progress) -> Plan:
    """Return what a search would train, for its costs; in place of what it will pick, the settings without it."""
    builder = builder_of_search(search, arguments, progress, costs_only=True)
    plan = Plan(builder.preset)
    for tuned in tuned_methods(builder).values():
        place_tried(plan, tuned, search, builder)
    plan.join(picked_plan(builder, {}, progress))
    builder.count_validation(plan.cells)
    return plan


def builder_of_search(
    search: Search, arguments: RunArguments, progress: Progress, *, costs_only: bool = False
) -> PlanBuilder:
    """Return what makes the plans of a search; refuse settings that no method of the run takes."""
    checked = replace(arguments, sets=(*arguments.sets, *combinations(search.axes)[0]))
    return PlanBuilder(checked, progress.say, progress.rows, costs_only=costs_only).again(arguments)


def tuned_methods(builder: PlanBuilder) -> dict[Name, Tuned]:
    """Return what is to be tuned: trained methods of the run; a control that only reads stands for what it reads."""
    found: dict[Name, Tuned] = {}
    for kind in builder.kinds:
        for method in builder.methods:
            if method.is_baseline:
                continue
            method = builder.as_run(kind, method)
            if method.only_reads:
                found.setdefault((kind.name, method.trained_name), Tuned(kind, find_method(method.trained_name)))
            else:
                found[kind.name, method.trained_name] = Tuned(kind, method)
    return found


def picked_plan(builder: PlanBuilder, done: Mapping[Name, Tuned], progress: Progress) -> Plan:
    """Plan every method with the settings that were picked for it, or for the method whose run it reads."""
    whole = Plan(builder.preset)
    for kind in builder.kinds:
        for method in builder.methods:
            tuned, sets = done.get((kind.name, method.trained_name)), builder.arguments.sets
            if tuned is not None:
                sets = (*sets, *tuned.sets)  # of what it starts from, also where it has nothing to try itself
                if tuned.picked is not None:
                    sets = (*sets, *tuned.picked.sets)
                elif tuned.tried:
                    progress.warn(f"{kind.name} · {method.name}: no trial has a finite validation likelihood")
                    continue
            again = builder.again(replace(builder.arguments, sets=sets))
            again.add_seeds(kind, method)
            whole.join(again.plan)
    return whole


def record(cell: Cell, about: Mapping[str, Any], tuned: Tuned) -> None:
    """Store everything that was tried in the folder of the run that was picked."""
    content: dict[str, Any] = {**about, "picked": cell.key, "tried": [each.as_dict() for each in tuned.tried]}
    if tuned.tie_break:
        content["play_off"] = [each.as_dict() for each in tuned.tie_break]  # the name in stored files
    if cell.folder.trained() is not None:
        cell.folder.write_record(f"grid-{key_of(content)}.json", content, provenance())


def place_tried(
    plan: Plan,
    tuned: Tuned,
    search: Search,
    builder: PlanBuilder,
    combinations: Sequence[tuple[str, ...]] | None = None,
) -> Placed:
    """Add the runs of every combination of a method, or of some, to a plan; return them by combination.

    Nothing is added where the method does not fit; the plan of what was picked says why.
    """
    arguments = builder.arguments
    seeds = arguments.seeds if search.axes else arguments.seeds[:1]
    config = builder.config(tuned.task, tuned.method, seeds[0])
    while_tried = ("evaluation.split=valid", "evaluation.rows=all", *search.only_while_tried(tuned.method, config))
    if combinations is None:
        combinations = search.combinations(tuned.method, config)
    found = []
    for sets in combinations:
        every = (*arguments.sets, *tuned.sets, *sets, *while_tried)
        again = builder.again(replace(arguments, sets=every, seeds=seeds, kinds=("likelihood",)))
        for seed in seeds:
            if again.add(tuned.task, tuned.method, seed):
                return []
        plan.join(again.plan)
        found.append((sets, [cell for cell in again.plan.cells if cell.evaluations]))
    return found


# Tie break at full length -------------------------------------------------------------------------------------------


def tied(losses: Sequence[float | None]) -> list[int]:
    """Return the places of the losses that tie with the lowest, in their own order; none where one is clearly lowest.

    Of losses that are exactly equal only the first counts: there the setting has changed nothing so far.

    Args:
        losses: negative log-likelihoods in nats per target token; None for a setting that has none, as after a diverged
            training.

    >>> tied([5.111, 5.425, 5.105])
    [0, 2]
    >>> tied([5.2, 5.0, None]), tied([5.0, 5.0])
    ([], [])
    """
    places: dict[float, int] = {}
    for place, loss in enumerate(losses):
        if loss is not None:
            places.setdefault(loss, place)
    order = sorted(places)
    near = [places[loss] for loss in order if loss - order[0] < TIE][:MOST_TIED]
    if len(near) < 2:
        return []
    return sorted(near)


def tie_break(
    search: Search, methods: Sequence[Tuned], builder: PlanBuilder, progress: Progress, launcher_of: LauncherOf
) -> Outcome:
    """Repeat the trials that tie at full length, pick the best of these for each method, and return the outcome."""
    if search.steps == 1:
        return Outcome()
    whole = replace(search, steps=Fraction(1))
    plan, repeated = Plan(builder.preset), list[tuple[Tuned, Placed]]()
    for tuned in methods:
        tied_sets = [tuned.tried[place].sets for place in tied([tried.nll for tried in tuned.tried])]
        if not tied_sets:
            continue
        repeated.append((tuned, place_tried(plan, tuned, whole, builder, tied_sets)))
    if not repeated:
        return Outcome()
    names = ", ".join(dict.fromkeys(tuned.method.trained_name for tuned, _ in repeated))
    n_trials = sum(len(placed) for _, placed in repeated)
    progress.say(f"search: {n_trials} trials of {names} are within {TIE} nats and are repeated at full length")
    outcome = launcher_of(plan, replace(builder.arguments, keep_checkpoints="all"))(progress)
    for tuned, placed in repeated:
        found = [tried_of(*combination) for combination in placed]
        records = [[cell.folder.trained() for cell in cells] for _, cells in placed]
        have_diverged = [any(record is not None and record["status"] != "ok" for record in each) for each in records]
        if any(tried.nll is None and not diverged for tried, diverged in zip(found, have_diverged, strict=True)):
            name = f"{tuned.task.name} · {tuned.method.trained_name}"
            progress.warn(f"{name}: a training of its tie break has failed; the best trial is picked")
            continue
        tuned.tie_break = found
        tuned.picked = best(found) or tuned.picked
    return outcome


# Which combination is picked ----------------------------------------------------------------------------------------


PERPLEXITY = "ppl/token"
"""The column whose logarithm is the negative log-likelihood per target token."""


@dataclass(frozen=True)
class Tried:
    """One combination of settings for one task and method.

    Args:
        sets: the combination, as typed after --set.
        keys: of its trained runs, by seed.
        nll: nats per target token of the validation split under the method's own distribution, mean over seeds; None
            where a seed has no finite one, as after a diverged training.
        selected: the validation column of `trainer.select` with its value at the step that was kept, a mean over seeds,
            and whether a lower one is better; only where the combination sets options of the method itself.
    """

    sets: tuple[str, ...]
    keys: dict[int, str]
    nll: float | None
    selected: tuple[str, float, bool] | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return plain content, keys by seed in their order."""
        keys = {str(seed): key for seed, key in sorted(self.keys.items())}
        content: dict[str, Any] = {"sets": list(self.sets), "keys": keys, "nll": self.nll}
        if self.selected is not None:
            content[self.selected[0]] = self.selected[1]
        return content


def tried_of(sets: tuple[str, ...], cells: Sequence[Cell]) -> Tried:
    """Return a combination with the values by which it may be picked, from its runs of all seeds."""
    selected = selected_column(cells) if cells and method_options(sets) else None
    return Tried(sets, {cell.config.seed: cell.key for cell in cells}, validation_nll(cells), selected)


def best(tried: Sequence[Tried]) -> Tried | None:
    """Return the combination that is picked, the first of equal ones; None where none has a likelihood.

    Of combinations with the same options of the method itself, that with the lowest negative log-likelihood wins. Of
    these winners the one with the best column of `trainer.select` is picked; that with the lowest negative
    log-likelihood where none is named or measured.
    """
    winners: dict[tuple[str, ...], Tried] = {}
    for each in sorted((each for each in tried if each.nll is not None), key=lambda each: each.nll or 0.0):
        winners.setdefault(method_options(each.sets), each)
    selected = [(winner.selected, winner) for winner in winners.values() if winner.selected is not None]
    if not winners or len(selected) < len(winners):
        return next(iter(winners.values()), None)
    return min(selected, key=lambda each: each[0][1] if each[0][2] else -each[0][1])[1]


def validation_nll(cells: Sequence[Cell]) -> float | None:
    """Return the nats per target token of the validation split under the method's own distribution, a mean over seeds.

    Runs that were merged from a snapshot have no predictions. Their value is read from a stored search over the same
    runs, or else it is the logarithm of the stored perplexity, which may differ in its last digit.

    Returns:
        None when a seed has none, as after a diverged training, or one that is not finite.
    """
    found = [_of_rows(cell) for cell in cells]
    if None in found and (recorded := _recorded(cells)) is not None:
        return recorded
    values = [_of_perplexity(cell) if value is None else value for cell, value in zip(cells, found, strict=True)]
    finite = [value for value in values if value is not None and math.isfinite(value)]
    return sum(finite) / len(finite) if finite and len(finite) == len(values) else None


def selected_column(cells: Sequence[Cell]) -> tuple[str, float, bool] | None:
    """Return `Tried.selected` of runs; None where `trainer.select` names a likelihood, or a seed has no value."""
    trainer = cells[0].config.trainer
    if not trainer.select or trainer.select in VALIDATED:
        return None
    records = [cell.folder.trained() or {} for cell in cells]
    values = [record.get("train", {}).get("kept", {}).get("value") for record in records]
    if None in values:
        return None
    return trainer.select, statistics.fmean(values), is_lower_better(trainer, cells[0].task)


def _of_rows(cell: Cell) -> float | None:
    """Return the value of the predictions of a run's one evaluation; None where there are none."""
    (key,) = cell.evaluations
    stored = cell.folder.rows(key)
    if stored is None:
        return None
    nll = float(sum(row["nll_sum"] for row in stored.rows))
    return nll / sum(row["n_tokens"] for row in stored.rows)


def _recorded(cells: Sequence[Cell]) -> float | None:
    """Return the value that a stored search of the method has recorded for these runs; None where none tried them."""
    keys, rows = {str(cell.config.seed): cell.key for cell in cells}, cells[0].config.evaluation.rows
    folders = cells_below(cells[0].folder.path.parent)
    for search in (search for folder in folders for search in folder.contents("grid-*.json")):
        for tried in (*search["tried"], *search.get("play_off", ())):
            is_same = search.get("rows") == rows and tried["keys"] == keys
            if is_same and tried["nll"] is not None and math.isfinite(tried["nll"]):
                return float(tried["nll"])
    return None


def _of_perplexity(cell: Cell) -> float | None:
    """Return the value that a run's stored perplexity stands for; None where there is none."""
    for content in cell.folder.all_scores():
        if content["rows"] not in cell.evaluations:
            continue
        for value in content["values"]:
            if value["name"] == PERPLEXITY and value["value"] is not None:
                return math.log(value["value"])
    return None
