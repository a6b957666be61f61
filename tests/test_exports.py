"""What is said to be public is there, once, and in an order that can be searched."""

import importlib

from tests.shipped import FOLDERS, MODULES, PACKAGES, ROOT, folder_of


def test_every_public_name_is_there_once_and_in_order():
    for name, path in MODULES.items():
        module = importlib.import_module(name)
        assert module.__file__ == str(path)
        public = list(getattr(module, "__all__", []))
        assert [word for word in public if not hasattr(module, word)] == [], name
        assert public == sorted(set(public), key=ordering), name


def ordering(name):
    """CONSTANTS, then Classes, then functions, each by name."""
    kind = 0 if name.isupper() else 1 if name[0].isupper() else 2
    return kind, name


def test_every_folder_with_code_is_a_listed_package():
    files = {path for folder in set(FOLDERS.values()) for path in (ROOT / folder).rglob("*.py")}
    assert files == set(MODULES.values())


def test_every_package_has_a_page_of_its_own():
    assert all((folder_of(package) / "__init__.py").is_file() for package in PACKAGES)
