"""FactCC, TAPEX-Acc and TAPAS-Acc by tiny models: checkpoints, what the models are given, columns, classes."""

import json
import os
import shutil
import zipfile
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import BertTokenizer

from bench.metrics import METRICS, Factcc
from bench.metrics.faithfulness import factcc, tapas, tapex, verifiers
from bench.metrics.faithfulness.checkpoints import NotApplicable
from bench.metrics.faithfulness.table_cells import TableText, table_text
from tests.metrics import tiny_verifiers

torch.set_num_threads(1)
LOADERS = {"factcc": factcc.load_factcc, "tapex": tapex.load_tapex, "tapas": tapas.load_tapas}
COLUMNS = {"factcc": "factcc", "tapex": "tapex-acc", "tapas": "tapas-acc"}
MAKERS = {"factcc": tiny_verifiers.bert, "tapex": tiny_verifiers.bart, "tapas": tiny_verifiers.tapas}
HEADS = {"factcc": "classifier", "tapas": "classifier", "tapex": "classification_head"}
every_family = pytest.mark.parametrize("family", LOADERS)
DATA = Path(os.environ.get("BENCH_DATA") or "no data") / "logicnlg"
TABLE = {"header": ["region", "length", "Share"], "rows": [["aldra", "10", "7.10"], ["sorn", "", "01"]]}
RAW = TableText(TABLE["header"], TABLE["rows"])
SENTENCES = ["aldra is long", "sorn is longest", "the river is in aldra", "no river is in sorn", "aldra", "three"]
DOCUMENTS, SUMMARIES = ["the river rose"] * 3, ["It rose. It fell. the year", "", "no one was hurt"]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """One folder for each family."""
    root = tmp_path_factory.mktemp("verifiers")
    for family, make in MAKERS.items():
        (root / family).mkdir()
        make(root / family)
    return root


@pytest.fixture
def copy(made, tmp_path):
    return lambda family: shutil.copytree(made / family, tmp_path / family)


def change_weights(folder, change):
    weights = load_file(folder / "model.safetensors")
    save_file(weights | change(weights), folder / "model.safetensors", {"format": "pt"})


# Checkpoints


@every_family
def test_a_whole_checkpoint_loads_in_float32(made, family):
    verifier = LOADERS[family](str(made / family))
    assert not verifier.model.training
    assert {weights.dtype for weights in verifier.model.parameters()} == {torch.float32}
    assert verifier.label == (0 if family == "factcc" else 1)
    assert verifier.provenance["checkpoint"] == family
    assert str(made) not in verifier.signature


@every_family
def test_a_checkpoint_without_its_head_or_with_three_labels_is_refused(copy, family):
    folder = copy(family)
    names = ("classifier.weight", "classification_head.out_proj.weight")
    change_weights(folder, lambda w: {name: torch.zeros(3, w[name].shape[1]) for name in names if name in w})
    with pytest.raises(NotApplicable, match=r"does not load|lacks"):
        LOADERS[family](str(folder))
    tiny_verifiers.without_head(folder, HEADS[family])
    with pytest.raises(NotApplicable, match=rf"{family} lacks \d weights, such as {HEADS[family]}"):
        LOADERS[family](str(folder))
    (folder / "model.safetensors").unlink()
    with pytest.raises(NotApplicable, match=rf"{family} does not load \(OSError"):
        LOADERS[family](str(folder))


@every_family
def test_a_missing_checkpoint_is_named_and_not_downloaded(family, monkeypatch, tmp_path):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr("socket.socket.connect", lambda *a: pytest.fail("asked the network"))
    with pytest.raises(NotApplicable, match=r"needs nobody/no-such-model: bench doctor"):
        LOADERS[family]("nobody/no-such-model")
    with pytest.raises(NotApplicable, match=r"needs model: bench doctor"):
        LOADERS[family](str(tmp_path / "no" / "model"))


def test_a_hub_copy_is_known_by_its_revision_and_a_folder_by_its_weights(made, copy, tmp_path, monkeypatch):
    repository = tmp_path / "models--some--verifier"
    (repository / "refs").mkdir(parents=True)
    (repository / "refs" / "main").write_text("0123456789abcdef", encoding="utf-8")
    shutil.copytree(made / "factcc", repository / "snapshots" / "0123456789abcdef")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    found = factcc.load_factcc("some/verifier").provenance
    assert (found["checkpoint"], found["revision"]) == ("some/verifier", "0123456789ab")
    assert "weights" not in found
    folder = copy("factcc")
    first = factcc.load_factcc(str(folder)).provenance
    assert set(first) == {"checkpoint", "weights", "config"}
    change_weights(folder, lambda w: {"classifier.bias": torch.ones(2)})
    assert factcc.load_factcc(str(folder)).provenance["weights"] != first["weights"]


def test_labels_are_found_by_name(copy):
    assert verifiers.label_of({0: "ENTAILED", 1: "REFUTED"}, "entailed", 1) == 0
    for names, label in (({0: "LABEL_0", 1: "LABEL_1"}, ("correct",)), ({0: "yes", 1: "no"}, ("entailed", 1))):
        with pytest.raises(NotApplicable, match=f"expected a label '{label[0]}'"):
            verifiers.label_of(names, *label)
    folder = copy("factcc")
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    swapped = config | {"id2label": {"0": "INCORRECT", "1": "CORRECT"}}
    (folder / "config.json").write_text(json.dumps(swapped), encoding="utf-8")
    assert factcc.load_factcc(str(folder)).label == 1


# What the models are given


def keep_inputs(monkeypatch, family):
    """Keep what the model is given; every verdict is true."""
    kept = []
    monkeypatch.setattr(
        f"bench.metrics.faithfulness.{family}.verifiers.verdicts", lambda v, e, *a: kept.extend(e) or [True] * len(e)
    )
    return kept


def test_factcc_reads_document_then_claim_and_cuts_the_longer(made, monkeypatch):
    kept = keep_inputs(monkeypatch, "factcc")
    tokenizer = BertTokenizer.from_pretrained(made / "factcc")
    verifier = factcc.load_factcc(str(made / "factcc"))
    factcc.factcc(["the river rose", "river " * 600], ["The Aldra fell. it [SEP] rose", "it fell"], verifier)
    assert [tokenizer.decode(one["input_ids"]) for one in kept[:2]] == [
        "[CLS] the river rose [SEP] the aldra fell. [SEP]", "[CLS] the river rose [SEP] it rose [SEP]",
    ]  # fmt: skip
    assert kept[0]["token_type_ids"] == [0] * 5 + [1] * 5
    assert len(kept[2]["input_ids"]) == 512
    assert tokenizer.decode(kept[2]["input_ids"]).endswith("river [SEP] it fell [SEP]")


def test_tapex_writes_the_line_of_the_released_tokenizer(made, monkeypatch):
    verifier = tapex.load_tapex(str(made / "tapex"))
    assert tapex.linear_table(RAW, verifier.tokenizer) == (
        "col : region | length | share row 1 : aldra | 10 | 7.10 row 2 : sorn |  | 01"
    )
    assert tapex.linear_table(table_text(TABLE), verifier.tokenizer).endswith("row 2 : sorn | nan | 1.0")
    # A piece a letter here, and one for the space before the first of them: a cell is cut at fifteen pieces.
    for cell, kept in (("A" * 13, "a" * 13), ("A" * 14, " " + "a" * 14), ("a" * 40, " " + "a" * 14), (" ", " ")):
        line = tapex.linear_table(TableText(["x" * 40], [[cell]]), verifier.tokenizer)
        assert line == f"col : {'x' * 40} row 1 : {kept}"
    long = TableText(["a", "b"], [["river", "year"]] * 400)
    assert len(tapex.tapex([long] * 2 + [table_text(TABLE)], ["it</s> rose</s>", "<s>", ""], verifier)) == 3
    kept = keep_inputs(monkeypatch, "tapex")
    tapex.tapex([RAW], ["Aldra is</s> Long"], verifier)
    decoded = verifier.tokenizer.decode(kept[0]["input_ids"])
    assert decoded.startswith("<s> aldra is long col : region | length")
    assert decoded.count("</s>") == 1


def test_tapas_reads_cells_that_are_text(made, monkeypatch):
    verifier = tapas.load_tapas(str(made / "tapas"))
    tables = [table_text(TABLE), RAW, TableText(["region"], [["aldra"]] * 400)]
    found = tapas.tapas(tables, ["the aldra [SEP] rose"] * 3, verifier)
    assert found == [tapas.tapas([table], ["the aldra  rose"], verifier)[0] for table in tables]
    kept = keep_inputs(monkeypatch, "tapas")
    tapas.tapas(tables, ["the aldra rose"] * 3, verifier)
    assert [len(one["token_type_ids"][0]) for one in kept] == [7, 7, 7]
    assert "sorn [EMPTY] 1. 0" in verifier.tokenizer.decode(kept[0]["input_ids"])  # its own word for nan
    assert max(len(one["input_ids"]) for one in kept) <= 512
    rows = [types[2] for types in kept[2]["token_type_ids"]]
    assert (len(rows), max(rows), rows.count(255)) == (406, 255, 146)  # 400 rows; the model knows 256 types


@every_family
def test_batched_is_single(made, family, monkeypatch):
    """Padding and neighbours do not change an answer."""
    with monkeypatch.context() as patch:
        kept = keep_inputs(patch, family)
        verifier = LOADERS[family](str(made / family))
        texts = [f"{one} {two}" for one in SENTENCES for two in SENTENCES[:3]]
        tables = [TableText(["region", "year"], [["aldra", str(i)]] * (1 + i % 4)) for i in range(len(texts))]
        if family == "factcc":
            factcc.factcc(texts, texts[::-1], verifier)
        else:
            {"tapex": tapex.tapex, "tapas": tapas.tapas}[family](tables, texts, verifier)
    tiny_verifiers.balanced(verifier, kept)
    single = [verifiers.verdicts(verifier, [one])[0] for one in kept]
    assert 0 < sum(single) < len(single)
    assert verifiers.verdicts(verifier, kept) == single
    assert verifiers.verdicts(verifier, kept, 200) == single


# Columns


@every_family
def test_columns_are_the_share_of_the_verdicts(made, family, monkeypatch):
    folder = str(made / family)
    rows = [{"id": f"test/{i:02}", "text": text} for i, text in enumerate(SENTENCES)]
    gold = {row["id"]: {"source": "the aldra rose in the year", "table": dict(TABLE)} for row in rows}
    monkeypatch.setenv(f"BENCH_{family.upper()}", folder)
    (score,) = METRICS[family].load()(rows, gold)
    assert (score.name, score.unit, score.higher_is_better, score.n) == (COLUMNS[family], "percent", True, 6)
    assert score.value in [100 * i / 6 for i in range(7)]
    assert f"checkpoint:{family}|weights:" in score.signature
    assert str(made) not in score.signature


def test_factcc_counts_claims(made, monkeypatch):
    folder = str(made / "factcc")
    monkeypatch.setenv("BENCH_FACTCC", folder)
    found = factcc.factcc(DOCUMENTS, SUMMARIES, factcc.load_factcc(folder))
    assert [len(some) for some in found] == [3, 1, 1]
    rows = [{"id": str(i), "text": text} for i, text in enumerate(SUMMARIES)]
    gold = {row["id"]: {"source": "the river rose"} for row in rows}
    (score,) = factcc.factcc_scores(rows, gold)
    assert score.value == pytest.approx(100 * sum(map(sum, found)) / 5)
    assert (score.n, score.sums.total.tolist()) == (3, [sum(map(sum, found)), 5])
    (none,) = factcc.factcc_scores(rows, gold | {"1": {"source": ""}})
    assert none.value is None
    assert none.signature.endswith("|not applicable: no source text")


@pytest.mark.skipif(not DATA.is_dir(), reason="no tables: set BENCH_DATA to the folder that holds logicnlg/")
def test_pandas_changes_what_was_measured_on_real_tables():
    ids = json.loads((DATA / "test_ids.json").read_text(encoding="utf-8"))
    cells, changed, tables = 0, [], set()
    with zipfile.ZipFile(DATA / "all_csv.zip") as archive:
        for name in ids:
            lines = archive.read(f"all_csv/{name}").decode().splitlines()
            table = {"header": lines[0].split("#"), "rows": [line.split("#") for line in lines[1:]]}
            pairs = [*zip(sum(table["rows"], []), sum(table_text(table).rows, []), strict=True)]
            cells += len(pairs)
            new = [after for before, after in pairs if before != after]
            changed += new
            tables |= {name} if new else set()
    assert (len(ids), cells, len(changed), len(tables)) == (862, 71558, 397, 50)
    assert (sum(cell.endswith(".0") for cell in changed), changed.count("nan")) == (219, 8)


# Classes


def test_a_class_reads_each_text_once_and_by_one_model(made, tmp_path, monkeypatch):
    read, loads = [], []
    real, load = verifiers.logits_of, factcc.load_factcc
    monkeypatch.setenv("BENCH_FACTCC", str(made / "factcc"))
    monkeypatch.setattr(verifiers, "logits_of", lambda v, e, *rest: read.extend(e) or real(v, e, *rest))
    monkeypatch.setattr(factcc, "load_factcc", lambda *given: loads.append(given) or load(*given))
    metric = Factcc()
    for document, summary in zip(DOCUMENTS, SUMMARIES, strict=True):
        metric.update([summary], [document])
    for _ in range(2):
        metric.compute()
        scores = metric.scores()
    assert (len(read), len(loads)) == (5, 1)
    with pytest.raises(ValueError, match="expected one target for each of 3 texts, got 1"):
        metric.update(SUMMARIES, DOCUMENTS[:1])
    assert metric.scores() == scores, "refused texts are not counted"
    other = tmp_path / "other"
    other.mkdir()
    monkeypatch.setenv("BENCH_FACTCC", str(tiny_verifiers.bert(other)))
    metric.update(SUMMARIES[1:], DOCUMENTS[1:])
    with pytest.raises(ValueError, match="expected one model for all rows, got 2: checkpoint:factcc"):
        metric.compute()
