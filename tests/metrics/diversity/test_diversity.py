"""The diversity columns of stored rows: equal to the functions, whatever the order; what is None; what is refused."""

import math
import subprocess
import sys

import pytest

from bench.cells.score import by_people
from bench.leaderboards.statistics.analysis import add_statistics
from bench.leaderboards.table import tables
from bench.metrics import CLASSES
from bench.metrics.diversity.diversity import diversity_scores
from bench.metrics.torch import metric_class
from bench.store.store import Store
from tests.leaderboards.handmade import scored, trained
from tests.metrics.diversity_cases import (
    distinct,
    jsd,
    kld,
    ms_jaccard,
    repetition,
    self_bleu,
    seq_rep,
    uniq,
    zipf_texts,
)

COLUMNS = [
    "kld", "jsd",
    "ms-jaccard-1", "ms-jaccard-2", "ms-jaccard-3",
    "ms-jaccard-1/f2_code", "ms-jaccard-2/f2_code", "ms-jaccard-3/f2_code",
    "self-bleu-1", "self-bleu-2", "self-bleu-3", "self-bleu-4",
    "self-bleu-1/original", "self-bleu-2/original", "self-bleu-3/original", "self-bleu-4/original",
    "distinct-1", "distinct-2", "distinct-3",
    "distinct-1/per_text", "distinct-2/per_text", "distinct-3/per_text",
    "distinct-1/original", "distinct-2/original", "distinct-3/original",
    "rep", "uniq", "seq-rep-4",
]  # fmt: skip


def make_rows(texts, references=None):
    rows = [{"id": f"test/{n}", "text": "", "token_ids": text} for n, text in enumerate(texts)]
    if references is not None:
        rows = [{**row, "reference_ids": ids} for row, ids in zip(rows, references, strict=True)]
    return rows


def gold_of(rows):
    return {row["id"]: {} for row in rows}


def score(rows, by=diversity_scores):
    return {found.name: found for found in by(rows, gold_of(rows))}


def values(rows, by=diversity_scores):
    return {name: found.value for name, found in score(rows, by).items()}


@pytest.fixture(scope="module")
def rows():
    texts, references = zipf_texts(30, 40, seed=1, types=200, shortest=0), zipf_texts(30, 40, seed=2, types=200)
    texts[3] = [1, 2, 3] * 10
    return make_rows(texts, references)


def test_the_columns_are_those_of_the_functions(rows):
    texts, references = [row["token_ids"] for row in rows], [row["reference_ids"] for row in rows]
    expected = [
        kld(texts, references), jsd(texts, references),
        *ms_jaccard(texts, references), *ms_jaccard(texts, references, definition="f2_code"),
        *self_bleu(texts), *self_bleu(texts, definition="original"),
        *(distinct(texts, n, d) for d in ("f2_code", "per_text", "original") for n in (1, 2, 3)),
        repetition(texts), uniq(texts), seq_rep(texts),
    ]  # fmt: skip
    assert values(rows) == dict(zip(COLUMNS, expected, strict=True))
    assert list(values(rows)) == COLUMNS
    assert values(rows)["rep"] == pytest.approx(100 / 30)


def test_units_directions_and_numbers_of_texts(rows):
    found = score(rows)
    assert {name for name, one in found.items() if one.higher_is_better} == {
        name for name in COLUMNS if name.startswith(("ms-jaccard", "distinct", "uniq"))
    }
    assert {one.unit for name, one in found.items() if "-bleu" in name or "jacc" in name or "dist" in name} == {
        "percent"
    }
    assert {name: found[name].unit for name in ("kld", "jsd", "rep", "uniq", "seq-rep-4")} == {
        "kld": "nats", "jsd": "nats", "rep": "percent", "uniq": "count", "seq-rep-4": "fraction",
    }  # fmt: skip
    lengths = [len(row["token_ids"]) for row in rows]
    assert found["kld"].n == found["self-bleu-1"].n == found["distinct-1/original"].n + lengths.count(0) == 30
    assert found["distinct-1"].n == sum(length > 5 for length in lengths) < 30
    assert found["seq-rep-4"].n == sum(length > 3 for length in lengths)


def human_scores(rows, gold):
    return diversity_scores([by_people(row) for row in rows], gold)


def test_a_human_row(rows):
    found = values(rows, human_scores)
    assert (found["kld"], found["jsd"]) == (0, 0)
    assert [found[name] for name in COLUMNS if name.startswith("ms-jaccard")] == [100] * 6
    swapped = make_rows([row["reference_ids"] for row in rows], [row["reference_ids"] for row in rows])
    assert human_scores(rows, gold_of(rows)) == diversity_scores(swapped, gold_of(rows))
    assert score(rows)["kld"].signature == score(rows, human_scores)["kld"].signature, "one column"


def test_signatures_differ_by_column_by_tokenizer_and_by_number_of_texts(rows):
    signatures = [found.signature for found in score(rows).values()]
    assert len(set(signatures)) == len(COLUMNS)
    other_ids = [{**row, "reference_ids": [token + 1 for token in row["reference_ids"]]} for row in rows]
    shorter = [{**row, "reference_ids": row["reference_ids"][:20]} for row in rows]
    moved = [{**row, "reference_ids": ids} for row, ids in zip(rows, [[1, 2], [3], *[[4]] * 28], strict=True)]
    split = [{**row, "reference_ids": ids} for row, ids in zip(rows, [[1], [2, 3], *[[4]] * 28], strict=True)]
    for changed in (other_ids, shorter, rows[:29]):
        assert score(changed)["uniq"].signature != score(rows)["uniq"].signature
    assert score(moved)["uniq"].signature != score(split)["uniq"].signature
    other_texts = [{**row, "token_ids": [1]} for row in rows]
    assert score(other_texts)["uniq"].signature == score(rows)["uniq"].signature


def test_without_true_continuations_only_what_needs_none_is_defined(rows):
    alone = values([{name: row[name] for name in ("id", "token_ids")} for row in rows])
    whole = values(rows)
    assert {name for name, value in alone.items() if value is None} == set(COLUMNS[:8])
    assert all(alone[name] == whole[name] for name in COLUMNS[8:])


def test_one_text_and_empty_texts():
    one = values(make_rows([[1, 2, 3, 4, 5, 6]], [[1, 2, 3]]))
    undefined = {name for name in COLUMNS if name.startswith("self-bleu")}
    assert {name for name, value in one.items() if value is None} == undefined
    empty = values(make_rows([[], []], [[1, 2, 3], [1]]))
    assert {name: value for name, value in empty.items() if value is not None} == {"rep": 0, "uniq": 0}
    human = values(make_rows([[], []], [[1, 2, 3], [1]]), human_scores)
    assert human["kld"] == 0
    assert human["ms-jaccard-3"] == 100
    assert human["distinct-1"] is None
    assert all(value is None or math.isfinite(value) for value in human.values())


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([{"id": "a", "text": "x"}], "expected rows with token_ids, got 1 without"),
        (
            [{"id": "a", "token_ids": [1]}, {"id": "b"}],
            r"token_ids in all 2 rows or in none; 1 rows have none: \['b'\]",
        ),
        ([{"id": "a", "token_ids": [1], "reference_ids": [1]}, {"id": "b", "token_ids": [1]}], "reference_ids in all"),
        ([{"id": "a", "token_ids": [1]}, {"id": "a", "token_ids": [1]}], "one row per id"),
        ([{"id": "a", "token_ids": [-1]}], "ids of 0 or more"),
    ],
)
def test_rows_that_cannot_be_scored_say_why(rows, said):
    with pytest.raises(ValueError, match=said):
        diversity_scores(rows, gold_of(rows))
    with pytest.raises(ValueError, match="exactly the 2 ids"):
        diversity_scores([{"id": "a", "token_ids": [1]}], {"a": {}, "b": {}})


# Sums over texts


SUMMED = {"rep", "seq-rep-4", *(f"distinct-{n}{ending}" for n in (1, 2, 3) for ending in ("", "/per_text"))}


def test_means_over_texts_have_sums_and_what_is_of_the_whole_set_has_none(rows):
    columns = score(rows)
    assert {name for name, column in columns.items() if column.sums is not None} == SUMMED
    for name in SUMMED:
        assert columns[name].sums.value == columns[name].value
        assert len(columns[name].sums) == len(rows)
        assert columns[name].sums.total[1] == columns[name].n


def test_the_sums_of_a_text_are_its_own_value(rows):
    """In the order of ids; a text that is too short counts for nothing."""
    columns, texts = score(rows[::-1]), [row["token_ids"] for row in sorted(rows, key=lambda row: row["id"])]
    functions = {
        "distinct-2": lambda text: distinct([text], 2),
        "distinct-3/per_text": lambda text: distinct([text], 3, "per_text"),
        "rep": lambda text: repetition([text]),
        "seq-rep-4": lambda text: seq_rep([text]),
    }
    for name, value_of_text in functions.items():
        form = columns[name].sums.form
        for text, (top, below) in zip(texts, columns[name].sums.values.tolist(), strict=True):
            expected = value_of_text(text)
            assert (form.scale * top, below) == ((0, 0) if expected is None else (pytest.approx(expected), 1))


def looping(texts, every):
    """The texts, of which every so many-th says one phrase again and again."""
    return [text[:4] * 10 if place % every == 0 else text for place, text in enumerate(texts)]


def test_a_leaderboard_tests_and_bounds_these_columns(tmp_path):
    """Three seeds of two methods on made-up texts: intervals over seeds and texts, and a p-value against MLE."""
    references = zipf_texts(60, 40, seed=9, types=200)
    for method, every in (("mle", 2), ("face", 30)):
        for seed in range(3):
            texts = looping(zipf_texts(60, 40, seed=seed, types=200), every + seed % 2)
            columns = score(make_rows(texts, references))
            sums = {name: columns[name].sums for name in SUMMED}
            cell = trained(tmp_path, method, seed, task="wikitext103")
            scored(cell, {name: columns[name].value for name in [*SUMMED, "self-bleu-2"]}, items=sums)
    (table,), _ = tables(Store(tmp_path), columns="all")
    add_statistics(table, 999)
    by_method = {row.method: row.values for row in table.rows}
    for name in SUMMED:
        (judgement,) = [of for column, of in by_method["face"].items() if column.split("[")[0] == name]
        assert judgement.half is not None, name
        assert judgement.p_items < 0.05, name
        assert judgement.low <= judgement.difference <= judgement.high, name
    assert by_method["face"]["rep"].difference < -20
    assert by_method["face"]["self-bleu-2"].p_items is None
    assert by_method["face"]["self-bleu-2"].p is not None


# Torchmetrics classes


@pytest.mark.parametrize("name", [name for name, made_of in CLASSES.items() if made_of.family == "diversity"])
def test_a_class_of_some_columns_gives_the_familys_bits(rows, name):
    metric, whole = metric_class(name)(), metric_class(name)(columns=["*"])
    for batch in (rows[20:], rows[:20]):
        metric.update_rows(batch, gold_of(rows))
        whole.update_rows(batch, gold_of(rows))
    family = diversity_scores(rows, gold_of(rows))
    assert whole.scores() == family
    assert metric.scores() == [column for column in family if column.name in metric.columns]


def test_scoring_does_not_import_torch():
    code = "import sys, bench.metrics.diversity.diversity;print({'torch', 'nltk', 'torchmetrics'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
