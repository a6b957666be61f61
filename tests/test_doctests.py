"""The examples in docstrings are true."""

import doctest
import importlib
from collections import defaultdict

import pytest

from tests.shipped import MODULES

EXAMPLES = {name: path for name, path in MODULES.items() if ">>>" in path.read_text(encoding="utf-8")}
ROOMS = defaultdict(list)
for name in EXAMPLES:
    ROOMS[".".join(name.split(".")[:2])].append(name)


@pytest.mark.parametrize("room", ROOMS)
def test_examples(room):
    for name in ROOMS[room]:
        result = doctest.testmod(importlib.import_module(name))
        assert result.attempted > 0, name
        assert result.failed == 0, name


def test_there_are_examples():
    count = sum(path.read_text(encoding="utf-8").count(">>>") for path in EXAMPLES.values())
    assert (len(EXAMPLES) > 20, count > 40) == (True, True)
