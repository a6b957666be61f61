"""Claims with known answers: LogicNLG's pairs and the judged sentences of summaries."""

import gzip
import json
import os
from pathlib import Path

import pytest

from bench.errors import DataError, MissingError
from bench.tasks.files.known_answers import summary_answers, table_answers
from tests.bench.logicnlg_folder import write

DATA = os.environ.get("BENCH_DATA")
real = pytest.mark.skipif(not DATA, reason="no known answers: set BENCH_DATA to the folder with logicnlg/ and xsum/")


def side(sentence):
    return [sentence, [0, 1], "league", "[ENT]"]


def pairs(folder, content, name="test"):
    (folder / "logicnlg" / f"{name}_lm_pos_neg.json").write_text(json.dumps(content))


def judged(folder, task, *sentences):
    (folder / task).mkdir(exist_ok=True)
    answers = [{"sentence": text, "responses": [{"worker_id": i, "response": said} for i, said in enumerate(said)]}
               for text, said in sentences]  # fmt: skip
    path = folder / task / f"qags_mturk_{task}.jsonl.gz"
    path.write_bytes(gzip.compress(json.dumps({"article": "Vale won.", "summary_sentences": answers}).encode()))
    return path


def test_a_true_sentence_and_its_corrupted_twin(tmp_path):
    write(tmp_path)
    pairs(tmp_path, {"1-1.html.csv": [{"pos": side("vale has 12 points"), "neg": side("vale has 30 points")}]})
    true, false = table_answers(tmp_path)
    assert (true.text, true.is_true, false.text, false.is_true) == (
        "vale has 12 points", True, "vale has 30 points", False)  # fmt: skip
    assert true.gold == false.gold
    assert true.gold["table"] == {"header": ["team", "points"], "rows": [["vale", "12"], ["osterby", "31"]]}
    assert (true.gold["title"], true.gold["columns"]) == ("league", (0, 1))
    assert true.id != false.id


def test_valid_stands_in_where_test_has_no_pairs(tmp_path):
    write(tmp_path)
    with pytest.raises(MissingError, match="test_lm_pos_neg"):
        table_answers(tmp_path)
    pairs(tmp_path, {"1-1.html.csv": [{"pos": side("a"), "neg": side("b")}]}, "val")
    assert [one.text for one in table_answers(tmp_path)] == ["a", "b"]


@pytest.mark.parametrize(
    "content",
    [[], {"1-1.html.csv": [{"pos": side("a")}]}, {"1-1.html.csv": [{"pos": ["a"], "neg": side("b")}]},
     {"nowhere.csv": [{"pos": side("a"), "neg": side("b")}]}, {"1-1.html.csv": [{"pos": side(3), "neg": side("b")}]}],
)  # fmt: skip
def test_pairs_of_another_form_are_refused(tmp_path, content):
    write(tmp_path)
    pairs(tmp_path, content)
    with pytest.raises(DataError, match="test_lm_pos_neg|nowhere"):
        table_answers(tmp_path)


def test_most_judgements_decide(tmp_path):
    judged(tmp_path, "xsum", ("It won.", ["yes", "no", "yes"]), ("It lost.", ["no", "no", "yes"]))
    judged(tmp_path, "cnndm", ("Vale won.", ["yes"]))
    found = summary_answers(tmp_path)
    assert [(one.text, one.is_true) for one in found] == [("It won.", True), ("It lost.", False), ("Vale won.", True)]
    assert {one.gold["source"] for one in found} == {"Vale won."}
    assert len({one.id for one in found}) == 3


@pytest.mark.parametrize("said", [["yes", "no"], ["maybe"], []])
def test_judgements_without_a_majority_are_refused(tmp_path, said):
    judged(tmp_path, "xsum", ("It won.", said))
    with pytest.raises(DataError, match="line 1: expected an article with judged sentences"):
        summary_answers(tmp_path)


def test_without_any_file_it_says_which(tmp_path, monkeypatch):
    monkeypatch.delenv("BENCH_DATA", raising=False)
    monkeypatch.setenv("BENCH_CACHE", str(tmp_path / "cache"))
    with pytest.raises(MissingError, match=r"mturk_xsum\.jsonl"):
        summary_answers(tmp_path)
    with pytest.raises(MissingError, match="needs LogicNLG's files"):
        table_answers(tmp_path)


@real
def test_real_answers():
    tables, summaries = table_answers(Path(DATA)), summary_answers(Path(DATA))
    assert len(tables) == 2 * 4305
    assert sum(one.is_true for one in tables) == 4305
    assert len(summaries) > 900
    assert 0.4 < sum(one.is_true for one in summaries) / len(summaries) < 0.8
