"""Journals: what a reader makes of a file that was cut anywhere, and what a writer does on a full disk."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from bench.queue.protocol.files import DiskFiles
from bench.queue.protocol.journal import HEADER, Journal, Record, beats_of, records_of
from bench.queue.protocol.liveness import Liveness
from bench.queue.protocol.timing import Timing
from bench.queue.protocol.view import State, View
from tests.bench.queue.protocol.simulated import Disk, Faults, SeenFiles

KEY = "0123456789abcdef"
RECORDS = [
    Record("c", KEY, 1, 0),
    Record("r", KEY, 1, 12),
    Record("c", KEY, 12, 1),
    Record("d", KEY, 12, 1),
    Record("e"),
]


def view_of(files: DiskFiles | SeenFiles) -> View:
    return View(files, Liveness(Timing(1, 3, 1, 1), lambda: 0.0))


def test_what_is_written_is_read(tmp_path: Path) -> None:
    files = DiskFiles(tmp_path)
    journal = Journal(files, "w")
    journal.open()
    journal.put(*RECORDS)
    assert journal.flush()
    for _ in range(3):
        journal.beat()
    content = (tmp_path / "j" / "w").read_bytes()
    assert beats_of(content) == 3
    assert records_of(content[HEADER:]) == (RECORDS, len(content) - HEADER)
    view = view_of(files)
    view.refresh()
    assert view.state(KEY) is State.DONE
    assert view.peers() == []


def test_a_journal_cut_at_any_byte_gives_whole_records_only() -> None:
    body = b"".join(record.line() for record in RECORDS)
    for size in range(len(body) + 1):
        cut = body[:size]
        assert records_of(cut)[0] == RECORDS[: cut.count(b"\n")]


def test_a_writer_goes_on_behind_a_record_that_was_cut() -> None:
    for size in range(1, len(RECORDS[0].line())):
        cut = RECORDS[0].line()[:size] + b"\n"
        more = RECORDS[1].line() + RECORDS[2].line()
        assert records_of(cut + more)[0][-2:] == RECORDS[1:3]


def test_every_digit_counts() -> None:
    """A record without its last digits is none: it would name another generation."""
    line = Record("c", KEY, 12, 1).line()
    for size in range(1, len(line) - 1):
        assert records_of(line[:size] + b"\n")[0] == []


@pytest.mark.parametrize("seed", range(20))
def test_short_writes_lose_nothing(seed: int) -> None:
    disk = Disk()
    files = SeenFiles(disk, Faults(refuse=0.5), random.Random(seed))
    journal = Journal(files, "w")
    while "j/w" not in disk.versions:
        try:
            journal.open()
        except OSError:
            continue
    journal.put(*RECORDS)
    while not journal.flush():
        pass
    content = files.read("j/w", fresh=True)
    assert content is not None
    assert list(dict.fromkeys(records_of(content[HEADER:])[0])) == RECORDS  # one may be there twice, which says no more


def test_a_beat_needs_no_room() -> None:
    disk = Disk()
    files = SeenFiles(disk, Faults(), random.Random(0))
    journal = Journal(files, "w")
    journal.open()
    disk.full = (0.0, 10.0)
    journal.beat()
    assert beats_of(files.read("j/w", fresh=True) or b"") == 1
    journal.put(RECORDS[0])
    assert not journal.flush()


def test_leases_on_a_disk(tmp_path: Path) -> None:
    files = DiskFiles(tmp_path)
    assert files.create("t/w.0", b"w")
    assert not files.create("t/w.0", b"x")
    assert files.link("t/w.0", "l/a.1")
    assert not files.link("t/w.0", "l/a.1")
    assert files.read("l/a.1") == b"w"
    assert files.read("l/a.2") is None
    assert files.exists("l/a.1")
    assert files.names("nowhere") == []
