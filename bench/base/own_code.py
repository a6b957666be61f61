"""Plug-ins: a user's module or file, imported by what was typed, and the hash of its source, which keys contain."""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import inspect
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from bench.errors import MissingError, UsageError, did_you_mean

__all__ = ["importable", "load", "module_of", "source_sha256"]


def importable(folder: Path) -> None:
    """Let modules of a folder be imported, after all that is installed. The program does this, no import."""
    if str(folder) not in sys.path:
        sys.path.append(str(folder))


def module_of(target: str) -> str:
    """Return the module of `module:Name` or `file.py:Name`.

    >>> module_of("losses.focal:Focal"), module_of("losses/focal.py:Focal")
    ('losses.focal', 'focal')
    """
    place = target.rpartition(":")[0]
    return Path(place).stem if place.endswith(".py") else place


def load(target: str) -> Any:
    """Import `package.module:Name` or `file.py:Name`.

    Raises:
        MissingError: when the module or file is not there, or needs one that is not.
        UsageError: when the module breaks while it is imported, or has no such name.
    """
    place, _, name = target.rpartition(":")
    is_file = place.endswith(".py")
    try:
        module = import_file(Path(place)) if is_file else importlib.import_module(place)
    except ImportError as error:
        raise MissingError(f"cannot import '{place}' for '{target}': {error}") from error
    except (MissingError, UsageError):
        raise
    except Exception as error:
        raise UsageError(f"importing '{place}' for '{target}' fails: {type(error).__name__}: {error}") from error
    if not hasattr(module, name):
        public = [attribute for attribute in vars(module) if not attribute.startswith("_")]
        raise UsageError(f"{'file' if is_file else 'module'} '{place}' has no '{name}'{did_you_mean(name, public)}")
    return getattr(module, name)


def import_file(path: Path) -> ModuleType:
    """Import a file as the module of its name, once; it can import modules of its folder.

    Raises:
        MissingError: there is no such file.
        UsageError: its name cannot be that of a module, or another module has it.
    """
    path = path.expanduser().resolve()
    if not path.is_file():
        raise MissingError(f"there is no file '{path}'")
    if not path.stem.isidentifier():
        raise UsageError(f"'{path.name}' should be named by letters, digits and '_' to be imported; rename it")
    importable(path.parent)
    importlib.invalidate_caches()  # the file may be newer than the last look into its folder
    spec = importlib.util.find_spec(path.stem)
    if spec is None or spec.origin is None or Path(spec.origin).resolve() != path:
        origin = "a module of Python" if spec is None else spec.origin
        raise UsageError(f"'{path}' has the name of another module ({origin}); rename one of them")
    return importlib.import_module(path.stem)


def source_sha256(value: Any, module: str, target: str = "") -> str:
    """Return the hash of the source that a value was made by.

    Args:
        value: a class, a function, or an entry that names one.
        module: where the value was found.
        target: `module:Name` or `file.py:Name` that an entry names, whose source counts too.

    Raises:
        UsageError: there is no source, as of a class typed into a notebook.
    """
    files = [file_of(value, module)]
    if target:
        files.append(file_of(load(target), module_of(target)))
    content = b"".join(file.read_bytes() for file in dict.fromkeys(files))
    return hashlib.sha256(content).hexdigest()


def file_of(value: Any, module: str) -> Path:
    """Return the file in which a class or function is written; of any other object, that of its module."""
    if inspect.isclass(value) or inspect.isfunction(value):
        module = value.__module__
    origin = getattr(sys.modules.get(module), "__file__", None)
    if origin is None or not Path(origin).is_file():
        raise UsageError(f"'{module}' has no file, and results are stored under the hash of a source; write it in one")
    return Path(origin)
