"""Checks of tasks, metrics, backbones and decodings: for errors that end no run and make its numbers wrong."""

from __future__ import annotations

import inspect
import math
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import torch

from bench.base.options import read_options
from bench.base.registry import Resolved
from bench.base.seeds import seed_of
from bench.config.decoding import parse
from bench.config.resolve import find_method
from bench.decodings.core.decoding import Decoding
from bench.decodings.core.sampler import Sampler
from bench.generation.generation import generate
from bench.generation.row_cache import new_cache
from bench.metrics import MetricEntry, requirements
from bench.metrics.columns import direction_of
from bench.metrics.example_rows import example_rows
from bench.metrics.score import NOT_APPLICABLE, Score
from bench.metrics.sums import value_of
from bench.models.backbones.exactness import DRAWS, cached_difference, forward_differences
from bench.models.backbones.exactness import TOLERANCE as EXACT
from bench.models.core.objective import Objective
from bench.tasks.core.task import Task
from bench.tasks.encode.codec import Encoded
from bench.tasks.fetch.sources import Source
from bench.testing.objective import BACKBONES, check_objective
from bench.testing.report import NotApplicable, OnResult, Report, near, need, run_checks
from bench.testing.subject import Subject

# Tasks --------------------------------------------------------------------------------------------------------------

SPLITS = ("train", "valid", "test")
LEAK = 0.1
"""Share of test rows that may be training rows: published data sets have a few."""


class TaskSubject:
    """A task over its data."""

    def __init__(self, read: Callable[[], Task]) -> None:
        self.read = read

    @cached_property
    def task(self) -> Task:
        """The task with its rows, read once."""
        return self.read()


def rows(subject: TaskSubject) -> str:
    """Each split has rows with a text and an id of their own, and few test rows are training rows."""
    known = {}
    for name in SPLITS:
        examples = subject.task.split(name).examples
        need(bool(examples), f"rows in the {name} split", "none", "`read` and `sample` should return some")
        ids = {example.id for example in examples}
        need(len(ids) == len(examples), f"each id once in {name}", f"{len(ids)} of {len(examples)}", "make ids unique")
        bad = [row for row in examples if not isinstance(row.id, str) or not isinstance(row.target, str)]
        need(not bad, "ids and targets that are texts", bad[:1], "correct `read`")
        known[name] = {hash((row.source, row.target, str(row.fields))) for row in examples}
    share = len(known["test"] & known["train"]) / len(known["test"])
    need(share <= LEAK, f"at most {LEAK:.0%} of test rows in training", f"{share:.0%}", "split by what rows hold")
    return ", ".join(f"{len(found):,} {name}" for name, found in known.items())


def hashed(subject: TaskSubject) -> str:
    """Rows are the same each time they are read, and another text is another hash."""
    split, again = subject.task.split("train"), subject.read()
    same = all(again.manifest(name) == subject.task.manifest(name) for name in SPLITS)
    need(same, "the same rows each time", "others the second time", "sort files, seed what is drawn")
    changed = replace(split.examples[0], target=f"{split.examples[0].target} x")
    other = replace(split, examples=[changed, *split.examples[1:]]).manifest()
    unlike = other.sha256 != subject.task.manifest("train").sha256
    need(unlike, "another hash of another text", "the same", "do not override `manifest`")
    return subject.task.manifest("test").sha256[:12]


def check_task(kind: type[Task], source: Source, sets: Mapping[str, Any], on_result: OnResult | None = None) -> Report:
    """Check a task on data, or on its built-in rows; `sets` are options that override its defaults."""

    def read() -> Task:
        task = kind(**read_options(kind, sets, f"task '{kind.name}'"))
        task.load(source, None)
        return task

    return Report(kind.name, tuple(run_checks([rows, hashed], TaskSubject(read), kind, on_result)))


# Metrics ------------------------------------------------------------------------------------------------------------


class MetricSubject:
    """A metric family and example rows of its kind, three times, so that there are ties."""

    def __init__(self, entry: MetricEntry) -> None:
        self.entry = entry
        few, gold = example_rows(entry.kind)
        copies = 1 if len(few) == 1 else 3  # the only row stands for a whole split
        self.rows = [{**row, "id": f"{row['id']}/{copy}"} for copy in range(copies) for row in few]
        self.gold = {row["id"]: gold[row["id"].rpartition("/")[0]] for row in self.rows}

    def scores(self, rows: Sequence[Mapping[str, Any]]) -> dict[str, Score]:
        """Score rows; return the scores by name."""
        return {score.name: score for score in self.entry.load()(rows, self.gold)}


def columns(subject: MetricSubject) -> str:
    """It gives the columns it names, with their direction, and a reason where there is no number."""
    if missing := requirements.missing(subject.entry.requires):
        raise NotApplicable(f"needs {missing}")
    found = subject.scores(subject.rows)
    empty = subject.scores([{**row, "text": "", "token_ids": []} if "text" in row else row for row in subject.rows])
    for score in [*found.values(), *empty.values()]:
        try:
            direction = direction_of(score.name, subject.entry.columns)
        except KeyError:
            need(False, "a column that the entry names", f"'{score.name}'", "add it to `columns`")
        actual = str(score.higher_is_better)
        need(direction == score.higher_is_better, f"the entry's direction of '{score.name}'", actual, "correct either")
        valid = NOT_APPLICABLE in score.signature if score.value is None else math.isfinite(score.value)
        need(valid, f"a finite '{score.name}', or None and a reason", score.value, "use `explained`")
    return ", ".join(found)


def every_row(subject: MetricSubject) -> str:
    """Order changes no bit, and rows that are missing or repeated are refused."""
    given, expected = subject.rows, subject.scores(subject.rows)
    for seed in range(3):
        found = subject.scores(random.Random(seed).sample(given, len(given)))
        for name, score in expected.items():
            equal = replace(score, sums=None) == replace(found[name], sums=None)
            actual = f"{score.value!r} and {found[name].value!r}"
            need(equal, f"the same '{name}' in any order", actual, "sort by id: `ordered`")
    for wrong, what in ((given[:-1], "missing"), ([*given, given[0]], "repeated")):
        try:
            subject.scores(wrong)
        except ValueError:
            continue
        need(len(given) == 1, f"a ValueError where a row is {what}", "a score", "begin with `ordered(rows, gold)`")
    return f"{len(given)} rows"


def sums(subject: MetricSubject) -> str:
    """The value is a form of its sums over rows, which intervals and paired tests are made of."""
    found = {name: score for name, score in subject.scores(subject.rows).items() if score.sums is not None}
    if not found:
        raise NotApplicable("a column of whole sets has no sums, so no interval and no paired test")
    for name, score in found.items():
        assert score.sums is not None
        need(len(score.sums) == score.n, f"sums of each of {score.n} rows", len(score.sums), "see `score_of_sums`")
        total = [math.fsum(column) for column in zip(*score.sums.values.tolist(), strict=True)]
        value = value_of(total, score.sums.form)
        numbers = [math.nan if one is None else one for one in (value, score.value)]
        equal = value == score.value or math.isclose(*numbers, rel_tol=1e-12)
        need(equal, f"the sums of '{name}' to give {score.value!r}", repr(value), "use `score_of_sums`")
    return f"{len(found)} columns with intervals and paired tests"


def check_metric(name: str, entry: MetricEntry, on_result: OnResult | None = None) -> Report:
    """Check a metric family on example rows of its kind."""
    return Report(name, tuple(run_checks([columns, every_row, sums], MetricSubject(entry), entry.load(), on_result)))


# Backbones ----------------------------------------------------------------------------------------------------------


class BackboneSubject:
    """A backbone, made small where it has options for it, over the built-in sample."""

    def __init__(self, loaded: Resolved, sets: tuple[str, ...]) -> None:
        self.loaded, self.sets = loaded, sets

    def objective(self, seed: int = 0) -> Objective:
        """Make MLE over it, in float32, with the weights it starts from."""
        return Subject(find_method("mle"), self.loaded.spec, seed, self.sets).objective(torch.float32, fresh=True)


def seeded(subject: BackboneSubject) -> str:
    """A factory (name, texts, seed, *, options) makes it, whose seed alone decides the weights."""
    parameters = inspect.signature(subject.loaded.value.load()).parameters.values()
    actual = [one.name for one in parameters if one.kind is one.POSITIONAL_OR_KEYWORD]
    need(actual == ["name", "texts", "seed"], "(name, texts, seed, *, options)", actual, "make options keyword-only")
    first, again, other = (
        torch.cat([weight.detach().flatten() for weight in subject.objective(seed).backbone.parameters()])
        for seed in (0, 0, 1)
    )
    need(torch.equal(first, again), "the same weights of the same seed", "others", "call torch.manual_seed(seed) first")
    follows = bool(subject.loaded.value.hub) or not torch.equal(first, other)
    need(follows, "other weights of another seed", "the same", "use the seed")
    return f"{len(first):,} weights"


def exact(subject: BackboneSubject) -> str:
    """It has the distribution of its model's own forward, padded or not, and the same with a cache."""
    backbone, worst = subject.objective().backbone, 0.0
    if type(backbone.model).forward is not torch.nn.Module.forward:
        worst = min(max(forward_differences(backbone, draw).values()) for draw in DRAWS)
        near(worst, "the log-probabilities of the model's own forward", "end states where its head begins", EXACT)
    cached = min(cached_difference(backbone, new_cache, draw) for draw in DRAWS)
    near(cached, "the same log-probabilities with a cache", "see `extend`", EXACT)
    return f"{max(worst, cached):.1e} nats"


def check_backbone(loaded: Resolved, sets: tuple[str, ...], quick: bool, on_result: OnResult | None = None) -> Report:
    """Check a backbone alone, and then as MLE's: it must see no future, mask padding and train on two ranks."""
    with torch.random.fork_rng(devices=[]):
        results = run_checks([seeded, exact], BackboneSubject(loaded, sets), loaded.value.load(), on_result)
    if all(result.state == "passed" for result in results):
        report = check_objective("mle", backbones=[loaded.spec], quick=quick, sets=sets, on_result=on_result)
        results += report.results
    return Report(loaded.name, tuple(results))


# Decodings ----------------------------------------------------------------------------------------------------------


class DecodingSubject:
    """A decoding, and MLE on one small backbone in float64."""

    def __init__(self, decoding: Decoding, backbone: str) -> None:
        self.decoding = decoding
        self.method = Subject(find_method("mle"), backbone)
        self.objective = self.method.objective().eval()

    def texts(self, given: Sequence[Encoded] = (), run: int = 0, limit: int = 8) -> dict[str, list[int]]:
        """Write texts for rows, by id; the seeds come from the row and the number of a run."""
        some = given or self.method.rows
        batch: Any = self.method.codec.prompt_batch(some)
        seeds = [seed_of(run, "check", row.id) for row in some]
        written = generate(self.objective, batch, self.decoding, limit, seeds)
        return {row.id: text for row, text in zip(some, written, strict=True)}


def kept(subject: DecodingSubject) -> str:
    """It keeps a token of every distribution, and none that is ruled out."""
    if not isinstance(subject.decoding, Sampler) or type(subject.decoding).kept is Sampler.kept:
        raise NotApplicable("it does not say which tokens it keeps")
    generator = torch.Generator().manual_seed(0)
    plain = torch.randn(6, 50, generator=generator, dtype=torch.float64).log_softmax(1)
    cut = plain.masked_fill(torch.rand(6, 50, generator=generator) < 0.8, -torch.inf)
    cut[:, 7] = 0.0
    for scores in (plain, (60 * plain).log_softmax(1), torch.zeros_like(plain).log_softmax(1), cut):
        mask = subject.decoding.kept(scores)
        right = mask.shape == scores.shape and mask.dtype == torch.bool
        need(right, "a mask [B, V] of truth values", f"{mask.dtype} {tuple(mask.shape)}", "return one")
        need(bool(mask.any(1).all()), "a token that is kept of each row", "none", "keep the most probable one")
        need(not (mask & scores.isneginf()).any(), "no token that is ruled out", "one", "leave out -inf")
    return "plain, peaked, flat and cut distributions"


def independent(subject: DecodingSubject) -> str:
    """A row's text depends on its seed and on no other row, and is the same when drawn again."""
    given, first = subject.method.rows, subject.texts()
    alone = {name: text for row in given for name, text in subject.texts([row]).items()}
    ways = {"of the same seed": subject.texts(), "alone": alone, "in another order": subject.texts(given[::-1])}
    for way, texts in ways.items():
        need(texts == first, f"the same texts {way}", "others", "use the row and its uniform numbers only")
    other = subject.texts(run=1)
    need(subject.decoding.samples or other == first, "texts that no seed changes", "others", "derive from Sampler")
    return f"{sum(first[name] != other[name] for name in first)} of {len(first)} texts change with the seed"


def ends(subject: DecodingSubject) -> str:
    """No text is longer than its limit or has tokens after its end, and its name as typed gives the same decoding."""
    (again,) = parse(subject.decoding.spec)
    need(again == subject.decoding, f"'{subject.decoding.spec}' to make it again", again, "make settings fields")
    end = subject.objective.backbone.model.config.eos_token_id
    for limit in (1, 8):
        for text in subject.texts(limit=limit).values():
            need(len(text) <= limit, f"at most {limit} tokens", len(text), "stop at the limit")
            need(end not in text, "no token behind the end", "some", "stop where a text has ended")
    return "1 and 8 tokens"


def check_decoding(
    decoding: Decoding, backbones: Sequence[str] = BACKBONES, on_result: OnResult | None = None
) -> Report:
    """Check a decoding with MLE on small models."""
    results = []
    with torch.random.fork_rng(devices=[]):
        for name in backbones:
            results += run_checks(
                [kept, independent, ends], DecodingSubject(decoding, name), type(decoding), on_result, name
            )
    return Report(decoding.text, tuple(results))
