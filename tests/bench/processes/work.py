"""What the children of `starter.py` do."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path


def says(path):
    """Say who this process is."""
    print("printed")
    said = {"group": os.getpgid(0) == os.getpid(), "given": os.environ["GIVEN"], "main": "Path" in vars(main())}
    Path(path).write_text(json.dumps(said))
    return 0


def main():
    return sys.modules["__main__"]


def ends_with(code):
    """End with an exit code, or by a signal."""
    if code < 0:
        os.kill(os.getpid(), -code)
    return code


def sleeps(path, has_child=False):
    """Say the own process id and that of a process of the same group, and sleep."""
    pids = [os.getpid()]
    if has_child:
        pids.append(subprocess.Popen(["sleep", "600"]).pid)
    Path(path).write_text(" ".join(map(str, pids)) + "\n")
    time.sleep(600)


def keeps(path, number):
    """Say the own process id; at the signal, take a moment to keep something, and end with 75."""

    def keep(*_):
        time.sleep(0.3)
        os._exit(75)

    signal.signal(number, keep)
    sleeps(path)
