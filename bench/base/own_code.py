"""Own code: a user's module or file, imported by what was typed, and the hash of its source."""

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

__all__ = ["import_file", "import_from", "is_file", "load", "make_current_folder_importable", "source_sha256"]

ENDING = ".py"


def make_current_folder_importable() -> None:
    """Let modules of the current folder be imported, behind all that is installed. The program does this, no import."""
    importable(Path.cwd())


def importable(folder: Path) -> None:
    """Put a folder at the end of the import path, once."""
    if str(folder) not in sys.path:
        sys.path.append(str(folder))


def is_file(place: str) -> bool:
    """Return whether the part before the colon is a file.

    >>> is_file("losses/focal.py"), is_file("losses.focal")
    (True, False)
    """
    return place.endswith(ENDING)


def load(target: str) -> Any:
    """Import `package.module:Name` or `file.py:Name`.

    Raises:
        MissingError: when the module or file is not there, or needs one that is not.
        UsageError: when the module breaks while it is imported, or has no such name.
    """
    place, _, name = target.rpartition(":")
    module = import_from(place, target)
    if not hasattr(module, name):
        public = [attribute for attribute in vars(module) if not attribute.startswith("_")]
        what = "module"
        if is_file(place):
            what = "file"
        raise UsageError(f"{what} '{place}' has no '{name}'{did_you_mean(name, public)}")
    return getattr(module, name)


def import_from(place: str, target: str) -> ModuleType:
    """Import a module by its name or file; `target` is for messages.

    Raises:
        MissingError: when it is not there, or needs a module that is not.
        UsageError: when it breaks while it is imported.
    """
    try:
        if is_file(place):
            return import_file(Path(place))
        return importlib.import_module(place)
    except ImportError as error:
        raise MissingError(f"cannot import '{place}' for '{target}': {error}") from error
    except (MissingError, UsageError):
        raise
    except Exception as error:
        raise UsageError(f"importing '{place}' for '{target}' fails: {type(error).__name__}: {error}") from error


def import_file(path: Path) -> ModuleType:
    """Import a file as the module of its name, once; modules beside it can be imported by it.

    Raises:
        MissingError: there is no such file.
        UsageError: its name is no module's, or another module has it.
    """
    path = path.expanduser().resolve()
    name = path.stem
    if not path.is_file():
        raise MissingError(f"there is no file '{path}'")
    if not name.isidentifier():
        raise UsageError(f"'{path.name}' should be named by letters, digits and '_' to be imported; rename it")
    if name in sys.modules:
        return already_imported(path)
    spec = importlib.util.find_spec(name)
    if spec is not None and spec.origin is not None and Path(spec.origin).resolve() != path:
        raise hidden(path, spec.origin)
    importable(path.parent)
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def already_imported(path: Path) -> ModuleType:
    """Return the module of a file's name, which must be that file."""
    module = sys.modules[path.stem]
    origin = getattr(module, "__file__", None)
    if origin is None or Path(origin).resolve() != path:
        raise hidden(path, origin or "a module of Python")
    return module


def hidden(path: Path, origin: str) -> UsageError:
    """Return the refusal of a file that would hide another module."""
    return UsageError(f"'{path}' has the name of another module ({origin}); rename one of them")


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


def module_of(target: str) -> str:
    """Return the module of `module:Name` or `file.py:Name`.

    >>> module_of("losses.focal:Focal"), module_of("losses/focal.py:Focal")
    ('losses.focal', 'focal')
    """
    place = target.rpartition(":")[0]
    if is_file(place):
        return Path(place).stem
    return place


def file_of(value: Any, module: str) -> Path:
    """Return the file in which a class or function is written; of any other object, that of its module."""
    origin = getattr(sys.modules[module], "__file__", None)
    if inspect.isclass(value) or inspect.isfunction(value):
        origin = getattr(sys.modules.get(value.__module__), "__file__", None)
    if origin is None or not Path(origin).is_file():
        raise UsageError(f"'{module}' has no file, and results are stored under the hash of a source; write it in one")
    return Path(origin)
