"""The overview over tasks: which table of a task counts, which tasks are aggregated, and what notes name."""

import pytest

from bench.leaderboards.leaderboards import with_statistics
from bench.leaderboards.render.formats import render
from bench.leaderboards.table import tables
from bench.store.store import Store
from tests.leaderboards.handmade import manifest, scored, trained

COLUMNS = {"logicnlg": "bleu-3", "text": "kld", "xsum": "rouge-l", "gigaword": "rouge-l"}
SAMPLE = {"train": manifest("train", "sample"), "test": manifest("test", "sample", "s")}


def store(root, task, column, values, **changes):
    for method, by_seed in values.items():
        for seed, value in enumerate(by_seed):
            scored(trained(root, method, seed, task=task, **changes), {column: value})


def overview_of(root):
    return with_statistics(tables(Store(root))[0]).overview


def method_of(found, name):
    (method,) = [method for method in found.methods if method["method"] == name]
    return method


def cell_of(found, name, task="logicnlg"):
    return method_of(found, name)["cells"][task]


def difference_of(found, name, task="logicnlg"):
    return pytest.approx(cell_of(found, name, task)["difference"])


def tasks_with_controls(root, baselines, gains=(2.0, 2.0, 2.0)):
    """Three tasks on which `trime` beats `mle` by a gain and `lead` has 10."""
    noise = (0.0, 0.01, -0.01)
    for task, baseline, gain in zip(("logicnlg", "xsum", "gigaword"), baselines, gains, strict=True):
        mle = [baseline + by for by in (0.0, 0.2, -0.2)]
        trime = [value + gain + by for value, by in zip(mle, noise, strict=True)]
        store(root, task, COLUMNS[task], {"mle": mle, "trime": trime})
        store(root, task, COLUMNS[task], {"lead": [10.0] * 3}, backbone="")


def test_over_three_gated_tasks_it_counts_where_a_method_is_significantly_better_and_worse(tmp_path):
    tasks_with_controls(tmp_path, (20.0, 20.0, 20.0), (2.0, -2.0, 0.001))
    found = overview_of(tmp_path)
    over_tasks = {"better": 1, "worse": 1, "tasks": ["LogicNLG", "XSum", "Gigaword"]}
    assert method_of(found, "trime")["over_tasks"] == over_tasks
    result = "trime is better than mle on 1 and worse on 1 of 3 tasks (LogicNLG, XSum, Gigaword; paired over seeds"
    assert found.sentences[3].startswith(result)
    passed = "mle is better than every trivial control, the best of which is lead (bleu-3 20.00 against 10.00)."
    assert found.sentences[0] == f"LogicNLG: {passed}"


def test_a_task_whose_baseline_loses_to_a_trivial_control_is_shown_and_not_aggregated(tmp_path):
    tasks_with_controls(tmp_path, (20.0, 9.0, 20.0))
    found = overview_of(tmp_path)
    assert difference_of(found, "trime", "xsum") == 2.0
    assert method_of(found, "trime")["over_tasks"] is None
    lost = "XSum: mle is not better than the trivial control lead (rouge-l 9.00 against 10.00); not aggregated."
    none = (
        "Nothing is aggregated over tasks: 2 of 3 have a baseline that is better than every trivial control, and an "
        "aggregate needs 3."
    )
    assert [found.sentences[1], *found.sentences[3:]] == [lost, none]
    text = render(with_statistics(tables(Store(tmp_path))[0]), "terminal")
    assert lost in text
    assert none in text


@pytest.mark.parametrize(
    ("control", "changes", "counts"),
    [
        ("mle.untrained", {}, True),
        ("copy_exemplar", {"backbone": ""}, True),
        ("mle.cache", {}, False),
        ("mle.untrained", {"backbone": "bart"}, False),
    ],
)
def test_a_trivial_control_copies_counts_or_is_untrained_and_has_the_row_of_the_baseline(
    tmp_path, control, changes, counts
):
    store(tmp_path, "text", "kld", {"mle": [4.0, 4.1, 3.9], "trime": [2.0, 2.1, 1.9]})
    store(tmp_path, "text", "kld", {control: [1.0]}, **changes)
    found = overview_of(tmp_path)
    assert not found.tasks[0]["aggregated"]
    if counts:
        assert f"not better than the trivial control {control} (kld 4.00 against 1.00)" in found.text_lines[0]
    else:
        none = "no trivial control has a row that can be compared with mle; not aggregated."
        assert (found.sentences[0].partition(": ")[2], found.text_lines) == (none, [])


def test_a_baseline_as_good_as_a_control_does_not_pass_and_lower_may_be_better(tmp_path):
    store(tmp_path, "text", "kld", {"mle": [4.0] * 3, "trime": [2.0] * 3})
    store(tmp_path, "text", "kld", {"bigram": [4.0] * 3, "unigram": [9.0] * 3}, backbone="")
    found = overview_of(tmp_path)
    assert not found.tasks[0]["aggregated"]
    assert "bigram (kld 4.00 against 4.00)" in found.text_lines[0]
    store(tmp_path / "better", "text", "kld", {"mle": [3.9] * 3, "trime": [2.0] * 3})
    store(tmp_path / "better", "text", "kld", {"bigram": [4.0] * 3}, backbone="")
    assert overview_of(tmp_path / "better").tasks[0]["aggregated"]


def test_of_a_single_task_text_formats_say_a_failed_gate_alone(tmp_path):
    store(tmp_path, "logicnlg", "bleu-3", {"mle": [5.0] * 3, "trime": [9.0] * 3})
    shown = with_statistics(tables(Store(tmp_path))[0])
    assert shown.notes == []
    assert len(shown.overview.sentences) == 1
    store(tmp_path, "logicnlg", "bleu-3", {"lead": [12.0] * 3}, backbone="")
    shown = with_statistics(tables(Store(tmp_path))[0])
    (note,) = shown.notes
    assert note.startswith("LogicNLG: mle is not better than the trivial control lead")


def test_a_difference_is_positive_where_better_whatever_the_direction(tmp_path):
    store(tmp_path, "logicnlg", "bleu-3", {"mle": [10.0, 10.2, 9.8], "trime": [14.0, 14.2, 13.9]})
    store(tmp_path, "text", "kld", {"mle": [4.0, 4.2, 3.8], "trime": [2.0, 2.2, 1.9]})
    found = overview_of(tmp_path)
    assert difference_of(found, "trime") == 4.1 - 0.2 / 3
    assert difference_of(found, "trime", "text") == 2.0 - 0.1 / 3
    assert cell_of(found, "trime", "text")["differs"]


def test_methods_stand_in_the_order_of_how_many_tasks_they_have(tmp_path):
    """A method that was run where it does well, and nowhere else, stands below the others."""
    for task in ("logicnlg", "xsum", "gigaword"):
        values = {"mle": [20.0, 20.1, 19.9], "trime": [22.0, 22.1, 21.9]}
        if task != "logicnlg":
            values["face"] = [40.0, 40.1, 39.9]
        store(tmp_path, task, COLUMNS[task], values)
    assert [method["method"] for method in overview_of(tmp_path).methods] == ["mle", "trime", "face"]


def test_a_method_that_always_diverged_was_run_and_is_a_trained_one(tmp_path):
    store(tmp_path, "logicnlg", "bleu-3", {"mle": [10.0, 10.1, 9.9], "trime": [12.0, 12.1, 11.9]})
    for seed in range(3):
        trained(tmp_path, "face", seed, status="diverged")
    found = overview_of(tmp_path)
    face, cell = method_of(found, "face"), cell_of(found, "face")
    assert (cell["mean"], cell["differs"], cell["why"]) == (None, None, "diverged 3/3")
    assert (face["trained"], face["n_tasks"]) == (True, 0)
    assert not [note for note in found.notes if "face" in note]


def test_of_two_tables_of_a_task_the_real_one_with_three_seeds_counts(tmp_path):
    store(tmp_path, "logicnlg", "bleu-3", {"mle": [90.0] * 3, "trime": [91.0] * 3}, data=SAMPLE)
    store(tmp_path, "logicnlg", "bleu-3", {"mle": [10.0, 10.1, 9.9], "trime": [12.0, 12.1, 11.9]}, preset="paper")
    shown = with_statistics(tables(Store(tmp_path))[0])
    assert cell_of(shown.overview, "mle")["mean"] == pytest.approx(10.0)
    for_readers = shown.for_readers()
    assert [table.status["test"] for table in for_readers.tables] == ["official", "sample"]
    assert for_readers.overview == shown.overview


def test_methods_without_the_baseline_of_their_backbone_are_named(tmp_path):
    store(tmp_path, "logicnlg", "bleu-3", {"mle": [10.0] * 3, "trime": [12.0] * 3})
    store(tmp_path, "logicnlg", "bleu-3", {"adadec": [12.0] * 3}, backbone="bilstm")
    store(tmp_path, "logicnlg", "bleu-3", {"face": [12.0] * 3}, data=SAMPLE, preset="paper", backbone="bart")
    found = overview_of(tmp_path)
    assert "adadec" not in {method["method"] for method in found.methods}
    why = "they have no row with the backbone and decoding of the mle row of a task"
    assert f"not here, since {why}: adadec" in found.notes


def test_a_row_without_a_model_stands_last(tmp_path):
    store(tmp_path, "logicnlg", "bleu-3", {"mle": [10.0, 10.1, 9.9], "trime": [12.0, 12.1, 11.9]})
    store(tmp_path, "logicnlg", "bleu-3", {"lead": [15.0] * 3}, backbone="")
    found = overview_of(tmp_path)
    trained = {method["method"]: method["trained"] for method in found.methods}
    assert list(trained.items()) == [("mle", True), ("trime", True), ("lead", False)]
    assert difference_of(found, "lead") == 5.0


def test_a_task_of_the_baseline_alone_is_no_column(tmp_path):
    store(tmp_path, "logicnlg", "bleu-3", {"mle": [10.0] * 3, "trime": [12.0] * 3})
    store(tmp_path, "xsum", "rouge-l", {"mle": [10.0] * 3})
    found = overview_of(tmp_path)
    assert [task["task"] for task in found.tasks] == ["logicnlg"]
    why = "no method has a row with the backbone and decoding of the mle row of a task"
    assert f"tasks without a column, since {why}: xsum" in found.notes
    assert overview_of(tmp_path / "nothing").content() is None


def searched(cell, losses):
    """Store that a cell was picked from so many trials by their validation loss."""
    cell.write_grid("aa", {"tried": [{"sets": [], "nll": loss} for loss in losses]}, {"host": "somewhere"})
    return cell


def run(root, method, column, by_seed, tried=0, **changes):
    """Store one setting of a method on logicnlg, picked from so many trials."""
    for seed, value in enumerate(by_seed):
        cell = trained(root, method, seed, **changes)
        if tried:
            searched(cell, [2.0] * tried)
        scored(cell, {column: value})


def test_of_several_baselines_one_lucky_seed_is_none(tmp_path):
    run(tmp_path, "mle", "bleu-3", [10.0, 10.1, 9.9])
    run(tmp_path, "mle", "bleu-3", [30.0], trainer__lr=0.01)
    run(tmp_path, "trime", "bleu-3", [12.0, 12.1, 11.9])
    found = overview_of(tmp_path)
    assert cell_of(found, "mle")["mean"] == pytest.approx(10.0)
    assert difference_of(found, "trime") == 2.0


def test_of_several_baselines_the_one_with_most_seeds_counts_else_the_best(tmp_path):
    run(tmp_path, "mle", "bleu-3", [10.0, 10.1, 9.9, 10.0])
    run(tmp_path, "mle", "bleu-3", [11.0, 11.1, 10.9], trainer__lr=0.01)
    run(tmp_path, "trime", "bleu-3", [12.0, 12.1, 11.9])
    assert cell_of(overview_of(tmp_path), "mle")["n"] == 4
    run(tmp_path, "mle", "bleu-3", [11.0, 11.1, 10.9, 11.0], trainer__lr=0.01)
    run(tmp_path, "face", "bleu-3", [12.0, 12.1, 11.9], trainer__lr=0.01)
    assert cell_of(overview_of(tmp_path), "mle")["mean"] == pytest.approx(11.0), "it can only be too strong"


def test_a_tuned_baseline_counts_before_a_better_one_and_those_tuned_alike_are_compared_with_it(tmp_path):
    run(tmp_path, "mle", "bleu-3", [20.0, 20.1, 19.9])
    run(tmp_path, "mle", "bleu-3", [19.0, 19.1, 18.9], tried=2, trainer__lr=0.01)
    run(tmp_path, "trime", "bleu-3", [21.0, 21.1, 20.9], tried=2)  # the search picked what the first baseline has
    found = overview_of(tmp_path)
    assert cell_of(found, "mle")["mean"] == pytest.approx(19.0)
    assert difference_of(found, "trime") == 2.0


def test_of_several_settings_the_one_picked_on_validation_counts_not_the_best(tmp_path):
    run(tmp_path, "mle", "bleu-3", [10.0, 10.1, 9.9])
    run(tmp_path, "trime", "bleu-3", [12.0, 12.1, 11.9], tried=2, trainer__lr=0.01)
    run(tmp_path, "trime", "bleu-3", [15.0, 15.1, 14.9], trainer__lr=0.02)
    found = overview_of(tmp_path)
    assert cell_of(found, "trime")["mean"] == pytest.approx(12.0)
    assert "LogicNLG shows of 2 settings of trime the one picked on validation (trainer.lr=0.01)" in found.notes


def test_of_several_settings_that_only_test_scores_tell_apart_none_counts(tmp_path):
    for task in ("logicnlg", "text"):
        run(tmp_path, "mle", COLUMNS[task], [10.0, 10.1, 9.9], task=task)
        run(tmp_path, "face", COLUMNS[task], [9.0, 9.1, 8.9], task=task)
        run(tmp_path, "trime", COLUMNS[task], [12.0, 12.1, 11.9], task=task, method_options={"temperature": 1.0})
        run(tmp_path, "trime", COLUMNS[task], [15.0, 15.1, 14.9], task=task, method_options={"temperature": 2.0})
    found = overview_of(tmp_path)
    cell = cell_of(found, "trime")
    assert (cell["mean"], cell["why"]) == (None, "several settings, none picked on validation")
    assert method_of(found, "trime")["trained"]
    assert "LogicNLG shows none of 2 settings of trime, since none was picked on validation" in found.notes


def test_another_size_of_evaluation_batches_is_no_other_setting(tmp_path):
    run(tmp_path, "mle", "bleu-3", [10.0, 10.1, 9.9])
    for seed in range(3):
        cell = trained(tmp_path, "trime", seed)
        scored(cell, {"bleu-3": 12.0}, batch_size=50)
        scored(cell, {"bleu-3": 12.1}, batch_size=7)
    found = overview_of(tmp_path)
    assert cell_of(found, "trime")["mean"] == pytest.approx(12.1), "the smaller batches, whatever they score"
    assert not [note for note in found.notes if "settings" in note]
