"""One core: commands of tests execute one run after another unless `--jobs` says otherwise, on any machine."""

import bench.launch.jobs


def have_one_core() -> None:
    """Let `--jobs auto` find one core: several runs would be processes of their own, which take seconds to begin."""
    bench.launch.jobs.cores = lambda: 1
