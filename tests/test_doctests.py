"""The examples in docstrings are true."""

import doctest
import importlib

import pytest

from tests.shipped import MODULES

EXAMPLES = {name: path for name, path in MODULES.items() if ">>>" in path.read_text(encoding="utf-8")}


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples(name):
    found = doctest.testmod(importlib.import_module(name))
    assert found.attempted > 0
    assert found.failed == 0


def test_there_are_examples():
    count = sum(path.read_text(encoding="utf-8").count(">>>") for path in EXAMPLES.values())
    assert (len(EXAMPLES) > 20, count > 40) == (True, True)
