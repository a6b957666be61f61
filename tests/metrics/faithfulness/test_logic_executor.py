"""Logical forms: every function on a made table, what has no value, real programs against pandas."""

import gzip
import json
import os
import warnings
import zipfile
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.metrics.faithfulness.logic_executor import FUNCTIONS, Program, ProgramError, execute, number_of, parse
from tests.metrics import logic_oracle

GOLDEN = json.loads((Path(__file__).parents[2] / "golden" / "logic" / "programs.json").read_text(encoding="utf-8"))
DATA = Path(os.environ.get("BENCH_DATA") or "no data") / "logicnlg"
real = pytest.mark.skipif(not DATA.is_dir(), reason="no programs: set BENCH_DATA to the folder that holds logicnlg/")


def value(program):
    try:
        return execute(program, GOLDEN["header"], GOLDEN["rows"])
    except ProgramError:
        return None


@pytest.mark.parametrize(("program", "expected"), GOLDEN["programs"])
def test_made_programs(program, expected):
    found = value(program)
    if isinstance(expected, bool) or expected is None or isinstance(expected, str):
        assert found is expected or found == expected
        assert isinstance(found, type(expected))
    else:
        assert found == pytest.approx(expected, abs=1e-9)


def test_every_function_is_in_a_made_program():
    used = Counter()
    for program, expected in GOLDEN["programs"]:
        if expected is not None:
            count(parse(program), used)
    assert set(used) == set(FUNCTIONS)


def count(program, used):
    if isinstance(program, Program):
        used[program.function] += 1
        for argument in program.arguments:
            count(argument, used)


@pytest.mark.parametrize(
    ("program", "complaint"),
    [
        ("eq{1; 1", "braces do not match"),
        ("1", "expected function"),
        ("round{1}", "no function 'round'"),
        ("hop{all_rows; nowhere}", "no column 'nowhere'; there are: region"),
        ("count{1}", "count takes rows"),
        ("sum{all_rows}", "sum takes 2 arguments, got 1"),
        ("avg{all_rows; region}", "expected a number, got 'aldra valley'"),
    ],
)
def test_errors_say_what_is_wrong(program, complaint):
    with pytest.raises(ProgramError, match=complaint):
        execute(program, GOLDEN["header"], GOLDEN["rows"])


def test_a_ragged_table_and_a_deep_program_are_errors():
    with pytest.raises(ProgramError, match="expected rows of 2 cells, got one of 1"):
        execute("count{all_rows}", ["a", "b"], [["1"]])
    with pytest.raises(ProgramError, match="too deeply"):
        execute("none{" * 5000 + "a" + "}" * 5000, ["a"], [["1"]])


def test_numbers():
    assert [number_of(text) for text in ("1,2", "1,234.5", "+3", ".5", "1e3", "nan", "", "٣")] == [
        None, 1234.5, 3.0, 0.5, None, None, None, 3.0,
    ]  # fmt: skip


texts = st.text("abc 0:", min_size=1).map(str.strip).filter(bool)
programs = st.recursive(
    texts,
    lambda inner: st.builds(lambda f, a: Program(f, tuple(a)), st.sampled_from(sorted(FUNCTIONS)),
                            st.lists(inner, min_size=1, max_size=3)),
    max_leaves=8,
)  # fmt: skip


@settings(max_examples=200, deadline=None)
@given(programs)
def test_any_program_is_read_as_it_is_written_and_never_crashes(program):
    if isinstance(program, Program):
        assert parse(str(program)) == program
    value(program)


@real
def test_real_programs_are_never_false_where_pandas_finds_them_true():
    with gzip.open(DATA / "bootstrap.json.gz", "rt", encoding="utf-8") as file:
        programs = json.load(file)
    found = Counter()
    with zipfile.ZipFile(DATA / "all_csv.zip") as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in sorted({path.removeprefix("all_csv/") for path in archive.namelist()} & set(programs)):
            text = archive.read(f"all_csv/{name}").decode()
            header, *rows = (line.split("#") for line in text.splitlines())
            table = logic_oracle.read(text)
            for row in programs[name]:
                found[second(row[4], table), first(row[4], header, rows)] += 1
    assert found["True", "False"] == found["True", "error"] == 0
    ours = Counter()
    for (_, one), n in found.items():
        ours[one] += n
    assert (sum(ours.values()), ours["True"]) == (690, 498)
    assert found["True", "True"] > 450


def first(program, header, rows):
    try:
        return str(execute(program, header, rows))
    except ProgramError:
        return "error"


def second(program, table):
    try:
        return str(bool(logic_oracle.run(parse(program), table)))
    except Exception:
        return "error"
