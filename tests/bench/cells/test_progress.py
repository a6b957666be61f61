"""Progress: the live line of a terminal, the lines without one, and when a stage may end."""

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


def reach(progress: Progress, clock: Clock, stage: str, seconds: float, first: int = 1, last: int = 50) -> None:
    """Take steps of a stage of 50, each of them in so many seconds; a training has a point of its curve at each."""
    progress.stage(stage, 50)
    for number in range(first, last + 1):
        clock.now += seconds
        progress.step(number, 50, {"loss": 2.0}) if stage == TRAINING else progress.beat(stage, number)


def test_a_long_run_has_a_line_for_every_tenth_and_one_at_its_end(clock: Clock) -> None:
    out = io.StringIO()
    with Progress(stream=out, clock=clock) as progress:
        progress.rows("rows read", 7, 0)
        clock.now += 40.0
        progress.rows("rows read", 1007, 0)
        progress.cell(1, 1, "t · m")
        reach(progress, clock, TRAINING, 2.0)
        reach(progress, clock, "likelihood", 0.01)
        reach(progress, clock, "generation greedy", 1.0)
        progress.done("done")
    first, *lines = out.getvalue().splitlines()
    assert first == "rows read 1,007"
    assert lines[4] == "[1/1] t · m: training 25 of 50, loss 2.000, ends in 0:00:50"
    assert lines[:9] == [line for line in lines if ": training" in line]
    assert not any("likelihood" in line for line in lines), "a short stage has none"
    assert lines[-2] == "[1/1] t · m: generation greedy 45 of 50, ends in 0:00:05"
    assert lines[-1] == "[1/1] t · m: done (150.5 s)"


def test_slow_steps_have_a_line_each(clock: Clock) -> None:
    out = io.StringIO()
    with Progress(stream=out, clock=clock) as progress:
        progress.cell(1, 1, "t · m")
        reach(progress, clock, TRAINING, 31.0, last=3)
    assert [line.partition(",")[0] for line in out.getvalue().splitlines()] == [
        f"[1/1] t · m: training {step} of 50" for step in (1, 2, 3)
    ]


def test_quiet_says_nothing_but_warnings_and_failures(clock: Clock) -> None:
    out = io.StringIO()
    with Progress(quiet=True, stream=out, clock=clock) as progress:
        progress.cell(1, 1, "t · m")
        reach(progress, clock, TRAINING, 5.0)
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
        reach(progress, clock, TRAINING, 1.0, first=10, last=30)
        assert line_of(progress) == "[1/2] training 30 of 50, loss 2.000, ends in 0:00:20 · t · m", "not from step 1 on"
        reach(progress, clock, "likelihood", 1.0, last=20)
        assert line_of(progress) == "[1/2] likelihood 20 of 50, ends in 0:00:30 · t · m"
        progress.rows("rows encoded", 7, 0)
        assert line_of(progress) == "[1/2] rows encoded 7 · t · m"
        progress.beat("likelihood", 30)
        assert line_of(progress).startswith("[1/2] likelihood 30 of 50")
        progress.stage(SCORING)
        progress.beat(SCORING, 3)
        assert line_of(progress) == "[1/2] scoring 3 · t · m"
        progress.cell(1, 2, "task · method · backbone · seed 0 " * 5)
        reach(progress, clock, TRAINING, 1.0, last=25)
        assert "25 of 50, loss 2.000, ends in 0:00:25" in line_of(progress)


def test_a_process_prints_for_the_command_and_keeps_its_warnings(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bench.cells.progress.LINE_S", -1.0)
    progress = LogProgress()
    progress.cell(2, 3, "t · m")
    reach(progress, Clock(), TRAINING, 0.0, last=19)
    progress.warn("careful")
    progress.done("done")
    printed = capsys.readouterr().err
    assert progress_in(tmp_path) == ""
    (tmp_path / "log.0").write_text(f"{printed}some library says something\n")
    assert progress_in(tmp_path).startswith("[2/3] t · m: training 15 of 50, loss 2.000")
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
