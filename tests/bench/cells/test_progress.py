"""Progress: the live line of a terminal, the lines without one, and when a cell and a whole run may end."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from bench.cells.pace.pace import SCORING, TRAINING, Pace, Rate, Stage
from bench.cells.progress import Progress
from bench.queue.progress_file import ProgressFile

CELL: Mapping[str, Stage] = {
    TRAINING: Stage(600.0, 100),
    "likelihood": Stage(100.0, 50),
    "generation greedy": Stage(300.0, 50),
}


class Clock:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class Screen(io.StringIO):
    """A terminal."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def clock() -> Clock:
    return Clock()


def train(progress: Progress, clock: Clock, seconds: float, steps: int = 100) -> None:
    """Train one cell, a point of the curve for each step, with 50 tokens a step."""
    progress.stage(TRAINING)
    for step in range(1, steps + 1):
        clock.now += seconds
        progress.step(step, steps, {"loss": 2.0, "tokens": 50 * step})


def evaluate(progress: Progress, clock: Clock, name: str, seconds: float, rows: int = 50) -> None:
    """Evaluate, a sign of life for each row."""
    progress.stage(name)
    for row in range(1, rows + 1):
        clock.now += seconds
        progress.beat(name.partition(" ")[0], row)


# Lines --------------------------------------------------------------------------------------------------------------


def test_a_long_cell_has_a_line_for_every_tenth_and_one_at_its_end(clock: Clock) -> None:
    out = io.StringIO()
    with Progress(stream=out, clock=clock) as progress:
        progress.begin([CELL])
        progress.cell(1, 1, "t · m")
        train(progress, clock, 1.0)
        evaluate(progress, clock, "likelihood", 0.2)
        evaluate(progress, clock, "generation greedy", 1.0)
        progress.done("done")
    lines = out.getvalue().splitlines()
    assert [line.partition(" %")[0] for line in lines[:-1]] == [f"[1/1] t · m: {n}" for n in range(10, 100, 10)]
    said = "training 84 of 100, loss 2.000, 50 tokens/s, cell ends in 2 min, all in 2 min"
    assert lines[4] == f"[1/1] t · m: 50 %, {said}"
    assert "generation greedy 34 of 50" in lines[8]
    assert lines[-1] == "[1/1] t · m: done (160.0 s)"


def test_a_short_cell_has_its_line_alone(clock: Clock) -> None:
    out = io.StringIO()
    with Progress(stream=out, clock=clock) as progress:
        progress.begin([CELL])
        progress.cell(1, 1, "t · m")
        train(progress, clock, 0.01)
        progress.done("done")
    assert out.getvalue() == "[1/1] t · m: done (1.0 s)\n"


def test_long_reads_have_lines_too(clock: Clock) -> None:
    out = io.StringIO()
    with Progress(stream=out, clock=clock) as progress:
        for done in range(0, 101):
            clock.now += 1.0
            progress.rows("exemplars", done, 100)
        for done in range(1, 71):
            clock.now += 1.0
            progress.rows("rows read", done, 0)
    lines = out.getvalue().splitlines()
    assert lines[0] == "exemplars: 10 %, exemplars 10 of 100"
    assert len([line for line in lines if line.startswith("exemplars")]) == 9
    assert [line for line in lines if line.startswith("rows read")] == [
        "rows read: rows read 31",
        "rows read: rows read 61",
    ]


def test_quiet_says_nothing_but_warnings_and_failures(clock: Clock) -> None:
    out = io.StringIO()
    with Progress(quiet=True, stream=out, clock=clock) as progress:
        progress.begin([CELL])
        progress.cell(1, 1, "t · m")
        train(progress, clock, 5.0)
        progress.warn("careful")
        progress.failed("why")
    assert out.getvalue() == "warning: careful\n[1/1] t · m: failed: why\n"


# The live line ------------------------------------------------------------------------------------------------------


def test_the_live_line_says_step_loss_speed_and_both_ends(clock: Clock) -> None:
    screen = Screen()
    with Progress(stream=screen, clock=clock) as progress:
        progress.begin([CELL, CELL])
        progress.cell(1, 2, "t · m")
        train(progress, clock, 1.0, steps=50)
        (row,) = progress.bar.tasks
        assert row.fields["note"] == (
            "[1/2] training 50 of 50, loss 2.000, 50 tokens/s, cell ends in 34 s, all in 2 min ·"
        )
        assert (row.description, row.completed, row.total) == (" t · m", 50, 50)
        progress.bar.refresh()
        assert "tokens/s, cell ends in 34 s" in screen.getvalue()
        evaluate(progress, clock, "likelihood", 1.0, rows=20)
        assert progress.bar.tasks[0].fields["note"].startswith("[1/2] likelihood 20 of 50, cell ends in ")
        progress.stage(SCORING)
        clock.now += 1.0
        progress.beat(SCORING, 3)
        assert progress.bar.tasks[0].fields["note"].startswith("[1/2] scoring 3")


def test_a_line_too_long_for_the_terminal_is_one_line_all_the_same(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    with Progress(stream=Screen(), clock=clock) as progress:
        progress.begin([CELL, CELL])
        progress.cell(1, 2, "task · method · backbone · seed 0 " * 5)
        train(progress, clock, 1.0, steps=50)
        lines = progress.console.render_lines(progress.bar.get_renderable())
        assert len(lines) == 1
        assert "training 50 of 50, loss 2.000" in "".join(segment.text for segment in lines[0])


def test_processes_that_share_a_cell_are_shown_by_their_signs_of_life(clock: Clock) -> None:
    with Progress(stream=Screen(), clock=clock) as progress:
        progress.begin([CELL])
        progress.cell(1, 1, "t · m")
        progress.stage("on 2 processes")
        for stage, step, shown in (
            ("starting", 0, "starting ·"),
            ("training, backward", 10, "training 10 of 100"),
            ("validation", 10, "validation 10 ·"),
            ("training", 30, "training 30 of 100"),
            ("likelihood", 5, "likelihood 5 of 50"),
        ):
            clock.now += 1.0
            progress.beat(stage, step)
            assert progress.bar.tasks[0].fields["note"].removeprefix("[1/1] ").startswith(shown)


def test_processes_that_share_a_cell_say_loss_and_speed(clock: Clock) -> None:
    with Progress(stream=Screen(), clock=clock) as progress:
        progress.begin([CELL])
        progress.cell(1, 1, "t · m")
        progress.stage("on 2 processes")
        for step in (10, 20):
            clock.now += 1.0
            progress.step(step, 100, {"loss": 2.5, "tokens": 50 * step})
        clock.now += 1.0
        progress.beat("training, backward", 25)
        assert "training 25 of 100, loss 2.500, 500 tokens/s" in progress.bar.tasks[0].fields["note"]


def test_a_question_takes_y_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    with Progress(quiet=True) as progress:
        for answer, taken in (("y\n", True), ("Yes\n", True), ("\n", False), ("n\n", False), ("", False)):
            monkeypatch.setattr("sys.stdin", io.StringIO(answer))
            assert progress.ask("Begin? [y/N] ") is taken


# Pace ---------------------------------------------------------------------------------------------------------------


def test_what_was_done_before_does_not_count_as_fast(clock: Clock) -> None:
    pace = Pace([CELL], clock)
    pace.begin(1)
    pace.stage(TRAINING)
    clock.now = 10.0
    pace.reach(80, 100)  # taken up again from its state
    assert pace.cell_left_s is None
    clock.now = 20.0
    pace.reach(90, 100)
    assert pace.share == pytest.approx(0.54)
    assert pace.cell_left_s == pytest.approx(20.0 * 460 / 60)


def test_all_ends_with_the_last_cell_and_never_before_this_one(clock: Clock) -> None:
    pace = Pace([CELL, {}, CELL], clock)
    for number, seconds in ((1, 1.0), (2, 0.0), (3, 2.0)):
        pace.begin(number)
        pace.stage(TRAINING)
        if number == 2:
            pace.end()
            continue
        for step in range(1, 101):
            clock.now += seconds
            pace.reach(step, 100)
            if step > 1:
                assert pace.cell_left_s is not None
                assert pace.all_left_s is not None
                assert pace.all_left_s >= pace.cell_left_s
        if number == 3:
            assert pace.all_left_s == pace.cell_left_s
        else:
            assert pace.all_left_s == pytest.approx(pace.cell_left_s + 100 * 1000 / 594)
        pace.end()


def test_a_rate_begins_with_its_first_count(clock: Clock) -> None:
    rate = Rate(clock)
    clock.now = 100.0
    assert rate.at(5000) is None
    clock.now = 102.0
    assert rate.at(5100) == 50.0


# In a queue ---------------------------------------------------------------------------------------------------------


def test_a_child_keeps_rows_of_an_evaluation_and_the_loss(tmp_path: Path) -> None:
    file = ProgressFile(tmp_path / "p")
    file.stages = CELL
    file.stage(TRAINING)
    file.written -= 10
    file.step(30, 100, {"loss": 1.5, "tokens": 100})
    assert json.loads((tmp_path / "p").read_text())["note"] == "loss 1.500"
    file.stage("generation greedy")
    file.written -= 10
    file.beat("generation", 20)
    found = json.loads((tmp_path / "p").read_text())
    assert (found["stage"], found["step"], found["of"], found["note"]) == ("generation greedy", 20, 50, "")


def test_cells_of_workers_have_lines_where_there_is_no_terminal(clock: Clock) -> None:
    out = io.StringIO()
    with Progress(stream=out, clock=clock) as progress:
        for step in range(0, 100, 5):
            clock.now += 2.0
            progress.cells(1, 3, 2, 90.0)
            progress.running({"t · m": (step, 100, f"training {step} of 100")})
        progress.running({})
    assert out.getvalue().splitlines()[0] == "t · m: 10 %, training 10 of 100"
    assert len(out.getvalue().splitlines()) == 9
    assert progress.bar.tasks[0].fields["note"] == "1 of 3 cells done, 2 running, all in 2 min"
