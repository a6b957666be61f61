"""Stand-ins for the programs of Slurm: an array's tasks are processes here, one job number each, as Slurm has them.

`install` makes them; each is this file under another name. What they know lies in the folder `FAKE_SLURM`, a file
`<job>_<task>.json` for each task that is not over. What a real Slurm was seen to do is in
tests/e2e/queue/test_slurm.py.
"""

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

PROGRAMS = ("sbatch", "squeue", "scancel", "scontrol", "srun", "slurm_task")
FIRST = 100
"""Number of the first job; those of its tasks follow it."""


def install(folder, path):
    """Make the programs in `folder / "bin"`; return the environment that has them first."""
    programs = folder / "bin"
    programs.mkdir(parents=True)
    for name in PROGRAMS:
        program = programs / name
        program.write_text(f'#!/bin/sh\nexec {sys.executable} -S -E {__file__} {name} "$@"\n')
        program.chmod(0o755)
    return {"PATH": f"{programs}:{path}", "FAKE_SLURM": str(folder)}


def home():
    return Path(os.environ["FAKE_SLURM"])


def tasks(*, name="", job=""):
    """The files of the tasks of a job, by its name or number."""
    found = {}
    for path in sorted(home().glob("*_*.json")):
        try:
            task = json.loads(path.read_text())
        except (OSError, ValueError):  # it is over by now
            continue
        if (name and task["name"] == name) or (job and job in (path.stem, str(task["job"]))):
            found[path] = task
    return found


def write(path, task):
    beside = path.with_suffix(".new")
    beside.write_text(json.dumps(task))
    beside.replace(path)


def signal_step(name, task, number):
    """Signal the step of one task, as at a time limit or a preemption."""
    (found,) = (each for each in tasks(name=name).values() if each["task"] == task)
    os.kill(int((home() / f"{found['id']}.step").read_text()), number)


def sbatch(words):
    text = Path(words[-1]).read_text()
    with (home() / "submitted").open("a") as log:
        print(words[-1], file=log)
    if (home() / "refuses").exists():
        sys.exit("sbatch: error: Batch job submission failed: Invalid partition name specified")
    last = int(re.search(r"--array=0-(\d+)", text).group(1))
    quoted, plain = re.search(r'--output=(?:"((?:[^"\\]|\\.)*)"|(\S+))', text).groups()
    logs = plain or re.sub(r"\\(.)", r"\1", quoted)
    first = FIRST * (len((home() / "submitted").read_text().splitlines()))
    name = re.search(r"--job-name=(\S+)", text).group(1)
    for number in range(last + 1):
        path = home() / f"{first}_{number}.json"
        task = {
            "id": first + (last - number),
            "job": first,
            "task": number,
            "name": name,
            "state": "PENDING",
            "restarts": 0,
        }
        write(path, {**task, "script": words[-1], "log": log_of(logs, number)})
        subprocess.Popen(
            ["slurm_task", path], start_new_session=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )  # fmt: skip
    print(f"{first};cluster")


def log_of(pattern, number):
    """The name of a log, as sbatch makes it of its pattern."""
    return re.sub("%(.)", lambda found: {"%": "%", "a": str(number)}[found[1]], pattern)


def slurm_task(words):
    """Run the script of a task, again where it was put back into the queue."""
    path = Path(words[0])
    while True:
        task = json.loads(path.read_text()) | {"state": "RUNNING"}
        ids = {
            "SLURM_JOB_ID": str(task["id"]),
            "SLURM_ARRAY_JOB_ID": str(task["job"]),
            "SLURM_ARRAY_TASK_ID": str(task["task"]),
            "SLURM_RESTART_COUNT": str(task["restarts"]),
        }
        with Path(task["log"]).open("a") as log:
            shell = subprocess.Popen(
                ["bash", task["script"]], env={**os.environ, **ids}, stdout=log, stderr=log, start_new_session=True
            )
            write(path, {**task, "shell": shell.pid})
            shell.wait()
        task = json.loads(path.read_text())
        if task["state"] != "REQUEUED":
            path.unlink()
            return
        write(path, {**task, "state": "PENDING", "restarts": task["restarts"] + 1})


def srun(words):
    """Become the command."""
    while words[0].startswith("--"):
        words = words[1:]
    job = os.environ["SLURM_JOB_ID"]
    (home() / f"{job}.step").write_text(str(os.getpid()))
    os.execvp(words[0], words)


def squeue(words):
    if (home() / "down").exists():
        sys.exit("slurm_load_jobs error: Unable to contact slurm controller")
    for task in tasks(name=words[words.index("--name") + 1]).values():
        print(task["job"], task["task"], task["state"], "None", sep="|")


def scancel(words):
    for path, task in tasks(name=words[words.index("--name") + 1]).items():
        if "--state=PENDING" in words and task["state"] != "PENDING":
            continue
        write(path, {**task, "state": "COMPLETING"})
        os.killpg(task["shell"], signal.SIGTERM)


def scontrol(words):
    """The number of an array stands for all its tasks, also where it is the number of one of them."""
    found = tasks(job=words[-1])
    if words[0] == "show":
        for task in found.values():
            print(f"   JobState={task['state']} Reason=None Dependency=(null)")
        return
    for path, task in found.items():
        write(path, {**task, "state": "REQUEUED"})
    for task in found.values():
        os.killpg(task["shell"], signal.SIGKILL)  # this process too


if __name__ == "__main__":
    globals()[sys.argv[1]](sys.argv[2:])
