"""One worker process of the chaos runs: the real worker on the real disk, with faults and cells that only sleep."""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path

from bench.queue.protocol.job import Job
from bench.queue.protocol.timing import Timing
from bench.queue.protocol.worker import Worker
from bench.queue.work import drive
from tools.chaos._cells import Faults, FaultyFiles, SleepingRunner, result_path


def main(root: Path, wid: str, faults: Faults) -> None:
    """Work until nothing is left."""
    plan = json.loads((root / "plan.json").read_text())
    files = FaultyFiles(root, faults, random.Random(wid))
    worker = Worker(
        [Job.from_dict(job) for job in plan["jobs"]],
        files,
        SleepingRunner(files),
        Timing(**plan["timing"]),
        lambda job: result_path(root, job.key).exists(),
        faults.clock,
        wid,
    )
    drive([worker])


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], Faults(**json.loads(sys.argv[3])))
