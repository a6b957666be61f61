"""`bench reproduce` and its neighbours from nothing: cells are made once, shared, and shown in the paper's order."""

import json
import shutil

import pytest

from bench.leaderboards.published.papers import papers
from bench.leaderboards.published.reproduction import STRICT_EXIT
from bench.store.export import export
from tests.leaderboards.handmade import manifest, scored, trained

TINY = ("--preset", "small", "--quiet", "--limit", "16",
        "--set", "trainer.steps=2", "backbone.width=16", "trainer.batch_size=4")  # fmt: skip


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A store in which table 1 of HistAlign was reproduced with tiny cells."""
    from tests.conftest import call, forget_data

    root = tmp_path_factory.mktemp("made")
    with pytest.MonkeyPatch.context() as patch:
        forget_data(patch, root / "no-cache")
        ended = call("reproduce", "histalign/table1", *TINY, "--json", "--results", str(root / "results"))
    assert (ended.code, ended.err) == (0, "")
    return root / "results", json.loads(ended.out)["tables"][0]


def times(root):
    return {path: path.stat().st_mtime_ns for path in sorted(root.rglob("*")) if path.is_file()}


def test_a_table_comes_from_nothing_in_the_papers_order_with_the_reason_of_its_scale(made):
    _, table = made
    assert [row["label"] for row in table["rows"]] == ["GPT2-Small", "TRIME", "HISTALIGN", "GPT2-Large", "TRIME",
                                                       "HISTALIGN"]  # fmt: skip
    assert table["columns"][:2] == ["Full Acc@2", "Full Acc@5"]
    cells = [cell for row in table["rows"] for cell in row["cells"]]
    assert {cell["verdict"] for cell in cells} == {"not comparable"}
    assert all(cell["ours"]["n"] == 1 and cell["ours"]["half"] is None for cell in cells)
    assert "preset small: small-causal backbone, other sizes" in {cell["reason"] for cell in cells}
    assert "ambiguous_template: train data: sample; test data: sample; all data: cut by --limit 16" in table["notes"]


def test_nothing_is_made_twice_and_tables_share_cells(made, bench):
    root, table = made
    before = times(root)
    again = bench("reproduce", "histalign/table1", "histalign/table2", *TINY, "--json", "--results", str(root))
    assert again.code == 0
    one, two = json.loads(again.out)["tables"]
    assert one["rows"] == table["rows"]
    assert len(two["rows"]) == 3
    assert times(root) == before


def test_the_runs_of_some_methods_can_be_chosen(bench, tmp_path):
    words = ("reproduce", "histalign/table1", "--results", str(tmp_path / "none"), "--dry-run", "--json", "--method")
    (plan,) = json.loads(bench(*words, "trime.released,mle").out)
    assert plan["methods"] == ["mle", "trime.released"]
    assert [cell["config"]["method"] for cell in plan["cells"]] == ["mle", "trime.released"]
    ended = bench(*words, "face")
    assert ended.code == 2
    rows = ("reproduce", "histalign/table1", "--no-run", "--json", "--results", "leaderboards/runs/grid")
    (whole,), (part,) = (json.loads(bench(*rows, *more).out)["tables"] for more in ((), ("--method", "mle")))
    assert [row["cells"] for row in whole["rows"]] == [row["cells"] for row in part["rows"]]
    assert "need no run of 'face'; they need mle, trime.released, histalign.released, trime, histalign" in ended.err


def test_without_a_run_nothing_is_made_and_strictness_says_so(bench, tmp_path):
    where = ("--results", str(tmp_path / "none"))
    ended = bench("reproduce", "histalign/table1", *TINY, "--no-run", *where)
    assert (ended.code, ended.err) == (0, "")
    assert "48 not run, 6 not comparable\n" in ended.out
    assert bench("reproduce", "histalign/table1", *TINY, "--no-run", "--strict", *where).code == STRICT_EXIT
    assert not (tmp_path / "none").exists()


def test_a_snapshot_is_looked_at_where_it_lacks_rows_too(made, bench, tmp_path):
    """Its cells of this decoding have no texts under another one, and no weights to make them with."""
    words = ("run", "--task", "logicnlg", "--method", "mle", "--quiet", "--results", str(tmp_path / "made"))
    assert bench(*words, *TINY).code == 0
    export(tmp_path / "made", tmp_path / "kept")
    ended = bench("reproduce", "histalign/table7", *TINY, "--no-run", "--results", str(tmp_path / "kept"))
    assert (ended.code, ended.err) == (0, "")
    assert "not run" in ended.out
    export(made[0], tmp_path / "whole")
    ended = bench("reproduce", "histalign/table1", *TINY, "--no-run", "--json", "--results", str(tmp_path / "whole"))
    assert json.loads(ended.out)["tables"][0]["rows"] == made[1]["rows"]


def test_kept_runs_fill_a_table_with_what_is_different_about_them(bench):
    ended = bench("reproduce", "f2softmax/table1", "--no-run", "--json", "--results", "leaderboards/runs/grid")
    assert ended.code == 0, ended.err
    (table,) = json.loads(ended.out)["tables"]
    row = next(row for row in table["rows"] if row["label"] == "FACE")
    filled = [cell for cell in row["cells"] if cell["verdict"] == "other run"]
    assert len(filled) >= 3
    for cell in filled:
        assert (cell["ours"]["n"], cell["delta"]) == (3, None)
        assert "50 steps of 16 rows after 300 steps of 16 rows of mle" in cell["reason"]


def test_deviations_of_kept_runs_are_real(bench):
    """What the kept runs have as the paper does is no deviation, and what they have otherwise stands with its value."""
    ended = bench("reproduce", "adadec/table2", "--no-run", "--results", "leaderboards/runs/grid")
    text = " ".join(ended.out.split())
    assert ": decode: ours greedy; paper: beam=5+gnmt=1.0 (A.1)" in text
    settings = text.partition("other sizes and settings (in the paper): ")[2].partition("the released code")[0]
    assert "trainer.lr 0.00705, 0.0119, 0.00393 (0.001)" in settings
    assert not [name for name in ("batch_size", "select", "dropout", "copy") if name in settings]


def test_a_dry_run_shows_the_plan_and_what_is_stored(made, bench, tmp_path):
    root, _ = made
    ended = bench("reproduce", "histalign/table1", *TINY, "--dry-run", "--results", str(root))
    assert ended.code == 0
    assert ended.out.count("stored, 3 of 3 evaluations stored") == 5
    ended = bench("reproduce", "adadec/table2", "f2softmax/table5", "--dry-run", "--preset", "small", "--json",
                  "--results", str(tmp_path / "none"))  # fmt: skip
    (plan,) = json.loads(ended.out)
    assert (plan["task"], plan["methods"], plan["decodings"]) == (
        "gigaword",
        ["seq2seq", "attexp", "adadec"],
        ["beam=5+gnmt=1.0"],
    )
    assert not (tmp_path / "none").exists()


def test_a_plan_samples_the_texts_of_one_training_as_often_as_the_paper(bench, tmp_path):
    ended = bench(
        "reproduce", "histalign/table3", "--dry-run", "--preset", "paper", "--results", str(tmp_path / "none")
    )
    assert ended.code == 0, ended.err
    assert " · nucleus=0.95+max_new_tokens=256 · sampling seeds 0, 1, 42\n" in ended.out
    assert "writingprompts · mle · gpt2 · seed 0" in ended.out
    assert "0 of 4 evaluations stored" in ended.out, "likelihoods, and three times the texts"
    assert "· seed 1 " not in ended.out
    assert " GB ? writingprompts" in " ".join(ended.out.split()), "steps are not known"


def test_a_plan_says_what_data_it_has(bench, tmp_path):
    folder = tmp_path / "data" / "wikitext103"
    folder.mkdir(parents=True)
    for split in ("train", "valid", "test"):
        (folder / f"wiki.{split}.tokens").write_text(" = One = \n" + " word" * 300 + " \n")
    words = ("reproduce", "f2softmax/table2", "--dry-run", "--preset", "paper", "--data-dir", str(tmp_path / "data"))
    ended = bench(*words, "--results", str(tmp_path / "none"))
    assert ended.code == 0, ended.err
    assert "data of wikitext103: train 1 (subset), test 1 (subset); " in ended.out


def test_a_plan_names_missing_data_and_weights_and_a_papers_name_its_tables(bench, tmp_path, monkeypatch):
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    words = ("--dry-run", "--preset", "paper", "--method", "mle", "--results", str(tmp_path / "none"))
    ended = bench("reproduce", "histalign/table1", *words)
    assert ended.code == 0, ended.err
    assert "missing: data: ambiguous_template is to train on the published data" in ended.out
    assert "missing: weights of gpt2; get them with: bench models get gpt2\n" in ended.out
    assert "tables: " not in ended.err
    ended = bench("reproduce", "adadec", "--no-run", "--preset", "small", "--results", str(tmp_path / "none"))
    assert "bench: 4 tables: adadec/table1, adadec/table2, " in ended.err


def test_a_failed_cell_is_not_run_with_its_reason(made, bench, tmp_path, monkeypatch):
    root = shutil.copytree(made[0], tmp_path / "copy")
    for folder in (root / "ambiguous_template" / "trime.released").iterdir():
        shutil.rmtree(folder)

    def broken(*given, **options):
        raise RuntimeError("no such luck")

    monkeypatch.setattr("bench.cells.work.train_and_evaluate", broken)
    ended = bench("reproduce", "histalign/table2", *TINY, "--results", str(root))
    assert ended.code == 1
    assert "failed: RuntimeError: no such luck" in ended.out
    assert "4 not run, 8 not comparable" in ended.out
    assert bench("reproduce", "histalign/table2", *TINY, "--no-run", "--strict", "--results", str(root)).code == 4


@pytest.mark.parametrize(("value", "code"), [(46.0, 0), (56.0, 4)])
def test_strictness_asks_for_every_comparable_number_to_be_met(bench, tmp_path, monkeypatch, value, code):
    """A paper of one number, met and not met by the store."""
    from bench.leaderboards.published import papers as held
    from bench.leaderboards.published.paper_files import read

    text = """
name = "One"
short = "one"
citation = "x"
[[table]]
name = "Table 1"
title = "t"
about = "a"
task = "logicnlg"
backbone = "bart-large"
decoding = "greedy"
columns = [{ label = "B", metric = "bleu-1" }]
rows = [{ label = "BART", method = "mle", values = "45.9" }]
"""
    one = (read(text, "one.toml"),)
    monkeypatch.setattr(held, "papers", lambda: one)
    data = {"train": manifest("train", "official"), "test": manifest("test", "official")}
    for seed in range(3):
        cell = trained(tmp_path, "mle", seed, preset="paper", backbone="bart-large", data=data)
        scored(cell, {"bleu-1": value + seed / 10})
    monkeypatch.setattr("bench.commands.reproduce.Made.make", lambda self, need: None)
    ended = bench("reproduce", "one/table1", "--preset", "paper", "--no-run", "--strict", "--results", str(tmp_path))
    assert ended.code == code
    assert ("within" if code == 0 else "OFF") in ended.out


def test_the_list_has_every_table_with_its_cells_and_how_it_comes(bench):
    ended = bench("reproduce", "--json")
    assert ended.code == 0
    found = {one["address"]: one for one in json.loads(ended.out)}
    assert len(found) == sum(len(paper.tables) for paper in papers())
    assert (found["histalign/table1"]["cells"], found["histalign/table1"]["comparable"]) == (54, 48)
    assert found["histalign/table4"]["how"] == "bench human"
    assert [level["level"] for level in found["f2softmax/table1"]["levels"]] == ["comparable", "barred"]
    listed = bench("reproduce").out
    assert "adadec/table2        Gigaword: headlines\n" in listed
    assert "Level of (b) Melo-Lyrics: barred. Melo-Lyrics is not released." in listed
    assert "54 numbers, 48 comparable" in listed
    assert "\nbarred: it needs data, models or people's answers that cannot be obtained\n" in listed


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("histalign/tabel1",), "did you mean 'histalign/table1'"),
        (("histaling",), "did you mean 'histalign'"),
        (("histalign/table1", "--seeds", "x"), "seeds must be a whole number"),
        (("histalign/table1", "--set", "trainer.stepps=1"), "no option 'trainer.stepps'; did you mean 'steps'"),
    ],
)
def test_a_wrong_word_is_one_clear_line(bench, tmp_path, arguments, message):
    ended = bench("reproduce", *arguments, "--preset", "small", "--no-run", "--results", str(tmp_path))
    assert (ended.code, len(ended.complaints)) == (2, 1)
    assert message in ended.err


def test_settings_of_other_tasks_and_methods_are_for_those_only(bench, tmp_path):
    ended = bench("reproduce", "histalign/table1", "adadec/table2", "--preset", "small", "--dry-run", "--json", "--set",
                  "gigaword:trainer.steps=7", "trime:trainer.steps=9", "--results", str(tmp_path))  # fmt: skip
    assert ended.code == 0, ended.err
    steps = {(cell["config"]["task"], cell["config"]["method"]): cell["config"]["trainer"]["steps"]
             for plan in json.loads(ended.out) for cell in plan["cells"]}  # fmt: skip
    assert steps["gigaword", "adadec"] == 7
    assert steps["ambiguous_template", "trime"] == 9
    assert steps["ambiguous_template", "mle"] not in (7, 9)
