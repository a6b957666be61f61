"""Rows of several processes become exactly the rows that were asked for, or an error."""

import json

import pytest

from bench.cells.evaluation import merge
from bench.config.arguments import RunArguments, threads_of
from bench.errors import BenchError

IDS = ("a", "b", "c", "d")


def rows(*names):
    return [{"id": name, "value": ord(name)} for name in names]


@pytest.mark.parametrize(
    "parts",
    [
        [rows(*"abcd")],
        [rows(*"dcba")],
        [rows(*"ca"), rows(*"bd")],
        [rows(), rows("d"), rows(), rows(*"bca"), rows(), rows()],
    ],
)
def test_any_parts_give_the_same_rows_sorted_by_id(parts):
    assert merge(parts, IDS, "x") == rows(*IDS)


@pytest.mark.parametrize(
    ("parts", "says"),
    [
        ([rows(*"abc")], "expected 4 rows, one per id; got 3 rows with 3 ids, 1 missing and 0 not asked for"),
        ([rows(*"abcd"), rows("a")], "got 5 rows with 4 ids, 0 missing and 0 not asked for"),
        ([rows(*"abce")], "got 4 rows with 4 ids, 1 missing and 1 not asked for"),
        ([], "got 0 rows with 0 ids, 4 missing"),
    ],
)
def test_anything_else_is_refused(parts, says):
    with pytest.raises(BenchError, match=f"^cell, probe: .*{says}"):
        merge(parts, IDS, "cell, probe")


def test_arguments_reach_a_worker_as_they_are():
    given = RunArguments(("a", "b"), ("m:C",), (1, 2), "x", "paper", ("execution.workers=1",), "topk=3", 5,
                         False, ("probe",), ("m:E",), 2, 3, "", "fsdp", "best",
                         data_dir="d", results="r", loggers=("csv",))  # fmt: skip
    assert RunArguments.from_dict(json.loads(json.dumps(given.as_dict()))) == given


@pytest.mark.parametrize(("preset", "asked", "right"), [("small", 0, 1), ("small", 4, 4), ("paper", 0, 0)])
def test_small_models_use_one_thread_unless_asked(preset, asked, right):
    assert threads_of(preset, RunArguments(("a",), ("b",), threads=asked)) == right
