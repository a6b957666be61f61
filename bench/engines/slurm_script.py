"""Slurm script: the text of one array of workers, from plain options. Nothing here talks to Slurm."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.base.signals import TOGETHER
from bench.errors import UsageError

__all__ = ["LOGS", "SlurmOptions", "directive", "script_text", "seconds_of"]

LOGS = "slurm-*.log"
"""What the workers print, in the folder of the queue: a file for each task of the array."""
OURS = {
    "array": "--max-workers",
    "chdir": "",
    "cpus-per-task": "--cpus",
    "error": "",
    "gpus-per-node": "--gpus",
    "job-name": "",
    "nodes": "--nodes",
    "ntasks": "--devices",
    "ntasks-per-node": "--devices",
    "open-mode": "",
    "output": "",
    "parsable": "",
    "requeue": "",
    "no-requeue": "",
    "signal": "--notice",
    "wait": "",
    "wrap": "",
}
"""What `--sbatch` does not take, and the option of ours that says it, where there is one."""
KEY = re.compile(r"[a-z][a-z0-9-]*")
TIME = re.compile(r"(?:(\d+)-)?(\d+)(?::(\d+))?(?::(\d+))?")
"""Slurm's forms: minutes, minutes:seconds, hours:minutes:seconds, days-hours, days-hours:minutes[:seconds]."""
PORT, PORTS = 10000, 20000
"""The processes of a group meet at one of so many ports from the first on, by the number of their job."""
RESTARTS = 200
"""Times that a worker goes back into the queue by itself: one that never gets anywhere should not do so for ever."""

HEAD = """\
#!/bin/bash
# Written by bench run --engine slurm: each task of this array is a worker of one plan.
"""
BODY = """\

# Slurm signals the steps of a job. This shell outlives the signal, and waits for its worker.
trap : TERM USR2
export {together}=60 # It signals every process, and srun some of them again: these signals are one.
cd {folder} || exit 1
{group}srun {step} {command} &
worker=$!
while kill -0 "$worker" 2>/dev/null; do wait "$worker"; done
wait "$worker"
code=$?

# 75: the worker was told to end and has kept what it had. A task that is being cancelled is not RUNNING any more.
task="${{SLURM_ARRAY_JOB_ID}}_$SLURM_ARRAY_TASK_ID" # SLURM_JOB_ID of the last task stands for the whole array
if [ "$code" = 75 ] && [ "${{SLURM_RESTART_COUNT:-0}}" -lt {restarts} ] &&
  scontrol show job "$task" | grep -q JobState=RUNNING; then
  scontrol requeue "$task" && sleep 60 # until Slurm ends this shell
fi
exit "$code"
"""
GROUP = """\
export MASTER_ADDR="${{MASTER_ADDR:-$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)}}"
export MASTER_PORT="$(({port} + SLURM_JOB_ID % {ports}))"
export TORCHELASTIC_RUN_ID="$SLURM_JOB_ID" WORLD_SIZE={world} LOCAL_WORLD_SIZE={here}
"""
RANK = """bash -c 'RANK="$SLURM_PROCID" LOCAL_RANK="$SLURM_LOCALID" exec "$@"' bash"""


@dataclass(frozen=True)
class SlurmOptions:
    """What each worker has, and how many there are.

    Args:
        max_workers: tasks of the array; never more than cells.
        partition: of the cluster; its default when empty.
        nodes: that a worker has.
        gpus: of a worker on each of its nodes; 0 for none.
        cpus: of a worker on each of its nodes; 0 for the cluster's own choice.
        mem: on each node, as Slurm writes it, such as `32G`.
        time: limit, as Slurm writes it, such as `4:00:00`.
        account: that pays.
        qos: quality of service.
        notice: seconds before the time limit at which a worker is told.
        more: `KEY=VALUE`, or `KEY`, of other options of sbatch.
    """

    max_workers: int = 1
    partition: str = ""
    nodes: int = 1
    gpus: int = 0
    cpus: int = 0
    mem: str = ""
    time: str = ""
    account: str = ""
    qos: str = ""
    notice: int = 120
    more: tuple[str, ...] = ()

    def check(self, devices: int, threads: int) -> None:
        """Refuse what sbatch would misread, and cells that do not fit a worker.

        Args:
            devices: processes that share a cell, on each node.
            threads: CPU threads of a process; 0 for torch's own choice.

        Raises:
            UsageError: naming the option.
        """
        if self.gpus and devices > self.gpus:
            raise UsageError(
                f"a cell wants {devices} GPUs (--devices), and a worker has {self.gpus} (--gpus): "
                f"say --gpus {devices}, or fewer --devices"
            )
        needed = devices * max(threads, 1)
        if self.cpus and needed > self.cpus:
            raise UsageError(
                f"a cell wants {needed} CPUs (--devices x --threads), and a worker has {self.cpus} (--cpus): "
                f"say --cpus {needed}, or fewer of the others"
            )
        if self.time and seconds_of(self.time) <= self.notice:
            raise UsageError(
                f"--time {self.time} is over when a worker is told, {self.notice} s ahead: "
                f"say a longer --time, or a smaller --notice"
            )
        for text in self.more:
            key = text.partition("=")[0]
            if not KEY.fullmatch(key):
                raise UsageError(f"--sbatch takes KEY=VALUE, a long option of sbatch without '--', not '{text}'")
            if key in OURS:
                raise UsageError(f"--sbatch does not take {key}: {OURS[key] or 'bench run'} decides it")


def seconds_of(text: str) -> int:
    """Return a time limit in seconds.

    >>> [seconds_of(text) for text in ("30", "1:30", "4:00:00", "1-0", "1-2:30", "1-2:30:01")]
    [1800, 90, 14400, 86400, 95400, 95401]

    Raises:
        UsageError: Slurm would not read it.
    """
    found = TIME.fullmatch(text)
    if found is None:
        raise UsageError(f"--time takes minutes, hours:minutes:seconds or days-hours:minutes:seconds, not '{text}'")
    days, *parts = found.groups()
    numbers = [int(part) for part in parts if part is not None]
    if days is not None:
        scales = (3600, 60, 1)
    elif len(numbers) < 3:
        scales = (60, 1, 0)
    else:
        scales = (3600, 60, 1)
    return int(days or 0) * 86400 + sum(number * scale for number, scale in zip(numbers, scales, strict=False))


def script_text(
    options: SlurmOptions, name: str, folder: Path, logs: Path, command: Sequence[str], devices: int
) -> str:
    """Return the script of an array of workers.

    Args:
        options: what each worker has; checked.
        name: of the job.
        folder: where the plan was made; workers start there.
        logs: absolute folder that takes what the workers print.
        command: words that start a worker.
        devices: processes that share a cell, on each node.

    Raises:
        UsageError: a name that Slurm cannot be told.
    """
    ranks = 1
    if options.nodes > 1:
        ranks = devices
    cpus = options.cpus // ranks
    wanted = {
        "job-name": name,
        "array": f"0-{options.max_workers - 1}",
        "output": str(logs).replace("%", "%%") + "/" + LOGS.replace("*", "%a"),
        "open-mode": "append",
        "requeue": None,
        "signal": f"USR2@{options.notice}",
        "nodes": str(options.nodes),
        "ntasks-per-node": str(ranks),
        "partition": options.partition,
        "gpus-per-node": str(options.gpus or ""),
        "cpus-per-task": str(cpus or ""),
        "mem": options.mem,
        "time": options.time,
        "account": options.account,
        "qos": options.qos,
    }
    lines = [directive(key, value) for key, value in wanted.items() if value != ""]
    for text in options.more:
        key, equals, value = text.partition("=")
        lines.append(directive(key, value if equals else None))
    step, words, group = "--kill-on-bad-exit=1", shlex.join(command), ""
    if cpus:
        step += f" --cpus-per-task={cpus}"  # since 22.05 a step does not have it from its job
    if options.nodes > 1:
        words = f"{RANK} {words}"
        group = GROUP.format(port=PORT, ports=PORTS, world=options.nodes * devices, here=devices)
    body = BODY.format(
        folder=shlex.quote(str(folder)), group=group, step=step, command=words, restarts=RESTARTS, together=TOGETHER
    )
    return HEAD + "\n".join(lines) + "\n" + body


def directive(key: str, value: str | None) -> str:
    r"""Return a line for sbatch, its value in quotes where it needs them; None for an option without one.

    >>> directive("mem", "4G"), directive("exclusive", None)
    ('#SBATCH --mem=4G', '#SBATCH --exclusive')
    >>> print(directive("comment", 'a "b" #c'))
    #SBATCH --comment="a \"b\" #c"

    Raises:
        UsageError: the value has a character that ends the line, or a backslash in the name of a log.
    """
    if value is None:
        return f"#SBATCH --{key}"
    if not value.isprintable() or (key == "output" and "\\" in value):
        raise UsageError(f"Slurm cannot be told {value!r} for {key}: use a name without such characters")
    if re.fullmatch(r"[\w%+,./:=@^-]+", value, re.ASCII) is None:
        escaped = value.replace("\\", "\\\\").replace('"', '\\"')
        value = f'"{escaped}"'
    return f"#SBATCH --{key}={value}"
