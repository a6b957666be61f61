"""What every task must keep to: splits, ids, the same rows each time, batches, and rows that its metrics can score."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from bench.base.options import fill, options_of
from bench.metrics import find_metric
from bench.metrics.requirements import lacking
from bench.tasks.core.manifest import Manifest
from bench.tasks.core.task import Task
from bench.tasks.encode.batches import MicroBatches, Order
from bench.tasks.encode.codec import Codec
from bench.tasks.fetch.sources import Source
from bench.testing.checks import Check, OnResult, module_file, run_checks
from bench.testing.report import Failed, NotApplicable, Report

__all__ = ["CHECKS", "check_task"]

SPLITS = ("train", "valid", "test")
STATUSES = ("official", "subset", "proxy", "own", "sample")
EVALUATIONS = ("likelihood", "probe", "spectrum", "generation")
VOCABULARY, LONGEST = 300, 24
ROWS, BATCH = 40, 8
"""Training rows of the batches that are looked at, and rows of a batch."""


@dataclass
class Subject:
    """A task, made anew whenever it is asked for, and where its rows come from."""

    kind: type[Task]
    source: Source
    sets: Mapping[str, Any]

    def task(self, limit: int | None = None) -> Task:
        """Make the task."""
        made = self.kind(**fill(options_of(self.kind), self.sets, f"task '{self.kind.name}'"))
        made.load(self.source, limit)
        return made

    @cached_property
    def shared(self) -> Task:
        """The task, read once."""
        return self.task()

    def codec(self, architecture: str) -> Codec:
        """Return a codec for an architecture, with a small vocabulary and short rows."""
        tokenizer = self.shared.tokenizer(VOCABULARY)
        return Codec(tokenizer, architecture, LONGEST, LONGEST)


def named(subject: Subject) -> str:
    """It says what it is, and its options can be reached by --set."""
    info = getattr(subject.kind, "info", None)
    if info is None:
        raise Failed("a class attribute `info`, a TaskInfo", "none", "see tasks/README.md")
    if not (vars(subject.kind).get("__doc__") or "").strip():
        raise Failed("a docstring of its own", "none", "say what is read and what is written")
    for what in ("summary", "licence"):
        if not getattr(info, what).strip():
            raise Failed(f"`{what}` in its info", "an empty text", "say it")
    if unknown := [kind for kind in info.evaluations if kind not in EVALUATIONS]:
        raise Failed(f"evaluations among {', '.join(EVALUATIONS)}", f"'{unknown[0]}'", "correct its info")
    if "small" not in subject.kind.recipes:
        raise Failed("a recipe `small`", f"{', '.join(subject.kind.recipes) or 'none'}", "add it to `recipes`")
    if "backbone" not in subject.kind.recipes["small"]:
        raise Failed("a backbone in the recipe `small`", "none", 'add "backbone": "small-causal" or another')
    subject.task()
    return f"options: {', '.join(options_of(subject.kind)) or 'none'}"


def has_splits(subject: Subject) -> str:
    """Training, validation and test rows are there, with a status that keeps them from passing for others."""
    counts = []
    for name in SPLITS:
        split = subject.shared.split(name)
        if not split.examples:
            raise Failed(f"rows in the {name} split", "none", "`read` and `sample` should return some")
        if split.status not in STATUSES:
            raise Failed(f"a status among {', '.join(STATUSES)}", f"'{split.status}' of {name}", "correct `read`")
        if subject.shared.source.folder is None and split.status != "sample":
            raise Failed("the status `sample` of built-in rows", f"'{split.status}'", "rows of one's own are no data")
        counts.append(f"{len(split.examples):,} {name} ({split.status})")
    return ", ".join(counts)


def has_ids(subject: Subject) -> str:
    """Every row has an id of its own and something to write."""
    for name in SPLITS:
        examples = subject.shared.split(name).examples
        times = Counter(example.id for example in examples)
        if again := [row for row in times if times[row] > 1]:
            raise Failed(f"each id once in {name}", f"'{again[0]}' {times[again[0]]} times", "make ids unique")
        for example in examples:
            if not (isinstance(example.id, str) and example.id):
                raise Failed("an id that is a text", f"{example.id!r}", "scores and samples refer to it")
            if not isinstance(example.target, str):
                raise Failed("a target that is a text", f"{type(example.target).__name__} in '{example.id}'", "mend it")
    return _shared_rows(subject)


def _shared_rows(subject: Subject) -> str:
    """Say how many test rows a model has read in training."""
    train = {(row.source, row.target, str(row.fields)) for row in subject.shared.split("train").examples}
    test = subject.shared.split("test").examples
    known = sum((row.source, row.target, str(row.fields)) in train for row in test)
    return f"{known} of {len(test):,} test rows are training rows too"


def same_again(subject: Subject) -> str:
    """Reading twice gives the same rows in the same order."""
    first, second = manifests(subject.task()), manifests(subject.task())
    for name in SPLITS:
        if first[name] != second[name]:
            raise Failed(f"the same {name} rows each time", "others the second time", "sort files, seed what is drawn")
    return first["test"].sha256[:12]


def manifests(task: Task) -> dict[str, Manifest]:
    """Return the manifest of every split."""
    return {name: task.manifest(name) for name in SPLITS}


def is_counted(subject: Subject) -> str:
    """The manifest is of the rows: another text is another hash, and a limit keeps the first rows."""
    split = subject.shared.split("train")
    changed = replace(split.examples[0], target=f"{split.examples[0].target} x")
    other = replace(split, examples=[changed, *split.examples[1:]]).manifest()
    if other.sha256 == subject.shared.manifest("train").sha256:
        raise Failed("a hash of the rows", "one that a changed text leaves as it is", "do not override `manifest`")
    two = [example.id for example in subject.task(2).split("train").examples]
    if two != [example.id for example in split.examples[:2]]:
        raise Failed("the first two rows under --limit 2", ", ".join(two), "do not look at the limit in `read`")
    return f"{subject.shared.manifest('train').bytes:,} bytes of training rows"


def encodes(subject: Subject) -> str:
    """Rows become token ids on both architectures, cut to the longest lengths, with targets to learn."""
    for architecture in architectures(subject):
        codec = subject.codec(architecture)
        rows = subject.shared.encode(subject.shared.split("train").examples[:ROWS], codec)
        if not any(row.target for row in rows):
            raise Failed(f"target tokens on {architecture}", "none", "see `encode` and `source_text`")
        for row in rows:
            if len(row.source) > LONGEST + sum(map(len, codec.frame)):
                raise Failed(f"at most {LONGEST} source tokens", f"{len(row.source)} in '{row.id}'", "cut by rule")
    return f"on {', '.join(architectures(subject))}"


def architectures(subject: Subject) -> Sequence[str]:
    """Return what the task can be read by: running text has no source for an encoder."""
    if subject.kind.info.open_ended:
        return ("decoder-only",)
    return ("decoder-only", "encoder-decoder")


def fills_batches(subject: Subject) -> str:
    """An epoch has every row once; one process and two read the same rows, whatever was read before."""
    codec = subject.codec(architectures(subject)[-1])
    rows = subject.task(ROWS).encoded("train", codec)
    order = Order(len(rows), min(BATCH, len(rows)), 0, rows.lengths)
    if sorted(order.epoch(0).tolist()) != list(range(len(rows))):
        raise Failed("each row once an epoch", "others", "do not override the order")

    def seen(rank: int, world: int) -> np.ndarray:
        batches = MicroBatches(rows, order, codec.picked, rank=rank, world=world)
        return batches[1]["labels"].numpy()

    whole, halves = seen(0, 1), [seen(rank, 2) for rank in range(2)]
    targets = sorted(_targets(whole))
    if sorted(target for half in halves for target in _targets(half)) != targets:
        raise Failed("the rows of one process on two", "others", "a batch must not depend on the process")
    return f"{len(rows)} rows, {sum(map(len, targets))} target tokens in a batch"


def _targets(labels: np.ndarray) -> list[list[int]]:
    """Return the target tokens of each row of a batch."""
    return [[token for token in row if token >= 0] for row in labels.tolist()]


def can_be_scored(subject: Subject) -> str:
    """Every metric of the task can score its rows: what people wrote, in place of a model."""
    task, info = subject.shared, subject.kind.info
    examples = task.split("test").examples[:ROWS]
    scored, missing = [], []
    for family in info.metrics:
        entry = find_metric(family).value
        if entry.kind not in info.evaluations:
            raise Failed(f"an evaluation `{entry.kind}` for '{family}'", ", ".join(info.evaluations), "add it")
        if entry.kind != "generation" or info.open_ended:
            continue
        if lacking(entry.requires):
            missing.append(family)
            continue
        rows = [{"id": row.id, "text": row.target, "token_ids": [1, 2]} for row in examples]
        scores = entry.load()(rows, task.gold(examples, entry.gold))
        if all(score.value is None for score in scores):
            why = scores[0].signature.rpartition("not applicable: ")[2]
            raise Failed(f"a number of '{family}' for people's texts", f"none, {why}", "give rows what it reads")
        scored.append(family)
    if not scored and not missing:
        raise NotApplicable("its texts are scored with their true continuations, which a run makes")
    return f"{', '.join(scored) or 'none'}" + f"; not here: {', '.join(missing)}" * bool(missing)


def has_prompts(subject: Subject) -> str:
    """An open-ended row gives a prompt and a true continuation."""
    if not subject.kind.info.open_ended:
        raise NotApplicable("rows have a source")
    if subject.shared.prompt_tokens or subject.shared.stream is not None:
        raise NotApplicable("prompts are cut by tokens")
    for example in subject.shared.split("test").examples[:ROWS]:
        prompt, rest = subject.shared.prompt_and_rest(example)
        if not prompt.strip() or not rest.strip():
            raise Failed("a prompt and a rest", f"'{prompt[:20]}' and '{rest[:20]}' of '{example.id}'", "split it")
    return "prompt and rest"


CHECKS = (
    Check("names", "says what it is, from where, and under which licence", named),
    Check("splits", "has training, validation and test rows with an honest status", has_splits),
    Check("ids", "every row has an id of its own and a target", has_ids),
    Check("same", "reading it twice gives the same rows", same_again),
    Check("manifest", "a changed row is another manifest", is_counted),
    Check("encodes", "rows become tokens on every architecture it is for", encodes),
    Check("batches", "every row once an epoch, alike on one process and two", fills_batches),
    Check("prompts", "an open-ended row has a prompt and a rest", has_prompts),
    Check("scores", "its metrics can score its rows", can_be_scored),
)


def check_task(
    kind: type[Task],
    source: Source | None = None,
    sets: Mapping[str, Any] | None = None,
    on_result: OnResult = lambda result: None,
) -> Report:
    """Check a task on its built-in rows, or on data.

    Args:
        kind: its class.
        source: where rows come from.
        sets: options beside its defaults.
        on_result: told each result as soon as it is there.
    """
    subject: Any = Subject(kind, source or Source(None, "built-in sample"), sets or {})
    return run_checks(str(getattr(kind, "name", kind.__name__)), CHECKS, subject, module_file(kind), on_result)
