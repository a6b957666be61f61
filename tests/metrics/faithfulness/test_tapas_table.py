"""What TAPAS is given of a table and a sentence is what the released tokenizer makes of them."""

import json
import os
import random
import zipfile
from pathlib import Path

import pandas
import pytest
from transformers import TapasTokenizer

from bench.metrics.faithfulness.table_cells import TableText, table_text
from bench.metrics.faithfulness.tapas import TapasTable
from tests.metrics import tiny_verifiers

DATA = Path(os.environ.get("BENCH_DATA") or "no data") / "logicnlg"
CELLS = [
    "", " ", "nan", "aldra", "the river of aldra", "rivers rose", "7", "7.10", "-3", "1,200", "12%", "3rd", "third",
    "none", "may 5, 1999", "1999-05-12", "june 2001", "2001", "5 - 2", "n/a", "x" * 120, "é", "水 river", "the " * 30,
    "#", "##s",
]  # fmt: skip
SENTENCES = ["", "the river rose 7 times", "aldra is third in june 2001", "no river", "1,200 and 7.10 and 2001",
             "rivers " * 60, "a" * 150, "in may 1999 it was 12"]  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tiny_verifiers.with_words(tmp_path_factory.mktemp("tapas"))


@pytest.fixture(scope="module")
def tokenizer(folder):
    return TapasTokenizer.from_pretrained(folder)


def released(tokenizer, table, sentence, longest):
    """What the released tokenizer makes; None where it says that sentence and header are too long."""
    frame = pandas.DataFrame(table.rows, columns=table.header, dtype=object)
    try:
        return dict(tokenizer(table=frame, queries=sentence, truncation=True, max_length=longest))
    except ValueError as error:
        if "given the maximum length" in str(error):
            return None
        raise


def alike(tokenizer, table, sentences, longest=512):
    once = TapasTable(table, tokenizer)
    for sentence in sentences:
        if (wanted := released(tokenizer, table, sentence, longest)) is None:
            with pytest.raises(ValueError, match=f"at most {longest} pieces"):
                once.encode(sentence, longest)
            continue
        assert once.encode(sentence, longest) == wanted, (table, sentence)


@pytest.mark.parametrize("seed", [*range(8), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(8, 40))])
def test_any_table_and_sentence(tokenizer, seed):
    rng = random.Random(seed)
    width, height = rng.randint(1, 5), rng.choice([0, 1, 2, 3, 8])
    table = TableText([rng.choice(CELLS) for _ in range(width)],
                      [[rng.choice(CELLS) for _ in range(width)] for _ in range(height)])  # fmt: skip
    for longest in (512, 60, 20):
        alike(tokenizer, table, SENTENCES, longest)


@pytest.mark.parametrize("kind", ["numbers", "dates", "ties"])
def test_columns_of_numbers_and_dates_have_ranks_and_relations(tokenizer, kind):
    cells = {"numbers": ["7", "12.5", "7", "-3"], "dates": ["may 5, 1999", "june 2, 2001", "may 1, 1999", "2001"],
             "ties": ["1", "1", "1", "one"]}[kind]  # fmt: skip
    table = TableText(["a", "b"], [[cell, "aldra"] for cell in cells])
    alike(tokenizer, table, SENTENCES)
    types = TapasTable(table, tokenizer).encode("it rose 7 in june 2001 , 1", 512)["token_type_ids"]
    assert max(row[4] for row in types) >= 1
    assert {row[6] for row in types} != {0}


@pytest.mark.parametrize("options", [{"cell_trim_length": 2}, {"strip_column_names": True}, {"max_question_length": 5},
                                     {"min_question_length": 4}, {"max_row_id": 4}])  # fmt: skip
def test_the_options_of_a_checkpoints_tokenizer_count(folder, options):
    tokenizer = TapasTokenizer.from_pretrained(folder, **options)
    table = TableText(["the region", "the length"], [["rivers of aldra and sorn", str(i)] for i in range(9)])
    for longest in (512, 50, 25):
        alike(tokenizer, table, SENTENCES, longest)


def test_too_many_columns_and_uneven_rows_are_refused(folder):
    tokenizer = TapasTokenizer.from_pretrained(folder, max_column_id=4)
    alike(tokenizer, TableText(["a"] * 3, [["7"] * 3]), SENTENCES[:2])
    with pytest.raises(ValueError, match="fewer than 4 columns, got 4"):
        TapasTable(TableText(["a"] * 4, []), tokenizer)
    with pytest.raises(ValueError, match="expected 2 cells in every row, got 1 in row 1"):
        TapasTable(TableText(["a", "b"], [["1", "2"], ["3"]]), tokenizer)


@pytest.mark.slow
@pytest.mark.skipif(not DATA.is_dir(), reason="no tables: set BENCH_DATA to the folder that holds logicnlg/")
def test_real_tables(tokenizer):
    ids = json.loads((DATA / "test_ids.json").read_text(encoding="utf-8"))[::40]
    with zipfile.ZipFile(DATA / "all_csv.zip") as archive:
        for name in ids:
            lines = archive.read(f"all_csv/{name}").decode().splitlines()
            table = {"header": lines[0].split("#"), "rows": [line.split("#") for line in lines[1:]]}
            alike(tokenizer, table_text(table), SENTENCES[:3])
