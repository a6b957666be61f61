"""Snapshots: they read as the store they were made of, are never written, and no damage passes."""

import json
import random
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet

from bench.base.keys import sha256
from bench.board.board import load
from bench.errors import MissingError, StoreError, UsageError
from bench.metrics.sums import Sums, bleu, mean, perplexity
from bench.store.checkpoints import load_verified
from bench.store.export import export
from bench.store.joining import join
from bench.store.snapshot import MANIFEST, SCORES, STATISTICS, Snapshot, is_snapshot
from bench.store.store import Store, cell_at, cells_below
from tests.bench.example_cells import KEY, OF, PROVENANCE, ROWS, TRAINED
from tests.conftest import Bench
from tests.leaderboards.handmade import scored, trained

METHODS = ("mle", "trime")
GRID = {"tried": [{"trainer.lr": 0.1}]}
TEXT = "é\u2028\ud83d\n"  # a lone surrogate too
SUMS = {
    "bleu-1": Sums(bleu((1.0, 0.0), "tiny"), [[1, 0, 3, 2, 3, 300], [2, 1, 4, 3, 4, 70_000]]),
    "ppl": Sums(perplexity(), [[0.1 + 0.2, 3], [5e-324, 2**40]]),
    "sum": Sums(mean(1), [[-3, 1], [2.0**60, 1]]),
}


def value(name: str, number: float | None) -> dict[str, object]:
    return {"name": name, "value": number, "unit": "", "higher_is_better": None, "n": 2, "signature": f"{name}|a:1"}


def filled(root: Path) -> Store:
    """A store of two runs with all kinds of file and equal statistics, and one run that failed."""
    store = Store(root)
    for method in METHODS:
        cell = store.cell("toy", method, KEY)
        cell.write_rows("aa", OF, ROWS, PROVENANCE)
        numbers = {name: sums.value for name, sums in SUMS.items()}
        values = [value(name, number) for name, number in {"none": None, **numbers, "tiny": 5e-324}.items()]
        people = {"human": [value("sum", 0.1)], "text": TEXT}
        shared = {"family": "own", "of": OF, "version": 1}
        cell.write_record(
            "scores-bb.json", {**shared, **people, "values": values, "items": cell.write_sums(SUMS)}, PROVENANCE
        )
        cell.write_record(
            "scores-dd.json", {**shared, "family": "nothing", "values": []}, {**PROVENANCE, "wall_s": 0.1}
        )
        cell.write_record("grid-cc.json", GRID, PROVENANCE)
        whole = {**TRAINED, "method": {}, "data": {}, "config": {**TRAINED["config"], "method": method}}
        cell.write_trained(whole, PROVENANCE)
    store.cell("toy", "zero", KEY).write_record("failed.json", {"status": "failed", "error": "no"}, PROVENANCE)
    return store


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    filled(tmp_path / "results")
    return tmp_path / "results"


@pytest.fixture
def board(folder: Path) -> Path:
    path = folder.with_name("board")
    export(folder, path)
    return path


# What is in it ----------------------------------------------------------------------------------------------------


def test_every_record_and_every_statistic_comes_back_to_the_bit(folder: Path, board: Path) -> None:
    on_disk, kept = cells_below(folder), list(Store(board).cells())
    assert [cell.path.relative_to(board) for cell in kept] == [cell.path.relative_to(folder) for cell in on_disk]
    assert len(kept) == len(METHODS)
    for ours, theirs in zip(kept, on_disk, strict=True):
        assert ours.names("*.json") == theirs.names("*.json")
        for name in ours.names("*.json"):
            assert ours.record(name) == theirs.record(name)
        assert ours.trained() == theirs.trained()
        assert ours.record("trained.json")["provenance"] == PROVENANCE
        assert ours.all_scores() == theirs.all_scores()
        assert ours.contents("grid-*.json") == theirs.contents("grid-*.json") == [GRID]
        assert ours.content("failed.json") is None
        (digest,) = {scores["items"] for scores in ours.all_scores() if "items" in scores}
        assert ours.sums(digest) == SUMS
        assert list(ours.sums_file(digest).columns) == list(theirs.sums_file(digest).columns) == sorted(SUMS)
    again = folder.with_name("again")
    join(board, again)
    copies = [path for path in again.rglob("*") if path.is_file()]
    assert {path.name.partition("-")[0] for path in copies} == {"trained.json", "scores", "grid", "items"}
    for path in copies:
        assert path.read_bytes() == (folder / path.relative_to(again)).read_bytes()


def test_the_table_of_scores_is_the_tidy_frame(board: Path) -> None:
    frame = pd.read_parquet(board / SCORES)
    assert list(frame.columns[:10]) == [
        "task", "split", "method", "backbone", "decoding", "seed", "metric", "value", "signature", "watermark"
    ]  # fmt: skip
    means = frame[frame.metric == "ppl"].groupby("method").value.mean()
    assert means.to_dict() == dict.fromkeys(METHODS, SUMS["ppl"].value)
    assert set(frame[frame.author == "human"].method) == {"human"}
    lists = parquet.read_table(board / STATISTICS).to_pylist()
    (numbers, counts) = (lists[row] for row in frame[frame.metric == "ppl"].statistics.iloc[0])
    assert (numbers["numbers"], counts["counts"]) == ([0.1 + 0.2, 5e-324], [3, 2**40])
    assert len(lists) == len({tuple(column) for sums in SUMS.values() for column in sums.values.T.tolist()})


def test_a_watermark_says_what_is_not_as_published(tmp_path: Path) -> None:
    scored(trained(tmp_path / "results", "mle", 0), {"bleu-1": 1.0}, whole=False)
    export(tmp_path / "results", tmp_path / "board")
    (watermark,) = set(pd.read_parquet(tmp_path / "board" / SCORES).watermark)
    assert watermark == "only 3 rows of the test split"


def test_a_run_is_found_by_its_path(board: Path, tmp_path: Path) -> None:
    place = board / "toy" / "mle"
    assert [cell.path for cell in cells_below(place)] == [place / KEY]
    assert cell_at(place / KEY).trained() == Store(board).cell("toy", "mle", KEY).trained() is not None
    assert cells_below(board / "nothing") == []
    assert Store(board).cell("toy", "nothing", KEY).trained() is None
    assert not is_snapshot(tmp_path / "results")
    assert list(Store(tmp_path / "nowhere").cells()) == []


def test_an_export_of_a_snapshot_is_the_same(board: Path) -> None:
    export(board, board.with_name("again"))
    assert (board.with_name("again") / MANIFEST).read_bytes() == (board / MANIFEST).read_bytes()


def test_a_damaged_record_is_not_exported(folder: Path, board: Path) -> None:
    before = (board / MANIFEST).read_bytes()
    path = folder / "toy" / "mle" / KEY / "scores-bb.json"
    path.write_bytes(path.read_bytes().replace(b"5e-324", b"0.4"))
    with pytest.raises(StoreError, match="does not have the hash it was stored with"):
        export(folder, board)
    assert (board / MANIFEST).read_bytes() == before


def test_statistics_of_a_validation_split_are_left_out(folder: Path, board: Path) -> None:
    cell = Store(folder).cell("toy", "mle", KEY)
    digest = cell.write_sums({"bleu-1": Sums(mean(1), [[5, 6], [7, 8]])})
    content = {"family": "b", "version": 1, "of": {**OF, "split": "valid"}, "items": digest, "values": []}
    cell.write_record("scores-ee.json", {**content, "values": [value("bleu-1", 0.5)]}, PROVENANCE)
    export(folder, board)
    kept = Store(board).cell("toy", "mle", KEY)
    assert (kept.content("scores-ee.json"), kept.sums(digest)) == (cell.content("scores-ee.json"), {})
    assert not kept.has(kept.sums_path(digest).name)


def test_it_is_never_written(board: Path) -> None:
    before = {path.name: path.read_bytes() for path in board.iterdir()}
    cell = Store(board).cell("toy", "mle", KEY)
    for write in (
        lambda: cell.write_trained(TRAINED, PROVENANCE),
        lambda: cell.write_rows("zz", OF, ROWS, PROVENANCE),
        lambda: cell.write_record("scores-bb.json", {}, PROVENANCE, replace=True),
        lambda: cell.write_sums({}),
        cell.clear_failed,
    ):
        with pytest.raises(UsageError, match=r"board' is a snapshot, which is only read .* with --results$"):
            write()
    assert {path.name: path.read_bytes() for path in board.iterdir()} == before


def test_what_needs_weights_or_rows_says_so(board: Path) -> None:
    cell = Store(board).cell("toy", "mle", KEY)
    assert cell.rows("aa") is None
    assert cell.all_rows() == []
    with pytest.raises(MissingError, match="has no weights: a snapshot has records and statistics only; train"):
        load_verified(cell, TRAINED)


# Damage -----------------------------------------------------------------------------------------------------------


def everything(board: Path) -> list[object]:
    """Read all there is."""
    found: list[object] = []
    for cell in Store(board).cells():
        scores = cell.all_scores()
        sums = [cell.sums(content["items"]) for content in scores if "items" in content]
        found.append([cell.trained(), cell.contents("grid-*.json"), scores, sums])
    return found


def test_a_flipped_bit_or_a_cut_file_is_refused_in_one_line(board: Path) -> None:
    draw, before = random.Random(0), everything(board)
    for path in sorted(board.glob("*.parquet")):
        whole = path.read_bytes()
        places = [draw.randrange(len(whole)) for _ in range(40)]
        flipped = [whole[:at] + bytes([whole[at] ^ 1 << draw.randrange(8)]) + whole[at + 1 :] for at in places]
        for damaged in (b"", whole[:-1], whole + b"x", *flipped):
            path.write_bytes(damaged)
            with pytest.raises(StoreError) as found:
                everything(board)
            text = str(found.value)
            assert text.startswith(f"'{path}' of a snapshot cannot be read (")
            assert text.endswith("; get its folder again from where it came from, e.g. with git checkout")
            assert "\n" not in text
        path.unlink()
        with pytest.raises(StoreError, match="No such file"):
            everything(board)
        path.write_bytes(whole)
    assert everything(board) == before


@pytest.mark.parametrize("junk", [b"", b"null", b"{}", b"[]", b"\xff\xfe", b"[" * 100_000, b'{"schema": 1}'])
def test_junk_is_refused(board: Path, junk: bytes) -> None:
    (board / MANIFEST).write_bytes(junk)
    with pytest.raises(StoreError, match=r"snapshot\.json' of a snapshot cannot be read .*; get its folder again"):
        Snapshot(board)


@pytest.mark.parametrize("run", ["../../out/mle/key", "toy/mle", "/toy/mle/key", "toy/.."])
def test_a_run_outside_of_the_store_is_refused(board: Path, run: str) -> None:
    manifest = json.loads((board / MANIFEST).read_bytes())
    for name in (SCORES, "runs.parquet"):
        frame = pd.read_parquet(board / name).assign(run=run)
        parquet.write_table(pa.Table.from_pandas(frame), board / name)
        manifest["sha256"][name] = sha256((board / name).read_bytes())
    (board / MANIFEST).write_text(json.dumps(manifest))
    with pytest.raises(StoreError, match=r"expected TASK/METHOD/KEY|is not in the subpath"):
        Snapshot(board)


def test_a_snapshot_of_a_later_version_is_refused(bench: Bench, board: Path) -> None:
    manifest = json.loads((board / MANIFEST).read_bytes())
    (board / MANIFEST).write_text(json.dumps({**manifest, "schema": 2}))
    ended = bench("report", "--results", str(board))
    assert ended.code == 1
    assert len(ended.complaints) == 1
    assert "it has schema 2; this is version" in ended.err
    assert "pip install --upgrade objective-bench" in ended.err


# Commands ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def kept(store_copy: Path) -> tuple[str, str]:
    """A results folder with one trained cell, and a snapshot of it."""
    board = store_copy.with_name("kept")
    export(store_copy, board)
    return str(store_copy), str(board)


@pytest.fixture
def scored_kept(tmp_path: Path) -> tuple[str, str]:
    """A results folder with scored cells of two methods and three seeds, and a snapshot of it."""
    for seed in (0, 1, 2):
        for method, gain in (("mle", 0), ("trime", 2)):
            sums = {"bleu-1": Sums(mean(100), [[seed + gain + row % 3, 9] for row in range(30)])}
            values = {"bleu-1": sums["bleu-1"].value}
            scored(trained(tmp_path / "results", method, seed), values, ids=list(map(str, range(30))), items=sums)
    export(tmp_path / "results", tmp_path / "kept")
    return str(tmp_path / "results"), str(tmp_path / "kept")


REPORTS = [("report", "--format", form) for form in ("terminal", "markdown", "csv", "latex", "json")]


@pytest.mark.parametrize(
    "command", [*REPORTS, ("claims",), ("reproduce", "histalign/table2", "--no-run")], ids=" ".join
)
def test_commands_read_it_as_a_folder(bench: Bench, scored_kept: tuple[str, str], command: tuple[str, ...]) -> None:
    folder, board = (bench(*command, "--results", results) for results in scored_kept)
    assert (folder.code, folder.err) == (board.code, board.err) == (0, "")
    assert folder.out == board.out != ""


def test_commands_that_write_or_need_rows_say_what_to_do(bench: Bench, kept: tuple[str, str]) -> None:
    _, board = kept
    before = {path.name: path.read_bytes() for path in Path(board).iterdir()}
    small = ("--limit", "8", "--quiet")
    for command in (
        ("run", "--task", "ambiguous_template", "--method", "mle", "--results", board, *small),
        ("score", board),
    ):
        ended = bench(*command)
        assert (ended.code, ended.out) == (2, ""), command
        assert "is a snapshot, which is only read and has no weights and no predictions" in ended.err
    ended = bench("report", "--results", board, "--format", "html")
    assert ended.code == 2
    assert "name a file by --output FILE" in ended.err
    assert {path.name: path.read_bytes() for path in Path(board).iterdir()} == before


def test_submitted_rows_are_marked_and_never_mixed_with_others(
    bench: Bench, scored_kept: tuple[str, str], tmp_path: Path
) -> None:
    ours, _ = scored_kept
    theirs, again = tmp_path / "theirs", tmp_path / "again"
    command = ("store", "snapshot", str(theirs), "--submitted-by", "A. Author", "--results", ours)
    ended = bench(*command)
    assert (ended.code, ended.err) == (0, "")
    assert bench(*command).code == 2  # a folder that is there is not replaced
    assert bench("store", "snapshot", str(tmp_path / "x"), "--results", str(tmp_path / "nothing")).code == 3
    export(theirs, again)
    assert Store(again).files.submitted_by == "A. Author"
    assert "trime [submitted by A. Author]" in bench("report", "--results", str(theirs)).out
    both = load(ours, theirs).to_pandas()
    assert both.groupby("marks")["n_seeds"].max().to_dict() == {"": 3, "submitted by A. Author": 3}
    differences = both[(both.method == "trime") & (both.metric == "bleu-1")].difference
    assert len(differences) == 2
    assert differences.nunique() == 1  # each from the mle of the same submitter
    (table,) = load(ours, theirs).content["tables"]
    assert len({row["id"] for row in table["methods"]}) == 4
    assert load(ours, theirs).compare("trime", "mle").submitted_by.tolist() == ["", "A. Author"]
    with pytest.raises(UsageError, match=r"submitted by A\. Author, which would be lost: bench\.load takes both"):
        join(theirs, tmp_path / "joined")
    for folder, perplexity_of in ((ours, 5.0), (str(tmp_path / "others"), 7.0)):
        cell = trained(Path(folder), "mle", 0)
        scored(scored(cell, {"ppl/word": perplexity_of}, kind="likelihood", decoding=None), {"bleu-1": 1.0})
    assert bench(*command[:2], str(tmp_path / "b"), "--submitted-by", "B", "--results", folder).code == 0
    shown = load(ours, str(tmp_path / "b")).to_pandas().query("metric == 'ppl/word'")
    assert dict(zip(shown.marks, shown["mean"], strict=True)) == {"": 5.0, "submitted by B": 7.0}


def test_verify_computes_its_values_from_sums(bench: Bench, kept: tuple[str, str]) -> None:
    folder, board = kept
    ended = bench("store", "verify", board)
    assert (ended.code, ended.err) == (0, "")
    found = json.loads(bench("store", "verify", board, "--json").out)
    values = [
        value for cell in Store(Path(board)).cells() for scores in cell.all_scores() for value in scores["values"]
    ]
    without = sum(sum(columns.values()) for columns in found["without"].values())
    assert 0 < found["equal"] < len(values) == found["equal"] + without
    assert "matrix_rank: 2 values have no sufficient statistics: rank/float32, rank/float64\n" in ended.out
    assert ended.out.endswith("1 run has keys that match the records\n0 differences\n")
    assert json.loads(bench("store", "verify", folder, board, "--json").out)["keys"] == 2
