"""What is said to be public is there, once, and in an order that can be searched."""

import importlib

import pytest

from tests.shipped import FOLDERS, MODULES, PACKAGES, ROOT, folder_of


@pytest.mark.parametrize("name", MODULES)
def test_every_public_name_is_there_once_and_in_order(name):
    module = importlib.import_module(name)
    assert module.__file__ == str(MODULES[name])
    public = getattr(module, "__all__", [])
    assert [one for one in public if not hasattr(module, one)] == []
    assert public == sorted(set(public), key=ordering)


def ordering(name):
    """CONSTANTS, then Classes, then functions, each by name."""
    kind = 0 if name.isupper() else 1 if name[0].isupper() else 2
    return kind, name


def test_every_folder_with_code_is_a_listed_package():
    files = {path for folder in set(FOLDERS.values()) for path in (ROOT / folder).rglob("*.py")}
    assert files == set(MODULES.values())


def test_every_package_has_a_page_of_its_own():
    assert all((folder_of(package) / "__init__.py").is_file() for package in PACKAGES)


@pytest.mark.parametrize("name", MODULES)
def test_every_module_says_in_its_first_line_what_it_is_for(name):
    first, *_ = MODULES[name].read_text(encoding="utf-8").splitlines()
    assert first.startswith('"""')
    assert len(first) > 10
