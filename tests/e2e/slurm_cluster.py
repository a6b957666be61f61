"""A real Slurm of two nodes on this machine, for tests: no database, no cgroups, nothing listens but on 127.0.0.1."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from tests.e2e import children
from tests.waiting import free_port, wait_until

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "srun", "squeue", "scancel", "scontrol", "sinfo")
NODES = ("n1", "n2")
CONF = """\
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={port}
SlurmdPort={other}
SrunPortRange={first}-{last}
CommunicationParameters=NoCtldInAddrAny,NoInAddrAny
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.sock,cred_expire=5
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
MpiDefault=none
SwitchType=switch/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerType=sched/backfill
SchedulerParameters=batch_sched_delay=1,sched_interval=5,bf_interval=2,sched_min_interval=0,requeue_delay=1
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
ReturnToService=2
KillWait=20
MinJobAge=300
SlurmdTimeout=300
JobRequeue=1
SlurmdParameters=config_overrides
NodeName=n1 NodeHostname={host} NodeAddr=127.0.0.1 Port={n1} CPUs=2 RealMemory=8000 State=UNKNOWN
NodeName=n2 NodeHostname={host} NodeAddr=127.0.0.1 Port={n2} CPUs=2 RealMemory=8000 State=UNKNOWN
PartitionName=all Nodes=n[1-2] Default=YES MaxTime=60 State=UP PriorityTier=1 GraceTime=20
PartitionName=urgent Nodes=n[1-2] Default=NO MaxTime=60 State=UP PriorityTier=9 PreemptMode=OFF
"""


def missing() -> str:
    """Why there can be no cluster here; empty where there can."""
    lacking = [name for name in PROGRAMS if shutil.which(name, path=search_path()) is None]
    if sys.platform != "linux" or lacking:
        return f"Slurm is not installed: {', '.join(lacking)}"
    if os.geteuid() != 0:
        return "Slurm's daemons want to be started by root here"
    return ""


def search_path() -> str:
    """PATH, and where daemons are."""
    return f"{os.environ['PATH']}:/usr/sbin:/sbin"


@dataclass
class SlurmCluster:
    """Two nodes, `n1` and `n2`, of two CPUs each.

    Args:
        folder: of keys, state and logs; not too long a name, for sockets are in it.
    """

    folder: Path
    daemons: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    @property
    def environment(self) -> dict[str, str]:
        """What its programs need."""
        return {"SLURM_CONF": str(self.folder / "slurm.conf"), "PATH": search_path()}

    def start(self) -> None:
        """Start the daemons and wait until both nodes are idle."""
        (self.folder / "state").mkdir()
        for name in ("munge.key", "munged.seed"):
            (self.folder / name).write_bytes(os.urandom(1024))
            (self.folder / name).chmod(0o600)
        ports = [free_port() for _ in range(4)]
        first = 30000 + os.getpid() % 200 * 100
        names = dict(zip(("port", "other", *NODES), ports, strict=True))
        text = CONF.format(host=socket.gethostname().partition(".")[0], folder=self.folder, first=first,
                           last=first + 99, **names)  # fmt: skip
        (self.folder / "slurm.conf").write_text(text)
        (self.folder / "cgroup.conf").write_text("CgroupAutomount=no\n")
        files = {"key": "munge.key", "pid": "munged.pid", "log": "munged.log", "seed": "munged.seed"}
        words = [f"--{name}-file={self.folder}/{file}" for name, file in files.items()]
        self.daemon("munged", "--foreground", "--force", f"--socket={self.folder}/munge.sock", *words)
        assert wait_until((self.folder / "munge.sock").exists, 10), self.logs()
        self.daemon("slurmctld", "-D")
        for node in NODES:
            self.daemon("slurmd", "-D", "-N", node)
        assert wait_until(self.is_idle, 20), self.logs()

    def daemon(self, name: str, *words: str) -> None:
        """Start a daemon that stays a child of this process."""
        key = words[-1] if name == "slurmd" else name
        with (self.folder / f"{key}.out").open("w") as out:
            self.daemons[key] = subprocess.Popen(
                [name, *words], env={**os.environ, **self.environment}, stdout=out, stderr=out, start_new_session=True,
                stdin=subprocess.DEVNULL,
            )  # fmt: skip

    def ask(self, *words: str) -> str:
        """What a program of Slurm prints."""
        ended = subprocess.run(
            words, env={**os.environ, **self.environment}, capture_output=True, text=True, check=False
        )
        return ended.stdout.strip()

    def states(self) -> list[str]:
        """Those of all elements that are not over, in the order of the alphabet."""
        return sorted(self.ask("squeue", "-h", "--array", "-o", "%T").split())

    def has_elements(self) -> bool:
        """Whether anything but its daemon lives on a node."""
        return any(len(self.of_node(node)) > 1 for node in NODES)

    def lose(self, node: str) -> None:
        """Kill everything of a node at once, as a power cut would; the controller need not find out by itself."""
        self.kill(node)
        self.ask("scontrol", "update", f"NodeName={node}", "State=DOWN", "Reason=lost")

    def restore(self) -> None:
        """Start the daemons of lost nodes again, and wait until all nodes are idle."""
        for node in NODES:
            if self.daemons[node].poll() is not None:
                self.daemon("slurmd", "-D", "-N", node)
        assert wait_until(self.is_idle, 40), self.logs()

    def is_idle(self) -> bool:
        """Whether both nodes wait for jobs."""
        return self.ask("sinfo", "-h", "-p", "all", "-t", "idle", "-o", "%D") == "2"

    def kill(self, node: str) -> None:
        """Kill everything of a node."""
        for pid in self.of_node(node):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def of_node(self, node: str) -> list[int]:
        """The daemon of a node, those that watch its jobs, and what these have started; the watchers first."""
        watchers, others = [], [self.daemons[node].pid]
        name = f"SLURMD_NODENAME={node}".encode()
        for process in Path("/proc").glob("[0-9]*"):
            try:
                values = (process / "environ").read_bytes().split(b"\0")
                files = [os.readlink(file) for file in (process / "fd").iterdir()]
            except OSError:  # it has ended, or belongs to somebody else
                continue
            if f"SLURM_CONF={self.folder}/slurm.conf".encode() not in values:
                continue
            if b"slurmstepd" in (process / "cmdline").read_bytes() and f"{self.folder}/slurmd-{node}.log" in files:
                watchers.append(int(process.name))
            elif name in values:
                others.append(int(process.name))
        return watchers + others

    def stop(self) -> None:
        """End all jobs, then all daemons."""
        self.ask("scancel", "--quiet", "--full", "--signal=KILL", "--user", "root")
        self.ask("scancel", "--user", "root")
        time.sleep(0.5)
        for node in NODES:
            self.kill(node)
        for daemon in self.daemons.values():
            daemon.kill()
            daemon.wait()

    def logs(self) -> str:
        """What the daemons have said last."""
        lines = []
        for log in sorted(self.folder.glob("*.log")):
            lines += children.read(log).splitlines()[-6:]
        return "\n".join(lines)
