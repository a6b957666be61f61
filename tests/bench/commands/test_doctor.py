"""`bench doctor` on versions: the newest that was tried, and a newer one."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from bench.commands import doctor

PINNED = dict(re.findall(r"^([\w-]+)==(.+)$", (Path(__file__).parents[3] / "constraints.txt").read_text(), re.M))


def test_what_it_calls_tried_is_what_the_tests_install():
    assert {name: PINNED[name] for name in doctor.TRIED} == doctor.TRIED


@pytest.mark.parametrize(
    ("version", "state"),
    [
        ("5.24.0", "ok"),
        ("5.3.1", "ok"),
        ("5.24.0+cpu", "ok"),
        ("5.24.1+cpu", "untried"),
        ("5.100.0", "untried"),
        ("4.57.0", "missing"),
        (None, "missing"),
    ],
)
def test_a_newer_version_is_named_with_the_way_back(monkeypatch, version, state):
    monkeypatch.setattr(doctor, "version_of", lambda distribution: version)
    monkeypatch.setitem(doctor.TRIED, "transformers", "5.24.0")
    found = doctor.package(Requirement("transformers>=5,<6"), "missing", "")
    assert found.state == state
    assert ("pip install 'transformers==5.24.0'" in found.detail) == (state == "untried")
