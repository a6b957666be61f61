"""`bench human`: a study of stored texts is made, answered and read; what fits twice or not at all is refused."""

import json
import shutil

import pytest

from bench.base.keys import key_of
from bench.tasks import TASKS
from bench.tasks.xsum import XSum
from tests.leaderboards.handmade import PROVENANCE, trained
from tests.leaderboards.studies import answers, side_of, write
from tests.metrics import tiny_encoders

WORDS = " ".join(f"word{i}" for i in range(12))


def store(cell, rows, decoding="greedy", sha256="0" * 64, **of):
    """Store generated rows of a cell."""
    content = {"kind": "generation", "split": "test", "decoding": {"name": decoding}, "split_sha256": sha256, **of}
    cell.write_rows(key_of([content, rows]), content, rows, PROVENANCE)
    return cell


def open_ended(root, method, seed=0, n=10, decoding="greedy", **changes):
    """A cell with n texts that carry their prompts."""
    rows = [{"id": f"r{i:02}", "prompt": f"Once, {i}.", "text": f"{method} {WORDS} {i}"} for i in range(n)]
    return store(trained(root, method, seed, task="text", **changes), rows, decoding)


def make(bench, *places, task="text", methods="histalign,trime", out, **options):
    more = [text for name, value in options.items() for text in (f"--{name}", str(value))]
    return bench("human", "make", *map(str, places), "--task", task, "--methods", methods, "--items", "6",
                 "--out", str(out), *more)  # fmt: skip


def test_a_study_is_made_answered_and_read(bench, tmp_path):
    for method in ("histalign", "trime", "mle"):
        open_ended(tmp_path / "results", method)
    ended = make(bench, tmp_path / "results", out=tmp_path / "study", checks=2)
    assert (ended.code, ended.err) == (0, "")
    assert "key.json: says whose text is whose" in ended.out
    key = json.loads((tmp_path / "study" / "key.json").read_text())
    assert key["about"]["settings"] == {
        "preset": "small",
        "backbone": "small-encdec",
        "decoding": "greedy",
        "split": "test",
    }
    assert set(key["about"]["cells"]) == {"histalign", "trime"}
    for rater in ("anna", "bo", "cy"):
        saved = answers(key, lambda item, slot: side_of(key, item, "histalign"), rater)
        write(tmp_path, saved, "csv" if rater == "bo" else "json")
    files = sorted(map(str, tmp_path.glob("answers-*")))
    given = ("human", "read", *files, "--key", str(tmp_path / "study" / "key.json"))
    shown = bench(*given)
    assert (shown.code, shown.err) == (0, "")
    assert "6 items, 3 raters, 36 judgements" in shown.out
    assert "published: histalign Table 4, HISTALIGN" in shown.out
    assert bench(*given, "--format", "markdown").out.startswith("### histalign against trime")
    found = json.loads(bench(*given, "--json").out)
    assert found["pairs"][0]["judgements"] == {"win": 18, "tie": 0, "lose": 0}
    assert found["raters"] == ["anna", "bo", "cy"]


def test_a_papers_table_of_answers_takes_a_study_and_says_what_is_missing(bench, tmp_path):
    for method in ("histalign", "trime"):
        rows = [{"id": f"r{i:02}", "prompt": f"Once, {i}.", "text": f"{method} {WORDS} {i}"} for i in range(10)]
        store(trained(tmp_path / "results", method, task="writingprompts"), rows)
    assert make(bench, tmp_path / "results", task="writingprompts", out=tmp_path / "study").code == 0
    given = ("reproduce", "histalign/table4", "--results", str(tmp_path / "results"))
    nobody = bench(*given, "--study", str(tmp_path / "study"))
    assert (nobody.code, "no answers" in nobody.err) == (3, True)
    key = json.loads((tmp_path / "study" / "key.json").read_text())
    write(tmp_path / "study", answers(key, lambda item, slot: side_of(key, item, "histalign")))
    shown = bench(*given, "--study", str(tmp_path / "study"))
    assert (shown.code, shown.err) == (0, "")
    assert "ours (6 items, 1 rater)" in " ".join(shown.out.split())
    assert "12 judgements of texts of preset small, backbone small-encdec, decoding greedy" in shown.out
    assert "nobody was asked: bench human make" in bench(*given).out
    other = bench("reproduce", "histalign/table1", "--no-run", "--study", str(tmp_path / "study"))
    assert (other.code, "for a table of people's answers" in other.err) == (2, True)


def test_sources_of_a_conditional_task_come_from_its_data(bench, tmp_path):
    from bench.tasks.fetch.sources import Source

    task = TASKS["logicnlg"].load()()
    task.load(Source(None, "built-in sample"))
    split = task.split("test")
    rows = [{"id": one.id, "text": f"a text about {one.id} {WORDS}"} for one in split.examples]
    for method in ("mle", "trime"):
        cell = trained(tmp_path / "results", method, task_options={})
        store(cell, rows, "beam=4", task.manifest("test").sha256)
    ended = make(bench, tmp_path / "results", task="logicnlg", methods="mle,trime", kind="single", out=tmp_path / "x")
    assert (ended.code, ended.err) == (0, "")
    key = json.loads((tmp_path / "x" / "key.json").read_text())
    page = (tmp_path / "x" / "study.html").read_text(encoding="utf-8")
    content = json.loads(page.partition('id="content">')[2].partition("</script>")[0])
    sources = {one.id: task.plain_source(one) for one in split.examples}
    assert [item["context"] for item in content["items"]] == [sources[item["row"]] for item in key["items"].values()]


@pytest.fixture
def beside_another_system(bench, tmp_path):
    """Two seeds of a method, and a system's texts for the same built-in rows."""
    results = tmp_path / "results"
    assert bench("run", "--task", "xsum", "--method", "lead", "--quiet", "--results", str(results)).code == 0
    texts = [f"{WORDS} {place}" for place, _ in enumerate(XSum().sample("test"))]
    (tmp_path / "texts.txt").write_text("\n".join(texts))
    given = ("--task", "xsum", "--system", "ptgen", "--results", str(results))
    assert bench("import", str(tmp_path / "texts.txt"), *given).code == 0
    return results


@pytest.mark.parametrize("methods", ["lead,ptgen", "ptgen,lead"])
def test_texts_of_another_system_stand_beside_ours(bench, beside_another_system, tmp_path, methods):
    options = {"methods": methods, "kind": "single", "preset": "small"}
    ended = make(bench, beside_another_system, task="xsum", out=tmp_path / "x", **options)
    assert (ended.code, ended.err) == (0, "")
    about = json.loads((tmp_path / "x" / "key.json").read_text())["about"]
    assert set(about["cells"]) == {"lead", "ptgen"}
    assert about["settings"]["preset"] == "small"
    assert about["settings"]["decoding"] != "imported"


def test_texts_of_another_system_for_other_rows_do_not(bench, tmp_path):
    results = tmp_path / "results"
    open_ended(results, "mle")
    rows = [{"id": f"r{i:02}", "prompt": f"Once, {i}.", "text": f"{WORDS} {i}"} for i in range(10)]
    other = trained(results, "ptgen", task="text", preset="imported")
    record = {**other.trained(), "imported": {"system": "ptgen", "file": {"name": "x", "sha256": "1" * 64}}}
    shutil.rmtree(other.path)
    other.write_trained(record, PROVENANCE)
    store(other, rows, "imported", sha256="1" * 64)
    ended = make(bench, results, methods="mle,ptgen", out=tmp_path / "x")
    assert (ended.code, "there are some of: mle, ptgen" in ended.err) == (3, True)
    assert "where they are of the same split" in ended.err


def test_seeds_are_the_lowest_that_all_methods_have(bench, tmp_path):
    for method, seed in (("histalign", 0), ("histalign", 1), ("trime", 1), ("trime", 2)):
        open_ended(tmp_path / "results", method, seed)
    assert make(bench, tmp_path / "results", out=tmp_path / "x").code == 0
    cells = json.loads((tmp_path / "x" / "key.json").read_text())["about"]["cells"]
    assert {cell["seed"] for cell in cells.values()} == {1}
    ended = make(bench, tmp_path / "results", out=tmp_path / "y", seed=2)
    assert (ended.code, "there are some of: trime" in ended.err) == (3, True)


def test_several_settings_are_refused_until_one_is_named(bench, tmp_path):
    for method in ("histalign", "trime"):
        open_ended(tmp_path / "results", method)
        open_ended(tmp_path / "results", method, decoding="beam=4")
    ended = make(bench, tmp_path / "results", out=tmp_path / "x")
    assert (ended.code, "several settings fit (small small-encdec beam=4 test; " in ended.err) == (2, True)
    assert make(bench, tmp_path / "results", out=tmp_path / "x", decode="beam=4").code == 0


def test_two_cells_of_one_method_are_refused_until_one_is_named(bench, tmp_path):
    ours = open_ended(tmp_path / "results", "histalign")
    theirs = [open_ended(tmp_path / "results", "trime", trainer__lr=lr) for lr in (0.1, 0.2)]
    ended = make(bench, tmp_path / "results", out=tmp_path / "x")
    assert (ended.code, "several cells of trime fit" in ended.err) == (2, True)
    assert make(bench, ours.path, theirs[1].path, out=tmp_path / "x").code == 0


@pytest.mark.parametrize("damage", ["diverged", "no texts", "no rows in common"])
def test_methods_without_texts_of_the_same_rows_are_refused(bench, tmp_path, damage):
    open_ended(tmp_path / "results", "histalign")
    if damage == "diverged":
        open_ended(tmp_path / "results", "trime", status="diverged")
    elif damage == "no texts":
        trained(tmp_path / "results", "trime", task="text")
    else:
        rows = [{"id": "other", "prompt": "x", "text": "y"}]
        store(trained(tmp_path / "results", "trime", task="text"), rows)
    ended = make(bench, tmp_path / "results", out=tmp_path / "x")
    assert ended.code in (2, 3)
    assert "there are some of: histalign" in ended.err or "got 0 with a text of every method" in ended.err
    assert not (tmp_path / "x").exists()


def test_a_missing_key_or_answer_file_is_said(bench, tmp_path):
    ended = bench("human", "read", str(tmp_path / "answers.csv"), "--key", str(tmp_path / "key.json"))
    assert (ended.code, "expected the key.json of a study" in ended.err) == (3, True)
    assert bench("human", "mak").code == 2


def studied_news(bench, tmp_path, *more):
    """A study of two methods' summaries of the built-in articles."""
    from bench.tasks.fetch.sources import Source

    task = TASKS["xsum"].load()()
    task.load(Source(None, "built-in sample"))
    rows = [{"id": one.id, "text": one.target} for one in task.split("test").examples]
    for method in ("mle", "trime"):
        cell = trained(tmp_path / "results", method, task="xsum", task_options={})
        store(cell, rows, "beam=4", task.manifest("test").sha256)
    ended = bench("human", "make", str(tmp_path / "results"), "--task", "xsum", "--methods", "mle,trime", "--kind",
                  "single", "--items", "6", "--out", str(tmp_path / "x"), *more)  # fmt: skip
    return task, ended


def test_raters_may_be_shown_the_relevant_sentences_alone(bench, tmp_path):
    (tmp_path / "encoder").mkdir()
    encoder = tiny_encoders.encoder(tmp_path / "encoder")
    task, ended = studied_news(bench, tmp_path, "--relevant", "2", "--encoder", str(encoder))
    assert ended.code == 0, ended.err
    key = json.loads((tmp_path / "x" / "key.json").read_text())
    assert key["about"]["relevant"]["sentences"] == 2
    assert "weights:" in key["about"]["relevant"]["encoder"]
    assert str(tmp_path) not in json.dumps(key)
    page = (tmp_path / "x" / "study.html").read_text(encoding="utf-8")
    content = json.loads(page.partition('id="content">')[2].partition("</script>")[0])
    sources = {one.id: task.plain_source(one) for one in task.split("test").examples}
    for item in content["items"]:
        lines = [line for line in item["context"].split("\n") if line != "..."]
        assert 1 <= len(lines) <= 4
        source = sources[key["items"][item["id"]]["row"]]
        assert all(line in source for line in lines)
        assert sum(map(len, lines)) < len(source)


@pytest.mark.parametrize(
    ("more", "code", "said"),
    [
        (["--relevant", "10"], 3, "needs the encoder 'sentence-transformers/all-mpnet-base-v2'"),
        (["--encoder", "x"], 2, "--encoder is for --relevant N"),
        (["--relevant", "10", "--kind", "pairwise"], 2, "the beginning of a pair is shown whole"),
    ],
)
def test_relevant_sentences_need_an_encoder_and_single_texts(bench, tmp_path, more, code, said):
    _, ended = studied_news(bench, tmp_path, *more)
    assert (ended.code, len(ended.complaints)) == (code, 1)
    assert said in ended.err
