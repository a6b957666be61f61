"""The arguments of `bench run`, as they were given, before any name is looked up."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from functools import cached_property
from numbers import Integral
from pathlib import Path
from typing import Any

from bench.base.entries import split_names
from bench.config.config import Override, parse_sets, read_yaml, section_values, set_text, typed
from bench.config.execution import ExecutionConfig
from bench.errors import UsageError, did_you_mean
from bench.tasks.files.bad_rows import OnBadRow

AUTO = "auto"
"""In place of a number of jobs, or of the rows of a micro-batch: as many as there is room for."""

STRATEGIES = ("ddp", "fsdp")
"""Whether each process of a run has the whole model, or a share of it."""

KEPT_CHECKPOINTS = ("all", "best", "none")
"""Which checkpoints of finished runs stay."""


@dataclass(frozen=True)
class RunArguments:
    """One `bench run`. The second half never enters a key: it changes speed and place, not results.

    What `on_bad_row` leaves out changes the rows of the training split, and those are in the key.

    Args:
        tasks: names, `all`, globs.
        methods: names, `all`, globs, `module:Class` or `file.py:Class`; tasks, backbone and metrics likewise.
        seeds: one run each.
        backbone: overrides the task's own.
        preset: `small`, `mid` or `paper`.
        sets: `section.name=value`. Those of the section `execution` change no key.
        decode: decodings, as `bench.config.decoding.parse` reads them; None for the task's own.
        limit: rows kept of each split; keeps results out of leaderboards.
        controls: whether `all` includes the controls that methods declare.
        metrics: metric families, in addition to those of each task.
        kinds: kinds of evaluation to make; all that a task has when empty.
        jobs: runs that are executed at once on this machine; `auto` for as many as it has room for.
        devices: processes that share a run.
        micro_batch: most rows of a micro-batch, in place of `execution.accumulate`; `auto` for as many as memory has
            room for.
        strategy: `ddp` (each process has the whole model) or `fsdp` (a share of it).
        keep_checkpoints: of runs that are finished and scored: `all`, `best` (one of those that differ in their seed
            only), `none`.
        loggers: `wandb`, `tensorboard`, `csv`, `module:Name` or `file.py:Name`: where the run is copied to.

    Raises:
        UsageError: a seed, the limit, the number of jobs or the rows of a micro-batch is no such number; strategy or
            keep_checkpoints is none of its choices; an execution setting is unknown or has a value it cannot have; or
            both execution.accumulate and micro_batch are given.
    """

    tasks: tuple[str, ...]
    methods: tuple[str, ...]
    seeds: tuple[int, ...] = (0,)
    backbone: str | None = None
    preset: str = "small"
    sets: tuple[str, ...] = ()
    decode: str | None = None
    limit: int | None = None
    controls: bool = True
    kinds: tuple[str, ...] = ()
    metrics: tuple[str, ...] = ()

    jobs: int | str = 1
    devices: int = 1
    micro_batch: str = ""
    strategy: str = "ddp"
    keep_checkpoints: str = "all"
    threads: int = 0
    on_bad_row: OnBadRow = "fail"
    data_dir: str | None = None
    results: str = "results"
    loggers: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for seed in self.seeds:
            if not is_whole(seed):
                raise UsageError(f"seeds are whole numbers, e.g. seeds=[0, 1, 2], not {self.seeds!r}")
        object.__setattr__(self, "seeds", tuple(map(int, self.seeds)))  # NumPy's too
        for name in ("limit", "jobs"):
            number = getattr(self, name)
            if number is None or (name == "jobs" and number == AUTO):
                continue
            if not is_whole(number) or number < 1:
                raise UsageError(f"{name} is a whole number of at least 1, not {number!r}")
            object.__setattr__(self, name, int(number))
        check_choice("strategy", self.strategy, STRATEGIES)
        check_choice("keep_checkpoints", self.keep_checkpoints, KEPT_CHECKPOINTS)
        check_micro_batch(self.micro_batch, self.execution.accumulate)

    @cached_property
    def overrides(self) -> list[Override]:
        """The settings of `sets`."""
        return parse_sets(self.sets)

    @cached_property
    def execution(self) -> ExecutionConfig:
        """The settings of the section `execution` in `sets`."""
        values = section_values(self.overrides, "execution", ())
        options = [field.name for field in fields(RunArguments)]
        for name in values:
            if name in options:
                raise UsageError(f"execution has no setting '{name}': it is the option --{name.replace('_', '-')}")
        return typed(ExecutionConfig, values, "execution")

    def as_dict(self) -> dict[str, Any]:
        """Return plain content, for a worker process."""
        return asdict(self)

    @staticmethod
    def from_dict(content: dict[str, Any]) -> RunArguments:
        """Undo `as_dict`."""
        lists = ("tasks", "methods", "seeds", "sets", "kinds", "metrics", "loggers")
        values: dict[str, Any] = {k: tuple(v) if k in lists else v for k, v in content.items()}
        return RunArguments(**values)

    def check_world(self, world: int) -> None:
        """Refuse shares of a model where one process works on a cell.

        Args:
            world: processes that share a run, on all its nodes.

        Raises:
            UsageError: there is one, and the strategy is `fsdp`.
        """
        if self.strategy == "fsdp" and world == 1:
            raise UsageError(
                "--strategy fsdp shares a model among processes, and a run has one here: give --devices 2 or more, "
                "or --slurm nodes=2, or start several processes by torchrun"
            )

    @property
    def results_folder(self) -> Path:
        """Where the store lies."""
        return Path(self.results)


def is_whole(value: Any) -> bool:
    """Return whether a value is a whole number, of Python or of NumPy."""
    return isinstance(value, Integral) and not isinstance(value, bool)


def check_choice(name: str, value: str, choices: Sequence[str]) -> None:
    """Refuse what is none of the choices.

    Raises:
        UsageError: naming them.
    """
    if value not in choices:
        near = did_you_mean(str(value), choices)
        raise UsageError(f"{name} is one of {', '.join(choices)}, not {value!r}{near}")


def check_micro_batch(rows: str, accumulate: int) -> None:
    """Refuse a number of rows for a micro-batch that is none, or that contradicts `accumulate`.

    Args:
        rows: a number from 1, `auto`, or nothing.
        accumulate: micro-batches of a step.

    Raises:
        UsageError: the rows are none of these, or both say how large a micro-batch is.
    """
    if not rows:
        return
    if rows != AUTO and not (isinstance(rows, str) and rows.isdecimal() and int(rows) > 0):
        raise UsageError(f"--micro-batch takes a whole number of at least 1, or {AUTO}, not {rows!r}")
    if accumulate > 1:
        raise UsageError(
            f"--micro-batch {rows} decides how many micro-batches a step has, and so does "
            f"execution.accumulate={accumulate}; give one of them"
        )


def threads_of(preset: str, arguments: RunArguments) -> int:
    """Return the CPU threads of a process, 0 for torch's own choice.

    One in the presets `small` and `mid`: the last bits of a sum depend on the number of threads, so that machines with
    more or fewer cores would otherwise not give the same numbers.
    """
    if arguments.threads or preset == "paper":
        return arguments.threads
    return 1


def collect(given: argparse.Namespace) -> RunArguments:
    """Join a configuration file and the command line of `bench run`; the command line wins.

    Raises:
        UsageError: no task is named, the file or a list of numbers is malformed, or `RunArguments` refuses.
    """
    file: dict[str, Any] = {}
    if given.config:
        file = read_yaml(given.config)
    tasks = split_names(given.task) or _listed(file.get("task"))
    if not tasks:
        raise UsageError("say what to run: --task NAME (see: bench list tasks)")
    if given.seeds:
        seeds = given.seeds.split(",")
    else:
        seeds = _listed(file.get("seeds")) or ["0"]
    sets = [f"{key}={value}" for key, value in (file.get("set") or {}).items()]
    sets += [text for texts in given.sets for text in texts]
    if given.sampling_seeds:
        sets.append(f"evaluation.sampling_seeds={given.sampling_seeds}")
    return RunArguments(
        tasks=tuple(tasks),
        methods=tuple(split_names(given.method) or _listed(file.get("method")) or ["papers"]),
        seeds=whole_numbers(seeds),
        backbone=given.backbone or file.get("backbone") or None,
        preset=given.preset or file.get("preset") or "small",
        sets=tuple(sets),
        decode=given.decode or ",".join(_listed(file.get("decode"))) or None,
        limit=given.limit,
        controls=given.controls,
        metrics=tuple(split_names(given.metrics) or _listed(file.get("metrics"))),
        jobs=given.jobs,
        devices=given.devices,
        micro_batch=given.micro_batch or "",
        strategy=given.strategy,
        keep_checkpoints=given.keep_checkpoints,
        threads=given.threads,
        on_bad_row=given.on_bad_row,
        data_dir=given.data_dir,
        results=given.results,
        loggers=tuple(split_names(given.logger)),
    )


def whole_numbers(texts: Sequence[str]) -> tuple[int, ...]:
    """Return seeds, each once.

    >>> whole_numbers(["1", "0", "1"])
    (1, 0)
    """
    try:
        return tuple(dict.fromkeys(int(text) for text in texts))
    except ValueError:
        raise UsageError(f"--seeds takes whole numbers with commas, not '{','.join(texts)}'; e.g. 0,1,2") from None


def set_texts_of(given: Mapping[str, Any] | None) -> tuple[str, ...]:
    """Return options given in Python as `--set` takes them; the items of a list stand with commas.

    Raises:
        UsageError: they are no dict, or an item of a list has a comma in it.

    >>> set_texts_of({"trainer.lr": 0.001, "method.orders": [1, 2]})
    ('trainer.lr=0.001', 'method.orders=1,2')
    """
    if given is None:
        return ()
    if not isinstance(given, Mapping):
        raise UsageError(f"set is a dict of options and values, e.g. {{'trainer.lr': 0.001}}, not {given!r:.80}")
    return tuple(set_text(name, value) for name, value in given.items())


def _listed(value: list[str] | str | None) -> list[str]:
    """Return the names of a list, or of a text with commas."""
    if isinstance(value, list):
        return split_names(value)
    return split_names([value or ""])
