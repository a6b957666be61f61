"""Provenance: what stands beside a record and is never compared."""

import json
import resource

from bench.store.provenance import peak_memory, provenance
from tests.e2e.stores import content_of


def test_it_says_how_much_memory_the_process_has_used():
    before = peak_memory()["host"]
    assert 0 < before <= resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024 + 1
    held = bytearray(b"x") * (before * 2**20 + 2**26)  # more than ever before
    assert provenance()["peak_memory_mb"]["host"] >= before + 32
    del held


def test_threads_are_those_of_now(monkeypatch):
    for threads in (1, 2):
        monkeypatch.setattr("torch.get_num_threads", lambda threads=threads: threads)
        assert provenance()["environment"]["threads"] == threads


def test_a_trained_cell_has_it_and_its_content_has_not(tiny_store):
    path = next(tiny_store.rglob("trained.json"))
    record = json.loads(path.read_text())
    assert record["provenance"]["peak_memory_mb"]["host"] > 50
    assert b"peak_memory" not in content_of(path)
