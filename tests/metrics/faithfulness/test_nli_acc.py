"""NLI-Acc by a tiny model: which checkpoints are refused, the column, what is not scored."""

import gzip
import io
import json
import os
import shutil
import zipfile
from pathlib import Path

import pytest
import torch

from bench.metrics.faithfulness.checkpoints import NotApplicable
from bench.metrics.faithfulness.nli_acc import (
    Linked,
    load_nli,
    nli,
    nli_family,
    row_cells,
)
from bench.metrics.faithfulness.table_cells import TableText, table_text
from tests.metrics import tiny_nli
from tests.metrics.nli_statements import LONG, SENTENCES, STATEMENTS, TABLE, balanced, logits

torch.set_num_threads(1)
DATA = Path(os.environ.get("BENCH_DATA") or "no data") / "logicnlg"
real = pytest.mark.skipif(not DATA.is_dir(), reason="no tables: set BENCH_DATA to the folder that holds logicnlg/")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return balanced(tmp_path_factory.mktemp("nli"))


@pytest.fixture
def copy(folder, tmp_path):
    return shutil.copytree(folder, tmp_path / "copy")


def test_unused_weights_may_be_there_or_not(folder, copy, tmp_path):
    whole = load_nli(str(folder))
    kept = tiny_nli.changed(copy, lambda weights: {
        name: some for name, some in weights.items() if not name.startswith(("gnn.", "embedding.", "BASE.pooler."))
    } | {"BASE.embeddings.position_ids": torch.arange(512)[None]})  # fmt: skip
    without = load_nli(str(kept))
    linked, sentences = zip(*STATEMENTS, strict=True)
    assert logits(without, linked, sentences) == logits(whole, linked, sentences)
    assert not without.model.training
    assert without.provenance["weights"] != whole.provenance["weights"]
    old = shutil.copytree(folder, tmp_path / "old")
    weights = torch.load(old / tiny_nli.FILE, weights_only=True)
    (old / tiny_nli.FILE).unlink()
    torch.save(weights, old / "model.pt", _use_new_zipfile_serialization=False)  # as PyTorch wrote files in 2020
    torch.save({"bert.x": torch.zeros(1)}, old / "pytorch_model.bin")  # of plain BERT, downloaded with the rest
    assert logits(load_nli(str(old)), linked, sentences) == logits(whole, linked, sentences)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda w: {k: v for k, v in w.items() if not k.startswith("classifier")}, "lacks 2 weights, such as classif"),
        (
            lambda w: {k: v for k, v in w.items() if k != "biflow.encoders.2.norm2.b_2"},
            "lacks 1 weights, such as biflow",
        ),
        (lambda w: w | {"biflow.encoders.3.norm1.a_2": torch.ones(16)}, "has 1 weights of another model, such as bifl"),
        (lambda w: {f"module.{k}": v for k, v in w.items()}, "lacks "),
        (
            lambda w: w | {"classifier.weight": torch.zeros(3, 16)},
            r"has classifier.weight \[3, 16\], expected \[2, 16\]",
        ),
        (lambda w: {"state": w}, "is no state dict but dict"),
        (lambda w: [1], "is no state dict but list"),
    ],
)
def test_other_weights_are_refused(copy, change, why):
    with pytest.raises(NotApplicable, match=rf"copy/model_ep4.pt {why}.*: bench doctor"):
        load_nli(str(tiny_nli.changed(copy, change)))


def test_other_folders_are_refused(copy, tmp_path):
    with pytest.raises(NotApplicable, match=r"^needs nothing: bench doctor"):
        load_nli(str(tmp_path / "no" / "nothing"))
    words = (copy / "vocab.txt").read_text(encoding="utf-8")
    (copy / "vocab.txt").write_text(words + "more\n", encoding="utf-8")
    with pytest.raises(NotApplicable, match=r"copy has \d+ words in vocab.txt, \d+ in its weights: bench doctor"):
        load_nli(str(copy))
    (copy / "vocab.txt").unlink()
    with pytest.raises(NotApplicable, match=r"needs vocab.txt in copy: bench doctor"):
        load_nli(str(copy))
    (copy / "vocab.txt").write_text(words, encoding="utf-8")
    for content in (b"", b"no weights", b"PK\x03\x04 broken"):
        (copy / tiny_nli.FILE).write_bytes(content)
        with pytest.raises(NotApplicable, match=r"copy does not load"):
            load_nli(str(copy))
    torch.save(NotApplicable("x"), copy / tiny_nli.FILE)  # no code is run
    with pytest.raises(NotApplicable, match=r"copy does not load \(ValueError: model_ep4.pt is no file of weights"):
        load_nli(str(copy))
    (copy / tiny_nli.FILE).unlink()
    with pytest.raises(NotApplicable, match=r"needs model_ep4.pt in copy: bench doctor"):
        load_nli(str(copy))


def stored():
    rows, gold = [], {}
    for i, sentence in enumerate(SENTENCES):
        table, columns = ((TABLE, (0, 2)), (LONG, [1]))[i % 2]
        rows.append({"id": f"t{i % 2}/{i:02}", "text": sentence})
        gold[rows[-1]["id"]] = {"table": {"header": table.header, "rows": table.rows}, "columns": columns,
                                "title": "rivers"}  # fmt: skip
    return rows, gold


def test_the_column(folder, monkeypatch):
    rows, gold = stored()
    (score,) = nli_family(checkpoint=str(folder))(rows, gold)
    assert (score.name, score.unit, score.higher_is_better, score.n) == ("nli-acc", "percent", True, 6)
    linked = [Linked(table_text(gold[row["id"]]["table"]), tuple(gold[row["id"]]["columns"]), "rivers") for row in rows]
    expected = nli(linked, SENTENCES, load_nli(str(folder)))
    assert 0 < sum(expected) < 6
    assert score.value == 100 * sum(expected) / 6
    assert nli_family(checkpoint=str(folder))(rows[::-1], gold) == [score]
    monkeypatch.setenv("BENCH_NLI", str(folder))
    assert nli_family()(rows, gold) == [score]
    assert score.signature.startswith("nli-acc|cells:plog|rows:40|columns:linked|max:512|dtype:float32|checkpoint:nli")
    assert score.signature.endswith("|version:1")
    assert str(folder) not in score.signature
    assert "|cells:raw|" in nli_family(cells="raw")(rows, gold)[0].signature


def test_what_cannot_be_scored_is_no_number(folder, tmp_path, monkeypatch):
    monkeypatch.delenv("BENCH_NLI", raising=False)
    rows, gold = stored()
    for change, options, why in [
        ({}, {}, "needs model_ep4.pt of NLI_models.zip, its folder named by BENCH_NLI: bench doctor"),
        ({}, {"checkpoint": str(tmp_path / "a" / "b")}, "needs b: bench doctor"),
        ({"columns": []}, {"checkpoint": str(folder)}, "no linked columns"),
        ({"columns": None}, {"checkpoint": str(folder)}, "no linked columns"),
        ({"title": ""}, {"checkpoint": str(folder)}, "no title"),
        ({"table": None, "columns": None, "title": None}, {}, "no table"),
    ]:
        one_other = gold | {rows[2]["id"]: gold[rows[2]["id"]] | change}
        (score,) = nli_family(**options)(rows, one_other)
        assert score.value is None
        assert score.signature.endswith(f"|version:1|not applicable: {why}")


def test_cells_are_those_of_rows():
    """Pandas gives a row of numbers one type."""
    mixed = TableText(["a", "b"], [["1990", "7.1"], ["3", "nan"]])
    assert row_cells(mixed).rows == [["1990.0", "7.1"], ["3.0", "nan"]]
    for rows in ([["1990", "7"]], [["1990", "7.1"], ["x", "2.0"]], [["True", "1.0"]], [["1_0", "1.0"]], [["-3"]], []):
        assert row_cells(TableText(["a", "b"], rows)).rows == rows


def test_the_column_reads_cells_as_it_is_told(folder, monkeypatch):
    given = []
    monkeypatch.setattr(f"{nli.__module__}.nli", lambda linked, *_: given.extend(linked) or [True] * len(linked))
    table = {"header": ["a", "b"], "rows": [["1990", "7.10"]]}
    for cells in ("plog", "raw"):
        family = nli_family(checkpoint=str(folder), cells=cells)
        family([{"id": "a", "text": "b"}], {"a": {"table": table, "columns": (1,), "title": "t"}})
    assert [one.table.rows for one in given] == [[["1990.0", "7.1"]], [["1990", "7.10"]]]


def real_table(archive, name):
    lines = archive.read(f"all_csv/{name}").decode().splitlines()
    return {"header": lines[0].split("#"), "rows": [line.split("#") for line in lines[1:]]}


@real
def test_real_tables_and_published_sentences_run(folder):
    with gzip.open(DATA / "test_lm.json.gz", "rt", encoding="utf-8") as file:
        references = json.load(file)
    with gzip.open(DATA / "outputs" / "GPT_gpt2_12.65.json.gz", "rt", encoding="utf-8") as file:
        some = list(json.load(file).items())[:6]
    rows, gold = [], {}
    with zipfile.ZipFile(DATA / "all_csv.zip") as archive:
        for name, sentences in some:
            for i, (text, reference) in enumerate(zip(sentences, references[name], strict=True)):
                rows.append({"id": f"{name}/{i}", "text": text})
                gold[rows[-1]["id"]] = {"table": real_table(archive, name), "columns": reference[1],
                                        "title": reference[2]}  # fmt: skip
    (score,) = nli_family(checkpoint=str(folder))(rows, gold)
    assert score.n == len(rows) == 30
    assert 0 <= score.value <= 100


@pytest.mark.slow
@real
def test_real_rows_are_as_pandas_gives_them():
    import pandas

    changed = set()
    with zipfile.ZipFile(DATA / "all_csv.zip") as archive:
        for name in json.loads((DATA / "test_ids.json").read_text(encoding="utf-8")):
            frame = pandas.read_csv(io.BytesIO(archive.read(f"all_csv/{name}")), sep="#")
            found = table_text(real_table(archive, name))
            assert row_cells(found).rows == [[f"{cell}" for cell in frame.iloc[i]] for i in range(len(frame))]
            changed |= {name} if row_cells(found) != found else set()
    assert len(changed) == 1
