"""Cores: those that a process may use, on every system."""

import os

from bench.base.cores import cores


def test_a_process_counts_the_cores_it_is_bound_to(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {0, 5, 6}, raising=False)
    assert cores() == 3


def test_a_system_without_binding_counts_all(monkeypatch):
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 7)
    assert cores() == 7
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert cores() == 1
