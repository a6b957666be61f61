"""Progress: the live line of a terminal, the lines without one, and when a stage may end."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest

from bench.cells.progress import SCORING, TRAINING, Progress, Rate, Stage
from bench.launch.child import LogProgress, progress_in


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
    """Train one cell of 100 steps, a point of the curve for each step, with 50 tokens a step."""
    progress.stage(TRAINING, 100)
    for step in range(1, steps + 1):
        clock.now += seconds
        progress.step(step, 100, {"loss": 2.0, "tokens": 50 * step})


def evaluate(progress: Progress, clock: Clock, name: str, seconds: float, rows: int = 50) -> None:
    """Evaluate 50 rows, and tell of each."""
    progress.stage(name, 50)
    for row in range(1, rows + 1):
        clock.now += seconds
        progress.beat(name, row)


# Lines --------------------------------------------------------------------------------------------------------------


def test_a_long_cell_has_a_line_for_every_tenth_and_one_at_its_end(clock: Clock) -> None:
    out = io.StringIO()
    with Progress(stream=out, clock=clock) as progress:
        progress.cell(1, 1, "t · m")
        train(progress, clock, 1.0)
        evaluate(progress, clock, "likelihood", 0.2)
        evaluate(progress, clock, "generation greedy", 1.0)
        progress.done("done")
    lines = out.getvalue().splitlines()
    assert lines[4] == "[1/1] t · m: training 50 of 100, loss 2.000, 50 tokens/s, ends in 50 s"
    assert lines[:9] == [line for line in lines if ": training" in line]
    assert lines[-2] == "[1/1] t · m: generation greedy 45 of 50, ends in 5 s"
    assert lines[-1] == "[1/1] t · m: done (160.0 s)"


def test_a_short_cell_has_its_line_alone(clock: Clock) -> None:
    out = io.StringIO()
    with Progress(stream=out, clock=clock) as progress:
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
    assert lines[0] == "exemplars 10 of 100"
    assert len([line for line in lines if line.startswith("exemplars")]) == 9
    assert [line for line in lines if line.startswith("rows read")] == [
        "rows read 31",
        "rows read 61",
    ]


def test_quiet_says_nothing_but_warnings_and_failures(clock: Clock) -> None:
    out = io.StringIO()
    with Progress(quiet=True, stream=out, clock=clock) as progress:
        progress.cell(1, 1, "t · m")
        train(progress, clock, 5.0)
        progress.warn("careful")
        progress.failed("why")
    assert out.getvalue() == "warning: careful\n[1/1] t · m: failed: why\n"


# The live line ------------------------------------------------------------------------------------------------------


def test_the_live_line_says_step_loss_speed_and_end(clock: Clock) -> None:
    screen = Screen()
    with Progress(stream=screen, clock=clock) as progress:
        progress.cell(1, 2, "t · m")
        train(progress, clock, 1.0, steps=50)
        (row,) = progress.bar.tasks
        assert row.fields["note"] == ("[1/2] training 50 of 100, loss 2.000, 50 tokens/s, ends in 50 s ·")
        assert (row.description, row.completed, row.total) == (" t · m", 50, 100)
        progress.bar.refresh()
        assert "tokens/s, ends in 50 s" in screen.getvalue()
        evaluate(progress, clock, "likelihood", 1.0, rows=20)
        assert progress.bar.tasks[0].fields["note"].startswith("[1/2] likelihood 20 of 50, ends in ")
        progress.stage(SCORING)
        clock.now += 1.0
        progress.beat(SCORING, 3)
        assert progress.bar.tasks[0].fields["note"].startswith("[1/2] scoring 3")


def test_a_line_too_long_for_the_terminal_is_one_line_all_the_same(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    with Progress(stream=Screen(), clock=clock) as progress:
        progress.cell(1, 2, "task · method · backbone · seed 0 " * 5)
        train(progress, clock, 1.0, steps=50)
        lines = progress.console.render_lines(progress.bar.get_renderable())
        assert len(lines) == 1
        assert "training 50 of 100, loss 2.000" in "".join(segment.text for segment in lines[0])


def test_a_question_takes_y_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    with Progress(quiet=True) as progress:
        for answer, taken in (("y\n", True), ("Yes\n", True), ("\n", False), ("n\n", False), ("", False)):
            monkeypatch.setattr("sys.stdin", io.StringIO(answer))
            assert progress.ask("Begin? [y/N] ") is taken


# Rates and news ------------------------------------------------------------------------------------------------------


def test_a_rate_begins_with_its_first_count(clock: Clock) -> None:
    rate = Rate(clock)
    clock.now = 100.0
    assert rate.at(5000) is None
    clock.now = 102.0
    assert rate.at(5100) == 50.0


def test_what_was_done_before_does_not_count_as_fast(clock: Clock) -> None:
    stage = Stage("training", 100, clock)
    clock.now = 10.0
    assert stage.text(80) == "training 80 of 100"  # taken up again from its state
    clock.now = 20.0
    assert stage.text(90) == "training 90 of 100, ends in 10 s"


def test_a_process_prints_for_the_command_and_keeps_its_warnings(tmp_path: Path, capsys: Any) -> None:
    clock = Clock()
    progress = LogProgress()
    progress.clock = clock
    progress.cell(2, 3, "t · m")
    train(progress, clock, 1.0, steps=35)
    progress.warn("careful")
    progress.done("done")
    printed = capsys.readouterr().err
    assert progress_in(tmp_path) == ""
    (tmp_path / "log.0").write_text(f"{printed}some library says something\n")
    assert progress_in(tmp_path) == "[2/3] t · m: training 30 of 100, loss 2.000, 50 tokens/s, ends in 2 min"
    assert progress.warnings == ["careful"]


def test_runs_of_other_processes_have_lines_where_there_is_no_terminal() -> None:
    out = io.StringIO()
    with Progress(stream=out) as progress:
        for step in (0, 10, 10, 20):
            progress.cells(1, 3, {"t · m": f"[1/3] t · m: training {step} of 100" if step else "", "t · n": ""})
        assert progress.bar.tasks[0].fields["note"] == "1 of 3 runs done, 2 running"
        assert progress.bar.tasks[2].fields["note"] == "t · n: starting"
        progress.cells(3, 3, {})
    assert out.getvalue().splitlines() == [f"[1/3] t · m: training {step} of 100" for step in (10, 20)]
