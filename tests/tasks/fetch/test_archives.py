"""Archives are unpacked whole or not at all, and hostile ones write nothing outside their folder."""

from __future__ import annotations

import gzip
import io
import os
import stat
import struct
import tarfile
import tempfile
import tracemalloc
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from bench.errors import DataError, MissingError, StoreError
from bench.tasks.fetch import archives
from bench.tasks.fetch.archives import safe_name, unpack

GOOD = {"data/train.txt": b"one\ntwo\n" * 500, "data/deep/er/test.txt": b"", "read me.txt": "é\n".encode()}
KINDS = {"zip": "", "tar": "w", "tar.gz": "w:gz", "tar.bz2": "w:bz2", "tar.xz": "w:xz"}
FORMS = list(KINDS)
LIMITS = {"most_bytes": 1 << 20, "most_files": 20}


def made(form: str, members: dict[str, bytes]) -> bytes:
    file = io.BytesIO()
    if form == "zip":
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as packed:
            for name, body in members.items():
                packed.writestr(name, body)
    else:
        with tarfile.open(fileobj=file, mode=KINDS[form]) as tar:  # type: ignore[call-overload]
            for name, body in members.items():
                member = tarfile.TarInfo(name)
                member.size = len(body)
                tar.addfile(member, io.BytesIO(body))
    return file.getvalue()


def tar_with(*members: tarfile.TarInfo) -> bytes:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as tar:
        for member in members:
            tar.addfile(member, io.BytesIO(bytes(member.size)))
    return file.getvalue()


def contents(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if not p.is_dir()}


def refused(tmp_path: Path, body: bytes, match: str, **limits: int) -> None:
    (tmp_path / "a.bin").write_bytes(body)
    before = contents(tmp_path)
    with pytest.raises(DataError, match=match) as caught:
        unpack(tmp_path / "a.bin", tmp_path / "out", **{**LIMITS, **limits})
    assert str(caught.value).isascii() or "\n" not in str(caught.value)
    assert "\n" not in str(caught.value)
    assert contents(tmp_path) == before
    assert os.listdir(tmp_path) == ["a.bin"], "no unfinished folder stays"


@pytest.mark.parametrize("form", FORMS)
def test_every_form_is_unpacked_whatever_it_is_called(form: str, tmp_path: Path) -> None:
    (tmp_path / "download").write_bytes(made(form, GOOD))
    assert unpack(tmp_path / "download", tmp_path / "out", **LIMITS)
    assert contents(tmp_path / "out") == GOOD
    assert not unpack(tmp_path / "download", tmp_path / "out", **LIMITS), "it is there already"
    assert sorted(os.listdir(tmp_path)) == ["download", "out"]


NAMES = ["../up.txt", "a/../../up.txt", "/abs.txt", "a\\..\\b.txt", "C:\\x.txt", "c:x", "a\nb", "x" * 300,
         "a/" * 40 + "b"]  # fmt: skip


@pytest.mark.parametrize("form", ["zip", "tar"])
@pytest.mark.parametrize("name", NAMES)
def test_names_that_lead_elsewhere_are_refused(name: str, form: str, tmp_path: Path) -> None:
    refused(tmp_path, made(form, {"good.txt": b"x", name: b"evil"}), "member '.*'?: ")


def test_a_name_with_a_nul_is_refused_and_not_cut(tmp_path: Path) -> None:
    refused(tmp_path, made("zip", {"a?b.txt": b"x"}).replace(b"a?b.txt", b"a\0b.txt"), "control character")


@pytest.mark.parametrize("name", ["", ".", "./", "//", "\udcff", "a/\ud800"])
def test_names_that_are_none_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match="name"):
        safe_name(name)


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.FIFOTYPE,
                                  tarfile.GNUTYPE_SPARSE, b"Z"])  # fmt: skip
def test_links_devices_and_strange_kinds_are_refused(kind: bytes, tmp_path: Path) -> None:
    member = tarfile.TarInfo("link")
    member.type, member.linkname = kind, "/etc/passwd"
    refused(tmp_path, tar_with(member), "only plain files and folders")


def test_a_link_in_a_zip_is_refused(tmp_path: Path) -> None:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as packed:
        member = zipfile.ZipInfo("link")
        member.external_attr = (stat.S_IFLNK | 0o777) << 16
        packed.writestr(member, "/etc/passwd")
    refused(tmp_path, file.getvalue(), "'link': is a link or a device")


def test_writing_through_a_link_made_before_is_impossible(tmp_path: Path) -> None:
    link = tarfile.TarInfo("d")
    link.type, link.linkname = tarfile.SYMTYPE, str(tmp_path / "outside")
    (tmp_path / "outside").mkdir()
    (tmp_path / "a.tar").write_bytes(tar_with(link, tarfile.TarInfo("d/x.txt")))
    with pytest.raises(DataError, match="member 'd'"):
        unpack(tmp_path / "a.tar", tmp_path / "out", **LIMITS)
    assert list((tmp_path / "outside").iterdir()) == []


@pytest.mark.parametrize("form", ["zip", "tar"])
@pytest.mark.parametrize("names", [("a", "a"), ("a", "./a"), ("a", "a/b"), ("a/b", "a")])
@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_member_that_is_there_twice_is_refused(names: tuple[str, str], form: str, tmp_path: Path) -> None:
    if form == "zip":
        file = io.BytesIO()
        with zipfile.ZipFile(file, "w") as packed:
            for name in names:
                packed.writestr(name, "x")
        body = file.getvalue()
    else:
        body = tar_with(*(tarfile.TarInfo(name) for name in names))
    refused(tmp_path, body, "is there twice|is a folder where a file is")


@pytest.mark.parametrize("form", FORMS)
def test_more_bytes_or_members_than_expected_are_refused(form: str, tmp_path: Path) -> None:
    body = made(form, GOOD)
    refused(tmp_path, body, "more than 4,000 bytes", most_bytes=4000)
    refused(tmp_path, body, "more than 2 members", most_files=2)
    (tmp_path / "a.bin").write_bytes(body)
    assert unpack(tmp_path / "a.bin", tmp_path / "out", most_bytes=4003, most_files=3), "exactly what is allowed"


def test_bytes_are_counted_as_they_come_and_not_as_announced(tmp_path: Path) -> None:
    body = bytearray(made("zip", {"a": bytes(100_000)}))
    directory = body.index(b"PK\1\2")
    body[directory + 24 : directory + 28] = struct.pack("<I", 10)  # says 10 bytes
    refused(tmp_path, bytes(body), "damaged|announced", most_bytes=1000)


@pytest.mark.parametrize("form", ["zip", "tar.gz", "tar.bz2", "tar.xz"])
def test_bombs_stop_early(form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "FREE", 1 << 20)
    body = made(form, {"zeros": bytes(30 << 20)})
    tracemalloc.start()
    refused(tmp_path, body, "more than 200 times|come out of it", most_bytes=1 << 40)
    assert tracemalloc.get_traced_memory()[1] < 16 << 20  # xz itself keeps the last 8 MiB
    tracemalloc.stop()


@pytest.mark.parametrize("kind", [tarfile.XHDTYPE, tarfile.GNUTYPE_LONGNAME, tarfile.XGLTYPE])
def test_a_header_that_fills_the_memory_is_refused(kind: bytes, tmp_path: Path) -> None:
    member = tarfile.TarInfo("pax")
    member.type, member.size = kind, 1 << 32
    refused(
        tmp_path,
        member.tobuf(tarfile.GNU_FORMAT) + bytes(10_240),
        "a header of 4,294,967,296 bytes",
        most_bytes=1 << 40,
    )


def test_a_thousand_headers_in_a_row_are_refused(tmp_path: Path) -> None:
    member = tarfile.TarInfo("pax")
    member.type, member.size = tarfile.XGLTYPE, 12
    one = member.tobuf() + b"12 comment=\n".ljust(512, b"\0")
    refused(tmp_path, one * 3000 + bytes(1024), "damaged|come out of it", most_bytes=1 << 30)


def test_headers_alone_can_be_a_bomb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "FREE", 1 << 20)
    member = tarfile.TarInfo("pax")
    member.type, member.size = tarfile.XGLTYPE, 1 << 20
    one = member.tobuf() + b"1048576 comment=".ljust((1 << 20) - 1, b"x") + b"\n"
    refused(tmp_path, gzip.compress(one * 9), "bytes come out of it", most_bytes=1 << 40)


def test_a_member_shorter_than_announced_is_refused(tmp_path: Path) -> None:
    body = bytearray(made("zip", {"a": bytes(100)}))
    struct.pack_into("<I", body, body.index(b"PK\1\2") + 24, 105)
    refused(tmp_path, bytes(body), "member 'a': has 100 bytes, 105 were announced")


@pytest.mark.parametrize("form", FORMS)
def test_an_archive_of_nothing_is_refused(form: str, tmp_path: Path) -> None:
    refused(tmp_path, made(form, {}), "has no members")


@pytest.mark.parametrize("form", FORMS)
def test_an_archive_cut_anywhere_is_refused(form: str, tmp_path: Path) -> None:
    body = made(form, {f"{i}.bin": os.urandom(900) for i in range(4)})
    end = {"zip": len(body), "tar": len(body) - 10_240 + 512 * 8}.get(form, len(body))
    for cut in [0, 1, 100, 511, 512, 513, 1536, end // 2, end - 600, end - 1]:
        refused(tmp_path, body[: max(0, cut)], "damaged|no members|followed by")


def test_a_broken_header_in_the_middle_is_not_taken_for_the_end(tmp_path: Path) -> None:
    body = bytearray(made("tar", {"a": b"x", "b": b"y", "c": b"z"}))
    body[1024 + 148] ^= 1
    refused(tmp_path, bytes(body), "member 'a': is followed by something")


def test_a_changed_byte_of_the_content_is_found(tmp_path: Path) -> None:
    for form in ("zip", "tar.gz", "tar.bz2", "tar.xz"):
        body = bytearray(made(form, {"a": os.urandom(5000)}))
        body[len(body) // 2] ^= 1
        refused(tmp_path, bytes(body), "damaged|followed by")


def test_a_locked_zip_says_so(tmp_path: Path) -> None:
    body = bytearray(made("zip", {"a": b"x"}))
    body[6] |= 1
    body[body.index(b"PK\1\2") + 8] |= 1
    refused(tmp_path, bytes(body), "encrypted")


def cut(body: bytes, folder: Path, sizes: list[int]) -> None:
    """As `split` does: x.z00, x.z01, ..."""
    for number, size in enumerate(sizes):
        (folder / f"x.z{number:02}").write_bytes(body[:size])
        body = body[size:]


def split_zip(members: dict[str, bytes], folder: Path, border: Callable[[int], int]) -> None:
    """As `zip -s` does, in two parts: offsets are counted from the start of the part a member begins in."""
    body = bytearray(b"PK\7\x08" + made("zip", members))
    end = body.index(b"PK\1\2")
    at, border_at = end, border(end)
    for _ in members:
        name, extra, comment = struct.unpack_from("<3H", body, at + 28)
        offset = struct.unpack_from("<I", body, at + 42)[0] + 4
        second = offset >= border_at
        struct.pack_into("<H", body, at + 34, int(second))
        struct.pack_into("<I", body, at + 42, offset - border_at * second)
        at += 46 + name + extra + comment
    struct.pack_into("<2H", body, at + 4, 1, 1)
    struct.pack_into("<I", body, at + 16, end - border_at)
    (folder / "x.z01").write_bytes(body[:border_at])
    (folder / "x.zip").write_bytes(body[border_at:])


MANY = {f"d/{i}.bin": os.urandom(300) for i in range(8)}


@pytest.mark.parametrize("start", ["x.z01", "x.zip"])
@pytest.mark.parametrize("share", [0.02, 0.5, 0.99, 1.0])
def test_a_zip_split_by_zip_is_read_from_any_part(start: str, share: float, tmp_path: Path) -> None:
    split_zip(MANY, tmp_path, lambda end: int(end * share))
    assert unpack(tmp_path / start, tmp_path / "out", **LIMITS)
    assert contents(tmp_path / "out") == MANY


def test_a_zip_cut_into_pieces_is_read_as_one(tmp_path: Path) -> None:
    body = made("zip", MANY)
    cut(body, tmp_path, [1000, 1, 700, len(body)])
    assert unpack(tmp_path / "x.z02", tmp_path / "out", **LIMITS)
    assert contents(tmp_path / "out") == MANY
    (tmp_path / "x.z01").unlink()
    with pytest.raises(MissingError, match=r"x\.z01' is missing"):
        unpack(tmp_path / "x.z00", tmp_path / "more", **LIMITS)
    with pytest.raises(MissingError, match="no archive"):
        unpack(tmp_path / "y.zip", tmp_path / "more", **LIMITS)


def test_a_disk_that_refuses_is_no_damaged_archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.zip").write_bytes(made("zip", GOOD))

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "mkdir", full)
    with pytest.raises(StoreError, match="No space left"):
        unpack(tmp_path / "a.zip", tmp_path / "out", **LIMITS)


PIECES = st.sampled_from(["..", ".", "", "a", "b", "/", "\\", "C:", "\0", "\n", "é", "x" * 260, "~", "-rf", "a."])
HOSTILE = st.lists(PIECES, min_size=1, max_size=5).map("/".join)
TYPES = st.sampled_from([b"0", b"1", b"2", b"3", b"4", b"5", b"6", b"7", b"S", b"x", b"g", b"L", b"K", b"Q", b"\0"])
MEMBERS = st.lists(st.tuples(HOSTILE, TYPES, st.binary(max_size=40), HOSTILE, st.integers(0, 0xFFFF)), max_size=6)
BYTES = st.lists(st.tuples(st.integers(0, 4000), st.integers(0, 255)), max_size=3)


def hostile(form: str, members: list[tuple[str, bytes, bytes, str, int]]) -> bytes:
    file = io.BytesIO()
    if form == "zip":
        with zipfile.ZipFile(file, "w") as packed:
            for name, _, body, _, mode in members:
                member = zipfile.ZipInfo(name)
                member.filename, member.external_attr = name, mode << 16
                packed.writestr(member, body)
        return file.getvalue()
    with tarfile.open(fileobj=file, mode=KINDS[form]) as tar:  # type: ignore[call-overload]
        for name, kind, body, link, _ in members:
            entry = tarfile.TarInfo(name)
            entry.type, entry.linkname, entry.size = kind, link, len(body)
            tar.addfile(entry, io.BytesIO(body))
    return file.getvalue()


def complained(archive: Path, folder: Path) -> str:
    """What is said of an archive; nothing when it is unpacked."""
    try:
        unpack(archive, folder, most_bytes=150, most_files=4)
    except DataError as error:
        return str(error)
    return ""


@pytest.mark.filterwarnings("ignore:Duplicate name")
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.sampled_from(FORMS), MEMBERS, BYTES, st.none() | st.integers(0, 4000))
@example("tar", [("a/b", b"0", b"x", "", 0), ("a", b"5", b"", "", 0)], [], None)
@example("zip", [("a", b"0", b"x", "", 0)], [(30, 0)], None)
def test_no_archive_writes_outside_its_folder_or_breaks_anything(
    form: str, members: list[tuple[str, bytes, bytes, str, int]], changes: list[tuple[int, int]], length: int | None
) -> None:
    body = bytearray(hostile(form, members)[:length])
    for at, value in changes:
        if body:
            body[at % len(body)] = value
    with tempfile.TemporaryDirectory() as name:
        root = Path(name) / "deep" / "er"
        root.mkdir(parents=True)
        (root / "a.bin").write_bytes(body)
        complaint = complained(root / "a.bin", root / "out")
        assert "\n" not in complaint
        assert sorted(os.listdir(root)) == (["a.bin"] if complaint else ["a.bin", "out"])
        inside = list((root / "out").rglob("*"))
        assert sum(path.stat().st_size for path in inside if path.is_file()) <= 150
        assert all(path.is_dir() or (path.is_file() and not path.is_symlink()) for path in inside)
        assert os.listdir(name) == ["deep"]
        assert os.listdir(Path(name) / "deep") == ["er"]


REAL = Path(os.environ.get("BENCH_DATA", "nowhere")) / "logicnlg" / "all_csv.zip"


@pytest.mark.skipif(not REAL.is_file(), reason="needs the real tables: BENCH_DATA with logicnlg/all_csv.zip")
def test_the_real_tables_are_unpacked(tmp_path: Path) -> None:
    assert unpack(REAL, tmp_path / "out", most_bytes=50 << 20, most_files=20_000)
    assert sum(1 for path in (tmp_path / "out").rglob("*.csv")) == 7392
