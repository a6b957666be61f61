"""Search: `--trials` tries settings of each method on the first seed, and trains what is picked on every seed.

A comparison at one shared learning rate can be decided by that rate alone. So `--trials 3` gives every method the same
number of learning rates around that of its recipe, also `mle`, unless some methods are given more by name, such as
`mle` with the number that a paper gave its own method. With few trials, methods differ in the rates they draw;
`trainer.lr=A,B,C` tries the same rates for all, and `method.eps=A,B` an option of those methods that have it.

What is picked has the lowest negative log-likelihood under the method's own distribution on the validation split, for
every method alike; never the lowest loss of a method's own, of which a ranking or penalty term may be a part. Some
methods trade likelihood for something else. For these `by=COLUMN` names a column of the validation split in its place,
such as rouge-1, for which each trial writes its texts.

With `steps=1/3` a trial has a third of the steps of a training. A rate that is slightly better then may be far worse at
the end: two rates of F2-Softmax, 0.0002 nats apart after 100 steps, are 20 points of perplexity apart after 300. So
trials that tie are trained with all steps, and the best of these is picked, as in the last round of successive halving
(Jamieson and Talwalkar 2016, Algorithm 1).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from bench.base.keys import key_of
from bench.base.options import options_of
from bench.cells.cell import Cell
from bench.cells.completion import required_families
from bench.cells.plan import Plan, PlanBuilder
from bench.cells.progress import Progress
from bench.cells.run import Outcome
from bench.config.arguments import RunArguments
from bench.config.config import SECTIONS, CellConfig, override
from bench.config.resolve import Method, ancestors, find_method, reference_of
from bench.errors import UsageError, did_you_mean
from bench.leaderboards.statistics.constants import TIE
from bench.metrics import find_metric, metrics_of
from bench.metrics.columns import direction_of, expand
from bench.store.provenance import provenance
from bench.tasks.core.task import Task

NLL = "ppl/token"
"""The column that settings are picked by unless another is named: its logarithm is the negative log-likelihood."""

BY = "negative log-likelihood per target token on the validation split, of one seed"

FACTOR = 4
"""The learning rate of a trial is the recipe's, divided or multiplied by at most this."""

DIGITS = 3
"""Significant digits of a learning rate that is tried, as a person would type it."""

MOST_TIED = 3
"""Settings of one method that tie, at most."""


@dataclass(frozen=True)
class Search:
    """The settings that are tried on the first seed.

    Args:
        number: of learning rates of every method; 0 where only methods in `of_method` are tuned.
        of_method: numbers of some methods, by name.
        axes: different values of settings, by `section.name`; every combination is tried in place of learning rates of
            a method's own sequence. An option of a method is tried for the methods that have it.
        steps: share of a training that a trial is; 1 for all of it.
        rows: of the validation split that a trial is scored on, at most; None for all.
        by: the column of the validation split to pick by.
    """

    number: int = 0
    of_method: Mapping[str, int] = field(default_factory=dict)
    axes: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    steps: Fraction = Fraction(1)
    rows: int | None = None
    by: str = NLL

    def combinations(self, method: Method, config: CellConfig) -> list[tuple[str, ...]]:
        """Return the combinations to try, as typed after --set; none where nothing is trained."""
        name, axes = method.trained_name, dict(self.axes)
        if number := self.of_method.get(name, self.number):
            axes["optim.lr"] = learning_rates(name, config.trainer.lr, number)
        known = {f"method.{option}" for option in options_of(method.kind)}
        texts = [
            [f"{name}:{axis}={value}" for value in values]
            for axis, values in axes.items()
            if axis in known or not axis.startswith("method.")
        ]
        is_trained = config.trainer.steps or config.trainer.epochs
        return list(itertools.product(*texts)) if texts and is_trained else []

    def content(self, tried: Sequence[Tried]) -> dict[str, Any]:
        """Return the search for one method as plain content, given the combinations that were tried."""
        names = {text.partition("=")[0].rpartition(":")[2] for each in tried for text in each.sets}
        axes: dict[str, Any] = {name: list(values) for name, values in self.axes.items() if name in names}
        drawn = f"its own value, divided or multiplied by at most {FACTOR}, logarithmic"
        content: dict[str, Any] = {
            "trials": len(tried),
            "space": axes or {"optim.lr": drawn},
            "steps": str(self.steps),
            "by": BY if self.by == NLL else f"{self.by} of the validation split, of one seed",
        }
        if self.rows is not None:
            content["rows"] = self.rows
        if self.by != NLL:
            content["column"] = self.by
        return content

    def only_while_tried(self, method: Method, config: CellConfig) -> tuple[str, ...]:
        """Return the settings of a trial: fewer steps or epochs, and at most `rows` examples of the validation split.

        The runs that the method starts from are trained whole.
        """
        rows, split, scope = f"evaluation.rows={self.rows or 'all'}", "evaluation.split=valid", method.trained_name
        # Again for the method: a setting of the user for one task, such as TASK:evaluation.split, would win over them.
        sets = [rows, split, f"{scope}:{rows}", f"{scope}:{split}"]
        trainer = config.trainer
        if self.steps < 1 and trainer.steps:
            sets.append(f"{scope}:trainer.steps={max(1, round(trainer.steps * self.steps))}")
        elif self.steps < 1:
            sets.append(f"{scope}:trainer.epochs={float(trainer.epochs * self.steps):.6g}")
        return tuple(sets)


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


# What is typed ------------------------------------------------------------------------------------------------------


LIMITS: Mapping[str, Callable[[str], Any]] = {"steps": Fraction, "rows": int, "by": str}
"""Options that follow the trials, with the function that reads the value of each."""


def read_trials(words: Sequence[str]) -> Search:
    """Read the words after `--trials`.

    These are numbers of trials, one for every method, by method, or both (`3,histalign=18,mle=18`); or different values
    of settings (`trainer.lr=1e-5,5e-5`). Then maybe `steps=SHARE`, `rows=N` and `by=COLUMN`.

    Raises:
        UsageError: a word is none of these, a method or section is not known, or something is given twice.

    >>> search = read_trials(["3,mle=18", "steps=1/3", "rows=5000"])
    >>> search.number, search.of_method, search.steps, search.rows
    (3, {'mle': 18}, Fraction(1, 3), 5000)
    >>> read_trials(["trainer.lr=1e-5,5e-5", "by=rouge-1"]).axes
    {'trainer.lr': (1e-05, 5e-05)}
    """
    limits: dict[str, Any] = {}
    axes: dict[str, Sequence[Any]] = {}
    try:
        for place, word in enumerate(words):
            name, _, text = word.partition("=")
            if name.partition(".")[0] in (*SECTIONS, "optim"):
                axes[name] = () if name in axes else _values(name, text)
            elif place == 0:
                limits |= _numbers(word)
            elif name in LIMITS:
                limits[name] = LIMITS[name](text)
            else:
                raise UsageError(f"--trials has {', '.join(LIMITS)}, not '{word}'{did_you_mean(name, LIMITS)}")
        search = Search(axes=axes, **limits)
        is_one_way = bool(axes) != bool(search.number or search.of_method)
        is_in_range = 0 < search.steps <= 1 and (search.rows is None or search.rows > 0)
        if not is_one_way or not is_in_range or not all(map(len, axes.values())):
            raise ValueError
    except (ValueError, ZeroDivisionError):
        raise UsageError(
            f"--trials takes numbers of trials, such as 3 or 3,mle=18, or different values of settings, such as "
            f"trainer.lr=1e-5,5e-5; then maybe steps=SHARE of a training, above 0 and at most 1, by=COLUMN, and "
            f"rows=N, at least 1; not '{' '.join(words)}'"
        ) from None
    overwritten = [name for name in axes if name.startswith("evaluation.")]
    if search.steps < 1:
        overwritten += [name for name in axes if name in ("trainer.steps", "trainer.epochs")]
    if overwritten:
        raise UsageError(f"--trials sets {', '.join(overwritten)} for all trials alike: try other settings")
    if search.by == NLL and {"backbone.vocabulary", "backbone.tokenizer"} & axes.keys():
        raise UsageError("--trials of a vocabulary would compare likelihoods of different tokens: add by=ppl/byte")
    if search.by != NLL and search.steps < 1:
        raise UsageError(
            f"by={search.by} compares whole trainings, as ties are defined by likelihood: leave steps= out"
        )
    return search


def _values(name: str, text: str) -> Sequence[Any]:
    """Return the different values of a setting, converted to numbers where possible: 1e-5 and 0.00001 are the same."""
    if override(name, text).section == "execution":
        raise UsageError(f"--trials tries settings that change results; '{name}' changes none: give it to --set")
    values: list[Any] = [word.strip() for word in text.split(",")]
    for place, word in enumerate(values):
        for kind in (float, int):
            with suppress(ValueError):
                values[place] = kind(word)
    return () if "" in values or len(set(values)) < len(values) else tuple(values)


def _numbers(text: str) -> dict[str, Any]:
    """Read the number of trials of every method, and those of some methods by name."""
    parts = [part.strip().rpartition("=") for part in text.split(",")]
    numbers = {find_method(name).trained_name if name else "": int(number) for name, _, number in parts}
    if len(numbers) < len(parts) or min(numbers.values()) < 1:
        raise ValueError
    return {"number": numbers.pop("", 0), "of_method": numbers}


# Whole searches -------------------------------------------------------------------------------------------------------


LauncherOf = Callable[[Plan, RunArguments], Callable[[Progress], Outcome]]
"""Gives the call that trains and evaluates every run of a plan, here or on several workers."""

Placed = list[tuple[tuple[str, ...], Cell]]
"""Each combination with its run."""

Name = tuple[str, str]
"""The name of a task, and the name that a method is trained under."""


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

    One combination is picked for all seeds of a method. The test split is not read before that.

    Returns:
        The plan of what was picked, and the outcome of all runs.
    """
    builder = builder_of_search(search, arguments, progress)
    waiting, done, outcome = tuned_methods(builder), dict[Name, Tuned](), Outcome()
    while waiting:  # methods that start from others come after these
        free = [name for name, tuned in waiting.items() if waiting.keys().isdisjoint(starts_from(tuned))]
        plan, ready = Plan(arguments.preset), list[tuple[Tuned, Placed]]()
        for name in free:
            tuned = done[name] = waiting.pop(name)
            olders = [done[older].picked for older in starts_from(tuned) if older in done]
            tuned.sets = tuple(text for picked in olders if picked for text in picked.sets)
            ready.append((tuned, place_tried(plan, tuned, search, builder)))
        methods = ", ".join(dict.fromkeys(method for _, method in free))
        progress.say(f"search: {sum(len(placed) for _, placed in ready)} combinations of {methods}")
        ended = launcher_of(plan, replace(arguments, keep_checkpoints="all"))(progress)
        outcome.add(replace(ended, diverged=[]))  # settings that diverge are only not picked
        for tuned, placed in ready:
            tuned.tried = [Tried(sets, cell, value_of(cell, search.by, arguments.metrics)) for sets, cell in placed]
            tuned.picked = best(tuned.tried, column_of(search.by, tuned.task, arguments)[1])
            if tuned.picked is None:  # then the method has no number
                outcome.diverged += dict.fromkeys(cell.label for _, cell in placed if cell.label in ended.diverged)
        again = tie_break(search, [tuned for tuned, _ in ready], builder, progress, launcher_of)
        outcome.add(replace(again, diverged=[]))
    whole = picked_plan(builder, done, progress)
    outcome.add(launcher_of(whole, arguments)(progress))
    for cell in whole.cells:
        found = done.get((cell.config.task, cell.method.trained_name))
        if found is not None and found.picked is not None and cell.evaluations:
            record(cell, search, found)
    return whole, outcome


def plan_of_search(search: Search, arguments: RunArguments, progress: Progress) -> Plan:
    """Return the plan of all trials and of the final runs, with the settings before the search, to count its costs."""
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
    """Return the builder of the plans of a search; refuse settings that no method of the run takes."""
    first = [f"{name}={values[0]}" for name, values in search.axes.items()]
    checked = replace(arguments, sets=(*arguments.sets, *first))
    builder = PlanBuilder(checked, progress.say, progress.rows, costs_only=costs_only)
    for task in builder.kinds:
        column_of(search.by, task, arguments)
    return builder.again(arguments)


def column_of(name: str, task: type[Task], arguments: RunArguments) -> tuple[str, bool]:
    """Return the kind of evaluation that measures a column of a task, and whether a higher value is better.

    Raises:
        UsageError: the task has no such column, or neither more nor less of it is better.
    """
    names = dict.fromkeys([*metrics_of(task.info.metrics, arguments.preset), *arguments.metrics])
    families = [find_metric(each).value for each in names]
    for family in families:
        with suppress(KeyError):
            higher_is_better = direction_of(name, family.columns)
            if higher_is_better is not None:
                return family.kind, higher_is_better
    near = did_you_mean(name, [column for family in families for sign in family.columns for column in expand(sign[1:])])
    raise UsageError(f"--trials picks by a column of {task.name} of which more or less is better, not by={name}{near}")


def tuned_methods(builder: PlanBuilder) -> dict[Name, Tuned]:
    """Return the methods to tune; a control that only evaluates another method's run is replaced by that method."""
    found: dict[Name, Tuned] = {}
    for kind in builder.kinds:
        for method in builder.methods:
            if method.is_baseline:
                continue
            if method.only_reads:
                method = find_method(method.trained_name)
            method = builder.as_run(kind, method)
            tuned = found.setdefault((kind.name, method.trained_name), Tuned(kind, method))
            if tuned.method.spec != method.spec:
                raise UsageError(f"'{tuned.method.spec}' and '{method.spec}' are both named '{method.name}': tune one")
    return found


def starts_from(tuned: Tuned) -> list[Name]:
    """Return the methods whose runs a method starts from, the earliest first, then that of its reference model."""
    olders = [*reversed(ancestors(tuned.method)), reference_of(tuned.method)]
    return [(tuned.task.name, older.trained_name) for older in olders if older]


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
                    progress.warn(f"{kind.name} · {method.name}: no trial has a finite value to pick by")
                    continue
            again = builder.again(replace(builder.arguments, sets=sets))
            again.add_seeds(kind, method)
            whole.join(again.plan)
    return whole


def record(cell: Cell, search: Search, tuned: Tuned) -> None:
    """Store everything that was tried in the folder of the run that was picked."""
    name = "nll" if search.by == NLL else search.by
    content = {**search.content(tuned.tried), "picked": cell.key}
    content["tried"] = [each.as_dict(name) for each in tuned.tried]
    if tuned.tie_break:
        content["play_off"] = [each.as_dict(name) for each in tuned.tie_break]  # the name in stored files
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
    arguments, seed = builder.arguments, builder.arguments.seeds[0]
    kinds = (column_of(search.by, tuned.task, arguments)[0],)
    config = builder.config(tuned.task, tuned.method, seed)
    while_tried = search.only_while_tried(tuned.method, config)
    if combinations is None:
        combinations = search.combinations(tuned.method, config)
    found = []
    for sets in combinations:
        every = (*arguments.sets, *tuned.sets, *sets, *while_tried)
        again = builder.again(replace(arguments, sets=every, seeds=(seed,), kinds=kinds))
        if again.add(tuned.task, tuned.method, seed):
            return []
        plan.join(again.plan)
        found += [(sets, cell) for cell in again.plan.cells if cell.evaluations]
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
    return sorted(near) if len(near) > 1 else []


def tie_break(
    search: Search, methods: Sequence[Tuned], builder: PlanBuilder, progress: Progress, launcher_of: LauncherOf
) -> Outcome:
    """Repeat the trials that tie at full length, pick the best of these for each method, and return the outcome."""
    if search.steps == 1:
        return Outcome()
    whole = replace(search, steps=Fraction(1))
    plan, repeated = Plan(builder.preset), list[tuple[Tuned, Placed]]()
    for tuned in methods:
        tied_sets = [tuned.tried[place].sets for place in tied([tried.value for tried in tuned.tried])]
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
        found = [Tried(sets, cell, value_of(cell, NLL)) for sets, cell in placed]
        if picked := best(found, higher_is_better=False):  # of those that did not fail
            tuned.tie_break, tuned.picked = found, picked
    return outcome


# Which combination is picked ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Tried:
    """One combination of settings for one task and method.

    Args:
        sets: the combination, as typed after --set.
        cell: its run.
        value: what it is picked by (see `value_of`); None where it has none, as after a diverged training.
    """

    sets: tuple[str, ...]
    cell: Cell
    value: float | None

    def as_dict(self, name: str) -> dict[str, Any]:
        """Return plain content, with the value under a name."""
        return {"sets": list(self.sets), "keys": {str(self.cell.config.seed): self.cell.key}, name: self.value}


def best(tried: Sequence[Tried], higher_is_better: bool) -> Tried | None:
    """Return the combination that is picked, the first of equal ones; None where none has a value."""
    values = [(each.value, each) for each in tried if each.value is not None]
    choose = max if higher_is_better else min
    return choose(values, key=lambda pair: pair[0])[1] if values else None


def value_of(cell: Cell, column: str, metrics: Sequence[str] = ()) -> float | None:
    """Return a column of a run on the validation split, by its first decoding, or None where it has no value.

    In place of the perplexity of a token it is its logarithm, the negative log-likelihood in nats.
    """
    codes = [dict(family.code) for family in required_families(cell, metrics)]  # not those of a file's former content
    found = {
        content["rows"]: value["value"]
        for content in cell.folder.all_scores()
        for value in content["values"]
        if value["name"] == column and content.get("code", {}) in codes
    }
    value = next((found[key] for key in cell.evaluations if key in found), None)
    return math.log(value) if column == NLL and value is not None else value
