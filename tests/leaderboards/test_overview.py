"""The overview over tasks: which table of a task counts, what may be coloured, and over which methods it aggregates."""

import pytest

from bench.leaderboards.leaderboards import with_statistics
from bench.leaderboards.statistics.intervals import interquartile_mean
from bench.leaderboards.table import tables
from bench.store.store import Store
from tests.leaderboards.handmade import manifest, scored, trained

COLUMNS = {"logicnlg": "bleu-3", "text": "kld"}
SAMPLE = {"train": manifest("train", "sample"), "test": manifest("test", "sample", "s")}


def store(root, task, column, values, **changes):
    for method, by_seed in values.items():
        for seed, value in enumerate(by_seed):
            scored(trained(root, method, seed, task=task, **changes), {column: value})


def overview_of(root):
    return with_statistics(tables(Store(root))[0], cached=False).overview


def row_of(found, method):
    (row,) = [row for row in found.rows if row.method == method]
    return row


def test_aggregates_worked_by_hand(tmp_path):
    store(tmp_path, "logicnlg", "bleu-3", {"mle": [10.0, 11.0, 9.0], "trime": [12.0, 11.0, 13.0]})
    store(tmp_path, "text", "kld", {"mle": [4.0, 4.0, 4.0], "trime": [5.0, 3.2, 3.5]})
    found = overview_of(tmp_path)
    trime = row_of(found, "trime")
    # logicnlg: of 9 pairs 8 are won and 11 against 11 ties; text, where lower is better: 6 won, 3 lost.
    assert trime.improves.value == pytest.approx((8.5 / 9 + 6 / 9) / 2)
    assert list(trime.improves_tasks) == ["logicnlg", "text"]
    # Relative scores: 1.2, 1.1, 1.3 and 4/5, 4/3.2, 4/3.5; the middle half of six leaves one out at each end.
    assert trime.relative.value == pytest.approx((1.1 + 4 / 3.5 + 1.2 + 1.25) / 4)
    assert trime.relative.value == interquartile_mean([[1.2, 1.1, 1.3], [4 / 5, 4 / 3.2, 4 / 3.5]])
    for interval in (trime.improves, trime.relative):
        assert interval.low <= interval.value <= interval.high
    again = row_of(overview_of(tmp_path), "trime")
    assert (again.improves, again.relative) == (trime.improves, trime.relative), "the bootstrap is seeded"


def test_a_difference_is_positive_where_better_whatever_the_direction(tmp_path):
    store(tmp_path, "logicnlg", "bleu-3", {"mle": [10.0, 10.2, 9.8], "trime": [14.0, 14.2, 13.8]})
    store(tmp_path, "text", "kld", {"mle": [4.0, 4.2, 3.8], "trime": [2.0, 2.2, 1.8]})
    found = overview_of(tmp_path)
    cells = {column.task: column.cells["trime"] for column in found.columns}
    assert cells["logicnlg"].difference == pytest.approx(4.0)
    assert cells["text"].difference == pytest.approx(2.0)
    assert cells["logicnlg"].size == pytest.approx(4.0 / 0.2)
    assert all(column.can_rank for column in found.columns)


def test_a_column_that_cannot_rank_has_numbers_and_no_sizes(tmp_path):
    store(tmp_path, "logicnlg", "bleu-3", {"mle": [5.0, 10.0, 15.0], "trime": [6.0, 11.0, 16.0]})
    store(tmp_path, "text", "kld", {"mle": [4.0, 4.1, 3.9], "trime": [2.0, 2.1, 1.9], "face": [1.0, 1.1]})
    found = overview_of(tmp_path)
    logicnlg, text = found.columns
    assert (logicnlg.can_rank, logicnlg.cells["trime"].size) == (False, None)
    assert logicnlg.cells["trime"].difference == pytest.approx(1.0)
    assert (text.can_rank, text.cells["face"].size, text.cells["face"].n) == (True, None, 2), "two seeds are too few"


def test_a_baseline_of_one_seed_beside_methods_of_three_is_not_called_one_seed(tmp_path):
    """Their second seed is there; the baseline's is what is too few."""
    store(tmp_path, "logicnlg", "bleu-3", {"mle": [5.0], "trime": [6.0, 6.1, 6.2], "face": [9.0, 9.1, 9.2]})
    store(tmp_path, "text", "kld", {"mle": [4.0], "trime": [2.0], "face": [1.0]})
    assert [column.why_unranked for column in overview_of(tmp_path).columns] == ["cannot rank here", "one seed"]


def test_unequal_coverage_puts_nobody_first(tmp_path):
    """A method that was run where it does well, and nowhere else, has no mean rank and stands below the others."""
    for task, column in (("logicnlg", "bleu-3"), ("xsum", "rouge-l"), ("gigaword", "rouge-l")):
        values = {"mle": [20.0, 20.1, 19.9], "trime": [22.0, 22.1, 21.9]}
        if task == "xsum":
            values["trime"] = [18.0, 18.1, 17.9]
        if task != "logicnlg":
            values["face"] = [40.0, 40.1, 39.9]
        store(tmp_path, task, column, values)
    found = overview_of(tmp_path)
    assert [row.method for row in found.rows] == ["mle", "trime", "face"]
    assert [row.mean_rank for row in found.rows] == [pytest.approx(5 / 3), pytest.approx(4 / 3), None]
    assert (found.rows[1].improves.value, found.rows[2].improves.value) == (pytest.approx(2 / 3), 1.0)
    assert found.notes == ["no mean rank, since one of the 3 tasks that can rank does not rank them: face"]


def test_a_rank_of_others_is_the_same_with_and_without_a_method_of_fewer_tasks(tmp_path):
    for task, column in (("logicnlg", "bleu-3"), ("xsum", "rouge-l")):
        values = {"mle": [20.0, 20.1, 19.9], "trime": [22.0, 22.1, 21.9]}
        if task == "xsum":
            values |= {"face": [21.0, 21.1, 20.9]}
        store(tmp_path, task, column, values)
    assert row_of(overview_of(tmp_path), "mle").mean_rank == 2.0  # with face between them it would be 2.5


def test_a_method_of_one_seed_has_no_rank_and_takes_none_from_others(tmp_path):
    for task, column in (("logicnlg", "bleu-3"), ("xsum", "rouge-l")):
        values = {"mle": [20.0, 20.1, 19.9], "trime": [22.0, 22.1, 21.9]}
        store(tmp_path, task, column, {**values, "face": [40.0]})
    found = overview_of(tmp_path)
    assert {row.method: row.mean_rank for row in found.rows} == {"mle": 2.0, "trime": 1.0, "face": None}


def test_a_baseline_of_exactly_0_is_one(tmp_path):
    store(tmp_path, "logicnlg", "bleu-3", {"mle": [0.0] * 3, "trime": [12.0, 12.1, 11.9]})
    store(tmp_path, "xsum", "rouge-l", {"mle": [20.0, 20.1, 19.9], "trime": [22.0, 22.1, 21.9]})
    found = overview_of(tmp_path)
    assert [column.cells["trime"].difference for column in found.columns] == pytest.approx([12.0, 2.0])
    assert row_of(found, "trime").improves.value == 1.0
    assert row_of(found, "trime").relative is None
    assert found.notes == ["no part of the relative scores: logicnlg (bleu-3: mle is near 0)"]


def test_a_method_that_always_diverged_was_run_and_is_a_trained_one(tmp_path):
    store(tmp_path, "logicnlg", "bleu-3", {"mle": [10.0, 10.1, 9.9], "trime": [12.0, 12.1, 11.9]})
    for seed in range(3):
        trained(tmp_path, "face", seed, status="diverged")
    found = overview_of(tmp_path)
    cell = found.columns[0].cells["face"]
    assert (cell.mean, cell.size, cell.why) == (None, None, "diverged 3/3")
    assert (row_of(found, "face").trained, row_of(found, "face").n_tasks) == (True, 0)
    assert not [note for note in found.notes if "face" in note]


def test_a_conflict_is_of_a_trained_method_and_no_number(tmp_path):
    store(tmp_path, "logicnlg", "bleu-3", {"mle": [10.0, 10.1, 9.9], "trime": [12.0, 12.1, 11.9]})
    scored(trained(tmp_path, "trime", 0, extra="again"), {"bleu-3": 50.0})
    found = overview_of(tmp_path)
    assert found.columns[0].cells["trime"].why == "conflict"
    assert row_of(found, "trime").trained


def test_of_two_tables_of_a_task_the_real_one_with_three_seeds_counts(tmp_path):
    store(tmp_path, "logicnlg", "bleu-3", {"mle": [90.0] * 3, "trime": [91.0] * 3}, data=SAMPLE)
    store(tmp_path, "logicnlg", "bleu-3", {"mle": [10.0, 10.1, 9.9], "trime": [12.0, 12.1, 11.9]}, preset="paper")
    shown = with_statistics(tables(Store(tmp_path))[0], cached=False)
    (column,) = shown.overview.columns
    assert column.cells["mle"].mean == pytest.approx(10.0)
    for_readers = shown.for_readers()
    assert [table.status["test"] for table in for_readers.tables] == ["official", "sample"]
    assert for_readers.overview.columns[0].place == 0


def test_a_table_of_the_baseline_alone_does_not_hide_another_one_of_its_task(tmp_path):
    store(tmp_path, "logicnlg", "bleu-3", {"mle": [10.0] * 3}, preset="paper")
    store(tmp_path, "logicnlg", "bleu-3", {"mle": [10.0, 10.1, 9.9], "trime": [12.0, 12.1, 11.9]}, preset="small")
    (column,) = overview_of(tmp_path).columns
    assert column.cells["trime"].difference == pytest.approx(2.0)


def test_of_two_settings_of_a_method_one_with_three_seeds_counts(tmp_path):
    values = {"mle": [10.0, 10.1, 9.9], "trime": [12.0, 12.1, 11.9]}
    store(tmp_path, "logicnlg", "bleu-3", values)
    store(tmp_path, "logicnlg", "bleu-3", {"trime": [15.0]}, method_options={"temperature": 2.0})
    cell = overview_of(tmp_path).columns[0].cells["trime"]
    assert (cell.n, cell.mean) == (3, pytest.approx(12.0))
    assert cell.size is not None


def test_methods_without_the_baseline_of_their_backbone_are_named(tmp_path):
    store(tmp_path, "logicnlg", "bleu-3", {"mle": [10.0] * 3, "trime": [12.0] * 3})
    store(tmp_path, "logicnlg", "bleu-3", {"adadec": [12.0] * 3}, backbone="bilstm")
    store(tmp_path, "logicnlg", "bleu-3", {"face": [12.0] * 3}, data=SAMPLE, preset="paper", backbone="bart")
    found = overview_of(tmp_path)
    assert "adadec" not in {row.method for row in found.rows}
    beside = "beside the mle row of a task, of its backbone and decoding"
    assert f"not here, since they do not stand {beside}: adadec" in found.notes


def test_a_row_without_a_model_stands_last_and_has_no_rank(tmp_path):
    store(tmp_path, "logicnlg", "bleu-3", {"mle": [10.0, 10.1, 9.9], "trime": [12.0, 12.1, 11.9]})
    store(tmp_path, "logicnlg", "bleu-3", {"lead": [15.0] * 3}, backbone="")
    found = overview_of(tmp_path)
    assert [(row.method, row.trained) for row in found.rows] == [("mle", True), ("trime", True), ("lead", False)]
    assert found.columns[0].cells["lead"].difference == pytest.approx(5.0)


def test_a_task_of_the_baseline_alone_is_no_column(tmp_path):
    store(tmp_path, "logicnlg", "bleu-3", {"mle": [10.0] * 3, "trime": [12.0] * 3})
    store(tmp_path, "xsum", "rouge-l", {"mle": [10.0] * 3})
    found = overview_of(tmp_path)
    assert [column.task for column in found.columns] == ["logicnlg"]
    why = "no method stands beside the mle row of a task, of its backbone and decoding"
    assert f"tasks without a column, since {why}: xsum" in found.notes
    assert overview_of(tmp_path / "nothing").columns == ()


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
    cells = overview_of(tmp_path).columns[0].cells
    assert (cells["mle"].n, cells["mle"].mean) == (3, pytest.approx(10.0))
    assert cells["trime"].difference == pytest.approx(2.0)


def test_of_several_baselines_the_one_with_most_seeds_counts_else_the_best(tmp_path):
    run(tmp_path, "mle", "bleu-3", [10.0, 10.1, 9.9, 10.0])
    run(tmp_path, "mle", "bleu-3", [11.0, 11.1, 10.9], trainer__lr=0.01)
    run(tmp_path, "trime", "bleu-3", [12.0, 12.1, 11.9])
    assert overview_of(tmp_path).columns[0].cells["mle"].n == 4
    run(tmp_path, "mle", "bleu-3", [11.0, 11.1, 10.9, 11.0], trainer__lr=0.01)
    run(tmp_path, "face", "bleu-3", [12.0, 12.1, 11.9], trainer__lr=0.01)
    assert overview_of(tmp_path).columns[0].cells["mle"].mean == pytest.approx(11.0), "it can only be too strong"


def test_a_tuned_baseline_counts_before_a_better_one_and_those_tuned_alike_stand_beside_it(tmp_path):
    run(tmp_path, "mle", "bleu-3", [20.0, 20.1, 19.9])
    run(tmp_path, "mle", "bleu-3", [19.0, 19.1, 18.9], tried=2, trainer__lr=0.01)
    run(tmp_path, "trime", "bleu-3", [21.0, 21.1, 20.9], tried=2)  # the search picked what the first baseline has
    cells = overview_of(tmp_path).columns[0].cells
    assert cells["mle"].mean == pytest.approx(19.0)
    assert cells["trime"].difference == pytest.approx(2.0)


def test_of_several_settings_the_one_picked_on_validation_counts_not_the_best(tmp_path):
    run(tmp_path, "mle", "bleu-3", [10.0, 10.1, 9.9])
    run(tmp_path, "trime", "bleu-3", [12.0, 12.1, 11.9], tried=2, trainer__lr=0.01)
    run(tmp_path, "trime", "bleu-3", [15.0, 15.1, 14.9], trainer__lr=0.02)
    found = overview_of(tmp_path)
    assert found.columns[0].cells["trime"].mean == pytest.approx(12.0)
    said = "logicnlg shows of 2 settings of trime the one picked on validation (trainer.lr=0.01)"
    assert said in found.notes


def test_of_several_settings_without_a_search_the_one_trained_as_the_baseline_counts(tmp_path):
    run(tmp_path, "mle", "bleu-3", [10.0, 10.1, 9.9])
    run(tmp_path, "trime", "bleu-3", [12.0, 12.1, 11.9])
    run(tmp_path, "trime", "bleu-3", [15.0, 15.1, 14.9], trainer__lr=0.02)
    assert overview_of(tmp_path).columns[0].cells["trime"].mean == pytest.approx(12.0)


def test_of_several_settings_that_only_test_scores_tell_apart_none_counts(tmp_path):
    for task in ("logicnlg", "text"):
        run(tmp_path, "mle", COLUMNS[task], [10.0, 10.1, 9.9], task=task)
        run(tmp_path, "face", COLUMNS[task], [9.0, 9.1, 8.9], task=task)
        run(tmp_path, "trime", COLUMNS[task], [12.0, 12.1, 11.9], task=task, method_options={"temperature": 1.0})
        run(tmp_path, "trime", COLUMNS[task], [15.0, 15.1, 14.9], task=task, method_options={"temperature": 2.0})
    found = overview_of(tmp_path)
    cell = found.columns[0].cells["trime"]
    assert (cell.mean, cell.why) == (None, "several settings, none picked on validation")
    assert row_of(found, "trime").improves is None
    assert row_of(found, "trime").trained
    assert "logicnlg shows none of 2 settings of trime, since none was picked on validation" in found.notes


def test_another_size_of_evaluation_batches_is_no_other_setting(tmp_path):
    run(tmp_path, "mle", "bleu-3", [10.0, 10.1, 9.9])
    for seed in range(3):
        cell = trained(tmp_path, "trime", seed)
        scored(cell, {"bleu-3": 12.0}, batch_size=50)
        scored(cell, {"bleu-3": 12.1}, batch_size=7)
    found = overview_of(tmp_path)
    assert found.columns[0].cells["trime"].mean == pytest.approx(12.1), "the smaller batches, whatever they score"
    assert not [note for note in found.notes if "settings" in note]
