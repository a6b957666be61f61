"""`bench doctor` on versions of packages."""

from __future__ import annotations

import importlib.metadata

import pytest
from packaging.requirements import Requirement

from bench.commands import doctor


@pytest.mark.parametrize(("version", "state"), [("5.24.1+cpu", "ok"), ("4.57.0", "missing"), (None, "missing")])
def test_a_version_that_will_not_do_is_missing(monkeypatch, version, state):
    def installed(distribution):
        if version is None:
            raise importlib.metadata.PackageNotFoundError(distribution)
        return version

    monkeypatch.setattr(importlib.metadata, "version", installed)
    assert doctor.package(Requirement("transformers>=5,<6"), "missing", "").state == state
