"""Progress: the live line of a terminal, the lines without one, and when a stage may end."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from bench.cells.progress import SCORING, TRAINING, Progress
from bench.launch.child import LogProgress, progress_in


class Clock:
    """A clock that is set by hand."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


class Screen(io.StringIO):
    """A terminal."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def clock() -> Clock:
    return Clock()


def train(progress: Progress, clock: Clock, seconds: float, first: int = 1, last: int = 100) -> None:
    """Train steps of a training of 100, each of which is a point of the curve."""
    progress.stage(TRAINING, 100)
    for step in range(first, last + 1):
        clock.now += seconds
        progress.step(step, 100, {"loss": 2.0, "tokens": 50 * step})


def evaluate(progress: Progress, clock: Clock, name: str, seconds: float, rows: int = 50) -> None:
    """Evaluate 50 rows, and tell of each."""
    progress.stage(name, 50)
    for row in range(1, rows + 1):
        clock.now += seconds
        progress.beat(name, row)


def test_a_long_run_has_a_line_for_every_tenth_and_one_at_its_end(clock: Clock) -> None:
    out = io.StringIO()
    with Progress(stream=out, clock=clock) as progress:
        progress.cell(1, 1, "t · m")
        train(progress, clock, 1.0)
        evaluate(progress, clock, "likelihood", 0.01)
        evaluate(progress, clock, "generation greedy", 1.0)
        progress.done("done")
    lines = out.getvalue().splitlines()
    assert lines[4] == "[1/1] t · m: training 50 of 100, loss 2.000, ends in 50 s"
    assert lines[:9] == [line for line in lines if ": training" in line]
    assert not any("likelihood" in line for line in lines), "a short stage has none"
    assert lines[-2] == "[1/1] t · m: generation greedy 45 of 50, ends in 5 s"
    assert lines[-1] == "[1/1] t · m: done (150.5 s)"


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
    assert lines[0] == "exemplars 10 of 100, ends in 2 min"
    assert [line.partition(" ")[0] for line in lines[:9]] == ["exemplars"] * 9
    assert lines[9:] == ["rows read 31", "rows read 61"]


def test_quiet_says_nothing_but_warnings_and_failures(clock: Clock) -> None:
    out = io.StringIO()
    with Progress(quiet=True, stream=out, clock=clock) as progress:
        progress.cell(1, 1, "t · m")
        train(progress, clock, 5.0)
        progress.warn("careful")
        progress.failed("why")
    assert out.getvalue() == "warning: careful\n[1/1] t · m: failed: why\n"


def line_of(progress: Progress) -> str:
    """The live line, without the bar, as a terminal shows it."""
    (segments,) = progress.console.render_lines(progress.bar.get_renderable())
    return "".join(segment.text for segment in segments)[8:].strip()


def test_the_live_line_says_step_loss_and_end(clock: Clock) -> None:
    """Rows that are encoded in between leave the number of steps as it is, and a long label is cut."""
    with Progress(stream=Screen(), clock=clock) as progress:
        progress.cell(1, 2, "t · m")
        assert line_of(progress) == "[1/2] t · m"
        train(progress, clock, 1.0, last=50)
        assert line_of(progress) == "[1/2] training 50 of 100, loss 2.000, ends in 50 s · t · m"
        evaluate(progress, clock, "likelihood", 1.0, rows=20)
        assert line_of(progress) == "[1/2] likelihood 20 of 50, ends in 30 s · t · m"
        progress.rows("rows encoded", 7, 0)
        assert line_of(progress) == "[1/2] rows encoded 7 · t · m"
        progress.beat("likelihood", 30)
        assert line_of(progress).startswith("[1/2] likelihood 30 of 50")
        progress.stage(SCORING)
        progress.beat(SCORING, 3)
        assert line_of(progress) == "[1/2] scoring 3 · t · m"
        progress.cell(1, 2, "task · method · backbone · seed 0 " * 5)
        train(progress, clock, 1.0, last=50)
        assert "50 of 100, loss 2.000, ends in 50 s" in line_of(progress)


def test_what_was_done_before_does_not_count_as_fast(clock: Clock) -> None:
    """A training is taken up again from its state after step 79."""
    with Progress(stream=Screen(), clock=clock) as progress:
        train(progress, clock, 1.0, first=80, last=80)
        assert line_of(progress) == "training 80 of 100, loss 2.000"
        clock.now += 9.0
        progress.step(90, 100, {"loss": 2.0})
        assert line_of(progress) == "training 90 of 100, loss 2.000, ends in 9 s"


def test_a_process_prints_for_the_command_and_keeps_its_warnings(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bench.cells.progress.LINE_S", -1.0)
    progress = LogProgress()
    progress.cell(2, 3, "t · m")
    train(progress, Clock(), 0.0, last=35)
    progress.warn("careful")
    progress.done("done")
    printed = capsys.readouterr().err
    assert progress_in(tmp_path) == ""
    (tmp_path / "log.0").write_text(f"{printed}some library says something\n")
    assert progress_in(tmp_path).startswith("[2/3] t · m: training 30 of 100, loss 2.000, ends in ")
    assert progress.warnings == ["careful"]


def test_runs_of_other_processes_have_lines_where_there_is_no_terminal() -> None:
    out = io.StringIO()
    with Progress(stream=out) as progress:
        for step in (0, 10, 10, 20):
            progress.cells(1, 3, {"t · m": f"[1/3] t · m: training {step} of 100" if step else "", "t · n": ""})
        shown = [task.description for task in progress.bar.tasks]
        assert shown == ["1 of 3 runs done, 2 running", "[1/3] t · m: training 20 of 100", "t · n: starting"]
        progress.cells(3, 3, {})
    assert out.getvalue().splitlines() == [f"[1/3] t · m: training {step} of 100" for step in (10, 20)]
