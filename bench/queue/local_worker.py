"""Local worker: one worker of `bench run --jobs`, which ends with the command.

Started as `python -m bench.queue.local_worker PLAN PARENT`, not by people: theirs is `bench work PLAN`.
"""

from __future__ import annotations

import signal
import sys
from pathlib import Path

from bench.base.parents import end_with_parent
from bench.errors import BenchError
from bench.queue.work import work

if __name__ == "__main__":
    end_with_parent(int(sys.argv[2]), signal.SIGTERM)
    try:
        sys.exit(work(Path(sys.argv[1])))
    except BenchError as error:
        sys.exit(str(error))
