"""Every metric family alike: class = function = stored rows, shards, orders, processes, ids, extremes, signatures."""

import json
import math
import os
import re
from copy import deepcopy
from multiprocessing.forkserver import ensure_running
from pathlib import Path

import pytest
import torch

from bench.cells.evaluation import merge
from bench.cells.launch import free_port
from bench.errors import BenchError
from bench.metrics import METRICS, columns
from bench.metrics.sums import sums_from
from tests.e2e import children
from tests.metrics import family_rows
from tests.metrics.family_cases import CASES, VERDICTS
from tests.metrics.family_ranks import as_rank, computed
from tests.metrics.family_rows import TAGGER, emptied

torch.set_num_threads(1)
WITHOUT_ITEMS = {"matrix_rank", "diversity", "mauve"}
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
            family_rows.balance(variable, lambda case=CASES[family]: case.functions(case.rows, case.gold))
        yield root


@pytest.fixture
def case(family):
    assert family in CASES, f"write an entry for '{family}' in tests/metrics/family_cases.py"
    return CASES[family]


def score(family, rows, gold):
    return METRICS[family].load()(rows, gold)


def values(family, rows, gold):
    return {found.name: found.value for found in score(family, rows, gold)}


def by_classes(case, *shards):
    """What the classes compute of shards, each fed to classes of its own whose states are then added."""
    first, *others = ([case.make(), shard] for shard in shards)
    for metrics, shard in (first, *others):
        if shard is not None:
            case.feed(metrics, shard, case.gold)
    for name, metric in first[0].items():
        for metrics, _ in others:
            metric.merge_state(metrics[name])
    return case.read(first[0])


def same(found, expected, within, names=None):
    for name in names or expected:
        one, other = (math.nan if value is None else value for value in (found[name], expected[name]))
        if math.isnan(other):
            assert math.isnan(one), name
        elif within:
            assert one == pytest.approx(other, rel=within, abs=within), name
        else:
            assert one == other, name


def test_there_is_a_case_for_every_family():
    assert set(CASES) == set(METRICS)


def test_the_rows_are_hard_enough():
    texts = [text for text, *_ in family_rows.WRITTEN]
    assert "" in texts
    assert len(set(texts)) < len(texts)
    assert len({len(text.split()) for text in texts}) > 4
    assert sorted(row["id"] for row in CASES["rouge"].rows) != [row["id"] for row in CASES["rouge"].rows]


@every_family
def test_class_function_and_stored_rows_agree(family, case):
    stored, functions = values(family, case.rows, case.gold), case.functions(case.rows, case.gold)
    found = by_classes(case, case.pieces or case.rows)
    assert found.keys() == functions.keys()
    assert functions.keys() <= stored.keys()
    same(stored, functions, 0)
    same(found, functions, case.within)
    varied = [value for value in functions.values() if value not in (None, 0.0, 100.0)]
    assert varied, "rows that show nothing"


@every_family
@pytest.mark.parametrize("n", [2, 3])
def test_states_of_shards_add_up_and_an_empty_rank_changes_nothing(family, case, n):
    pieces = list(case.pieces or case.rows)
    whole, cut = by_classes(case, pieces), [0, *(2 + 3 * i for i in range(n - 1)), len(pieces)]
    shards = [pieces[a:b] for a, b in zip(cut, cut[1:], strict=False)]
    assert all(shards)
    same(by_classes(case, *shards), whole, case.within)
    same(by_classes(case, *shards, None, []), whole, case.within)
    same(by_classes(case, [], *shards), whole, case.within)
    batched = case.make()
    for shard in shards:
        case.feed(batched, shard, case.gold)
    same(case.read(batched), whole, case.within)


@every_family
def test_any_order_and_any_processes_give_the_same_bits(family, case):
    expected, ids = score(family, case.rows, case.gold), [row["id"] for row in case.rows]
    assert score(family, case.rows[::-1], case.gold) == expected
    assert score(family, [*case.rows[2:], *case.rows[:2]], dict(reversed(case.gold.items()))) == expected
    for size, world in ((4, 1), (4, 2), (2, 3), (1, 4), (5, 4), (len(ids), 2)):
        batches = [case.rows[at : at + size] for at in range(0, len(ids), size)]
        parts = [[row for number, batch in enumerate(batches) if number % world == rank for row in batch]
                 for rank in range(world)]  # fmt: skip
        assert score(family, merge(parts, ids, family), case.gold) == expected
    with pytest.raises(BenchError, match=f"expected {len(ids)} rows"):
        merge([case.rows, case.rows[:1]], ids, family)


@every_family
def test_fewer_rows_than_processes(family, case):
    few = case.rows[-2:]
    gold = {row["id"]: case.gold[row["id"]] for row in few if case.gold}
    merged = (
        merge([[], few[1:], [], few[:1] if len(few) > 1 else []], [row["id"] for row in few], family)
        if few[1:]
        else few
    )
    assert score(family, merged, gold) == score(family, few, gold)


@every_family
def test_other_ids_are_refused(family, case):
    for rows, gold in (
        (case.rows[1:], case.gold),
        ([*case.rows, {**case.rows[0], "id": "extra"}], case.gold),
        ([*case.rows, case.rows[0]], case.gold),
    ):
        with pytest.raises(ValueError, match=r"^expected "):
            score(family, rows, gold)


@every_family
def test_every_score_says_what_it_is(family, case, folder):
    found = score(family, case.rows, case.gold)
    assert len({one.name for one in found}) == len(found)
    for one in found:
        assert one.higher_is_better is columns.direction_of(one.name, METRICS[family].columns)
        assert 0 <= one.n <= (case.rows[0]["rows"] if family == "matrix_rank" else len(case.rows))
        check_value(one)
        check_signature(one.signature, folder)


@every_family
def test_items_come_to_the_value_in_the_order_of_ids(family, case):
    """What significance is tested on: row i is the same example for every method."""
    found, order = score(family, case.rows, case.gold), sorted(str(row["id"]) for row in case.rows)
    for one in found:
        assert one.sums is None or one.value is not None, one
        if one.sums is not None:
            assert len(one.sums) == len(case.rows), one.name
            assert one.sums.value == pytest.approx(one.value, rel=1e-12, abs=1e-12), one.name
            assert sums_from(json.loads(json.dumps(one.sums.as_dict()))) == one.sums
    assert (family in WITHOUT_ITEMS) is not any(one.sums for one in found)
    if len(order) > 1 and any(one.sums for one in found):
        last = [row for row in case.rows if str(row["id"]) == order[-1]]
        alone = {one.name: one.sums for one in score(family, last, {order[-1]: case.gold[order[-1]]})}
        for one in found:
            if one.sums is not None and alone[one.name] is not None:
                assert alone[one.name].values[0] == pytest.approx(one.sums.values[-1], rel=1e-4), one.name


def check_value(score):
    """A finite number, or none and why."""
    signed, said, why = score.signature.partition("|not applicable: ")
    assert (said != "") is (score.value is None), score
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
    whole = {one.name: one.signature for one in score(family, case.rows, case.gold)}
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
def test_another_copy_of_every_row(family, case):
    if len(case.rows) < 2:
        return  # a spectrum is one row
    rows = [*case.rows, *({**row, "id": f"{row['id']}/again"} for row in case.rows)]
    gold = {**case.gold, **{f"{name}/again": content for name, content in case.gold.items()}}
    before, after = values(family, case.rows, case.gold), values(family, rows, gold)
    same(after, before, 1e-9, set(before) - case.doubled)
    for name in case.doubled:
        assert after[name] != pytest.approx(before[name], rel=1e-6), name


@every_family
def test_as_good_as_can_be(family, case):
    if case.best is None:
        return
    rows, gold = case.best(case.rows, case.gold)
    best, usual = ({one.name: one for one in score(family, *given)} for given in ((rows, gold), (case.rows, case.gold)))
    for name, value in case.perfect.items():
        assert best[name].value == pytest.approx(value, rel=1e-6, abs=1e-9), name
        if best[name].higher_is_better is not None:
            sign = 1 if best[name].higher_is_better else -1
            assert sign * best[name].value >= sign * usual[name].value, name


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


@every_family
def test_classes_are_told_their_direction_and_survive_a_copy(family, case):
    stored = {one.name: one for one in score(family, case.rows, case.gold)}
    for names, metric in case.make().items():
        assert metric.full_state_update is False
        assert not metric.is_differentiable  # a value of texts or of counts
        known = {stored[name].higher_is_better for name in names.split() if name in stored}
        assert not known or known == {metric.higher_is_better}, names
    metrics = case.make()
    case.feed(metrics, list(case.pieces or case.rows), case.gold)
    expected, copies = case.read(metrics), {name: deepcopy(metric) for name, metric in metrics.items()}
    same(case.read(copies), expected, 0)
    for metric in copies.values():
        metric.reset()
    case.feed(copies, list(case.pieces or case.rows), case.gold)
    same(case.read(copies), expected, 0)


@pytest.mark.ddp
def test_three_processes_give_what_one_gives(tmp_path):
    """One of them has no row."""
    environment = {name: value for name, value in os.environ.items() if name.startswith("BENCH_")}
    port, out, shares = free_port(), str(tmp_path / "rank"), (slice(0, 2), slice(9, 9), slice(2, 9))
    ranks = [children.start(as_rank, n, 3, port, share, environment, out) for n, share in enumerate(shares)]
    for rank, child in enumerate(ranks):
        assert children.ended(child, 240)
        assert child.exitcode == 0, children.read(Path(f"{out}.log.{rank}"))
    expected = computed(slice(0, 9))
    for rank in range(3):
        found = json.loads(Path(f"{out}.{rank}").read_text())
        assert found.keys() == expected.keys()
        for family, columns_of in expected.items():
            same(found[family], columns_of, CASES[family].within)


def test_the_stand_in_tagger_is_named():
    assert f"tagger:{TAGGER}" in score("entity_precision", CASES["rouge"].rows, CASES["rouge"].gold)[0].signature
