"""Kept boards: they read as the store they were made of, are never written, and no damage passes."""

from __future__ import annotations

import json
import random
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from bench.base.keys import canonical, sha256
from bench.errors import MissingError, StoreError, UsageError
from bench.metrics.sums import Sums, mean
from bench.store.checkpoints import load_verified, stored_tensor
from bench.store.keep import keep
from bench.store.kept_board import KeptBoard, is_kept_board, sums_path, write_kept_board
from bench.store.store import Store, cell_at, cells_below
from tests.bench.example_cells import KEY, OF, PROVENANCE, ROWS, SCORES, TRAINED
from tests.conftest import Ended
from tests.leaderboards.handmade import scored, trained
from tools.regenerate import opened

METHODS = ("mle", "trime")
GRID = {"tried": [{"trainer.lr": 0.1}]}
TEXT = "é\u2028\ud83d\n"  # a lone surrogate too


def filled(root: Path) -> Store:
    """A store of two cells with all kinds of file and equal sums, and one cell that failed."""
    store = Store(root)
    for method in METHODS:
        cell = store.cell("toy", method, KEY)
        cell.write_rows("aa", OF, ROWS, PROVENANCE)
        digest = cell.write_sums({"bleu-1": Sums(mean(1), [[1, 2], [3, 4]])})
        scores = {**SCORES, "items": digest, "text": TEXT, "method": method}
        cell.write_scores("bb", scores, PROVENANCE)
        cell.write_grid("cc", GRID, PROVENANCE)
        cell.write_trained({**TRAINED, "method": method}, PROVENANCE)
    store.cell("toy", "zero", KEY).write_failed({"status": "failed", "error": "no"}, PROVENANCE)
    return store


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    filled(tmp_path / "results")
    return tmp_path / "results"


@pytest.fixture
def board(folder: Path) -> Path:
    path = folder.with_name("board.jsonl")
    keep(folder, path)
    return path


# What is kept -----------------------------------------------------------------------------------------------------


def test_it_reads_as_the_folder_it_was_made_of(folder: Path, board: Path) -> None:
    on_disk, kept = cells_below(folder), list(Store(board).cells())
    assert [cell.path.relative_to(board) for cell in kept] == [cell.path.relative_to(folder) for cell in on_disk]
    assert len(kept) == len(METHODS)
    for ours, theirs in zip(kept, on_disk, strict=True):
        (scores,) = theirs.all_scores()
        assert ours.trained() == theirs.trained()
        assert ours.provenance() == theirs.provenance() == PROVENANCE
        assert ours.all_scores() == [scores]
        assert ours.scores("bb") == scores
        assert ours.grids() == theirs.grids() == [GRID]
        assert ours.sums(scores["items"]) == theirs.sums(scores["items"]) != {}
        assert ours.failed() is None
        assert ours.names("*.json") == theirs.names("*.json")


def test_a_cell_is_found_by_its_path_in_the_board(board: Path) -> None:
    place = board / "toy" / "mle"
    assert [cell.path for cell in cells_below(place)] == [place / KEY]
    assert cell_at(place / KEY).trained() == Store(board).cell("toy", "mle", KEY).trained() is not None
    assert cells_below(board / "nothing") == []
    assert Store(board).cell("toy", "nothing", KEY).trained() is None


def test_only_a_file_of_lines_is_a_board(tmp_path: Path) -> None:
    folder = tmp_path / "odd.jsonl"
    filled(folder)
    assert not is_kept_board(folder)
    assert len(list(Store(folder).cells())) == len(METHODS) + 1
    assert list(Store(tmp_path / "nowhere.jsonl").cells()) == []


def test_equal_contents_are_equal_bytes_and_keeping_a_kept_board_changes_nothing(folder: Path, board: Path) -> None:
    filled(folder.with_name("another"))
    for number, results in enumerate((folder, folder.with_name("another"), board)):
        again = board.with_name(f"again{number}.jsonl")
        keep(results, again)
        assert again.read_bytes() == board.read_bytes()
        assert sums_path(again).read_bytes() == sums_path(board).read_bytes()


def test_records_are_sorted_lines_of_plain_json_and_sums_a_zip_file_with_each_content_once(board: Path) -> None:
    *records, closing = [json.loads(line) for line in board.read_bytes().splitlines()]
    places = [record["path"] for record in records]
    names = ("grid-cc.json", "scores-bb.json", "trained.json")
    assert places == sorted(places) == [f"toy/{method}/{KEY}/{name}" for method in METHODS for name in names]
    for record in records:
        assert record["sha256"] == sha256(canonical(record["content"]))
    with zipfile.ZipFile(sums_path(board)) as archive:
        (about,) = archive.infolist()
        name = about.filename
        assert about.date_time == (1980, 1, 1, 0, 0, 0), "a zip file with times is another one every time"
        assert sha256(archive.read(name))[:16] in name
    assert closing["sums_sha256"] == sha256(sums_path(board).read_bytes())


def test_a_damaged_record_is_not_kept(folder: Path, board: Path) -> None:
    before = board.read_bytes()
    path = folder / "toy" / "mle" / KEY / "scores-bb.json"
    path.write_bytes(path.read_bytes().replace(b"0.30000000000000004", b"0.4"))
    with pytest.raises(StoreError, match="does not have the hash it was stored with"):
        keep(folder, board)
    assert board.read_bytes() == before


# What is not kept -------------------------------------------------------------------------------------------------


def test_sums_of_a_validation_split_are_not_kept(tmp_path: Path) -> None:
    cell = filled(tmp_path / "results").cell("toy", "mle", KEY)
    digest = cell.write_sums({"bleu-1": Sums(mean(1), [[5, 6], [7, 8]])})
    cell.write_scores("dd", {**SCORES, "of": {**SCORES["of"], "split": "valid"}, "items": digest}, PROVENANCE)
    keep(tmp_path / "results", tmp_path / "board.jsonl")
    kept = Store(tmp_path / "board.jsonl").cell("toy", "mle", KEY)
    assert len(list(kept.all_scores())) == 2
    with zipfile.ZipFile(sums_path(tmp_path / "board.jsonl")) as archive:
        assert [name for name in archive.namelist() if digest in name] == []
        assert len(archive.namelist()) == 1


def test_it_is_never_written(board: Path) -> None:
    before = [board.read_bytes(), sums_path(board).read_bytes()]
    cell = Store(board).cell("toy", "mle", KEY)
    for write in (
        lambda: cell.write_trained(TRAINED, PROVENANCE),
        lambda: cell.write_failed({"status": "failed"}, PROVENANCE),
        lambda: cell.write_rows("zz", OF, ROWS, PROVENANCE),
        lambda: cell.write_scores("bb", SCORES, PROVENANCE, replace=True),
        lambda: cell.write_sums({}),
        lambda: cell.write_grid("dd", GRID, PROVENANCE),
        cell.clear_failed,
    ):
        with pytest.raises(UsageError, match=r"board\.jsonl' is a kept board, which is only read .* --results$"):
            write()
    assert [board.read_bytes(), sums_path(board).read_bytes()] == before


def test_what_needs_weights_or_rows_says_so(board: Path) -> None:
    cell = Store(board).cell("toy", "mle", KEY)
    assert cell.rows("aa") is None
    assert cell.all_rows() == []
    for read in (lambda: load_verified(cell, TRAINED), lambda: stored_tensor(cell, "counts")):
        with pytest.raises(MissingError, match="has no weights: a kept board has records and sums only; train"):
            read()


# Damage -----------------------------------------------------------------------------------------------------------


def refused(read: Callable[[], object], path: Path) -> str:
    """Assert that reading raises one clear line, and return it."""
    with pytest.raises(StoreError) as found:
        read()
    text = str(found.value)
    assert text.startswith(f"kept board '{path}' cannot be read (")
    assert text.endswith("; get both files of the kept board again from where they came from, e.g. with git checkout")
    return text


def test_a_board_cut_anywhere_is_refused(board: Path) -> None:
    whole = board.read_bytes()
    last_line = len(whole) - len(whole.splitlines()[-1]) - 2
    for length in (*range(0, last_line, 17), *range(last_line, len(whole))):
        board.write_bytes(whole[:length])
        refused(lambda: Store(board), board)


def test_a_dropped_swapped_or_added_line_is_refused(board: Path) -> None:
    lines = board.read_bytes().splitlines(keepends=True)
    for changed in (lines[1:], [lines[1], lines[0], *lines[2:]], [lines[0], *lines], lines[:-1], [*lines, b"\n"]):
        board.write_bytes(b"".join(changed))
        refused(lambda: Store(board), board)


def test_a_flipped_bit_is_refused(board: Path) -> None:
    draw, whole = random.Random(0), board.read_bytes()
    for _ in range(500):
        at = draw.randrange(len(whole))
        board.write_bytes(whole[:at] + bytes([whole[at] ^ 1 << draw.randrange(8)]) + whole[at + 1 :])
        with pytest.raises(StoreError, match="^kept board '.*' cannot be read "):
            _ = KeptBoard(board).sums


def test_damaged_or_missing_sums_are_refused_when_they_are_wanted(board: Path) -> None:
    path, draw = sums_path(board), random.Random(0)
    whole = path.read_bytes()
    (digest,) = {scores["items"] for cell in Store(board).cells() for scores in cell.all_scores()}
    at = draw.randrange(len(whole))
    for damaged in (b"", whole[:-1], whole[:at], whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :], b"\0" * 99):
        path.write_bytes(damaged)
        cell = Store(board).cell("toy", "mle", KEY)
        assert cell.trained() is not None
        assert "does not have the hash" in refused(lambda cell=cell: cell.sums(digest), path)  # type: ignore[misc]
    path.unlink()
    refused(lambda: Store(board).cell("toy", "mle", KEY).sums(digest), path)


def test_junk_is_refused(board: Path) -> None:
    for junk in (b"", b"\n", b"{}\n", b"null\n", b"[]\n", b"\xff\xfe\n", b"[" * 100_000 + b"\n", b'{"id": 1}\n' * 3):
        board.write_bytes(junk)
        refused(lambda: Store(board), board)


def test_a_record_is_checked_by_its_own_hash_too(board: Path) -> None:
    place, record = f"toy/mle/{KEY}/trained.json", {"schema": 1, "kind": "trained", "sha256": "0", "content": {}}
    write_kept_board(board, {place: canonical(record)}, {})
    with pytest.raises(StoreError, match=r"board\.jsonl/toy/.*does not have the hash it was stored with\); get both"):
        Store(board).cell("toy", "mle", KEY).trained()
    write_kept_board(board, {"toy/trained.json": canonical(record)}, {})
    assert "expected <task>/<method>/<key>/<name>" in refused(lambda: Store(board), board)


# Commands ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def kept(store_copy: Path) -> tuple[str, str]:
    """A results folder with one trained cell, and a kept board of it."""
    board = store_copy.with_name("kept.jsonl")
    keep(store_copy, board)
    return str(store_copy), str(board)


def key_in(results: str) -> str:
    (cell,) = Store(Path(results)).cells()
    return cell.path.name


@pytest.fixture
def scored_kept(tmp_path: Path) -> tuple[str, str]:
    """A results folder with scored cells of two methods and three seeds, and a kept board of it."""
    for seed in (0, 1, 2):
        for method, gain in (("mle", 0), ("trime", 2)):
            sums = {"bleu-1": Sums(mean(100), [[seed + gain + row % 3, 9] for row in range(30)])}
            values = {"bleu-1": sums["bleu-1"].value}
            scored(trained(tmp_path / "results", method, seed), values, ids=list(map(str, range(30))), items=sums)
    keep(tmp_path / "results", tmp_path / "kept.jsonl")
    return str(tmp_path / "results"), str(tmp_path / "kept.jsonl")


REPORTS = [("report", "--format", form) for form in ("terminal", "markdown", "csv", "latex", "json")]


@pytest.mark.parametrize(
    "command", [*REPORTS, ("claims",), ("reproduce", "histalign/table2", "--no-run")], ids=" ".join
)
def test_commands_read_it_as_a_folder(
    bench: Callable[..., Ended], scored_kept: tuple[str, str], command: tuple[str, ...]
) -> None:
    folder, board = (bench(*command, "--results", results) for results in scored_kept)
    assert (folder.code, folder.err) == (board.code, board.err) == (0, "")
    assert folder.out == board.out != ""


def test_compare_and_status_read_it_as_a_folder(bench: Callable[..., Ended], kept: tuple[str, str]) -> None:
    folder, board = kept
    key = key_in(board)
    assert bench("compare", key, key, "--results", board).out == bench("compare", key, key, "--results", folder).out
    inside = str(next(iter(Store(Path(board)).cells())).path)
    assert bench("compare", inside, key[:6], "--results", board).out.endswith("nothing differs\n")
    (theirs,), (ours,) = (json.loads(bench("store", "status", "--results", results, "--json").out) for results in kept)
    assert theirs["rows"] > 0
    assert ours == {**theirs, "rows": 0}


def test_commands_that_write_or_need_rows_say_what_to_do(bench: Callable[..., Ended], kept: tuple[str, str]) -> None:
    _, board = kept
    before = Path(board).read_bytes()
    small = ("--limit", "8", "--quiet")
    for command in (
        ("run", "--task", "ambiguous_template", "--method", "mle", "--results", board, *small),
        ("claims", "--run", "--results", board),
        ("score", board),
    ):
        ended = bench(*command)
        assert (ended.code, ended.out) == (2, ""), command
        assert "is a kept board, which is only read and has no weights and no rows" in ended.err
    ended = bench("report", "--results", board, "--format", "html")
    assert ended.code == 2
    assert "say where with --output FILE" in ended.err
    assert Path(board).read_bytes() == before


def test_verify_computes_its_values_from_sums(bench: Callable[..., Ended], kept: tuple[str, str]) -> None:
    folder, board = kept
    ended = bench("store", "verify", board)
    assert (ended.code, ended.err) == (0, "")
    found = json.loads(bench("store", "verify", board, "--json").out)
    values = [
        value for cell in Store(Path(board)).cells() for scores in cell.all_scores() for value in scores["values"]
    ]
    without = sum(sum(columns.values()) for columns in found["without_sums"].values())
    assert 0 < found["same_by_sums"] < len(values) == found["same_by_sums"] + found["same_by_rounded_sums"] + without
    assert "matrix_rank: 2 values have no sums: rank/float32, rank/float64\n" in ended.out
    assert ended.out.endswith("1 runs have the keys of their records\n0 differences\n")
    assert json.loads(bench("store", "verify", folder, board, "--json").out)["keys"] == 2


def test_verify_names_a_changed_value(bench: Callable[..., Ended], kept: tuple[str, str]) -> None:
    folder, _ = kept
    path = next(p for p in Path(folder).rglob("scores-*.json") if '"perplexity"' in p.read_text())
    record = json.loads(path.read_text())
    value = record["content"]["values"][0]
    value["value"] *= 1 + 1e-11
    record["sha256"] = sha256(canonical(record["content"]))  # somebody who knows the store
    path.write_text(json.dumps(record))
    board = Path(folder).with_name("changed.jsonl")
    keep(Path(folder), board)
    ended = bench("store", "verify", str(board))
    assert (ended.code, ended.err) == (1, "")
    assert f" · perplexity: {value['name']}: value stored {value['value']!r}, its sums come to " in ended.out
    assert ended.out.endswith("\n1 differences\n")


def test_a_page_of_it_has_no_links_to_records(bench: Callable[..., Ended], scored_kept: tuple[str, str]) -> None:
    pages = [Path(scored_kept[1]).with_name(name) for name in ("of-folder.html", "of-board.html")]
    for results, page in zip(scored_kept, pages, strict=True):
        bench("report", "--results", results, "--format", "html", "--output", str(page))
    (*_, linked), (*_, alone) = (opened(page.read_text(encoding="utf-8")) for page in pages)
    assert linked["records"] == "results"
    assert alone["records"] is None


def test_a_damaged_board_is_one_clear_line(bench: Callable[..., Ended], kept: tuple[str, str]) -> None:
    _, board = kept
    whole = Path(board).read_bytes()
    Path(board).write_bytes(whole[:-20])
    for command in (("report",), ("claims",), ("store", "status")):
        ended = bench(*command, "--results", board)
        assert ended.code == 1
        assert len(ended.complaints) == 1
        assert f"kept board '{board}' cannot be read" in ended.err


def test_a_cell_of_it_is_no_start_for_training(bench: Callable[..., Ended], kept: tuple[str, str]) -> None:
    _, board = kept
    cell = next(iter(Store(Path(board)).cells()))
    ended = bench("run", "--task", "ambiguous_template", "--method", "mle", "--limit", "16", "--quiet", "--results",
                  str(Path(board).with_name("new")), "--set", "trainer.steps=2", "backbone.width=16",
                  "trainer.batch_size=4", f"trainer.init_from={cell.path}")  # fmt: skip
    assert ended.code != 0
    assert "has no weights: a kept board has records and sums only" in ended.err
