"""What a person asked `bench run` for, before anything is looked up."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bench.tasks.files.bad_rows import OnBadRow


@dataclass(frozen=True)
class RunArguments:
    """One `bench run`. The second half never enters a key: it changes speed and place, not results.

    What `on_bad_row` leaves out changes the rows of the training split, and those are in the key.

    Args:
        tasks: names, `all`, globs.
        methods: names, `all`, globs, or `package.module:Class`.
        seeds: one cell each.
        backbone: overrides the task's own.
        preset: `small`, `paper` or `auto` (small without a CUDA GPU).
        sets: `section.name=value`.
        decode: decodings, as `bench.config.decoding.parse` reads them; None for the task's own.
        limit: rows kept of each split; keeps results out of leaderboards.
        controls: whether `all` includes the controls that methods declare.
        kinds: kinds of evaluation to make; all that a task has when empty.
    """

    tasks: tuple[str, ...]
    methods: tuple[str, ...]
    seeds: tuple[int, ...] = (0,)
    backbone: str | None = None
    preset: str = "auto"
    sets: tuple[str, ...] = ()
    decode: str | None = None
    limit: int | None = None
    controls: bool = True
    kinds: tuple[str, ...] = ()

    devices: int = 1
    accumulate: int = 1
    threads: int = 0
    workers: int = 0
    on_bad_row: OnBadRow = "fail"
    data_dir: str | None = None
    results: str = "results"
    wandb: bool = False
    wandb_project: str = "objective-bench"

    def as_dict(self) -> dict[str, Any]:
        """Return plain content, for a worker process."""
        return asdict(self)

    @staticmethod
    def from_dict(content: dict[str, Any]) -> RunArguments:
        """Undo `as_dict`."""
        lists = ("tasks", "methods", "seeds", "sets", "kinds")
        values: dict[str, Any] = {k: tuple(v) if k in lists else v for k, v in content.items()}
        return RunArguments(**values)

    @property
    def results_folder(self) -> Path:
        """Where the store lies."""
        return Path(self.results)


def threads_of(preset: str, arguments: RunArguments) -> int:
    """Return the CPU threads of a process, 0 for torch's own choice.

    One in the small preset: the last bits of a sum depend on the number of threads, so that machines with more or
    fewer cores would otherwise not give the same numbers.
    """
    return arguments.threads or (1 if preset == "small" else 0)
