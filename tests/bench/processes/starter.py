"""A program that starts children, without asking for its `__name__`: run by `test_process.py`, and by nobody else."""

import os
import signal
import sys
import time
from multiprocessing import forkserver
from pathlib import Path

from bench.processes.process import start_child
from tests.bench.processes import work

folder, what = Path(sys.argv[1]), sys.argv[2]
environment = {**os.environ, "GIVEN": "a value"}


def start(name, *arguments):
    return start_child(getattr(work, name), arguments, folder / "log", environment, "json")


def wait(child):
    while child.poll() is None:
        time.sleep(0.01)
    return child.poll()


def wait_for(path):
    while not path.exists() or not path.read_text().endswith("\n"):
        time.sleep(0.01)


if what == "code":
    print(wait(start("says", str(folder / "said"))), wait(start("ends_with", 7)), wait(start("ends_with", -9)))
elif what == "stop":
    child = start("sleeps", str(folder / "pids"))
    wait_for(folder / "pids")
    child.stop(signal.SIGTERM)
    print(wait(child))
elif what == "kill":
    child = start("sleeps", str(folder / "pids"), True)
    wait_for(folder / "pids")
    child.kill()
    print(child.poll())
elif what == "server":
    child = start("sleeps", str(folder / "pids"))
    wait_for(folder / "pids")
    os.kill(forkserver._forkserver._forkserver_pid, signal.SIGKILL)
    print(wait(child), wait(start("ends_with", 3)))
elif what.startswith("all"):
    number = int(what.removeprefix("all"))
    child = start("keeps", str(folder / "pids"), number)
    wait_for(folder / "pids")
    for process in (forkserver._forkserver._forkserver_pid, child.pid):
        os.kill(process, number)
    print(wait(child), wait(start("ends_with", 3)))
elif what == "wait":
    child = start("sleeps", str(folder / "pids"))
    time.sleep(600)
