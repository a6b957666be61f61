"""The diversity columns of stored rows: equal to the functions, whatever the order; what is None; what is refused."""

import pytest

from bench.cells.score import by_people
from bench.metrics.diversity.diversity import diversity_scores
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


def human_scores(rows, gold):
    return diversity_scores([by_people(row) for row in rows], gold)


def test_a_human_row(rows):
    found = values(rows, human_scores)
    assert (found["kld"], found["jsd"]) == (0, 0)
    assert [found[name] for name in COLUMNS if name.startswith("ms-jaccard")] == [100] * 6
    swapped = make_rows([row["reference_ids"] for row in rows], [row["reference_ids"] for row in rows])
    assert human_scores(rows, gold_of(rows)) == diversity_scores(swapped, gold_of(rows))
    assert score(rows)["kld"].signature == score(rows, human_scores)["kld"].signature, "one column"


def test_without_true_continuations_only_what_needs_none_is_defined(rows):
    alone = values([{name: row[name] for name in ("id", "token_ids")} for row in rows])
    whole = values(rows)
    assert {name for name, value in alone.items() if value is None} == set(COLUMNS[:8])
    assert all(alone[name] == whole[name] for name in COLUMNS[8:])


def test_texts_without_tokens_have_no_value_and_a_reason():
    found = score([{"id": name, "text": "a text of no tokenizer"} for name in "ab"])
    assert set(found) == set(COLUMNS)
    assert {column.value for column in found.values()} == {None}
    ends = "|tokens:unknown|not applicable: rows without token_ids"
    assert all(column.signature.endswith(ends) and column.signature != ends for column in found.values())


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (
            [{"id": "a", "token_ids": [1]}, {"id": "b"}],
            r"token_ids in all 2 rows or in none; 1 rows have none: \['b'\]",
        ),
        ([{"id": "a", "token_ids": [1], "reference_ids": [1]}, {"id": "b", "token_ids": [1]}], "reference_ids in all"),
        ([{"id": "a", "token_ids": [1]}, {"id": "a", "token_ids": [1]}], "one row per id"),
        ([{"id": "a", "token_ids": [-1]}], "ids of 0 or more"),
    ],
)
def test_rows_that_cannot_be_scored_say_why(rows, message):
    with pytest.raises(ValueError, match=message):
        diversity_scores(rows, gold_of(rows))
    with pytest.raises(ValueError, match="exactly the 2 ids"):
        diversity_scores([{"id": "a", "token_ids": [1]}], {"a": {}, "b": {}})


def test_means_over_texts_have_sums_and_what_is_of_the_whole_set_has_none(rows):
    means = {"rep", "seq-rep-4", *(f"distinct-{n}{ending}" for n in (1, 2, 3) for ending in ("", "/per_text"))}
    columns = score(rows)
    assert {name for name, column in columns.items() if column.sums is not None} == means
    assert all(columns[name].sums.total[1] == columns[name].n for name in means)
