"""A folder with one of everything of one's own."""

import sys

import pytest

from tests.bench.plugin_files import forget, write_all


@pytest.fixture
def files(tmp_path, monkeypatch, sample_data):
    """A folder with the files, which is the current one, so that the program finds them."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    forget()
    folder = tmp_path / "files"
    folder.mkdir()
    write_all(folder)
    monkeypatch.chdir(folder)
    yield folder
    forget()
