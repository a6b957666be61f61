"""FactCC, TAPEX-Acc and TAPAS-Acc by tiny models: what the models are given, column values, what is not scored."""

import json
import os
import zipfile
from pathlib import Path

import pytest
import torch
from transformers import BertTokenizer

from bench.metrics.faithfulness.factcc import claims_of, factcc, factcc_family, factcc_scores, load_factcc
from bench.metrics.faithfulness.table_cells import TableText, table_text
from bench.metrics.faithfulness.tapas import load_tapas, tapas, tapas_family, tapas_scores
from bench.metrics.faithfulness.tapex import linear_table, load_tapex, tapex, tapex_family, tapex_scores
from bench.metrics.faithfulness.verifiers import verdicts
from tests.metrics import tiny_verifiers

torch.set_num_threads(1)
FAMILIES = {"factcc": factcc_scores, "tapex": tapex_scores, "tapas": tapas_scores}
WITH_OPTIONS = {"factcc": factcc_family, "tapex": tapex_family, "tapas": tapas_family}
COLUMNS = {"factcc": "factcc", "tapex": "tapex-acc", "tapas": "tapas-acc"}
FOLDERS = {"factcc": "bert", "tapex": "bart", "tapas": "tapas"}
every_family = pytest.mark.parametrize("family", FAMILIES)
DATA = Path(os.environ.get("BENCH_DATA") or "no data") / "logicnlg"
real = pytest.mark.skipif(not DATA.is_dir(), reason="no tables: set BENCH_DATA to the folder that holds logicnlg/")
TABLE = {"header": ["region", "length", "Share"], "rows": [["aldra", "10", "7.10"], ["sorn", "", "01"]]}
SENTENCES = ["aldra is long", "sorn is longest", "the river is in aldra", "no river is in sorn", "aldra", "three"]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """One folder of each kind."""
    root = tmp_path_factory.mktemp("verifiers")
    for kind in FOLDERS.values():
        (root / kind).mkdir()
        getattr(tiny_verifiers, kind)(root / kind)
    return root


def stored(texts, table=TABLE):
    rows = [{"id": f"test/{i:02}", "text": text} for i, text in enumerate(texts)]
    return rows, {row["id"]: {"source": "the aldra rose in the year", "table": dict(table)} for row in rows}


def given(monkeypatch, module):
    """Keep what the model is given."""
    kept = []
    monkeypatch.setattr(
        f"bench.metrics.faithfulness.{module}.verifiers.verdicts", lambda v, e, *a: kept.extend(e) or [True] * len(e)
    )
    return kept


@every_family
def test_columns_are_the_share_of_the_verdicts(made, family, monkeypatch):
    folder = str(made / FOLDERS[family])
    rows, gold = stored(SENTENCES)
    (score,) = WITH_OPTIONS[family](checkpoint=folder)(rows, gold)
    assert (score.name, score.unit, score.higher_is_better, score.n) == (COLUMNS[family], "percent", True, 6)
    assert score.value in [100 * i / 6 for i in range(7)]
    assert f"checkpoint:{FOLDERS[family]}|weights:" in score.signature
    assert str(made) not in score.signature
    assert WITH_OPTIONS[family](checkpoint=folder)(rows[::-1], gold) == [score]
    monkeypatch.setenv(f"BENCH_{family.upper()}", folder)
    assert FAMILIES[family](rows, gold) == [score]


def test_factcc_reads_document_then_claim_and_cuts_the_longer(made, monkeypatch):
    kept = given(monkeypatch, "factcc")
    verifier = load_factcc(str(made / "bert"))
    tokenizer = BertTokenizer.from_pretrained(made / "bert")
    factcc(["the river rose", "river " * 600], ["The Aldra fell. it [SEP] rose", "it fell"], verifier)
    assert [tokenizer.decode(one["input_ids"]) for one in kept[:2]] == [
        "[CLS] the river rose [SEP] the aldra fell. [SEP]", "[CLS] the river rose [SEP] it rose [SEP]",
    ]  # fmt: skip
    assert kept[0]["token_type_ids"] == [0] * 5 + [1] * 5
    assert len(kept[2]["input_ids"]) == 512
    assert tokenizer.decode(kept[2]["input_ids"]).endswith("river [SEP] it fell [SEP]")


def test_factcc_wants_a_source_for_every_row(made):
    rows, gold = stored(["it rose", "it fell"])
    gold[rows[1]["id"]] = {"source": ""}
    (score,) = factcc_family(checkpoint=str(made / "bert"))(rows, gold)
    assert score.value is None
    assert score.signature.endswith("|not applicable: no source text")


def test_factcc_units(made):
    assert claims_of("It rose. It fell.", "summary") == ["It rose. It fell."]
    assert claims_of("It rose\nIt fell") == ["It rose", "It fell"]
    verifier = load_factcc(str(made / "bert"))
    documents, summaries = ["the river rose"] * 3, ["It rose. It fell. the year", "", "no one was hurt"]
    found = factcc(documents, summaries, verifier)
    assert [len(some) for some in found] == [3, 1, 1]
    alone = [factcc([d], [s], verifier)[0] for d, s in zip(documents, summaries, strict=True)]
    assert found == alone
    assert [len(some) for some in factcc(documents, summaries, verifier, "summary")] == [1, 1, 1]
    rows = [{"id": str(i), "text": text} for i, text in enumerate(summaries)]
    gold = {row["id"]: {"source": "the river rose"} for row in rows}
    by_claim, by_summary = (factcc_family(checkpoint=str(made / "bert"), unit=unit)(rows, gold)[0]
                            for unit in ("sentence", "summary"))  # fmt: skip
    assert by_claim.value == pytest.approx(100 * sum(sum(some) for some in found) / 5)
    assert by_claim.signature != by_summary.signature


def test_tapex_writes_the_line_of_the_released_tokenizer(made, monkeypatch):
    verifier = load_tapex(str(made / "bart"))
    assert linear_table(table_text(TABLE, "raw"), verifier.tokenizer) == (
        "col : region | length | share row 1 : aldra | 10 | 7.10 row 2 : sorn |  | 01"
    )
    assert linear_table(table_text(TABLE), verifier.tokenizer).endswith("row 2 : sorn | nan | 1.0")
    kept = given(monkeypatch, "tapex")
    tapex([table_text(TABLE, "raw")], ["Aldra is</s> Long"], verifier)
    decoded = verifier.tokenizer.decode(kept[0]["input_ids"])
    assert decoded.startswith("<s> aldra is long col : region | length")
    assert decoded.count("</s>") == 1


def test_tapex_cuts_a_cell_at_fifteen_pieces(made):
    tokenizer = load_tapex(str(made / "bart")).tokenizer
    # A piece a letter here, and one for the space before the first of them.
    for cell, kept in (("A" * 13, "a" * 13), ("A" * 14, " " + "a" * 14), ("a" * 40, " " + "a" * 14), (" ", " ")):
        line = linear_table(TableText(["x" * 40], [[cell]]), tokenizer)
        assert line == f"col : {'x' * 40} row 1 : {kept}"


def test_tapex_special_tokens_and_long_tables_do_not_stop_it(made):
    verifier = load_tapex(str(made / "bart"))
    long = TableText(["a", "b"], [["river", "year"]] * 400)
    found = tapex([long] * 2 + [table_text(TABLE)] * 2, ["it</s> rose</s>", "<s>", "", "it"], verifier)
    assert len(found) == 4


def test_tapas_reads_cells_that_are_text(made, monkeypatch):
    verifier = load_tapas(str(made / "tapas"))
    tables = [table_text(TABLE), table_text(TABLE, "raw"), TableText(["region"], [["aldra"]] * 400)]
    found = tapas(tables, ["the aldra [SEP] rose"] * 3, verifier)
    assert found == [tapas([table], ["the aldra  rose"], verifier)[0] for table in tables]
    kept = given(monkeypatch, "tapas")
    tapas(tables, ["the aldra rose"] * 3, verifier)
    assert [len(one["token_type_ids"][0]) for one in kept] == [7, 7, 7]
    assert "sorn [EMPTY] 1. 0" in verifier.tokenizer.decode(kept[0]["input_ids"])  # its own word for nan
    assert max(len(one["input_ids"]) for one in kept) <= 512
    rows = [types[2] for types in kept[2]["token_type_ids"]]
    assert (len(rows), max(rows), rows.count(255)) == (406, 255, 146)  # 400 rows; the model knows 256 types


@every_family
def test_batched_is_single(made, family, monkeypatch):
    """Padding and neighbours do not change an answer."""
    kept = given(monkeypatch, family)
    verifier = {"factcc": load_factcc, "tapex": load_tapex, "tapas": load_tapas}[family](str(made / FOLDERS[family]))
    texts = [f"{one} {two}" for one in SENTENCES for two in SENTENCES[:3]]
    tables = [TableText(["region", "year"], [["aldra", str(i)]] * (1 + i % 4)) for i in range(len(texts))]
    if family == "factcc":
        factcc(texts, texts[::-1], verifier, "summary")
    else:
        {"tapex": tapex, "tapas": tapas}[family](tables, texts, verifier)
    tiny_verifiers.balanced(verifier, kept)
    single = [verdicts(verifier, [one])[0] for one in kept]
    assert 0 < sum(single) < len(single)
    assert verdicts(verifier, kept) == single
    assert verdicts(verifier, kept, 200) == single


def test_cells_of_a_table():
    with pytest.raises(ValueError, match="expected cells plog or raw"):
        table_text(TABLE, "other")
    assert table_text({"header": ["a"], "rows": []}).rows == []


@real
def test_pandas_changes_what_was_measured_on_real_tables():
    ids = json.loads((DATA / "test_ids.json").read_text(encoding="utf-8"))
    changed = pointed = nan = cells = 0
    tables = set()
    with zipfile.ZipFile(DATA / "all_csv.zip") as archive:
        for name in ids:
            lines = archive.read(f"all_csv/{name}").decode().splitlines()
            table = {"header": lines[0].split("#"), "rows": [line.split("#") for line in lines[1:]]}
            for before, after in zip(table["rows"], table_text(table).rows, strict=True):
                for one, two in zip(before, after, strict=True):
                    cells += 1
                    changed += one != two
                    pointed += one != two and two.endswith(".0")
                    nan += one != two and two == "nan"
                    tables |= {name} if one != two else set()
    assert (len(ids), cells, changed, len(tables), pointed, nan) == (862, 71558, 397, 50, 219, 8)
