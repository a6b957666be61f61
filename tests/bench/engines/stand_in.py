"""A worker in place of `bench work PLAN`: the protocol is the real one, a cell only counts its steps.

Started as `stand_in.py -m bench work PLAN`. A cell takes five steps, and more while there is a file `hold`; it keeps
its last one when it is stopped. One of the seed that `FAILS` says fails.
"""

import json
import os
import signal
import sys
import time
from pathlib import Path

from bench.queue.outcome import CellOutcome
from bench.queue.plan_file import read_plan
from bench.queue.protocol.beat import BeatThread
from bench.queue.protocol.files import DiskFiles
from bench.queue.protocol.runner import Ending, Handle, Runner
from bench.queue.protocol.worker import Worker


class Counting(Handle):
    def __init__(self, queue, job, generation):
        self.queue, self.job, self.generation = queue, job, generation
        self.kept = queue / f"kept.{job.key}"
        self.step = self.first = json.loads(self.kept.read_text())[-1] if self.kept.exists() else 0
        self.told = False

    def poll(self):
        self.step += 1
        time.sleep(0.01)
        if self.told:
            steps = json.loads(self.kept.read_text()) if self.kept.exists() else []
            self.kept.write_text(json.dumps([*steps, self.step]))
            return Ending.STOPPED
        if self.step < 5 or Path(os.environ["FAKE_SLURM"], "hold").exists():
            return None
        if str(self.job.cell["config"]["seed"]) == os.environ.get("FAILS"):
            CellOutcome("failed", "went wrong").write(self.queue, self.job.key, self.generation)
            return Ending.FAILED
        CellOutcome("ok", seconds=1.0, warnings=(f"from step {self.first}",)).write(self.queue, self.job.key, 1)
        return Ending.DONE

    def stop(self, number):
        self.told = True

    kill = stop


class CountingRunner(Runner):
    def __init__(self, queue):
        self.queue = queue

    def is_done(self, job):
        return False

    def start(self, job, generation, broken):
        return Counting(self.queue, job, generation)

    def give_up(self, job, generation, deaths):
        raise AssertionError

    def say(self, text):
        print(text, flush=True)


def main():
    assert sys.argv[1:4] == ["-m", "bench", "work"], sys.argv
    plan = read_plan(Path(sys.argv[4]))
    assert Path.cwd() == Path(plan.folder)
    runner = CountingRunner(plan.queue)
    worker = Worker(plan.jobs, DiskFiles(plan.queue), runner, plan.timing, lambda job: False, time.monotonic)
    for number in (signal.SIGTERM, signal.SIGUSR2):
        signal.signal(number, lambda number, frame: worker.stop(number))
    with BeatThread(worker.beat):
        while (pause := worker.tick()) is not None:
            time.sleep(min(pause, 0.02))
    sys.exit(75 if worker.stop_signal else 0)


main()
