"""Worker: one of several processes that share a cell; started by `bench.launch`, not by people."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from bench.arguments import RunArguments
from bench.plan import make_plan
from bench.work import work


def main(job_file: str) -> None:
    """Do this rank's share of a job."""
    job = json.loads(Path(job_file).read_text())
    arguments = RunArguments.from_dict(job["arguments"])
    if threads := int(os.environ.get("OMP_NUM_THREADS", "0")):
        import torch

        torch.set_num_threads(threads)
    plan = make_plan(arguments)
    (cell,) = [cell for cell in plan.cells if cell.key == job["key"]]
    work(
        cell,
        job["rows"],
        rank=int(os.environ["RANK"]),
        world=int(os.environ["WORLD_SIZE"]),
        accumulate=arguments.accumulate,
        scratch=Path(job_file).parent,
    )


if __name__ == "__main__":
    main(sys.argv[1])
