"""Every metric family alike: class = scorer, shards, orders, processes, ids, extremes, signatures."""

import json
import math
import os
import pickle  # noqa: TID251
import re
from copy import deepcopy
from functools import cache
from multiprocessing.forkserver import ensure_running
from pathlib import Path

import pytest
import torch

from bench.metrics import CLASSES, METRICS
from bench.metrics.score import Family
from bench.metrics.torch import metric_class
from bench.testing import check_metric
from tests.e2e import children
from tests.metrics import family_rows
from tests.metrics.family_cases import CASES, VERDICTS
from tests.metrics.family_ranks import as_rank
from tests.metrics.family_rows import emptied
from tests.waiting import free_port

torch.set_num_threads(1)
WITHOUT_SUMS = {"matrix_rank", "mauve"}
"""Families that are no sums over rows."""
every_family = pytest.mark.parametrize("family", METRICS)
TOKENISATION = re.compile(r"longest:\d+\|tokens:[0-9a-f]{8}")
"""Of the true continuations asked for: which rows these are, not how many."""


@pytest.fixture(scope="module", autouse=True)
def folder(tmp_path_factory):
    """A machine that has every model and package, all of them tiny."""
    root = tmp_path_factory.mktemp("families")
    ensure_running()  # children of later tests keep the environment that their server starts in
    with pytest.MonkeyPatch.context() as patch:
        family_rows.set_up(root, patch)
        for family, variable in VERDICTS.items():
            family_rows.balance(variable, lambda name=family: score(name, CASES[name].rows, CASES[name].gold))
        yield root


@pytest.fixture
def case(family):
    assert family in CASES, f"write an entry for '{family}' in tests/metrics/family_cases.py"
    return CASES[family]


def score(family, rows, gold):
    return METRICS[family].load()(rows, gold)


@cache
def usual(family):
    """The scores of the rows of a family's case, as they are; many tests compare with them."""
    return score(family, CASES[family].rows, CASES[family].gold)


def by_name(scores):
    return {one.name: one.value for one in scores}


def class_of(family):
    """The torchmetrics class of a family with all its columns."""
    name = next(name for name, made_of in CLASSES.items() if made_of[0] == family)
    return metric_class(name)(columns=["*"])


def fed(family, case, *batches):
    """The class after some batches of stored rows."""
    metric = class_of(family)
    for rows in batches:
        metric.update(rows, case.gold, inputs="stored")
    return metric


def same(found, expected, within, columns=None):
    for name in expected if columns is None else columns:
        one, other = (math.nan if value is None else value for value in (found[name], expected[name]))
        if math.isnan(other):
            assert math.isnan(one), name
        else:
            assert one == (pytest.approx(other, rel=within, abs=within) if within else other), name


def exact(metric, expected):
    """The class gives the scorer's scores in every bit: values, numbers of rows, signatures, sums."""
    assert metric.scores() == expected
    values = {name: value.item() for name, value in metric.compute().items()}
    same(values, {one.name: one.value for one in expected}, 0)
    assert all(value.dtype == torch.float64 for value in metric.compute().values())


@every_family
def test_the_example_rows_have_values_between_the_extremes(family, case):
    assert [one.value for one in usual(family) if one.value not in (None, 0.0, 100.0)], "rows that show nothing"


@every_family
def test_the_class_gives_the_scorers_bits_in_batches_and_any_order(family, case):
    expected = usual(family)
    exact(fed(family, case, case.rows), expected)
    exact(fed(family, case, case.rows[4:], [], case.rows[1:4][::-1], case.rows[:1]), expected)


@every_family
def test_the_class_survives_a_copy_a_file_and_a_new_start(family, case):
    expected = usual(family)
    metric = fed(family, case, case.rows)
    exact(metric.clone(), expected)
    exact(pickle.loads(pickle.dumps(metric)), expected)
    exact(deepcopy(metric).half().set_dtype(torch.float16), expected)
    metric.reset()
    assert metric.scores() == []
    metric.update(case.rows, case.gold, inputs="stored")
    exact(metric, expected)


@every_family
def test_every_family_passes_bench_check(family):
    """Columns, order, missing and repeated rows."""
    first, *others = check_metric(METRICS[family])
    assert first.state == "passed" or (first.state == "not applicable" and METRICS[family].requires), str(first)
    assert all(result.state == "passed" for result in others), list(map(str, others))


@every_family
def test_every_score_says_what_it_is(family, case, folder):
    found = usual(family)
    assert len({one.name for one in found}) == len(found)
    for one in found:
        assert 0 <= one.n <= (case.rows[0]["rows"] if family == "matrix_rank" else len(case.rows))
        check_value(one)
        check_signature(one.signature, folder)


@every_family
def test_sums_come_to_the_value_in_the_order_of_ids(family, case):
    """What significance is tested on: row i is the same example for every method."""
    found, order = usual(family), sorted(str(row["id"]) for row in case.rows)
    for one in found:
        assert one.sums is None or one.value is not None, one
        if one.sums is not None:
            assert len(one.sums) == len(case.rows), one.name
            assert one.sums.value == pytest.approx(one.value, rel=1e-12, abs=1e-12), one.name
            if isinstance(METRICS[family].load(), Family):
                assert one.sums.value == one.value, one.name
    assert (family in WITHOUT_SUMS) is not any(one.sums for one in found)
    if len(order) > 1 and any(one.sums for one in found):
        last = [row for row in case.rows if str(row["id"]) == order[-1]]
        alone = {one.name: one.sums for one in score(family, last, {order[-1]: case.gold[order[-1]]})}
        for one in found:
            if one.sums is not None and alone[one.name] is not None:
                assert alone[one.name].values[0] == pytest.approx(one.sums.values[-1], rel=1e-4), one.name


def check_value(score):
    """A finite number, or none and why."""
    signed, separator, why = score.signature.partition("|not applicable: ")
    assert (separator != "") is (score.value is None), score
    assert score.value is None or (type(score.value) is float and math.isfinite(score.value)), score
    assert score.value is not None or why, score
    assert signed


def check_signature(signature, folder):
    """Names a version, and no path or time."""
    assert re.search(r"(^|\|)(version|nltk):[\d.]+(\||$)", signature), signature
    assert not re.search(r"(^|[|:+, ])[.~]?/", signature), signature
    for part in (str(folder), str(Path.home()), *folder.parts[1:]):
        assert len(part) < 4 or part not in signature, signature
    assert not re.search(r"20\d\d-\d\d-\d\d|\d\d:\d\d:\d\d", signature), signature


@every_family
def test_methods_and_subsets_share_a_column(family, case):
    """What was written, and how much of it, is not in a signature."""
    whole = {one.name: one.signature for one in usual(family)}
    if case.rows[0].get("text") is not None:
        taken = [{**row, **{name: other[name] for name in ("text", "token_ids")}}
                 for row, other in zip(case.rows, case.rows[::-1], strict=True)]  # fmt: skip
        assert {one.name: one.signature for one in score(family, taken, case.gold)} == whole
        if case.empty is not None:
            none = score(family, emptied(case.rows), case.gold)
            assert {one.name: one.signature.partition("|not applicable: ")[0] for one in none} == whole
    if len(case.rows) > 1:
        rows, gold = case.rows[:-1], {row["id"]: case.gold[row["id"]] for row in case.rows[:-1]}
        part = {one.name: TOKENISATION.sub("", one.signature) for one in score(family, rows, gold)}
        assert part == {name: TOKENISATION.sub("", signature) for name, signature in whole.items()}


@every_family
def test_as_good_as_can_be(family, case):
    if case.best is None:
        return
    rows, gold = case.best(case.rows, case.gold)
    best = {one.name: one for one in score(family, rows, gold)}
    without = by_name(usual(family))
    for name, value in case.perfect.items():
        assert best[name].value == pytest.approx(value, rel=1e-6, abs=1e-9), name
        if best[name].higher_is_better is not None:
            sign = 1 if best[name].higher_is_better else -1
            assert sign * best[name].value >= sign * without[name], name


@every_family
def test_nothing_written(family, case):
    if case.rows[0].get("text") is None:
        return
    for one in score(family, emptied(case.rows), case.gold):
        check_value(one)
        if case.empty is None:
            assert one.value is None or 0 <= one.value <= 100  # a model's word on an empty text
        elif one.name in case.empty:
            assert one.value == case.empty[one.name], one.name


@pytest.mark.ddp
def test_processes_give_the_scorers_bits(tmp_path):
    """Three with unequal shares, one of them without a row."""
    ends = (2, 2, 9)
    environment = {name: value for name, value in os.environ.items() if name.startswith("BENCH_")}
    port, out, world = free_port(), str(tmp_path / "rank"), len(ends)
    shares = [slice(start, end) for start, end in zip((0, *ends), ends, strict=False)]
    ranks = [children.start(as_rank, n, world, port, share, environment, out) for n, share in enumerate(shares)]
    for rank, child in enumerate(ranks):
        assert children.ended(child, 240)
        assert child.exitcode == 0, children.read(Path(f"{out}.log.{rank}"))
    expected = {family: by_name(usual(family)) for family in CASES}
    for rank in range(world):
        found = json.loads(Path(f"{out}.{rank}").read_text())
        assert found.keys() == expected.keys()
        for family, columns_of in expected.items():
            same(found[family], columns_of, 0)
