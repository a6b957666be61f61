"""Checks of tasks, metrics, backbones and decodings: for errors that end no run and make its numbers wrong."""

import inspect
import math
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch

from bench.base.options import read_options
from bench.base.registry import Resolved
from bench.base.seeds import seed_of
from bench.config.resolve import find_method
from bench.decodings.core.decoding import Decoding
from bench.generation.generation import generate
from bench.metrics import MetricEntry, requirements
from bench.metrics.columns import direction_of, is_named
from bench.metrics.example_rows import example_rows
from bench.metrics.score import NOT_APPLICABLE
from bench.models.backbones.backbone import Backbone
from bench.models.backbones.exactness import DRAWS, forward_differences
from bench.models.backbones.exactness import TOLERANCE as EXACT
from bench.tasks.core.task import Task
from bench.tasks.encode.codec import Encoded
from bench.tasks.fetch.sources import Source
from bench.testing.objective import BACKBONES, check_objective
from bench.testing.report import NotApplicable, Result, near, need, run_checks
from bench.testing.subject import Subject

# Tasks --------------------------------------------------------------------------------------------------------------

LEAK = 0.1
"""Share of test rows that may be training rows: published data sets have a few."""
NEW_TOKENS = 8


def rows(read: Callable[[], Task]) -> str:
    """Each split has rows with texts and unique ids, the same each time; few test rows are training rows."""
    task, again, known = read(), read(), {}
    for name in ("train", "valid", "test"):
        examples = task.split(name).examples
        need(bool(examples), f"rows in the {name} split", "none", "`read` and `sample` should return some")
        ids = {example.id for example in examples}
        need(len(ids) == len(examples), f"each id once in {name}", f"{len(ids)} of {len(examples)}", "make ids unique")
        bad = [row for row in examples if not isinstance(row.id, str) or not isinstance(row.target, str)]
        need(not bad, "ids and targets that are texts", bad[:1], "correct `read`")
        same = again.manifest(name) == task.manifest(name)
        need(same, "the same rows each time", "others the second time", "sort files, seed what is drawn")
        known[name] = {hash((row.source, row.target, str(row.fields))) for row in examples}
    share = len(known["test"] & known["train"]) / len(known["test"])
    need(share <= LEAK, f"at most {LEAK:.0%} of test rows in training", f"{share:.0%}", "split by what rows hold")
    return ", ".join(f"{len(found):,} {name}" for name, found in known.items())


def check_task(kind: type[Task], source: Source, sets: Mapping[str, Any]) -> Iterator[Result]:
    """Check a task on data, or on its built-in rows; `sets` are options that override its defaults."""

    def read() -> Task:
        task = kind(**read_options(kind, sets, f"task '{kind.name}'"))
        task.load(source, None)
        return task

    return run_checks([rows], read, plugin=kind)


# Metrics ------------------------------------------------------------------------------------------------------------


def repeated(entry: MetricEntry) -> tuple[list[dict[str, Any]], Mapping[str, Any]]:
    """Return example rows of a family's kind with their references, three times, so that there are ties."""
    few, gold = example_rows(entry.kind)
    copies = 1 if len(few) == 1 else 3  # the only row stands for a whole split
    given = [{**row, "id": f"{row['id']}/{copy}"} for copy in range(copies) for row in few]
    return given, {row["id"]: gold[row["id"].rpartition("/")[0]] for row in given}


def columns(entry: MetricEntry) -> str:
    """It gives the columns it names, with their direction, and a reason where there is no number."""
    if missing := requirements.missing(entry.requires):
        raise NotApplicable(f"needs {missing}")
    given, gold = repeated(entry)
    found = entry.load()(given, gold)
    empty = entry.load()([{**row, "text": "", "token_ids": []} if "text" in row else row for row in given], gold)
    for score in [*found, *empty]:
        named = any(is_named(score.name, pattern[1:]) for pattern in entry.columns)
        need(named, "a column that the entry names", f"'{score.name}'", "add it to `columns`")
        direction, actual = direction_of(score.name, entry.columns), score.higher_is_better
        need(direction == actual, f"the entry's direction of '{score.name}'", actual, "correct either")
        valid = NOT_APPLICABLE in score.signature if score.value is None else math.isfinite(score.value)
        need(valid, f"a finite '{score.name}', or None and a reason", score.value, "use `explained`")
    for score in found:
        if score.sums is not None:
            need(len(score.sums) == score.n, f"sums of each of {score.n} rows", len(score.sums), "see `score_of_sums`")
            value, expected = score.sums.value, math.nan if score.value is None else score.value
            equal = math.isclose(value, expected, rel_tol=1e-12) or math.isnan(value) and math.isnan(expected)
            need(equal, f"the sums of '{score.name}' to give {score.value!r}", repr(value), "use `score_of_sums`")
    return ", ".join(score.name for score in found)


def every_row(entry: MetricEntry) -> str:
    """Order changes no bit, and rows that are missing or repeated are refused."""
    given, gold = repeated(entry)
    expected = entry.load()(given, gold)
    for seed in range(3):
        found = entry.load()(random.Random(seed).sample(given, len(given)), gold)
        for score, other in zip(expected, found, strict=True):
            equal = replace(score, sums=None) == replace(other, sums=None)
            actual = f"{score.value!r} and {other.value!r}"
            need(equal, f"the same '{score.name}' in any order", actual, "sort by id: `ordered`")
    for wrong, what in ((given[:-1], "missing"), ([*given, given[0]], "repeated")):
        try:
            entry.load()(wrong, gold)
        except ValueError:
            continue
        need(len(given) == 1, f"a ValueError where a row is {what}", "a score", "begin with `ordered(rows, gold)`")
    return f"{len(given)} rows"


def check_metric(entry: MetricEntry) -> Iterator[Result]:
    """Check a metric family on example rows of its kind."""
    return run_checks([columns, every_row], entry, plugin=entry.load())


# Backbones ----------------------------------------------------------------------------------------------------------


def made(loaded: Resolved, sets: Sequence[str], seed: int = 0) -> Backbone:
    """Make a backbone, small where it has options for it, over the built-in sample, with the weights it starts from."""
    subject = Subject(find_method("mle"), loaded.spec, seed, tuple(sets))
    return subject.objective(torch.float32, fresh=True).backbone


def seeded(loaded: Resolved, sets: Sequence[str]) -> str:
    """A factory (name, texts, seed, *, options) makes it, whose seed alone decides the weights."""
    parameters = inspect.signature(loaded.value.load()).parameters.values()
    actual = [one.name for one in parameters if one.kind is one.POSITIONAL_OR_KEYWORD]
    need(actual == ["name", "texts", "seed"], "(name, texts, seed, *, options)", actual, "make options keyword-only")
    first, again, other = (
        torch.cat([weight.detach().flatten() for weight in made(loaded, sets, seed).parameters()]) for seed in (0, 0, 1)
    )
    need(torch.equal(first, again), "the same weights of the same seed", "others", "call torch.manual_seed(seed) first")
    follows = bool(loaded.value.hub) or not torch.equal(first, other)
    need(follows, "other weights of another seed", "the same", "use the seed")
    return f"{len(first):,} weights"


def exact(loaded: Resolved, sets: Sequence[str]) -> str:
    """It has the distribution of its model's own forward, padded or not; that with a cache is checked as MLE's."""
    backbone = made(loaded, sets)
    if type(backbone.model).forward is torch.nn.Module.forward:
        raise NotApplicable("its model has no forward of its own")
    gap = min(max(forward_differences(backbone, draw).values()) for draw in DRAWS)
    near(gap, "the log-probabilities of the model's own forward", "end states where its head begins", EXACT)
    return f"{gap:.1e} nats"


def check_backbone(loaded: Resolved, sets: Sequence[str], quick: bool) -> Iterator[Result]:
    """Check a backbone alone, and then as MLE's: it must see no future, mask padding and train on two ranks."""
    yield from run_checks([seeded, exact], loaded, sets, plugin=loaded.value.load())
    yield from check_objective("mle", backbones=[loaded.spec], quick=quick, sets=sets)


# Decodings ----------------------------------------------------------------------------------------------------------


def independent(decoding: Decoding, subject: Subject) -> str:
    """A row's text depends on its seed and on no other row, and is the same when drawn again."""
    objective = subject.objective().eval()

    def texts(some: Sequence[Encoded], run: int = 0) -> dict[str, list[int]]:
        seeds = [seed_of(run, "check", row.id) for row in some]
        batch: Any = subject.codec.prompt_batch(some)
        written = generate(objective, batch, decoding, NEW_TOKENS, seeds)
        return {row.id: text for row, text in zip(some, written, strict=True)}

    given, first = subject.rows, texts(subject.rows)
    alone = {name: text for row in given for name, text in texts([row]).items()}
    ways = {"of the same seed": texts(given), "alone": alone, "in another order": texts(given[::-1])}
    for way, found in ways.items():
        need(found == first, f"the same texts {way}", "others", "use the row and its uniform numbers only")
    other = texts(given, run=1)
    need(decoding.samples or other == first, "texts that no seed changes", "others", "derive from Sampler")
    return f"{sum(first[name] != other[name] for name in first)} of {len(first)} texts change with the seed"


def check_decoding(decoding: Decoding, backbones: Sequence[str] = BACKBONES) -> Iterator[Result]:
    """Check a decoding with MLE on small models in float64."""
    for name in backbones:
        subject = Subject(find_method("mle"), name)
        yield from run_checks([independent], decoding, subject, plugin=type(decoding), backbone=name)
