"""Launch: where and when the runs of a plan are executed. None of it changes a result.

Open `local.py` first: it executes a plan on several processes, here or through any executor.

lock.py      one run, one lock: no two processes train the same run
schedule.py  which run comes next: parents first, a locked run later
local.py     `--jobs`, `--devices` and `bench.run(executor=...)`: submits runs and collects what became of them
child.py     the function that is submitted: it starts a run as a process of its own and waits for it
ranks.py     the same for the several processes of `--devices`, by torchrun's elastic agent
member.py    one process of a group that shares a run: the first leads, the others follow
memory.py    smaller micro-batches where memory is not enough
signals.py   exit codes of signals; work ends between two steps
slurm.py     the same plan on a cluster
"""
