"""States of a training: whole or not taken, the last two kept."""

import random
from pathlib import Path

import pytest
import torch

from bench.errors import StoreError
from bench.store.state_files import KEPT, StateFiles, read_state, write_state

CONTENT = {"state_dict": {"weight": torch.arange(3000, dtype=torch.float32)}, "global_step": 7, "curve": [[1, 0.5]]}


@pytest.fixture
def states(tmp_path: Path) -> StateFiles:
    files = StateFiles(tmp_path / "state")
    for step in (1, 2):
        write_state(files.path(step), {**CONTENT, "global_step": step})
    return files


def test_what_is_read_is_what_was_written(states: StateFiles) -> None:
    read = read_state(states.path(2))
    assert torch.equal(read["state_dict"]["weight"], CONTENT["state_dict"]["weight"])  # type: ignore[index]
    assert (read["global_step"], read["curve"]) == (2, [[1, 0.5]])
    assert states.newest_whole() == states.path(2)


def test_only_the_last_ones_stay(states: StateFiles) -> None:
    write_state(states.path(3), CONTENT)
    states.prune()
    assert [path.name for path in states.paths()] == ["step-000000003.ckpt", "step-000000002.ckpt"]
    assert len(states.paths()) == KEPT
    states.remove()
    assert states.paths() == []
    assert states.newest_whole() is None


def damages(data: bytes, number: int) -> list[bytes]:
    """Truncated files, files with one bit changed, and files with a page of zeros."""
    chance, made = random.Random(3), []
    for _ in range(number):
        made.append(data[: chance.randrange(len(data))])
        at = chance.randrange(len(data))
        made.append(data[:at] + bytes([data[at] ^ 1 << chance.randrange(8)]) + data[at + 1 :])
        page = chance.randrange(0, len(data), 4096)
        length = min(4096, len(data) - page)
        made.append(data[:page] + bytes(length) + data[page + length :])
    return [damaged for damaged in made if damaged != data]


def test_no_damage_is_read(states: StateFiles) -> None:
    """The state before is taken; the damaged one stays where it is."""
    path = states.path(2)
    for damaged in damages(path.read_bytes(), 60):
        path.write_bytes(damaged)
        with pytest.raises(StoreError, match="hash"):
            read_state(path)
        assert states.newest_whole() == states.path(1)


def test_a_disk_that_refuses_costs_no_earlier_state(states: StateFiles, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("bench.base.files.os.fsync", full)
    with pytest.raises(StoreError, match="no space left"):
        write_state(states.path(3), CONTENT)
    assert [path.name for path in states.paths()] == ["step-000000002.ckpt", "step-000000001.ckpt"]
    assert sorted(path.name for path in states.folder.iterdir()) == ["step-000000001.ckpt", "step-000000002.ckpt"]
