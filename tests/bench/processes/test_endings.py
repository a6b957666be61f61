"""Which of several endings is the cause of the others."""

import pytest
import torch

from bench.base.signals import Stopped
from bench.errors import BenchError
from bench.processes.endings import (
    Ending,
    GroupError,
    MemoryShortageError,
    ending_of,
    is_out_of_memory,
    leave,
    raise_cause,
    read_ending,
)

OK = Ending(0, "ok")


def test_an_ending_is_read_as_it_was_left(tmp_path):
    assert read_ending(tmp_path, 3) is None
    ending = ending_of(3, Stopped(10))
    leave(tmp_path, ending)
    assert read_ending(tmp_path, 3) == ending
    assert (ending.kind, ending.code, ending.number) == ("stopped", 75, 10)


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (None, "ok"),
        (BenchError("no"), "failed"),
        (KeyboardInterrupt(), "failed"),
        (MemoryError(), "memory"),
        (torch.OutOfMemoryError("CUDA out of memory"), "memory"),
        (RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory"), "memory"),
        (RuntimeError("shapes differ"), "failed"),
    ],
)
def test_kinds(error, kind):
    assert ending_of(0, error).kind == kind
    assert error is None or is_out_of_memory(error) == (kind == "memory")


def test_all_well(tmp_path):
    raise_cause([OK, Ending(1, "ok")], {}, tmp_path, 2)


@pytest.mark.parametrize(
    ("endings", "codes", "error", "says"),
    [
        # One that was killed explains the others, which lost it.
        ([Ending(0, "failed", 1, text="connection closed", at=1)], {1: -9}, GroupError, "process 1 of 2 .* code -9"),
        # The first that failed explains the second.
        ([Ending(0, "failed", 1, at=9), Ending(1, "failed", 1, text="why", at=3)], {}, GroupError, "process 1 .*\nwhy"),
        # Others that were told to stop are no cause, nor is one whose connection is lost.
        ([Ending(0, "stopped", 143, 15, at=1), Ending(1, "failed", 1, at=9)], {}, GroupError, "process 1"),
        (
            [Ending(0, "failed", 1, at=1), Ending(1, "memory", 86, text="full", at=9)],
            {},
            MemoryShortageError,
            "1.*full",
        ),
        ([Ending(0, "stopped", 130, 2, at=5), OK], {}, Stopped, "SIGINT"),
        ([], {0: -15, 1: -15}, Stopped, "SIGTERM"),  # before there was a handler
        ([Ending(0, "stopped", 143, 15)], {1: 7}, GroupError, "process 1 of 2 ended with code 7"),
    ],
)
def test_the_cause_is_raised(tmp_path, endings, codes, error, says):
    with pytest.raises(error, match=rf"(?s){says}"):
        raise_cause(endings, codes, tmp_path, 2)


def test_the_end_of_its_log_is_told(tmp_path):
    (tmp_path / "log.1").write_text("\n".join(str(n) for n in range(100)))
    with pytest.raises(GroupError, match=r"process 1 of 2 ended with code 1:\n88\n(.*\n)*99$") as raised:
        raise_cause([Ending(1, "failed", 1)], {}, tmp_path, 2)
    assert (raised.value.rank, raised.value.code, len(raised.value.log)) == (1, 1, 12)
