"""The modules that are shipped, by the names they are imported under; pkgutil does not see mapped packages."""

import ast
import gc
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
SETUP = PROJECT["tool"]["setuptools"]
PACKAGES: list[str] = SETUP["packages"]
FOLDERS: dict[str, str] = SETUP["package-dir"]


def folder_of(package: str) -> Path:
    """The folder of a package: that of the longest mapped name it begins with."""
    mapped = max((name for name in FOLDERS if f"{package}.".startswith(f"{name}.")), key=len)
    return ROOT / FOLDERS[mapped] / Path(*package[len(mapped) :].strip(".").split("."))


def shipped() -> dict[str, Path]:
    """Module name -> file, for every module of every listed package."""
    found = {}
    for package in PACKAGES:
        for path in sorted(folder_of(package).glob("*.py")):
            found[package if path.stem == "__init__" else f"{package}.{path.stem}"] = path
    return found


MODULES = shipped()


@cache
def trees() -> dict[str, ast.Module]:
    """Module name -> syntax, parsed when first asked for: every process that runs tests imports all of them.

    Nothing is searched for garbage meanwhile: half a million nodes that all stay would be searched again and again.
    """
    gc.disable()
    try:
        return {name: ast.parse(path.read_text(encoding="utf-8")) for name, path in MODULES.items()}
    finally:
        gc.enable()
