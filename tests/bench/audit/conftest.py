"""Fixtures: one honest place a session, made once, and a copy of it to cheat in."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.bench.audit.store_tools import run, write_data
from tests.conftest import forget_data


@pytest.fixture(scope="session")
def honest(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The store of an honest place: two seeds of one method."""
    place = tmp_path_factory.mktemp("audit") / "place"
    write_data(place / "data")
    with pytest.MonkeyPatch.context() as patch:
        forget_data(patch, place / "no-cache")
        run(place / "results")
    return place / "results"


@pytest.fixture
def store(honest: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A copy of the honest place, to cheat in; modules beside it are forgotten afterwards."""
    forget_data(monkeypatch, tmp_path / "no-cache")
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    place = Path(shutil.copytree(honest.parent, tmp_path / "place"))
    (place / "code").mkdir()
    monkeypatch.syspath_prepend(place / "code")
    before = set(sys.modules)
    yield place / "results"
    for name in set(sys.modules) - before:
        if not name.startswith(("bench.", "torch", "lightning")) and name.startswith("own_"):
            del sys.modules[name]
