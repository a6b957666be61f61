"""Every fault of `tools/faults.toml` still has its place in the code and its tests."""

import shlex

import pytest

from tools.faults import ROOT, Fault, faults, place_of


@pytest.mark.parametrize("fault", faults(), ids=lambda fault: fault.name)
def test_a_fault_can_be_put_in(fault: Fault) -> None:
    assert place_of(fault, ROOT) is not None, f"{fault.path} has not exactly one place with: {fault.old}"
    paths = [word.partition("::")[0] for word in shlex.split(fault.tests) if word.startswith("tests/")]
    assert paths
    assert [path for path in paths if not (ROOT / path).exists()] == []
