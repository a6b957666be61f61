"""Constraints: everything that the project asks for is pinned to a version that it allows."""

import re
import tomllib
from itertools import chain
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = PROJECT["optional-dependencies"]
ASKED = [
    Requirement(line)
    for line in chain(PROJECT["dependencies"], *(EXTRAS[name] for name in ("dev", "docs", "integrations")))
]
PINS = [Requirement(line) for line in (ROOT / "constraints.txt").read_text().splitlines() if line and line[0] != "#"]
FREE = {"setuptools"}  # it builds the package, and comes with Python on some machines


def test_every_pin_is_one_version_and_nothing_is_pinned_twice():
    names = [canonicalize_name(pin.name) for pin in PINS]
    assert len(names) == len(set(names))
    assert all(re.fullmatch(r"==[\w.]+", str(pin.specifier)) for pin in PINS)


def test_what_is_asked_for_is_pinned_to_what_is_allowed():
    pinned = {canonicalize_name(pin.name): str(pin.specifier).removeprefix("==") for pin in PINS}
    asked = [one for one in ASKED if canonicalize_name(one.name) not in FREE]
    assert [one.name for one in asked if canonicalize_name(one.name) not in pinned] == []
    assert [str(one) for one in asked if pinned[canonicalize_name(one.name)] not in one.specifier] == []


def test_citation_and_changelog_name_the_version_of_the_package():
    version = PROJECT["version"]
    assert f"\nversion: {version}\n" in (ROOT / "CITATION.cff").read_text()
    assert re.search(rf"^## {re.escape(version)} \(\d{{4}}-\d\d-\d\d\)$", (ROOT / "CHANGELOG.md").read_text(), re.M)
