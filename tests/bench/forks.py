"""Run a function in a forked child: for limits and signals that would end the test run."""

import json
import os
import resource
import sys
from collections.abc import Callable
from typing import Any


def in_child(act: Callable[[], Any]) -> Any:
    """Return what a function returns in a child process, as JSON; None when the child is killed."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        try:
            answer = json.dumps(act()).encode()
        except BaseException as error:
            answer = json.dumps({"raised": type(error).__name__, "text": str(error)}).encode()
        os.write(writer, answer)
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as file:
        answer = file.read()
    _, status = os.waitpid(child, 0)
    assert answer or os.WIFSIGNALED(status), "the child said nothing"
    return json.loads(answer) if answer else None


def full_disk(free: int, act: Callable[[], Any]) -> Any:
    """Return what a function returns in a child that cannot write a file longer than `free` bytes."""

    def limited() -> Any:
        resource.setrlimit(resource.RLIMIT_FSIZE, (free, free))
        return act()

    sys.stdout.flush()
    return in_child(limited)
