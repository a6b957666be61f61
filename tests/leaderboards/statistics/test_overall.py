"""Over several tasks, and closest to people: known answers from handmade stores."""

import pytest

from bench.leaderboards.leaderboards import with_statistics
from bench.leaderboards.render.formats import render
from bench.leaderboards.row import Value
from bench.leaderboards.statistics.overall import closest, overall, overall_lines, relative_scores
from bench.leaderboards.table import tables
from bench.store.store import Store
from tests.leaderboards.handmade import scored, trained


def store(root, task, column, values):
    for method, by_seed in values.items():
        for seed, value in enumerate(by_seed):
            scored(trained(root, method, seed, task=task), {column: value})


def test_a_method_over_two_tasks(tmp_path):
    store(tmp_path, "logicnlg", "bleu-3", {"mle": [10.0, 10.0, 10.0], "trime": [12.0, 11.0, 13.0]})
    store(tmp_path, "xsum", "rouge-l", {"mle": [20.0, 20.0, 20.0], "trime": [19.0, 18.0, 20.0], "face": [30.0] * 3})
    found = overall(tables(Store(tmp_path))[0])
    assert [one.method for one in found] == ["trime"], "one task is no aggregate"
    (one,) = found
    assert list(one.tasks) == ["logicnlg", "xsum"]
    assert one.relative.value == pytest.approx((0.95 + 1.0 + 1.1 + 1.2) / 4)
    assert one.improves.value == pytest.approx((1.0 + (0.0 + 0.0 + 0.5) / 3) / 2)
    assert one.relative.low <= one.relative.value <= one.relative.high
    assert "trime is at 1.06 [" in overall_lines(tables(Store(tmp_path))[0])[0]


def test_lower_is_better_is_turned_round(tmp_path):
    for task in ("text", "nsmc"):
        store(tmp_path, task, "kld", {"mle": [4.0] * 3, "face": [2.0] * 3})
    (one,) = overall(tables(Store(tmp_path))[0])
    assert (one.method, one.relative.value, one.improves.value) == ("face", 2.0, 1.0)


def test_without_the_baseline_or_a_second_task_there_is_no_line(tmp_path):
    store(tmp_path, "logicnlg", "bleu-3", {"mle": [10.0] * 3, "trime": [12.0] * 3})
    store(tmp_path, "xsum", "rouge-l", {"trime": [19.0] * 3})
    assert overall_lines(tables(Store(tmp_path))[0]) == []


def test_a_task_with_two_seeds_is_left_out_and_named(tmp_path):
    store(tmp_path, "logicnlg", "bleu-3", {"mle": [10.0, 10.0], "trime": [12.0, 11.0]})
    store(tmp_path, "xsum", "rouge-l", {"mle": [20.0] * 3, "trime": [19.0] * 3})
    (line,) = overall_lines(tables(Store(tmp_path))[0])
    assert line == "left out of what is aggregated over tasks: logicnlg (bleu-3: under 3 seeds)"


@pytest.mark.parametrize("base", [[1e-101] * 3, [0.8, 0.8, 0.8], [0.001, 8.0, 9.0], [1.1, 5.0, 9.9]])
def test_a_baseline_near_0_is_no_scale(tmp_path, base):
    store(tmp_path, "logicnlg", "bleu-3", {"mle": base, "trime": [12.0, 11.0, 13.0]})
    for task in ("xsum", "gigaword"):
        store(tmp_path, task, "rouge-l", {"mle": [20.0] * 3, "trime": [19.0] * 3})
    found = tables(Store(tmp_path))[0]
    assert [list(one.tasks) for one in overall(found)] == [["xsum", "gigaword"]]
    first, note = overall_lines(found)
    assert "trime is at 0.95 [" in first
    assert note == "left out of what is aggregated over tasks: logicnlg (bleu-3: mle is near 0)"


def test_a_method_near_0_is_no_scale_where_lower_is_better(tmp_path):
    for task in ("text", "nsmc"):
        store(tmp_path, task, "kld", {"mle": [4.0] * 3, "face": [1e-9] * 3})
    found = tables(Store(tmp_path))[0]
    assert overall(found) == []
    (note,) = overall_lines(found)
    assert "text (kld: a method is near 0, where lower is better)" in note


@pytest.mark.parametrize(
    ("ours", "theirs", "higher", "why"),
    [
        ([-4.0, -4.1, -3.9], [-8.0, -8.1, -7.9], True, "mle is below 0"),
        ([4.0, 4.1, 3.9], [-8.0, -8.1, -7.9], False, "mle is below 0"),
        ([-4.0, -4.1, -3.9], [8.0, 8.1, 7.9], False, "a method is below 0, where lower is better"),
        ([4.0, 4.1, 3.9], [0.0, 0.0, 0.0], True, "mle is near 0"),
    ],
)
def test_a_negative_or_zero_value_is_no_scale(ours, theirs, higher, why):
    values = [Value(dict(enumerate(by_seed)), higher, "") for by_seed in (ours, theirs)]
    assert relative_scores(*values) == why


def test_who_is_closest_to_people(tmp_path):
    human = {"bleu-1": 50.0, "bleu-3": 20.0}
    for method, one, three in (("mle", 40.0, 30.0), ("trime", 52.0, 19.0), ("face", 90.0, 90.0)):
        scored(trained(tmp_path, method), {"bleu-1": one, "bleu-3": three}, human=human)
    (table,), _ = tables(Store(tmp_path))
    said = "closest to human, mean rank over bleu-1, bleu-3: trime 1.0, mle 2.0, face 3.0"
    assert closest(table) == [said]
    assert said in render(with_statistics([table]), "terminal")
    table.human = ()
    assert closest(table) == []


def test_a_method_with_several_settings_is_not_its_best_one(tmp_path):
    """Settings that only test scores would tell apart give no aggregate; the column of a task says why."""
    for task in ("xsum", "gigaword"):
        for temperature, value in ((1.0, 19.0), (2.0, 30.0)):
            for seed in range(3):
                cell = trained(tmp_path, "trime", seed, task=task, method_options={"temperature": temperature})
                scored(cell, {"rouge-l": value})
        store(tmp_path, task, "rouge-l", {"mle": [20.0] * 3, "face": [22.0] * 3})
    found = tables(Store(tmp_path))[0]
    assert [one.method for one in overall(found)] == ["face"]
    assert "xsum (rouge-l: trime has several settings, none picked on validation)" in overall_lines(found)[1]
