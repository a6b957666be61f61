"""Registries: tables of methods, tasks, backbones and metrics that name their classes and import none of them.

The same functions find plug-ins: `module:Name` or `file.py:Name`. Keys contain the hash of their source.
"""

import fnmatch
import hashlib
import importlib
import importlib.util
import inspect
import re
import sys
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from bench.errors import MissingError, UsageError, did_you_mean

NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
"""A name that is also the name of a folder in a store."""

LONGEST_HINT = 1500
"""Characters of the names that a message lists where none is near."""

Check = Callable[[str, Any], None]
"""Raises UsageError if a plug-in is not of a kind, given its name on the command line and the class or function."""


@dataclass(frozen=True)
class Entry:
    """One method, task, backbone or metric: where its class is, and a line about it.

    Args:
        target: `package.module:Name`, imported only when used.
        summary: one line for `bench list`.
        paper: where it comes from.
        needs: what it needs that is not installed with the suite, in words.
        variants: named settings (`section.name` to value) of the same class, usable as `name.variant`.
    """

    target: str
    summary: str
    paper: str = ""
    needs: str = ""
    variants: Mapping[str, Mapping[str, Any]] | None = None

    def load(self) -> Any:
        """Import the module and return the class or function."""
        return load(self.target)


@dataclass(frozen=True)
class Resolved:
    """The class or function that a name stands for.

    Args:
        name: as it is shown and stored.
        value: the class or function, or the entry of a plug-in.
        spec: what to type to find it again, from another process too.
        code: class and hash of the source of a plug-in, for keys; empty for a built-in name.
    """

    name: str
    value: Any
    spec: str
    code: Mapping[str, str]


def find(
    name: str,
    table: Mapping[str, Entry],
    kind: str,
    *,
    parents: Sequence[str] = (),
    check: Check | None = None,
    also: str = "",
) -> Resolved:
    """Return the class or function that a name stands for, the same way for every table.

    Args:
        name: of the table, with its variant; `module:Name`; or `file.py:Name`.
        table: the built-in names.
        kind: `method`, `task`, `metric`, `backbone`, `decoding` or `format`.
        parents: `module:Class` of the classes of this kind; a plug-in has to be derived from one of them.
        check: refuses a plug-in that is not of this kind, or incomplete.
        also: other spellings that work, for the message.

    Raises:
        UsageError: the name is unknown, the plug-in is not of this kind, or it has the name of a built-in one.
        MissingError: its module or file is not there.
    """
    if name in all_names(table):
        return Resolved(name, table[name if name in table else name.partition(".")[0]].load(), name, {})
    if ":" not in name:
        raise unknown(name, all_names(table), kind, also)
    spec, value = name, load(name)
    if parents and not (inspect.isclass(value) and issubclass(value, tuple(map(load, parents)))):
        raise UsageError(f"'{spec}' is not a subclass of {' or '.join(parents).replace(':', '.')}")
    if check is not None:
        check(spec, value)
    place, _, typed = spec.rpartition(":")
    if place.endswith(".py"):
        spec = f"{Path(place).expanduser().resolve()}:{typed}"
    what, name = "a name", typed  # of a function or an entry
    if inspect.isclass(value):
        what, name = "a class attribute `name`", getattr(value, "name", "")
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise UsageError(
            f"'{spec}' should have {what} of letters, digits, '.', '_' and '-', "
            f"starting with a lower-case letter or digit; it is '{name}'"
        )
    if name in all_names(table) or name == "all":
        raise UsageError(f"'{spec}' is named '{name}', which is a built-in {kind}; choose another name")
    module = module_of(spec)
    files = {file_of(value, module): None}
    if isinstance(value, Entry):  # the source of what it names counts too
        files[file_of(value.load(), module_of(value.target))] = None
    source = hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()
    return Resolved(name, value, spec, {"class": f"{module}:{typed}", "source_sha256": source})


def unknown(name: str, names: Iterable[str], kind: str, also: str = "") -> UsageError:
    """Return the error for an unknown name, with the nearest known one and the other spellings that work.

    >>> str(unknown("mel", ["mle"], "method"))
    "no method 'mel'; did you mean 'mle'?; module:Name or file.py:Name works too"
    """
    if name.endswith(".py"):
        return UsageError(f"expected a class of '{name}', found the file alone; type {name}:Name")
    others = "module:Name or file.py:Name works too"
    others = f"{also} works too, and module:Name or file.py:Name" if also else others
    hint = did_you_mean(name, names)
    if len(hint) > LONGEST_HINT:  # of all names of every kind
        hint = "; bench list has the names"
    return UsageError(f"no {kind} '{name}'{hint}; {others}")


def all_names(table: Mapping[str, Entry]) -> list[str]:
    """Return every name of a table, variants behind the name they belong to."""
    names = []
    for name, entry in table.items():
        names.append(name)
        names += [f"{name}.{variant}" for variant in entry.variants or ()]
    return names


def expand(
    wanted: Iterable[str],
    table: Mapping[str, Entry],
    kind: str,
    *,
    groups: Mapping[str, Sequence[str]] | None = None,
    stored: Collection[str] = (),
) -> list[str]:
    """Turn names, `all` and globs into names, in table order for groups, without repeats.

    Args:
        wanted: as typed; `module:Name` and `file.py:Name` pass through.
        table: the built-in names.
        kind: for messages.
        groups: names that stand for several; `all` is the whole table unless it is one of them.
        stored: further names, of a store, for messages.

    >>> table = {"mle": Entry("m:M", ""), "trime": Entry("t:T", "", variants={"released": {}})}
    >>> expand(["all"], table, "method"), expand(["tr*"], table, "method")
    (['mle', 'trime'], ['trime', 'trime.released'])
    """
    known = all_names(table)
    groups = {"all": list(table), **(groups or {})}
    chosen: dict[str, None] = {}
    for name in wanted:
        if name in groups:
            chosen |= dict.fromkeys(groups[name])
        elif name.endswith("]") and name.partition("[")[0] in known:  # a metric by a named model
            chosen[name] = None
        elif any(c in name for c in "*?[") and ":" not in name:
            matching = fnmatch.filter(known, name)
            if not matching:
                raise UsageError(f"no {kind} matches '{name}'{did_you_mean(name, known)}")
            chosen |= dict.fromkeys(matching)
        elif name in known or ":" in name:
            chosen[name] = None
        else:
            raise unknown(name, dict.fromkeys([*known, *groups, *stored]), kind)
    return list(chosen)


def split_names(given: Sequence[str] | None) -> list[str]:
    """Return names from repeated options with commas.

    >>> split_names(["a,b", "c"])
    ['a', 'b', 'c']
    """
    return [name for text in given or [] for name in text.split(",") if name]


# Source of plug-ins ---------------------------------------------------------------------------------------------------


def importable(folder: Path) -> None:
    """Let modules of a folder be imported, after installed ones. `import bench` alone never calls this."""
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


def file_of(value: Any, module: str) -> Path:
    """Return the file in which a class or function is written; of any other object, that of its module.

    Raises:
        UsageError: there is none, as of a class typed into a notebook.
    """
    if inspect.isclass(value) or inspect.isfunction(value):
        module = value.__module__
    origin = getattr(sys.modules.get(module), "__file__", None)
    if origin is None or not Path(origin).is_file():
        raise UsageError(f"'{module}' has no file, and results are stored under the hash of a source; write it in one")
    return Path(origin)
