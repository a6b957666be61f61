"""The arguments of `bench run`, as they were given, before any name is looked up."""

import argparse
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal

from bench.base.options import Positive, Range, check_fields, read_options
from bench.base.registry import split_names
from bench.config.config import (
    ExecutionConfig,
    Override,
    Preset,
    joined,
    parse_sets,
    read_yaml,
    section_values,
)
from bench.errors import UsageError

AUTO = "auto"
"""In place of a number of jobs: as many as there is room for."""

KeptCheckpoints = Literal["all", "none"]
"""Which checkpoints of finished runs stay."""


@dataclass(frozen=True)
class RunArguments:
    """One `bench run`. The second half never enters a key: it changes speed and place, not results.

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
        micro_batch: most rows of a micro-batch; all rows of a step if None. In one process, it is halved until memory
            is enough.
        keep_checkpoints: of runs that are finished and scored: `all` or `none`.
        loggers: `wandb`, `module:Name` or `file.py:Name`: where the run is copied to.

    Raises:
        UsageError: a value does not fit its annotation, or an execution setting is unknown or out of range.
    """

    tasks: tuple[str, ...]
    methods: tuple[str, ...] = ("papers",)
    seeds: tuple[Annotated[int, Range(0)], ...] = (0,)
    backbone: str | None = None
    preset: Preset = "small"
    sets: tuple[str, ...] = ()
    decode: str | None = None
    limit: Positive | None = None
    controls: bool = True
    kinds: tuple[str, ...] = ()
    metrics: tuple[str, ...] = ()

    jobs: Positive | Literal["auto"] = 1
    devices: Positive = 1
    micro_batch: Positive | None = None
    keep_checkpoints: KeptCheckpoints = "all"
    threads: Annotated[int, Range(0)] = 0
    data_dir: str = ""
    results: str = "results"
    loggers: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_fields(self, "")
        object.__setattr__(self, "seeds", tuple(dict.fromkeys(self.seeds)))
        _ = self.execution  # refuses unknown settings

    @cached_property
    def overrides(self) -> list[Override]:
        """The settings of `sets`."""
        return parse_sets(self.sets)

    @cached_property
    def execution(self) -> ExecutionConfig:
        """The settings of the section `execution` in `sets`."""
        given = section_values(self.overrides, "execution", ())
        return ExecutionConfig(**read_options(ExecutionConfig, given, "execution."))

    def threads_of(self, preset: str) -> int:
        """Return the CPU threads of a process, 0 for torch's own choice.

        One in the presets `small` and `mid`: the last bits of a sum depend on the number of threads, so that machines
        with more or fewer cores would otherwise not give the same numbers.
        """
        return self.threads if self.threads or preset == "paper" else 1

    @property
    def results_folder(self) -> Path:
        """Where the store lies."""
        return Path(self.results)


NAMES = ("tasks", "methods", "metrics", "loggers")
"""Fields that are lists of names; their options may be typed several times."""


def file_values(path: Path) -> dict[str, Any]:
    """Return the values of a configuration file under the names of the fields of `RunArguments`.

    Raises:
        UsageError: the file is malformed.
    """
    file = read_yaml(path)
    values = {"tasks": file["task"], "methods": file["method"], "decode": ",".join(file["decode"])}
    values |= {name: file[name] for name in ("seeds", "metrics", "backbone", "preset")}
    return {**_given(values), "sets": list(set_texts_of(file["set"]))}


def collect(given: argparse.Namespace) -> RunArguments:
    """Join a configuration file and the command line of `bench run`; the command line wins.

    Args:
        given: the options as typed, under the names of the fields of `RunArguments`; None or empty without a value.

    Raises:
        UsageError: no task is named, the file is malformed, or `RunArguments` refuses a value.
    """
    values = file_values(given.config) if given.config else {"sets": []}
    seeds = [f"evaluation.sampling_seeds={given.sampling_seeds}"] if given.sampling_seeds else []
    typed = {(one.section, one.name) for one in parse_sets([*given.sets, *seeds]) if one.scope is None}
    typed |= {("trainer", "steps")} if ("trainer", "epochs") in typed else set()  # which would decide in their place
    sets = [text for text in values["sets"] for one in parse_sets([text]) if (one.section, one.name) not in typed]
    typed_in = _given({field.name: getattr(given, field.name, None) for field in fields(RunArguments)})
    names = {name: split_names(typed_in[name]) for name in NAMES if name in typed_in}
    values = {**values, **typed_in, **names, "sets": [*sets, *given.sets, *seeds]}
    if "tasks" not in values:
        raise UsageError("say what to run: --task NAME (see: bench list tasks)")
    return RunArguments(**values)


def _given(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values that were given, without those that are empty."""
    return {name: value for name, value in values.items() if value not in (None, "", [])}


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
    return tuple(f"{name}={joined(name, value)}" for name, value in given.items())
