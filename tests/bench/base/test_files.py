"""Files written whole or not at all: full disks, kills, rivals, file systems without links."""

import errno
import os
import signal
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from bench.base import files
from bench.base.files import DAY_S, FOLDER_DAYS, abandoned, scratch_folder, signature, write_atomic
from bench.cells.run import clean
from bench.errors import StoreError
from tests.bench.forks import full_disk, in_child

CONTENT = bytes(range(256)) * 40
SIZES = [0, 1, 511, 512, 513, 4095, 4096, 4097, 10239, 10240, 20000]


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("content", [b"", b"abc", CONTENT])
def test_content_comes_back_and_nothing_else_is_left(tmp_path, content):
    path = tmp_path / "a" / "b" / "file"
    assert write_atomic(path, content) is True
    assert path.read_bytes() == content
    assert names(path.parent) == ["file"]


def test_everything_is_on_the_disk_before_it_is_said_to_be(tmp_path, monkeypatch):
    """New folders by their names in those above, then the content, then the file's name."""
    synced, sync = [], os.fsync

    def noted(handle):
        synced.append(Path(os.readlink(f"/proc/self/fd/{handle}")).relative_to(tmp_path).as_posix())
        sync(handle)

    monkeypatch.setattr(os, "fsync", noted)
    write_atomic(tmp_path / "a" / "b" / "file", b"content")
    assert synced == [".", "a", f"a/b/.file.{signature()}.tmp", "a/b"]
    synced.clear()
    write_atomic(tmp_path / "a" / "b" / "other", b"content")
    assert synced == [f"a/b/.other.{signature()}.tmp", "a/b"]


def test_the_first_writer_wins(tmp_path):
    path = tmp_path / "file"
    assert [write_atomic(path, b"first"), write_atomic(path, b"second")] == [True, False]
    assert path.read_bytes() == b"first"
    assert write_atomic(path, b"second", replace=True) is True
    assert path.read_bytes() == b"second"
    assert names(tmp_path) == ["file"]


def test_of_eight_rivals_one_wins_and_the_file_is_its(tmp_path):
    path, go = tmp_path / "file", tmp_path / "go"
    children = []
    for number in range(8):
        child = os.fork()
        if child == 0:
            while not go.exists():
                pass
            os._exit(10 + write_atomic(path, bytes([number]) * 50_000))
        children.append(child)
    go.touch()
    codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
    assert sorted(codes) == [10] * 7 + [11]
    assert path.read_bytes() == bytes([codes.index(11)]) * 50_000
    assert names(tmp_path) == ["file", "go"]


@pytest.mark.parametrize("free", SIZES)
@pytest.mark.parametrize("replace", [False, True])
def test_a_full_disk_leaves_all_or_nothing(tmp_path, free, replace):
    path, old = tmp_path / "file", tmp_path / "old"
    old.write_bytes(b"from before" * 2000)
    if replace:
        path.write_bytes(b"earlier version")

    answer = full_disk(free, lambda: write_atomic(path, CONTENT, replace=replace))

    if free >= len(CONTENT):
        assert answer is True
        assert path.read_bytes() == CONTENT
    else:
        assert answer["raised"] == "StoreError"
        assert answer["text"].startswith(f"no space left to write '{path}'")
        assert "earlier results are intact" in answer["text"]
        assert path.read_bytes() == b"earlier version" if replace else not path.exists()
    assert old.read_bytes() == b"from before" * 2000
    assert not list(tmp_path.glob(".*"))


def full(*_, **__):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.parametrize("call", ["write", "fsync", "link", "replace", "mkdir"])
def test_no_space_at_any_step_is_a_store_error(tmp_path, monkeypatch, call):
    path = tmp_path / "new" / "file" if call == "mkdir" else tmp_path / "file"
    content = full if call == "write" else b"content"
    if call == "mkdir":
        monkeypatch.setattr(Path, "mkdir", full)
    elif call != "write":
        monkeypatch.setattr(f"bench.base.files.os.{call}", full)
    with pytest.raises(StoreError, match=r"^no space left to write '.*file'; free some and run the same command"):
        write_atomic(path, content, replace=call == "replace")
    assert names(tmp_path) == []


@pytest.mark.parametrize("code", [errno.EACCES, errno.EROFS])
def test_a_folder_that_refuses_writes_is_named_with_the_way_out(tmp_path, monkeypatch, code):
    def refuse(*_):
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr("bench.base.files.os.fsync", refuse)
    with pytest.raises(StoreError, match=r"^not allowed to write '.*file' .*; choose another folder with --results$"):
        write_atomic(tmp_path / "file", b"content")


def test_a_pipe_is_written_and_not_replaced(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with ThreadPoolExecutor() as pool:
        found = pool.submit((tmp_path / "pipe").read_bytes)
        assert write_atomic(tmp_path / "pipe", CONTENT, replace=True)
        assert (found.result(timeout=10), (tmp_path / "pipe").is_fifo()) == (CONTENT, True)


def test_a_function_that_fails_leaves_nothing(tmp_path):
    def half(file):
        file.write(b"half")
        raise ValueError("no more")

    write_atomic(tmp_path / "file", b"earlier")
    with pytest.raises(ValueError, match="no more"):
        write_atomic(tmp_path / "file", half, replace=True)
    assert (tmp_path / "file").read_bytes() == b"earlier"
    assert names(tmp_path) == ["file"]


@pytest.mark.parametrize("code", [errno.EPERM, errno.ENOTSUP, errno.ENOSYS])
def test_a_file_system_without_hard_links(tmp_path, monkeypatch, code):
    def refuse(*_):
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr("bench.base.files.os.link", refuse)
    assert [write_atomic(tmp_path / "file", b"first"), write_atomic(tmp_path / "file", b"second")] == [True, False]
    assert (tmp_path / "file").read_bytes() == b"first"
    assert names(tmp_path) == ["file"]


def test_a_kill_half_way_publishes_nothing_and_is_cleaned_up(tmp_path):
    path = tmp_path / "task" / "method" / "key" / "file"

    def half(file):
        file.write(CONTENT)
        file.flush()
        os.kill(os.getpid(), signal.SIGKILL)

    assert in_child(lambda: write_atomic(path, half)) is None
    assert not path.exists()
    assert len(list(path.parent.glob(".*.tmp"))) == 1
    clean(tmp_path)
    assert names(path.parent) == []


# Who left what ----------------------------------------------------------------------------------------------------


def left(folder: Path, name: str, days: float = 0, inside: float | None = None) -> Path:
    """A file, or a folder with a file in it, untouched for some days."""
    path = folder / name
    parts = [path]
    if inside is None:
        path.write_text("half")
    else:
        path.mkdir()
        (path / "log").write_text("")
        parts = [path / "log", path]
    for part, age in zip(parts, [days] if inside is None else [inside, days], strict=True):
        then = part.stat().st_mtime - age * DAY_S
        os.utime(part, (then, then))
    return path


@pytest.mark.parametrize("part", ["/proc/sys/kernel/random/boot_id", "/proc/self/ns/pid"])
def test_ids_of_another_container_or_start_mean_nothing_here(tmp_path, monkeypatch, part):
    """The host's name is the same, and the id is free here."""
    path = left(tmp_path, f".a.{signature().partition('-')[0]}-{2**22 + 1}.tmp")
    read_text, readlink = Path.read_text, os.readlink
    monkeypatch.setattr(Path, "read_text", lambda file: "other" if str(file) == part else read_text(file))
    monkeypatch.setattr(os, "readlink", lambda file: "other" if file == part else readlink(file))
    files._where.cache_clear()
    try:
        assert not abandoned(path)
        os.utime(path, (0, 0))
        assert abandoned(path)
    finally:
        files._where.cache_clear()


def test_what_a_stranger_left_counts_by_its_age(tmp_path):
    assert not abandoned(left(tmp_path, ".a.0000abcd-1.tmp", days=0.9))
    assert abandoned(left(tmp_path, ".b.0000abcd-1.tmp", days=1.1))
    assert not abandoned(left(tmp_path, "a.0000abcd-1", days=FOLDER_DAYS - 1, inside=FOLDER_DAYS - 1))
    assert not abandoned(left(tmp_path, "b.0000abcd-1", days=FOLDER_DAYS + 1, inside=0))
    assert abandoned(left(tmp_path, "c.0000abcd-1", days=FOLDER_DAYS + 1, inside=FOLDER_DAYS + 1))
    assert not abandoned(tmp_path / ".gone.0000abcd-1.tmp")


def test_scratch_goes_with_the_folder_it_was_alone_in(tmp_path):
    work = tmp_path / ".work"
    with scratch_folder(work / "one"):
        with scratch_folder(work / "other"):
            (work / "other" / "file").touch()
        assert names(work) == ["one"]
    assert names(tmp_path) == []
