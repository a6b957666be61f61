"""The source of what is one's own is in the keys of what depends on it, in every process."""

import pytest

from bench.cells.job import cell_of, job_of
from bench.cells.plan import make_plan
from bench.errors import BenchError
from tests.bench.own_entries.asked import arguments, key
from tests.bench.own_files import FILES, TASK, forget, write


@pytest.mark.parametrize("name", ["towns", "tiny", "soft"])
def test_a_changed_source_is_another_cell(files, name):
    before = key()
    write(files, name, FILES[name] + "\n# changed\n")
    assert key() != before
    write(files, name, FILES[name])
    assert key() == before


def test_another_process_makes_the_same_cell(files, monkeypatch, tmp_path):
    (cell,) = make_plan(arguments()).cells
    job = job_of(cell, arguments())
    forget()
    monkeypatch.chdir(tmp_path)
    assert cell_of(job).key == cell.key
    write(files, "towns", TASK + "\n# changed since\n")
    with pytest.raises(BenchError, match="code or data have changed"):
        cell_of(job)
