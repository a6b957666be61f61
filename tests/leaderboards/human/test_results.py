"""Answers are read as they were saved, unblinded by the key, counted, tested and shown beside the papers' numbers."""

import csv
import io
import json
import random

import pytest

from bench.errors import DataError
from bench.leaderboards.human.answers import read_answers, read_key, slots_of
from bench.leaderboards.human.results import as_content, bootstrap_p, results
from bench.leaderboards.human.study import write_study
from bench.leaderboards.human.tables import markdown, tables, terminal
from bench.leaderboards.statistics.significance import compare
from bench.metrics.sums import Sums, ratio
from tests.leaderboards.studies import answers, as_csv, made, side_of, write


@pytest.fixture
def pair():
    """The key of a study of histalign and trime with six items."""
    return made().key


def prefers(key, method, but=()):
    """A rater who finds a method better, but for some items, of which both are alike."""
    return lambda item, slot: "tie" if item in but else side_of(key, item, method)


def read(tmp_path, key, *saved, ending="json"):
    return read_answers([write(tmp_path, one, ending) for one in saved], key)


def found(tmp_path, key, *saved):
    return results(read(tmp_path, key, *saved), key, rounds=999)


# Reading ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["pairwise", "single"])
def test_csv_and_json_of_the_same_answers_are_the_same_and_count_once(tmp_path, kind):
    key = made(kind).key
    saved = answers(key, lambda item, slot: "A" if kind == "pairwise" else "yes")
    one = read(tmp_path, key, saved)
    assert read(tmp_path, key, saved, ending="csv") == one
    both = read_answers([tmp_path / "answers-anna.json", tmp_path / "answers-anna.csv"], key)
    assert both.judgements == one.judgements
    assert len(one.judgements) == 6 * len(slots_of(key))
    assert both.remarks == (f"{len(one.judgements)} answers were there twice; each counts once",)


def test_unlike_answers_of_one_rater_count_not_at_all(tmp_path, pair):
    one = answers(pair, lambda item, slot: "A")
    other = json.loads(json.dumps(one))
    other["answers"][0]["answer"] = "B"
    first = write(tmp_path, one)
    second = write(tmp_path, other, "csv")
    read = read_answers([first, second], pair)
    assert len(read.judgements) == 11
    assert "anna: unlike answers to i001 fluency; left out" in read.remarks
    assert "anna: 1 answers missing in items begun" in read.remarks


def test_what_is_missing_is_said(tmp_path, pair):
    part = answers(pair, lambda item, slot: "A" if item < "i003" else "")
    part["answers"].pop()
    assert read(tmp_path, pair, part).remarks == (
        "anna: 2 of 6 items answered",
        "anna: 1 answers missing in items begun",
        "4 of 6 items have no answer at all",
    )


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"study": "study-of-others"}, "expected study study-.* of another study"),
        ({"content": "0" * 64}, "expected version of its page .* of another study"),
        ({"rater": " "}, "expected a rater"),
        ({"schema": 2}, "cannot be read .*schema 2"),
    ],
)
def test_answers_of_another_study_are_refused(tmp_path, pair, change, says):
    with pytest.raises(DataError, match=says):
        read(tmp_path, pair, {**answers(pair, lambda item, slot: "A"), **change})


@pytest.mark.parametrize("change", [{"item": "i099"}, {"question": "beauty"}, {"answer": "yes"}, {"text": "A"}])
def test_unknown_items_questions_and_answers_are_refused_with_their_row(tmp_path, pair, change):
    saved = answers(pair, lambda item, slot: "A")
    saved["answers"][3].update(change)
    with pytest.raises(
        DataError, match=r"answers-anna.csv, row 5: expected an (item|question|answer) of the study \(.*\), got"
    ):
        read(tmp_path, pair, saved, ending="csv")


@pytest.mark.parametrize("text", ["", "a,b\n1,2\n", "{", '{"schema": 1}', "\xff", '{"schema": 1, "answers": 3}', "[]"])
def test_a_file_that_holds_no_answers_is_refused(tmp_path, pair, text):
    path = tmp_path / "answers.csv"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(DataError, match="expected"):
        read_answers([path], pair)


def test_a_key_is_checked_and_the_page_beside_it_too(tmp_path):
    where = write_study(tmp_path, made())
    assert read_key(where["key.json"])["study"] == made().key["study"]
    where["study.html"].write_text("another page")
    with pytest.raises(DataError, match="not the page this key was written with"):
        read_key(where["key.json"])
    where["key.json"].write_text('{"schema": 1}')
    with pytest.raises(DataError, match="without study, content"):
        read_key(where["key.json"])
    where["study.html"].unlink()
    where["key.json"].write_text(json.dumps({**made().key, "kind": "triple"}))
    with pytest.raises(DataError, match="kind pairwise or single, got schema 1 and kind 'triple'"):
        read_key(where["key.json"])


# Attention checks -------------------------------------------------------------------------------------------------


def test_a_rater_who_fails_the_checks_is_left_out_and_named(tmp_path):
    key = made(checks=2).key
    good = answers(key, prefers(key, "histalign"), "good")
    bad = answers(key, prefers(key, "trime"), "bad")
    for one in bad["answers"]:
        one["answer"] = "tie" if key["items"][one["item"]]["check"] else one["answer"]
    read_both = read(tmp_path, key, good, bad)
    assert (read_both.raters, read_both.left_out) == (("good",), ("bad",))
    assert read_both.remarks == ("bad: left out, 0 of 4 attention checks right",)
    assert len(read_both.judgements) == 12
    assert results(read_both, key, rounds=99).pairs[0].judgements.shares == (100, 0, 0)


def test_one_wrong_check_of_four_is_forgiven_and_two_are_not(tmp_path):
    key = made(checks=2).key
    for wrong, kept in ((1, 1), (2, 0)):
        saved = [answers(key, prefers(key, "trime"), "careless"), answers(key, prefers(key, "trime"), "z")]
        checks = [one for one in saved[0]["answers"] if key["items"][one["item"]]["check"]]
        for one in checks[:wrong]:
            one["answer"] = "tie"
        assert ("careless" in read(tmp_path, key, *saved).raters) == kept


def test_a_rater_who_met_no_check_is_kept_and_named(tmp_path):
    key = made(checks=1).key
    saved = answers(key, prefers(key, "histalign"))
    saved["answers"] = [one for one in saved["answers"] if not key["items"][one["item"]]["check"]]
    assert "no attention check was answered by anna" in read(tmp_path, key, saved).remarks


# MTurk ------------------------------------------------------------------------------------------------------------


def mturk(key, form, status="Approved"):
    """A result file with one assignment for every item, every answer the first there is."""
    options = ("A", "B", "tie") if key["kind"] == "pairwise" else ("yes", "no")
    lines = []
    for item in key["items"]:
        line = {
            "HITId": f"H{item}",
            "AssignmentStatus": status,
            "WorkerId": "A1B2",
            "Input.study": key["study"],
            "Input.content": key["content"],
            "Input.item": item,
            "Input.context": "&#60;b&#62;",
        }
        for slot in slots_of(key):
            if form == "value":
                line[f"Answer.{slot}"] = options[0]
            elif form == "true":
                line |= {f"Answer.{slot}.{option}": str(option == options[0]).lower() for option in options}
        if form == "json":
            chosen = {option: option == options[0] for option in options}
            line["Answer.taskAnswers"] = json.dumps([dict.fromkeys(slots_of(key), chosen)])
        lines.append(line)
    out = io.StringIO()
    writer = csv.DictWriter(out, list(lines[0]), quoting=csv.QUOTE_ALL)
    writer.writeheader()
    writer.writerows(lines)
    return out.getvalue()


@pytest.mark.parametrize("kind", ["pairwise", "single"])
@pytest.mark.parametrize("form", ["value", "true", "json"])
def test_results_of_mturk_are_read_in_each_of_their_forms(tmp_path, kind, form):
    key = made(kind).key
    path = tmp_path / "batch.csv"
    path.write_text(mturk(key, form), encoding="utf-8-sig")
    first = "A" if kind == "pairwise" else "yes"
    same = read(tmp_path, key, answers(key, lambda item, slot: first, "A1B2"))
    assert read_answers([path], key).judgements == same.judgements


def test_rejected_assignments_are_left_out(tmp_path, pair):
    path = tmp_path / "batch.csv"
    path.write_text(mturk(pair, "true", "Rejected"))
    other = write(tmp_path, answers(pair, lambda item, slot: "A"))
    read = read_answers([path, other], pair)
    assert read.raters == ("anna",)
    assert "batch.csv: 6 rejected assignments left out" in read.remarks


# Counting ---------------------------------------------------------------------------------------------------------


def test_votes_are_unblinded_and_a_majority_is_more_than_any_other_answer(tmp_path, pair):
    raters = [
        answers(pair, prefers(pair, "histalign"), "a"),
        answers(pair, prefers(pair, "histalign", but=("i001", "i002")), "b"),
        answers(pair, prefers(pair, "trime", but=("i001",)), "c"),
    ]
    one = found(tmp_path, pair, *raters).pairs[0]
    assert (one.judgements.win, one.judgements.tie, one.judgements.lose) == (10, 3, 5)
    assert (one.majority.win, one.majority.tie, one.majority.lose) == (4, 2, 0)
    assert one.judgements.shares == pytest.approx((100 * 10 / 18, 100 * 3 / 18, 100 * 5 / 18))
    assert one.difference.value == pytest.approx(100 * 5 / 18)
    on_left = [side_of(pair, item, "histalign") == "A" for item in pair["items"]]
    left = sum(on_left) + sum(on_left[2:]) + sum(not side for side in on_left[1:])
    assert one.left_share == pytest.approx(100 * left / 15)


def test_swapped_methods_swap_wins_and_losses(tmp_path):
    one, other = made().key, made(methods=("trime", "histalign")).key
    first = found(tmp_path, one, answers(one, prefers(one, "histalign"))).pairs[0]
    second = found(tmp_path, other, answers(other, prefers(other, "histalign"))).pairs[0]
    assert first.judgements.shares == (100, 0, 0)
    assert second.judgements.shares == (0, 0, 100)
    assert first.difference.p < 0.05


def test_means_and_differences_of_single_ratings(tmp_path):
    key = made("single", n=40, items=30).key

    def faithful(item, slot):
        question, _, label = slot.partition("_")
        method = key["items"][item]["methods"]["ABC".index(label)]
        return "yes" if question == "informativeness" or method == "histalign" or item <= "i006" else "no"

    study = found(tmp_path, key, *(answers(key, faithful, rater) for rater in "abc"))
    means = {(one.method, one.question): one for one in study.ratings}
    assert [one.mean.value for one in study.ratings[:3]] == [20, 20, 100]
    assert means["histalign", "faithfulness"].judgements == 90
    assert means["mle", "faithfulness"].difference is None
    better = means["histalign", "faithfulness"].difference
    assert (better.value, better.p < 0.01, better.p_bootstrap < 0.01) == (80, True, True)
    assert better.adjusted == pytest.approx(4 * better.p)
    assert means["trime", "faithfulness"].difference.p == 1
    agreed = {one.question: one for one in study.agreement}
    assert (agreed["faithfulness"].nominal, agreed["faithfulness"].raw, agreed["faithfulness"].units) == (1, 100, 90)
    assert agreed["informativeness"].nominal is None


def counted(votes, outcome):
    """How many of each item's three votes are this outcome."""
    return Sums(ratio(), [[item.count(outcome), 3] for item in votes])


def test_the_tests_p_is_near_uniform_where_nobody_prefers_anything():
    draw, n = random.Random(13), 400
    exact, bootstrapped = [], []
    for seed in range(n):
        votes = [draw.choices("wtl", k=3) for _ in range(100)]
        wins, losses = counted(votes, "w"), counted(votes, "l")
        exact.append(compare({0: wins}, {0: losses}, 399, seed).p)
        bootstrapped.append(bootstrap_p(wins, losses, rounds=399, seed=seed))
    for p_values in (exact, bootstrapped):
        for level in (0.05, 0.1, 0.25, 0.5, 0.75):
            share = sum(p <= level for p in p_values) / n
            assert abs(share - level) < 3 * (level * (1 - level) / n) ** 0.5 + 0.03, level  # votes are whole: steps


def test_a_preference_is_found():
    draw = random.Random(13)
    votes = [draw.choices("wtl", (48, 32, 20), k=3) for _ in range(100)]  # as in HistAlign table 4, coherence
    wins, losses = counted(votes, "w"), counted(votes, "l")
    assert compare({0: wins}, {0: losses}, 999).p == bootstrap_p(wins, losses, rounds=999) == 0.001


# Showing ----------------------------------------------------------------------------------------------------------


def test_the_table_is_in_the_order_of_histalign_4_with_its_numbers_below(tmp_path, pair):
    study = found(tmp_path, pair, answers(pair, prefers(pair, "histalign")))
    shares = tables(study)[0]
    rows = shares.rows
    assert shares.title == "histalign against trime: percent of judgements"
    assert shares.headings[1:] == [
        "fluency win",
        "fluency tie",
        "fluency lose",
        "coherence win",
        "coherence tie",
        "coherence lose",
    ]
    assert rows[0] == ["histalign vs trime", "100.00", "0.00", "0.00", "100.00", "0.00", "0.00"]
    assert rows[2] == [
        "  published: histalign Table 4, HISTALIGN",
        "46.33",
        "36.33",
        "17.33",
        "48.33",
        "32.00",
        "19.66",
    ]
    other = made(methods=("trime", "histalign")).key
    turned = tables(found(tmp_path, other, answers(other, prefers(other, "trime"))))[0].rows
    assert turned[2][1:4] == ["17.33", "36.33", "46.33"]
    third = made(methods=("face", "mle")).key
    assert len(tables(found(tmp_path, third, answers(third, prefers(third, "mle"))))[0].rows) == 2


def test_the_table_is_in_the_order_of_histalign_6_with_its_numbers_below(tmp_path):
    key = made("single").key
    means = tables(found(tmp_path, key, answers(key, lambda item, slot: "yes")))[0]
    rows = means.rows
    assert means.headings == ["", "faithfulness", "informativeness"]
    assert [row[0].strip().rpartition(" ")[2] for row in rows] == [
        "mle",
        "BART",
        "trime",
        "TRIME",
        "histalign",
        "HISTALIGN",
    ]
    assert rows[5][1:] == ["26.33", "65.33"]


def test_every_form_holds_the_same_numbers_and_what_is_wrong(tmp_path, pair):
    study = found(tmp_path, pair, answers(pair, lambda item, slot: "A" if item < "i003" else "", "a|b <i>\x1b[31m"))
    for text in (terminal(study), markdown(study)):
        assert f"{study.pairs[0].judgements.shares[0]:.2f}" in text
        assert "2 of 6 items answered" in text
        assert "other people rated other texts" in text
        assert "\x1b" not in text
    assert "a\\|b \\<i\\>" in markdown(study)
    content = json.loads(json.dumps(as_content(study), allow_nan=False))
    assert sum(content["pairs"][0]["judgements"].values()) == 2
    assert content["schema_version"] == 1


def test_nobody_left_is_said_and_not_divided_by(tmp_path):
    key = made(checks=1).key
    saved = answers(key, lambda item, slot: "tie")
    for one in saved["answers"]:
        one["answer"] = "tie"
    with pytest.raises(DataError, match="no rater is left"):
        read(tmp_path, key, saved)


def test_the_pages_csv_is_read_when_a_name_has_a_comma_or_another_script(tmp_path, pair):
    for name in ("Ана-1", 'x, "y"'):
        saved = answers(pair, lambda item, slot: "A", name)
        path = tmp_path / "answers.csv"
        path.write_text(as_csv(saved), encoding="utf-8")
        assert read_answers([path], pair).raters == (name,)
