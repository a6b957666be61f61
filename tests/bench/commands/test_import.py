"""`bench import`: texts of other systems are rows, scores and lines of tables, and the nine published outputs score
what was published."""

import gzip
import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from bench.leaderboards.table import tables
from bench.store.reading import is_imported
from bench.store.store import CellFolder, Store
from bench.tasks.xsum import XSum
from tests.conftest import Bench, call
from tests.leaderboards.published.test_published_systems import SENTENCE_BLEU
from tests.metrics.rouge_cases import needs_forms

ROWS = "20"
XSUM = ("import", "--task", "xsum")


def sample_rows() -> list[Any]:
    return list(XSum().sample("test"))


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    """The references of XSum's built-in test rows as the output of a system, a line each."""
    path = tmp_path / "outputs.txt.gz"
    lines = [row.references[0].replace("\n", " ") for row in sample_rows()]
    path.write_bytes(gzip.compress("".join(f"{line}\n" for line in lines).encode()))
    return path


def only_cell(results: Path, system: str) -> CellFolder:
    (cell,) = [cell for cell in Store(results).cells() if cell.path.parts[-2] == system]
    return cell


def test_texts_become_rows_and_scores(bench: Bench, texts: Path, tmp_path: Path) -> None:
    results = tmp_path / "results"
    ended = bench(*XSUM, "--system", "oracle", str(texts), "--results", str(results))
    assert ended.code == 0, ended.err
    assert f"oracle: {len(sample_rows())} texts of outputs.txt.gz" in ended.out
    assert "\n  rouge-1  100.00\n" in ended.out
    cell = only_cell(results, "oracle")
    trained = cell.trained()
    assert trained is not None
    assert is_imported(trained)
    assert "model" not in trained
    assert trained["train"]["steps"] == 0
    assert len(trained["imported"]["file"]["sha256"]) == 64
    (stored,) = cell.all_rows()
    assert [row["id"] for row in stored.rows] == sorted(row.id for row in sample_rows())
    again = bench(*XSUM, "--system", "oracle", str(texts), "--results", str(results))
    assert again.out == ended.out
    assert len(only_cell(results, "oracle").all_rows()) == 1
    assert bench("store", "verify", str(results)).code == 0
    assert bench("score", str(results), "--metrics", "overlap").code == 0


def test_data_of_imported_texts_is_found_again(bench: Bench, tmp_path: Path) -> None:
    data, texts, results = tmp_path / "my.csv", tmp_path / "texts.txt", str(tmp_path / "results")
    data.write_text("source,target\n" + "".join(f"question {number},answer {number}\n" for number in range(60)))
    where = ("--set", f"task.path={data}", f"task.test_path={data}")
    texts.write_text("".join(f"answer {number}\n" for number in range(60)))
    ended = bench("import", "--task", "pairs", "--system", "other", str(texts), "--results", results, *where)
    assert ended.code == 0, ended.err
    for scores in (tmp_path / "results").rglob("scores-*"):
        scores.unlink()
    ended = bench("score", results)
    assert ended.code == 0, ended.err


@pytest.fixture
def beside(bench: Bench, texts: Path, tmp_path: Path) -> Path:
    """A store with a baseline of ours on a declared subset, and the texts of a system for the same rows."""
    results = tmp_path / "results"
    run = ("run", "--task", "xsum", "--method", "lead", "--quiet", "--set", f"evaluation.rows={ROWS}")
    assert bench(*run, "--results", str(results)).code == 0
    ended = bench(*XSUM, "--system", "oracle", str(texts), "--rows", ROWS, "--results", str(results))
    assert ended.code == 0, ended.err
    assert "oracle: 20 texts of outputs.txt.gz" in ended.out
    return results


def test_a_table_has_their_line_beside_ours(bench: Bench, beside: Path) -> None:
    (table,), _ = tables(Store(beside))
    assert table.preset == "small"
    (theirs,) = [row for row in table.rows if row.imported]
    assert (theirs.method, theirs.backbone, theirs.label) == ("oracle", "", "oracle [imported]")
    assert {row.method for row in table.rows} == {"oracle", "lead"}
    assert table.rows[0] is theirs
    text = bench("report", "--results", str(beside)).out
    assert "oracle [imported]" in text
    assert "texts of another system, from outputs.txt.gz (SHA-256 " in text
    board = json.loads(bench("report", "--results", str(beside), "--json").out)
    assert "imported" in json.dumps(board)


def test_samples_compare_page_and_verify_take_them(bench: Bench, beside: Path) -> None:
    shown = bench("samples", "--task", "xsum", "--n", "1", "--results", str(beside))
    assert shown.code == 0, shown.err
    assert "oracle" in shown.out
    assert "lead" in shown.out
    keys = [only_cell(beside, name).path.name for name in ("oracle", "lead")]
    compared = bench("compare", *keys, "--results", str(beside))
    assert "imported.file.sha256: " in compared.out
    assert "NOT ONLY THE OBJECTIVE DIFFERS" in compared.out
    assert bench("report", "--format", "html", "--results", str(beside)).code == 0
    assert "oracle" in (beside / "leaderboard.html").read_text(encoding="utf-8")
    assert "0 differences" in bench("store", "verify", str(beside)).out
    for others in (("store", "status"), ("claims",)):
        ended = bench(*others, "--results", str(beside))
        assert ended.code == 0, (others, ended.err)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--task", "xsum", "--system", "lead"), "'lead' is a method of this program; .*lead-published"),
        (("--task", "xsum", "--system", "histalign.mine"), "'histalign.mine' is a .* e.g. histalign-mine-pub"),
        (("--task", "xsum", "--system", "../x"), "--system is a name of lower-case letters"),
        (("--task", "ambiguous_template", "--system", "x"), "has no generated texts"),
        (("--task", "text", "--system", "x"), "prompts of 'text' are cut by a model's tokenizer"),
        (("--task", "xsum", "--system", "x", "--set", "task.pth=x"), "has no option 'pth'"),
    ],
)
def test_what_cannot_be_imported_is_refused(
    bench: Bench, texts: Path, tmp_path: Path, arguments: tuple[str, ...], says: str
) -> None:
    ended = bench("import", str(texts), *arguments, "--results", str(tmp_path / "results"))
    assert ended.code != 0
    assert re.search(says, ended.err), ended.err
    assert not list((tmp_path / "results").rglob("trained.json"))


# The published outputs

DATA = Path(os.environ.get("BENCH_DATA") or "no data")
published = pytest.mark.skipif(
    not (DATA / "xsum").is_dir(), reason="no published outputs: set BENCH_DATA to the folder with xsum/ and logicnlg/"
)


def imported(results: Path, task: str, system: str, path: Path, data: Path) -> dict[str, float]:
    ended = call("import", "--task", task, "--system", system, str(path), "--results", str(results),
                 "--data-dir", str(data))  # fmt: skip
    assert ended.code == 0, ended.err
    scores = only_cell(results, system).all_scores()
    return {value["name"]: value["value"] for score in scores for value in score["values"]}


@pytest.fixture(scope="module")
def official_test(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """XSum's official test split without its articles, which are not here: ids and summaries, in the official order."""
    folder = tmp_path_factory.mktemp("data") / "xsum"
    folder.mkdir()
    listed = json.loads(gzip.decompress((DATA / "xsum" / "XSum-TRAINING-DEV-TEST-SPLIT-90-5-5.json.gz").read_bytes()))
    packed = (DATA / "xsum" / "official_test_outputs" / "gold-test-sentences.txt.gz").read_bytes()
    summaries = gzip.decompress(packed).decode().split("\n")[: len(listed["test"])]
    rows = [{"id": i, "document": "", "summary": text} for i, text in zip(listed["test"], summaries, strict=True)]
    (folder / "test.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return folder.parent


SYSTEMS = [pytest.param(name, marks=pytest.mark.slow) for name in ("ptgen", "lead", "ext-oracle")]


@published
@needs_forms
@pytest.mark.parametrize("system", SYSTEMS)
def test_published_outputs_for_xsum_have_the_figures_of_their_logs(
    tmp_path: Path, official_test: Path, system: str
) -> None:
    folder = DATA / "xsum" / "official_test_outputs"
    values = imported(tmp_path, "xsum", f"{system}-narayan", folder / f"{system}-test-output.txt.gz", official_test)
    log = (folder / f"{system}-test-output.rouge").read_text().splitlines()[0]
    logged = [float(value) for value in log.rpartition(" ")[2].split("/")[:4]]
    found = [values[f"rouge-{kind}/1.5.5"] for kind in ("1", "2", "3", "l")]
    assert found == pytest.approx(logged, abs=0.02)
    assert values["rouge-1"] < found[0] - 0.25, "rouge-score does not know irregular forms"


FILES = {
    "GPT_gpt2_12.65": "gpt2-wenhuchen",
    "GPT_gpt2_C2F_13.35": "gpt2-coarse-to-fine-wenhuchen",
    "plog_bart-large": "bart-large-plog-repo",
    "plog_plog-bart-large": "plog-bart-large",
    "plog_plog-t5-base": "plog-t5-base",
    "plog_t5-large": "t5-large-plog-repo",
}
"""The published files, and the names under which their systems are kept."""
NAMES = [pytest.param(name, marks=pytest.mark.slow) for name in FILES]


@published
@pytest.mark.parametrize("name", NAMES)
def test_published_outputs_for_logicnlg_have_their_figures(tmp_path: Path, name: str) -> None:
    values = imported(tmp_path, "logicnlg", name.lower(), DATA / "logicnlg" / "outputs" / f"{name}.json.gz", DATA)
    assert [values[f"sentence-bleu-{n}"] for n in (1, 2, 3)] == pytest.approx(SENTENCE_BLEU[FILES[name]], abs=0.0051)
