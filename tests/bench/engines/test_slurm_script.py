"""The script of an array of workers: its text, what a shell and sbatch make of odd names, and what is refused."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from bench.engines.slurm_script import SlurmOptions, directive, script_text, seconds_of
from bench.errors import UsageError

GOLDEN = Path(__file__).parents[2] / "golden" / "slurm"
COMMAND = ["/env/bin/python", "-m", "bench", "work", "/store/.work/queue-0123/plan.json"]
ALL = SlurmOptions(
    max_workers=8, partition="gpu", gpus=1, cpus=4, mem="32G", time="4:00:00", account="me", qos="low", notice=300,
    more=("exclusive", "constraint=a100|h100", "comment=so said \"he\""),
)  # fmt: skip


@pytest.mark.parametrize(
    ("name", "options", "devices"),
    [
        ("least", SlurmOptions(max_workers=2), 1),
        ("all", ALL, 1),
        ("nodes", SlurmOptions(nodes=2, gpus=4, cpus=16), 4),
    ],
)
def test_text(name: str, options: SlurmOptions, devices: int) -> None:
    text = script_text(options, "bench-0123", Path("/work"), Path("/store/.work/queue-0123"), COMMAND, devices)
    assert text == (GOLDEN / f"{name}.sh").read_text()


def test_odd_names_reach_the_worker_as_they_are(tmp_path: Path) -> None:
    folder = tmp_path / 'it\'s $HOME; "so" *'
    folder.mkdir()
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "srun").write_text('#!/bin/sh\npwd\nfor word; do echo "<$word>"; done\n')
    (programs / "srun").chmod(0o755)
    command = ["python", "-m", "bench", "work", f"{folder}/a b/$(touch x)/`y`/plan.json"]
    text = script_text(SlurmOptions(), "bench-0", folder, folder, command, 1)
    ended = subprocess.run(
        ["bash", "-c", text], env={"PATH": f"{programs}:/usr/bin:/bin"}, capture_output=True, text=True, check=False
    )
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout.splitlines() == [str(folder), "<--kill-on-bad-exit=1>", *(f"<{word}>" for word in command)]


def test_a_folder_that_is_gone_ends_the_worker(tmp_path: Path) -> None:
    text = script_text(SlurmOptions(), "bench-0", tmp_path / "gone", tmp_path, COMMAND, 1)
    assert subprocess.run(["bash", "-c", text], capture_output=True, check=False).returncode == 1


def test_logs_may_lie_below_signs_that_slurm_replaces() -> None:
    text = script_text(SlurmOptions(), "bench-0", Path("/"), Path('/100 %j/"x"'), COMMAND, 1)
    assert r'#SBATCH --output="/100 %%j/\"x\"/slurm-%a.log"' in text.splitlines()


@pytest.mark.parametrize(("key", "value"), [("output", "/a\\b"), ("output", "/a\nb"), ("comment", "a\x1bb")])
def test_what_slurm_cannot_be_told(key: str, value: str) -> None:
    with pytest.raises(UsageError, match=f"Slurm cannot be told .* for {key}"):
        directive(key, value)


@pytest.mark.parametrize(
    ("options", "devices", "threads", "said"),
    [
        (SlurmOptions(gpus=2), 4, 1, "a cell wants 4 GPUs (--devices), and a worker has 2 (--gpus): say --gpus 4"),
        (SlurmOptions(cpus=3), 2, 2, "a cell wants 4 CPUs (--devices x --threads), and a worker has 3 (--cpus)"),
        (SlurmOptions(nodes=2, cpus=3), 2, 2, "a cell wants 4 CPUs"),
        (SlurmOptions(time="2"), 1, 1, "--time 2 is over when a worker is told, 120 s ahead"),
        (SlurmOptions(time="soon"), 1, 1, "--time takes minutes, hours:minutes:seconds or days-hours:minutes:seconds"),
        (SlurmOptions(more=("array=0-9",)), 1, 1, "--sbatch does not take array: --max-workers decides it"),
        (SlurmOptions(more=("output=x",)), 1, 1, "--sbatch does not take output: bench run decides it"),
        (SlurmOptions(more=("--mem=4G",)), 1, 1, "--sbatch takes KEY=VALUE, a long option of sbatch without '--'"),
    ],
)
def test_what_does_not_fit_is_refused(options: SlurmOptions, devices: int, threads: int, said: str) -> None:
    with pytest.raises(UsageError) as refused:
        options.check(devices, threads)
    assert str(refused.value).startswith(said)


def test_what_fits_is_not() -> None:
    ALL.check(1, 4)
    SlurmOptions(nodes=2, gpus=4, cpus=16, time="1-0").check(4, 4)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("30", 1800), ("1:30", 90), ("4:00:00", 14400), ("1-0", 86400), ("1-2:30", 95400), ("1-2:30:01", 95401)],
)
def test_time_limits(text: str, seconds: int) -> None:
    assert seconds_of(text) == seconds
