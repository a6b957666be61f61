"""`bench human`: stored texts are exported with the methods hidden, and answers of annotation tools are read."""

import csv
import json

import pandas as pd
import pytest

from bench.base.keys import key_of
from bench.tasks import TASKS
from bench.tasks.fetch.sources import Source
from bench.tasks.xsum import XSum
from tests.leaderboards.handmade import PROVENANCE, trained


def store(root, method, seed=0, n=10, decoding="greedy", task="text", rows=None, sha256="0" * 64, **changes):
    """Store n texts of a method, with their prompts."""
    cell = trained(root, method, seed, task=task, **changes)
    content = {"kind": "generation", "split": "test", "decoding": {"name": decoding}, "split_sha256": sha256}
    rows = rows or [{"id": f"r{i:02}", "prompt": f"Once, {i}.", "text": f"text {i} by {method[0]}"} for i in range(n)]
    key = key_of([content, rows])
    cell.write_rows(key, content, rows, PROVENANCE)
    of = {**content, "status": "official", "batch_size": 1, "whole_split": True, "ids": {"n": len(rows)}}
    cell.write_record(f"scores-{key_of([key])}.json", {"family": "x", "rows": key, "of": of, "values": []}, PROVENANCE)
    return cell


def export(bench, results, out, *more, task="text", methods="histalign,trime", items=6):
    return bench("human", "export", str(results), "--task", task, "--method", methods, "--items", str(items),
                 "--output", str(out), *more)  # fmt: skip


def items_of(folder):
    with open(folder / "items.csv", encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def key_of_study(folder):
    return json.loads((folder / "key.json").read_text())


def write(path, rows):
    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(dict.fromkeys(name for row in rows for name in row)))
        writer.writeheader()
        writer.writerows(rows)
    return str(path)


def read(bench, folder, *files):
    return bench("human", "import", *files, "--key", str(folder / "key.json"), "--json")


@pytest.fixture
def pairs(bench, tmp_path):
    """The folder of a study of two methods, six rows."""
    for method in ("histalign", "trime", "mle"):
        store(tmp_path / "results", method)
    ended = export(bench, tmp_path / "results", tmp_path / "study")
    assert (ended.code, ended.err) == (0, "")
    return tmp_path / "study"


@pytest.fixture
def ratings(bench, tmp_path):
    """The folder of a study of the texts of three methods, six rows."""
    for method in ("histalign", "trime", "mle"):
        store(tmp_path / "results", method)
    assert (
        export(bench, tmp_path / "results", tmp_path / "s", "--kind", "ratings", methods="mle,trime,histalign").code
        == 0
    )
    return tmp_path / "s"


def side(folder, item, method):
    return "AB"[key_of_study(folder)["items"][item]["methods"].index(method)]


# Export -------------------------------------------------------------------------------------------------------------


def test_methods_are_hidden_and_stand_on_both_sides(bench, pairs, tmp_path):
    items, key = items_of(pairs), key_of_study(pairs)
    assert [list(item) for item in items] == [["item", "context", "text_A", "text_B"]] * 6
    assert "histalign" not in (pairs / "items.csv").read_text()
    assert sum(key["items"][item["item"]]["methods"] == ["trime", "histalign"] for item in items) == 3
    for item in items:
        row, methods = key["items"][item["item"]].values()
        number = int(row[1:])
        assert item["context"] == f"Once, {number}."
        assert [item["text_A"], item["text_B"]] == [f"text {number} by {method[0]}" for method in methods]
    assert len({item["context"] for item in items}) == 6
    assert [item["context"] for item in items] != sorted(item["context"] for item in items)
    assert export(bench, tmp_path / "results", tmp_path / "again").code == 0
    assert (tmp_path / "again" / "items.csv").read_bytes() == (pairs / "items.csv").read_bytes()
    other = export(bench, tmp_path / "results", pairs, items=5)
    assert (other.code, "is of another study" in other.err) == (2, True)
    assert key_of_study(pairs) == key


def test_each_text_is_an_item_of_its_own(ratings):
    items, key = items_of(ratings), key_of_study(ratings)
    assert len(items) == 18
    assert {tuple(item) for item in items} == {("item", "context", "text")}
    assert sorted(of["methods"][0] for of in key["items"].values()) == ["histalign"] * 6 + ["mle"] * 6 + ["trime"] * 6
    assert key["questions"] == ["faithfulness", "informativeness"]


def test_texts_are_shown_as_they_are_without_control_characters(bench, tmp_path):
    hostile = '<b>one</b>\r\n"two", =3\x1b[31m\x00'
    for method in ("mle", "trime"):
        rows = [{"id": f"r{i}", "prompt": "Once.", "text": hostile} for i in range(2)]
        store(tmp_path / "results", method, rows=rows)
    assert export(bench, tmp_path / "results", tmp_path / "study", methods="mle,trime", items=2).code == 0
    assert {item["text_A"] for item in items_of(tmp_path / "study")} == {'<b>one</b>\n"two", =3'}


def test_sources_of_a_conditional_task_come_from_its_data(bench, tmp_path):
    task = TASKS["logicnlg"].load()()
    task.load(Source(None, "built-in sample"))
    split = task.split("test")
    rows = [{"id": one.id, "text": f"about {one.id}"} for one in split.examples]
    for method in ("mle", "trime"):
        sha256 = task.manifest("test").sha256
        store(tmp_path / "results", method, task="logicnlg", rows=rows, sha256=sha256, task_options={})
    ended = export(bench, tmp_path / "results", tmp_path / "study", task="logicnlg", methods="mle,trime")
    assert (ended.code, ended.err) == (0, "")
    sources = {one.id: task.plain_source(one) for one in split.examples}
    key = key_of_study(tmp_path / "study")
    for item in items_of(tmp_path / "study"):
        assert item["context"] == sources[key["items"][item["item"]]["row"]]


@pytest.mark.parametrize("methods", ["lead,ptgen", "ptgen,lead"])
def test_texts_of_another_system_stand_beside_ours_of_the_same_rows(bench, tmp_path, methods):
    results = tmp_path / "results"
    assert bench("run", "--task", "xsum", "--method", "lead", "--quiet", "--results", str(results)).code == 0
    (tmp_path / "texts.txt").write_text("\n".join(f"text {i}" for i, _ in enumerate(XSum().sample("test"))))
    given = ("--task", "xsum", "--system", "ptgen", "--results", str(results))
    assert bench("import", str(tmp_path / "texts.txt"), *given).code == 0
    ended = export(bench, results, tmp_path / "study", task="xsum", methods=methods)
    assert (ended.code, ended.err) == (0, "")
    assert key_of_study(tmp_path / "study")["methods"] == methods.split(",")


def test_what_does_not_fit_is_refused(bench, tmp_path):
    """The lowest seed that all have is taken."""
    results = tmp_path / "results"
    for method, seed in (("histalign", 0), ("histalign", 1), ("trime", 1), ("trime", 2)):
        store(results, method, seed)
    ended = export(bench, results, tmp_path / "x")
    assert (ended.code, "preset small, seed 1, greedy\n" in ended.out) == (0, True)
    none = export(bench, results, tmp_path / "y", "--decode", "beam=4")
    assert (none.code, "no texts of histalign, trime for text" in none.err) == (3, True)
    many = export(bench, results, tmp_path / "y", items=11)
    assert (many.code, "only 10 rows have a text of each method, and 11 are needed" in many.err) == (2, True)
    three = export(bench, results, tmp_path / "y", methods="histalign")
    assert (three.code, "compares two methods, not 1" in three.err) == (2, True)
    store(results, "trime", 1, decoding="beam=4")
    none = export(bench, results, tmp_path / "y", "--decode", "beam=4")
    assert (none.code, "no texts of histalign for text" in none.err) == (3, True)
    store(results, "trime", 1, backbone="small-causal")
    several = export(bench, results, tmp_path / "y")
    assert (several.code, "several runs fit (trime: 1 more run of" in several.err) == (2, True)


# Import -------------------------------------------------------------------------------------------------------------


def test_pairs_are_unblinded_and_counted(bench, pairs, tmp_path):
    """Two of three raters prefer histalign's fluency in every item, one says tie; coherence is the same to all."""
    rows = [
        {"item": item["item"], "rater": rater, "coherence": "tie",
         "fluency": side(pairs, item["item"], "histalign") if rater != "cy" else "tie"}
        for rater in ("anna", "bo", "cy") for item in items_of(pairs)
    ]  # fmt: skip
    found = json.loads(read(bench, pairs, write(tmp_path / "a.csv", rows)).out)
    assert (found["raters"], found["items"]) == (3, [6, 6])
    by_name = {(one["question"], one["method"]): one for one in found["results"]}
    ours, theirs, tie = (by_name["fluency", name] for name in ("histalign", "trime", "tie"))
    assert [round(one["value"], 2) for one in (ours, theirs, tie)] == [66.67, 0.0, 33.33]
    assert (ours["n"], ours["low"], ours["high"]) == (18, ours["value"], ours["value"])
    assert theirs["difference"] == pytest.approx(-200 / 3)
    assert by_name["coherence", "tie"]["value"] == 100
    alphas = {one["question"]: one["alpha"] for one in found["agreement"]}
    assert alphas["coherence"] is None
    assert alphas["fluency"] < 0
    shown = bench("human", "import", str(tmp_path / "a.csv"), "--key", str(pairs / "key.json"))
    assert shown.code == 0
    assert "6 of 6 items, 3 raters" in shown.out
    assert "agreement on coherence: Krippendorff's alpha not defined" in shown.out


def test_ratings_are_means_with_intervals_and_differences(bench, ratings, tmp_path):
    """Of each row trime has one more than mle; rows differ."""
    rows = []
    for name, secret in key_of_study(ratings)["items"].items():
        number = int(secret["row"][1:])
        more = secret["methods"] == ["trime"]
        rows += [{"item": name, "rater": rater, "faithfulness": number + more} for rater in "ab"]
    found = json.loads(read(bench, ratings, write(tmp_path / "a.csv", rows)).out)
    mle, trime, histalign = found["results"]
    assert [one["method"] for one in found["results"]] == ["mle", "trime", "histalign"]
    assert trime["value"] == pytest.approx(mle["value"] + 1)
    assert (trime["difference"], trime["difference_low"], trime["difference_high"]) == pytest.approx((1, 1, 1))
    assert histalign["difference"] == 0
    assert mle["low"] < mle["value"] < mle["high"]
    assert found["agreement"] == [{"question": "faithfulness", "alpha": 1.0, "n": 18}]


def label_studio(item, rater, answer):
    more = {"annotation_id": "9", "created_at": "2026-01-01T00:00:00Z", "updated_at": "2026-01-01T00:00:00Z"}
    return {"annotator": rater, "fluency": answer, "id": "7", "item": item, "lead_time": "3.1", "text_A": "x", **more}


def test_answers_of_label_studio_are_read(bench, pairs, tmp_path):
    rows = [label_studio(item["item"], "anna", side(pairs, item["item"], "trime")) for item in items_of(pairs)]
    found = json.loads(read(bench, pairs, write(tmp_path / "a.csv", rows)).out)
    assert {one["method"]: one["value"] for one in found["results"]} == {"histalign": 0, "trime": 100, "tie": 0}


def test_a_separator_at_the_end_of_lines_moves_no_column(bench, pairs, tmp_path):
    rows = [{"item": item["item"], "rater": "anna", "fluency": "A", "coherence": "tie"} for item in items_of(pairs)]
    plain = write(tmp_path / "plain.csv", rows)
    header, *lines = (tmp_path / "plain.csv").read_text().splitlines()
    trailing = tmp_path / "trailing.csv"
    trailing.write_text("\n".join([header, *(f"{line}," for line in lines)]) + "\n")
    with pytest.warns(pd.errors.ParserWarning, match="index_col"):
        ended = read(bench, pairs, str(trailing))
    assert (ended.code, ended.out) == (0, read(bench, pairs, plain).out)


@pytest.mark.parametrize(("answer", "value"), [('[{"rating": 4}]', 4), ("no", 0), ("2.5", 2.5)])
def test_ratings_of_each_form_are_numbers(bench, ratings, tmp_path, answer, value):
    rows = [{"item": item["item"], "annotator": "anna", "faithfulness": answer} for item in items_of(ratings)]
    found = json.loads(read(bench, ratings, write(tmp_path / "a.csv", rows)).out)
    assert {one["value"] for one in found["results"]} == {value}


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"item": "00000000-0001"}, "line 2: '00000000-0001' is no item of study"),
        ({"fluency": "C"}, "line 2: expected A, B or tie, not 'C'"),
        ({"rater": ""}, "expected one of the columns rater, annotator"),
        ({"fluency": "", "beauty": "A"}, "expected columns with the names fluency, coherence"),
    ],
)
def test_answers_that_are_not_of_the_study_are_refused(bench, pairs, tmp_path, change, says):
    row = {"item": items_of(pairs)[0]["item"], "rater": "anna", "fluency": "A", **change}
    ended = read(bench, pairs, write(tmp_path / "a.csv", [row]))
    assert (ended.code, says in ended.err) == (3, True), ended.err


def test_unlike_answers_and_files_that_are_none_are_refused(bench, pairs, ratings, tmp_path):
    name = items_of(pairs)[0]["item"]
    rows = [{"item": name, "rater": "anna", "fluency": answer} for answer in "AB"]
    ended = read(bench, pairs, write(tmp_path / "a.csv", rows))
    assert (ended.code, "line 3: anna has answered" in ended.err) == (3, True)
    (tmp_path / "b.csv").write_bytes(b"item,rater\n\xff")
    assert "cannot be read as CSV" in read(bench, pairs, str(tmp_path / "b.csv")).err
    ended = bench("human", "import", str(tmp_path / "a.csv"), "--key", str(tmp_path / "a.csv"))
    assert "cannot be read as the key.json of a study" in ended.err
    for text in ("very", "inf", "nan"):
        rows = [{"item": items_of(ratings)[0]["item"], "rater": "anna", "faithfulness": text}]
        error = read(bench, ratings, write(tmp_path / "a.csv", rows)).err
        assert f"expected a number, yes or no, not '{text}'" in error
