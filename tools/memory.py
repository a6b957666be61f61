"""Memory: how far a piece of work raises the peak of a process."""

from __future__ import annotations

import os
import resource
import struct
from collections.abc import Callable


def peak_megabytes(work: Callable[[], object]) -> float:
    """How far a forked child's peak resident memory rises while it does the work."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            work()
            after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            os.write(writer, struct.pack("d", (after - before) / 1024))
            status = 0
        finally:
            os._exit(status)  # skips the parent's exit handlers
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        answer = pipe.read()
    os.waitpid(child, 0)
    return float(struct.unpack("d", answer)[0])
