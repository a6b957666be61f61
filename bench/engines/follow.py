"""Follow: what people see of an array of workers, until its cells are settled. Leaving it changes nothing."""

from __future__ import annotations

import time
from collections import Counter

from bench.cells.plan import Plan
from bench.cells.progress import Progress
from bench.engines.slurm import ArrayTask, array_tasks, cancel, text_of_tasks
from bench.engines.submission import Submission, last_words
from bench.errors import BenchError
from bench.queue.follower import Follower
from bench.queue.outcome import CellOutcome

__all__ = ["ArrayWatch", "follow"]

TICK_S = 0.2
SHORTEST_S, LONGEST_S = 0.5, 30.0
"""Between two questions to Slurm: each time twice as long, and short again when something has happened."""
END_S = 60.0
"""How long workers may take to notice that all is settled; those that do not, such as lost ones, are cancelled."""
GONE_S = 15.0
"""How long cancelled workers may take to go."""


class ArrayWatch:
    """Asks Slurm now and then where the tasks of an array are.

    Args:
        name: of the job.
        progress: told when an answer is another one.
    """

    def __init__(self, name: str, progress: Progress) -> None:
        self.name, self.progress = name, progress
        self.tasks: list[ArrayTask] = []
        self.job = ""
        self.empty = 0  # answers without a task, one after another
        self.pause_s = SHORTEST_S
        self.due = 0.0
        self.shown = ""

    @property
    def is_gone(self) -> bool:
        """Whether Slurm has no task of it any more: it has said so twice."""
        return self.empty > 1

    def hurry(self) -> None:
        """Ask again soon."""
        self.pause_s = SHORTEST_S
        self.due = min(self.due, time.monotonic() + self.pause_s)

    def look(self) -> None:
        """Ask, if it is time."""
        if time.monotonic() < self.due:
            return
        try:
            self.tasks = array_tasks(self.name)
        except BenchError as error:  # its controller may be down for a while; the workers go on
            self.show(str(error))
        else:
            self.note()
        self.due = time.monotonic() + self.pause_s
        self.pause_s = min(2 * self.pause_s, LONGEST_S)

    def note(self) -> None:
        """Take note of an answer."""
        if self.tasks:
            self.job, self.empty = self.tasks[0].job, 0
        else:
            self.empty += 1
        self.show(text_of_tasks(self.tasks))

    def show(self, text: str) -> None:
        """Tell people, once."""
        if text != self.shown:
            self.progress.say(text)
            self.shown = text


def follow(submission: Submission, plan: Plan, progress: Progress) -> dict[str, CellOutcome]:
    """Wait until every cell of a queue is settled; return what became of each, by its key there.

    Args:
        submission: what was handed to Slurm, now or earlier.
        plan: of the run.
        progress: told what happens.

    Raises:
        BenchError: the array is gone and cells are left.
        KeyboardInterrupt: the person leaves. The workers go on.
    """
    follower = Follower(submission.plan, plan, progress)
    watch = ArrayWatch(submission.name, progress)
    try:
        wait(follower, watch, progress)
    except KeyboardInterrupt:
        progress.warn(
            f"left: the workers go on. The same command follows them again; scancel --name {submission.name} ends them"
        )
        raise
    if not follower.order.is_settled():
        states = Counter(follower.order.state(job.key).value for job in submission.plan.jobs)
        counts = ", ".join(f"{count} {state}" for state, count in sorted(states.items()))
        raise BenchError(
            f"the array has ended before its cells were done ({counts}): it was cancelled, or its workers could not "
            f"go on. The same command submits what is missing.\n{last_words(submission)}"
        )
    return follower.settled


def wait(follower: Follower, watch: ArrayWatch, progress: Progress) -> None:
    """Look and tell until all is settled and the workers have ended, or until they have ended anyway."""
    follower.read()
    settled = len(follower.settled)
    while not watch.is_gone and not follower.order.is_settled():
        watch.look()
        follower.look()
        if len(follower.settled) != settled:
            settled = len(follower.settled)
            watch.hurry()
        time.sleep(TICK_S)
    progress.running({})
    follower.read()
    for seconds, words in ((END_S, ["--state=PENDING"]), (GONE_S, [])):
        if not watch.is_gone:
            cancel(watch.name, *words)
            wait_until_gone(watch, seconds)


def wait_until_gone(watch: ArrayWatch, seconds: float) -> None:
    """Wait until Slurm has no task of an array any more, for so many seconds at the most."""
    deadline = time.monotonic() + seconds
    while not watch.is_gone and time.monotonic() < deadline:
        watch.hurry()
        watch.look()
        time.sleep(TICK_S)
