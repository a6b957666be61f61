"""Launch: where and when the runs of a plan are executed. None of it changes a result.

Open `jobs.py` first: it executes a plan on several processes, here or through any executor.

lock.py       one run, one lock: no two processes train the same run
jobs.py       `--jobs`, `--devices` and `bench.run(executor=...)`: submits runs and collects what became of them
child.py      the function that is submitted: it executes a run in processes of its own and waits for them
processes.py  starts one process by a fork server, several by torchrun's elastic agent; all end with their starter
group.py      this process as one of several that share each run: the first one leads, the others follow
signals.py    exit codes of signals; work ends between two steps
"""
