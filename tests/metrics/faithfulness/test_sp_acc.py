"""SP-Acc: the rule by hand, what the ranker is given, a tiny ranker, files of another form."""

import json

import pytest
import torch

from bench.metrics import METRICS
from bench.metrics.faithfulness import verifiers
from bench.metrics.faithfulness.sp_acc import (
    ADDED,
    Parsed,
    encoded_program,
    is_supported,
    load_ranker,
    programs_of,
    rank,
    read_programs,
    sp_acc_family,
    sp_acc_scores,
    spaced,
    support_of,
    truth_of,
)
from bench.metrics.faithfulness.table_cells import TableText
from tests.metrics import tiny_encoders, tiny_verifiers

torch.set_num_threads(1)
PROGRAMS = ["eq{count{all_rows}; 2}=True", "only{all_rows}=False", "eq{hop{all_rows; long river}; aldra}=True"]
ENTRIES = [
    ["the river rose", PROGRAMS, "the aldra"],
    ["it fell", [], "the aldra"],
    ["no one was hurt", PROGRAMS[1:2], "sorn"],
    ["the river rose", PROGRAMS[1:], "sorn"],
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tiny_encoders.ranker(tmp_path_factory.mktemp("ranker"))


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "programs.json"
    path.write_text(json.dumps(ENTRIES), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("values", "ranks", "expected"),
    [
        ([], [], False),
        ([True], [0.1], True),
        ([False], [0.9], False),
        ([False, True, True], [0.9, 0.8, 0.7], False),  # the best one decides
        ([False, True, True], [0.1, 0.8, 0.7], True),
        ([False] * 7 + [True], [0.9] + [0.1] * 6 + [0.8], False),  # eight are not many
        ([False] * 6 + [True] + [False] * 2, [0.1] * 6 + [0.7, 0.9, 0.8], True),  # of nine the best three
        ([False] * 5 + [True] + [False] * 3, [0.1] * 5 + [0.6, 0.7, 0.9, 0.8], False),  # it is the fourth
        ([False] * 36 + [True], [0.1] * 36 + [0.9], False),  # only 36 are looked at
        ([False] * 35 + [True], [0.1] * 35 + [0.9], True),
    ],
)
def test_the_rule(values, ranks, expected):
    assert is_supported(values, ranks) is expected


def test_what_the_ranker_is_given(folder):
    assert (len(ADDED), len(set(ADDED))) == (45, 45)
    assert spaced(PROGRAMS[2]) == "[eq] { [hop] { all_rows ; long river } ; aldra }"
    assert spaced("and{ only{ all_rows }; none{ a } }=False") == "[and] { [only] { all_rows  } ; [none] { a  } }"
    ranker = load_ranker(str(folder))
    given = encoded_program("the river [SEP]rose", PROGRAMS[2], "the aldra", ranker.tokenizer)
    ids = ranker.tokenizer.convert_tokens_to_ids
    assert given["input_ids"][0] == ids("[CLS]")
    assert given["input_ids"].count(ids("[SEP]")) == 3
    pieces = ranker.tokenizer.convert_ids_to_tokens(given["input_ids"])
    sep = pieces.index("[SEP]")
    assert (pieces[sep - 2 : sep], pieces[sep + 1 : sep + 4]) == (["the", "aldra"], ["the", "river", "rose"])
    words = len(tiny_verifiers.vocabulary())
    assert given["input_ids"].count(words + ADDED.index("[hop]")) == 1
    assert given["input_ids"].count(words + ADDED.index("all_rows")) == 1
    end = given["input_ids"].index(3) + 1  # [SEP]
    assert given["token_type_ids"][:end] == [1] * end
    assert given["token_type_ids"][end : end + 4] == [0] * 4
    assert set(given["token_type_ids"][end + 4 :]) == {1}
    assert len(encoded_program("river " * 200, PROGRAMS[0], "", ranker.tokenizer)["input_ids"]) == 120


def test_ranks_are_those_of_single_programs(folder):
    ranker = load_ranker(str(folder))
    parsed = [Parsed(sentence, tuple(programs), title) for sentence, programs, title in ENTRIES]
    found = rank(parsed, ranker)
    assert [len(some) for some in found] == [3, 0, 1, 2]
    for one, some in zip(parsed, found, strict=True):
        for program, value in zip(one.programs, some, strict=True):
            assert rank([one._replace(programs=(program,))], ranker)[0] == pytest.approx([value], abs=1e-5)
    assert len({round(value, 6) for some in found for value in some}) > 3


TABLE = TableText(["region", "long river", "1990"], [["aldra", "aldra valley", "10"], ["sorn", "vale", "7"]])
AS_GOLD = {"header": TABLE.header, "rows": TABLE.rows}


@pytest.mark.parametrize(
    ("program", "truth"),
    [
        ("eq{count{all_rows}; 2}", True),
        ("eq{count{all_rows}; 3}", False),
        ("only{filter_greater{all_rows; 1990; 8}}", True),
        ("eq{hop{argmax{all_rows; 1990}; region}; sorn}", False),
        ("eq{hop{all_rows; nowhere}; sorn}", None),  # no such column
        ("round{all_rows}", None),  # no such function
        ("count{all_rows}", None),  # a number is no statement
        ("eq{count{all_rows}; 2", None),  # cannot be read
    ],
)
def test_truth_is_found_on_the_table_whatever_the_file_says(program, truth):
    assert truth_of(f"{program}=True", TABLE) is truth
    assert truth_of(f"{program}=False", TABLE) is truth


LIE, UNTOLD = "eq{count{all_rows}; 3}=True", "eq{count{all_rows}; 2}=False"
RIGHT, ODD = "eq{count{all_rows}; 2}=True", "hop{all_rows; nowhere}=True"


@pytest.mark.parametrize(
    ("programs", "ranks", "support"),
    [
        ([], [], (False, False, 0, 0)),
        ([RIGHT], [0.1], (True, True, 0, 0)),
        ([LIE], [0.1], (False, True, 1, 0)),  # the file lies
        ([UNTOLD], [0.1], (True, False, 1, 0)),  # and the other way
        ([ODD], [0.1], (False, True, 0, 1)),  # what cannot be run supports nothing, and is no difference
        ([LIE, RIGHT, ODD], [0.1, 0.9, 0.2], (True, True, 1, 1)),
        ([LIE] * 36 + [LIE, ODD], [0.1] * 36, (False, True, 36, 0)),  # only those that are looked at
    ],
)
def test_support_by_table_and_by_file(programs, ranks, support):
    assert tuple(support_of(programs, ranks, TABLE)) == support


def scored(folder, tmp_path, entries, table=AS_GOLD):
    """The columns of sentences with programs, by name."""
    path = tmp_path / "scored.json"
    path.write_text(json.dumps(entries), encoding="utf-8")
    rows = [{"id": f"test/{i}", "text": entry[0]} for i, entry in enumerate(entries)]
    gold = {row["id"]: {"title": entry[2], "table": table} for row, entry in zip(rows, entries, strict=True)}
    return {score.name: score for score in sp_acc_family(programs=str(path), checkpoint=str(folder))(rows, gold)}


def test_a_file_that_lies_changes_only_its_own_column(folder, tmp_path):
    honest = scored(folder, tmp_path, [["it rose", [RIGHT], "t"], ["it fell", [LIE.replace("True", "False")], "t"]])
    lying = scored(folder, tmp_path, [["it rose", [UNTOLD], "t"], ["it fell", [LIE], "t"], ["odd", [ODD], "t"]])
    assert {name: score.value for name, score in honest.items()} == {
        "sp-acc": 50.0, "sp-acc[file]": 50.0, "sp-acc[differ]": 0.0, "sp-acc[not_run]": 0.0,
    }  # fmt: skip
    assert {name: score.value for name, score in lying.items()} == {
        "sp-acc": pytest.approx(100 / 3), "sp-acc[file]": pytest.approx(200 / 3),
        "sp-acc[differ]": 2.0, "sp-acc[not_run]": 1.0,
    }  # fmt: skip
    assert [score.unit for score in lying.values()] == ["percent", "percent", "count", "count"]
    assert [score.higher_is_better for score in lying.values()] == [True, True, None, None]
    assert {name: score.signature for name, score in honest.items()} == {
        name: score.signature for name, score in lying.items()
    }
    assert len({score.signature for score in lying.values()}) == 4
    assert "|truth:table|" in lying["sp-acc"].signature
    assert lying["sp-acc"].signature.endswith("|version:2")
    assert METRICS["sp_acc"].version == 2


def test_the_same_programs_are_other_truths_on_another_table(folder, tmp_path):
    entries = [["it rose", [RIGHT], "t"]]
    assert scored(folder, tmp_path, entries)["sp-acc"].value == 100.0
    shorter = {"header": TABLE.header, "rows": TABLE.rows[:1]}
    assert scored(folder, tmp_path, entries, shorter)["sp-acc"].value == 0.0


def test_rows_without_a_table_have_no_value(folder, tmp_path):
    columns = scored(folder, tmp_path, [["it rose", [RIGHT], "t"]], None)
    assert list(columns) == ["sp-acc"]
    assert columns["sp-acc"].value is None
    assert columns["sp-acc"].signature.endswith("|not applicable: no table")


def test_the_column(folder, file):
    texts = ["the river rose", "it fell", "no one was hurt", "the river rose"]
    rows = [{"id": f"test/{i}", "text": text} for i, text in enumerate(texts)]
    gold = {row["id"]: {"title": entry[2], "table": AS_GOLD} for row, entry in zip(rows, ENTRIES, strict=True)}
    family = sp_acc_family(programs=str(file), checkpoint=str(folder))
    score, by_file, *counts = family(rows, gold)
    ranks = rank(read_programs(file), load_ranker(str(folder)))
    truths = {PROGRAMS[0]: True, PROGRAMS[1]: False, PROGRAMS[2]: True}  # "aldra" is in "aldra valley"
    expected = [is_supported([truths[p] for p in entry[1]], some) for entry, some in zip(ENTRIES, ranks, strict=True)]
    assert (score.name, score.value, score.n) == ("sp-acc", 100 * sum(expected) / 4, 4)
    assert (by_file.value, [count.value for count in counts]) == (score.value, [0.0, 0.0])
    assert family(rows[::-1], gold) == [score, by_file, *counts]
    asked = [rows[0] | {"text": "sorn"}], {"test/0": {}}
    (other,) = family(*asked)
    assert other.value is None, "the file is of another system's sentences"
    assert "|not applicable: needs the programs of these sentences in" in other.signature
    assert "got 0 for 'sorn'" in other.signature


def test_titles_decide_between_tables(file):
    parsed = read_programs(file)
    assert programs_of(["the river rose"], ["sorn"], parsed)[0].programs == tuple(PROGRAMS[1:])
    assert programs_of(["it fell"], ["whatever"], parsed) == [parsed[1]]
    with pytest.raises(ValueError, match="got 0 for 'the river rose'"):
        programs_of(["the river rose"], ["upper sorn"], parsed)


@pytest.mark.parametrize("entry", [["a", ["b=True"]], ["a", ["eq{1; 1}"], "t"], ["a", "b=True", "t"], 3, [1, [], "t"]])
def test_files_of_another_form_are_refused(tmp_path, entry):
    path = tmp_path / "other.json"
    path.write_text(json.dumps([ENTRIES[0], entry]), encoding="utf-8")
    with pytest.raises(ValueError, match=r"in other.json, entry 1"):
        read_programs(path)


def test_what_is_missing_is_no_number(folder, file, tmp_path, monkeypatch):
    for name in ("BENCH_SP_PROGRAMS", "BENCH_SP_RANKER"):
        monkeypatch.delenv(name, raising=False)
    rows, gold = [{"id": "a", "text": "it fell"}], {"a": {"table": AS_GOLD}}
    for options, needed in [
        ({}, "needs a file of programs"),
        ({"programs": str(tmp_path / "none.json")}, "needs a file of programs"),
        ({"programs": str(file)}, "needs the authors' ranker"),
        ({"programs": str(file), "checkpoint": str(tmp_path)}, f"needs {tmp_path.name}"),
    ]:
        (score,) = sp_acc_family(**options)(rows, gold)
        assert score.value is None
        assert f"not applicable: {needed}" in score.signature
        assert score.signature.endswith(": bench doctor")
    with pytest.raises(ValueError, match="missing 1"):
        sp_acc_scores([], gold)


def test_a_ranker_without_its_layer_is_refused(folder, tmp_path):
    import shutil

    copy = tiny_verifiers.without_head(shutil.copytree(folder, tmp_path / "ranker"), "proj")
    with pytest.raises(verifiers.NoVerifier, match=r"ranker lacks 2 weights, such as proj.bias"):
        load_ranker(str(copy))


def test_it_is_listed():
    assert (METRICS["sp_acc"].kind, METRICS["sp_acc"].load()) == ("generation", sp_acc_scores)
